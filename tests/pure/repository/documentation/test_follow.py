"""docs/follow-a-claim.md names files, functions and calls that there are."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

from tests.support.doc_pages import ROOT

PAGE: Final = (ROOT / "docs" / "follow-a-claim.md").read_text()
SOURCE: Final = ROOT / "src" / "netclaim"
ROW: Final = re.compile(
    r"^\| `([\w/]+\.py)` \| `([\w.]+)` \| [^|]+ \| `([\w.]+)` \|$", re.MULTILINE
)
ROWS: Final = ROW.findall(PAGE)


def source_of(path: Path, function: str) -> str:
    """The text of a function, or of a method as `Class.method`."""
    text = path.read_text()
    found: ast.AST = ast.parse(text)
    for name in function.split("."):
        found = next(
            node
            for node in getattr(found, "body", ())
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node.name == name
        )
    return ast.get_source_segment(text, found) or ""


@pytest.mark.parametrize(("path", "function", "call"), ROWS)
def test_each_step_is_in_the_source(path: str, function: str, call: str) -> None:
    """The function is in the file, and what it is said to call stands in it."""
    assert call in source_of(SOURCE / path, function)


def test_every_row_of_every_table_is_compared() -> None:
    """No row of a table on the page is written in a way that the comparison does not see."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert len(rows) == len(ROWS) > 20


@pytest.mark.parametrize("named", sorted(set(re.findall(r"`((?:\w+/)+\w+\.py)`", PAGE))))
def test_every_file_on_the_page_exists(named: str) -> None:
    """Files that the text names are there as well."""
    assert (SOURCE / named).is_file()
