"""Every plugin class is a type that can be named, and docs/cni.md lists the types."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any, Final

import pytest

from netclaim import plugins
from netclaim.plugins import PLUGIN_TYPES, Plugin
from netclaim.plugins.engine.key_rules import declared
from netclaim.plugins.engine.program import Program
from netclaim.plugins.registry import IPAM_CLASSES, PLUGIN_CLASSES
from tests.support.doc_pages import code, same_names, table

TITLE: Final = "CNI plugins: in process, or programs"
LISTED: Final = {code(row["type"]): row["capabilities"] for row in table("cni.md", TITLE)}
NO_TYPES: Final = frozenset({Program})  # passes its calls on, whatever the type


def classes(kind: type[Any]) -> Iterator[type[Any]]:
    """A class and all that derive from it, apart from those of tests."""
    if kind.__module__.startswith(f"{plugins.__name__}."):
        yield kind
    for each in kind.__subclasses__():
        yield from classes(each)


def test_every_plugin_is_registered() -> None:
    """A class of the package that has all methods of a plugin is a type."""
    for module in pkgutil.iter_modules(plugins.__path__, f"{plugins.__name__}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    registered = {*PLUGIN_CLASSES.values(), *IPAM_CLASSES.values()}
    for each in classes(Plugin):
        lacks = sorted(getattr(each, "__abstractmethods__", ()))
        whole = not lacks or bool(each.__subclasses__())  # else it is what plugins have in common
        assert whole, f"{each.__module__}: write {', '.join(lacks)} of {each.__name__}"
    same_names(
        {each.__name__ for each in registered},
        {each.__name__ for each in classes(Plugin) if not inspect.isabstract(each)}
        - {each.__name__ for each in NO_TYPES},
        place="PLUGIN_CLASSES or IPAM_CLASSES in plugins/registry.py",
    )


def test_every_type_is_on_the_page() -> None:
    """The page's first table has a row for each type that runs in process, and no other."""
    same_names(LISTED, PLUGIN_TYPES, place="the first table of docs/cni.md")


@pytest.mark.parametrize("name", sorted(PLUGIN_CLASSES))
def test_what_the_runtime_can_pass_is_on_the_page(name: str) -> None:
    """A type's capabilities are the keys that it reads under `runtimeConfig`."""
    offers = [declared(conf).get("runtimeconfig") for conf in PLUGIN_CLASSES[name].confs]
    keys = [key.name for offer in offers if offer for key in declared(offer.type).values()]
    wanted = ", ".join(f"`{key}`" for key in keys)
    assert LISTED.get(name) == wanted, f"docs/cni.md: the capabilities of {name} are: {wanted}"
