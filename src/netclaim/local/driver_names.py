"""Which drivers manifests are written for, by what they say to each.

Promise: nobody else's driver is played. Limit: parameters that are wrong in both ways (see
`network.dialect`) are nobody's, unless they are for netclaim's own name.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from netclaim.local.manifests import Item
from netclaim.network.dialect import is_our_dialect
from netclaim.network.settings import DRIVER_NAME

__all__ = ["driver_names", "unserved"]

CONFIGS: Final[Mapping[str, tuple[str, ...]]] = {
    "DeviceClass": ("spec", "config"),
    "ResourceClaim": ("spec", "devices", "config"),
    "ResourceClaimTemplate": ("spec", "spec", "devices", "config"),
}


class _Addressed(NamedTuple):
    """A driver, what is said to it, and where: `FILE:LINE`."""

    driver: str
    parameters: Any
    where: str


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
            where = item.line((*path, number, "opaque", "driver"))
            yield _Addressed(config["opaque"]["driver"], config["opaque"].get("parameters"), where)
