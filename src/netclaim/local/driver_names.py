"""Which drivers manifests are written for, told by what they say to each.

A driver's name is anybody's choice, and so are the keys of its parameters: dranet's have an
`interface` as well, which holds an object. Ours are known by what only netclaim reads, or a driver
that it takes the place of: a group of our `apiVersion`s, or without any `apiVersion` the name of an
interface as text beside a CNI `config`.
Promise: nobody else's driver is played. Limit: parameters that are wrong in both ways are nobody's,
unless they are for netclaim's own name.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from netclaim.local.manifests import Item
from netclaim.network.parameters import API_VERSIONS
from netclaim.network.settings import DRIVER_NAME

__all__ = ["driver_names", "is_our_dialect", "unserved"]

CONFIGS: Final[Mapping[str, tuple[str, ...]]] = {
    "DeviceClass": ("spec", "config"),
    "ResourceClaim": ("spec", "devices", "config"),
    "ResourceClaimTemplate": ("spec", "spec", "devices", "config"),
}
GROUPS: Final = frozenset(version.partition("/")[0] for version in API_VERSIONS)
INTERFACE_KEYS: Final = ("ifName", "interface")  # of the two dialects of claim parameters


class _Addressed(NamedTuple):
    """A driver, what is said to it, and where: `FILE:LINE`."""

    driver: str
    parameters: Any
    where: str


def is_our_dialect(parameters: Mapping[str, Any]) -> bool:
    """Whether parameters are netclaim's to read, whatever the driver is called."""
    version = parameters.get("apiVersion")
    if version is not None:
        return str(version).partition("/")[0] in GROUPS
    names = [parameters[key] for key in INTERFACE_KEYS if key in parameters]
    return bool(names) and all(isinstance(n, str) for n in names) and "config" in parameters


def driver_names(items: Iterable[Item]) -> tuple[str, ...]:
    """The names to run netclaim's driver under; its own if the manifests name none."""
    found = {
        one.driver: None
        for item in items
        for one in _addressed(item)
        if one.driver == DRIVER_NAME
        or (isinstance(one.parameters, dict) and is_our_dialect(one.parameters))
    }
    return tuple(found) or (DRIVER_NAME,)


def unserved(items: Iterable[Item], served: Iterable[str]) -> Iterator[str]:
    """Say once of each driver that manifests address and that is not run, where that is."""
    known = set(served)
    for one in (one for item in items for one in _addressed(item)):
        if one.driver not in known:
            known.add(one.driver)
            yield (
                f"{one.where}: the driver {one.driver} is not run here, so it has no devices; if"
                f" its parameters are for netclaim, add --driver-name {one.driver}"
            )


def _addressed(item: Item) -> Iterator[_Addressed]:
    path = CONFIGS.get(item.kind.name, ())
    value: Any = item.object
    for step in path:
        value = value.get(step, {})
    for number, config in enumerate(value if isinstance(value, list) else ()):
        if "opaque" in config:
            where = item.line(f"{'.'.join(path)}[{number}].opaque.driver")
            yield _Addressed(config["opaque"]["driver"], config["opaque"].get("parameters"), where)
