"""A package's docstring that ends with a map lists what is in the package, and nothing else.

A map has an entry for each module or sub-package: its name, or several separated by commas, two or
more spaces, and what it is. There may be two entries in a line, two or more spaces apart.
"""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

from tests.support.doc_pages import ROOT, same_names

SOURCES: Final = (ROOT / "src", ROOT / "lab")
ENTRY: Final = re.compile(r"(?:^| {2,})([a-z]\w*(?:, [a-z]\w*)*)(?= {2,}\S)", re.MULTILINE)


def listed(package: Path) -> list[str]:
    """The names on a package's map; none if it has no map."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text()), clean=False) or ""
    return [name for entry in ENTRY.findall(text) for name in entry.split(", ")]


def held(package: Path) -> list[str]:
    """The modules and sub-packages that people open: neither `__main__` nor generated ones."""
    modules = [path.stem for path in package.glob("*.py") if not path.stem.startswith("__")]
    packages = [path.parent.name for path in package.glob("*/__init__.py")]
    return sorted(name for name in (*modules, *packages) if not name.endswith("_pb2"))


def with_a_map() -> list[Path]:
    """Every package whose docstring has a map."""
    packages = sorted(path.parent for each in SOURCES for path in each.rglob("__init__.py"))
    return [package for package in packages if listed(package)]


@pytest.mark.parametrize("package", with_a_map(), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_map_is_true(package: Path) -> None:
    """Every name on the map is in the package, and everything in the package is on the map."""
    place = f"the map in {(package / '__init__.py').relative_to(ROOT)}"
    same_names(listed(package), held(package), place=place)


def test_there_are_maps() -> None:
    """The rule finds the maps that there are."""
    assert {ROOT / "src/netclaim/framework", ROOT / "lab"} <= set(with_a_map())
    assert len(with_a_map()) > 10
