"""Public is what `__all__` says, and docs/framework.md says the same."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import msgspec
import pytest

from netclaim import model
from tests.support.doc_pages import same_names

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "framework.md"
MODULES = (
    "netclaim.framework",
    "netclaim.framework.settings",
    "netclaim.framework.telemetry",
    "netclaim.framework.testing",
    "netclaim.model",
    "netclaim.errors",
    "netclaim.paths",
)
# What is built on the framework as others may build on it.
EXAMPLES = sorted(ROOT.glob("examples/*.py"))
NETWORK = sorted((ROOT / "src" / "netclaim" / "network").rglob("*.py"))
ROW = re.compile(r"^\| `(\w+)` \| (.+) \|$", re.MULTILINE)


def section(title: str) -> str:
    """The page's text below a heading of the second level."""
    sections = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    (found,) = (each for each in sections if each.startswith(f"{title}\n"))
    return found


@pytest.mark.parametrize("name", MODULES)
def test_the_page_lists_every_public_name(name: str) -> None:
    """Each name of `__all__` has a row, in the same order, and nothing else has."""
    listed = [row[0] for row in ROW.findall(section(name))]
    public = importlib.import_module(name).__all__
    same_names(listed, public, place=f'docs/{PAGE.name}, "{name}"')
    assert listed == sorted(public)


@pytest.mark.parametrize("name", ["Device", "Plan", "ContainerEdits", "DeviceNode", "Mount"])
def test_the_page_lists_every_field(name: str) -> None:
    """What an author fills in has a table of its fields, in their order."""
    table = PAGE.read_text().partition(f"| Field of `{name}` |")[2].partition("\n\n")[0]
    listed = [row[0] for row in ROW.findall(table)]
    fields = [one.name for one in msgspec.structs.fields(getattr(model, name))]
    assert listed == fields, f"write the fields of {name} on docs/{PAGE.name}"


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_there(name: str) -> None:
    """What `__all__` lists can be imported, and classes and functions are explained."""
    module = importlib.import_module(name)
    for each in module.__all__:
        found = getattr(module, each)
        if inspect.isclass(found) or inspect.isfunction(found):
            assert found.__doc__, each


def test_the_page_has_no_other_module() -> None:
    """Every module that the page has a section for is one of those compared here."""
    assert re.findall(r"^## (netclaim\S*)$", PAGE.read_text(), re.MULTILINE) == list(MODULES)


def test_the_contract_can_be_met_with_public_names() -> None:
    """Every class that the contract's methods take or return is public."""
    model = importlib.import_module("netclaim.model")
    framework = importlib.import_module("netclaim.framework")
    for driver in (framework.Driver, framework.NetworkDriver):
        for _, method in inspect.getmembers(driver, inspect.isfunction):
            for hint in inspect.get_annotations(method, eval_str=True).values():
                for word in re.findall(r"netclaim\.model\.[\w.]+\.(\w+)", str(hint)):
                    assert word in model.__all__, f"add {word} to __all__ of netclaim.model"


def imported_by(path: Path) -> set[tuple[str, str]]:
    """What a module imports of netclaim: modules and names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("netclaim"):
            found |= {(str(node.module), each.name) for each in node.names}
        elif isinstance(node, ast.Import):
            found |= {(each.name, "") for each in node.names if each.name.startswith("netclaim")}
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_use_only_public_names(path: Path) -> None:
    """An example imports nothing of netclaim that another author may not rely on."""
    private = {
        (module, name)
        for module, name in imported_by(path)
        if module not in MODULES or name not in importlib.import_module(module).__all__
    }
    assert not private, f"{path.name} imports private names: {sorted(private)}"


def test_the_network_driver_uses_only_public_names_of_the_framework() -> None:
    """What netclaim's own driver needs of the framework, others can use as well."""
    private = {
        (path.name, module, name)
        for path in NETWORK
        for module, name in imported_by(path)
        if module.startswith("netclaim.framework")
        and (module not in MODULES or name not in importlib.import_module(module).__all__)
    }
    assert not private, sorted(private)
