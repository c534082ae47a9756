"""Which drivers manifests are written for, by what they say to each.

Promise: nobody else's driver is played. Limit: parameters that are wrong in both ways (see
`network.dialect`) are nobody's, unless they are for netclaim's own name.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from netclaim.manifests.kinds import CONFIGS
from netclaim.manifests.objects import Object, inside
from netclaim.network.dialect import is_our_dialect
from netclaim.network.settings import DRIVER_NAME

__all__ = ["driver_names", "unserved"]


class _Addressed(NamedTuple):
    """A driver, what is said to it, and where: `FILE:LINE`."""

    driver: str
    parameters: Any
    where: str


def driver_names(items: Iterable[Object]) -> tuple[str, ...]:
    """The names to run netclaim's driver under; its own if the manifests name none."""
    found = {
        one.driver: None
        for item in items
        for one in _addressed(item)
        if one.driver == DRIVER_NAME
        or (isinstance(one.parameters, dict) and is_our_dialect(one.parameters))
    }
    return tuple(found) or (DRIVER_NAME,)


def unserved(items: Iterable[Object], served: Iterable[str]) -> Iterator[str]:
    """Say once of each driver that manifests address and that is not run, where that is."""
    known = set(served)
    for one in (one for item in items for one in _addressed(item)):
        if one.driver not in known:
            known.add(one.driver)
            yield (
                f"{one.where}: the driver {one.driver} is not run here, so it has no devices; if"
                f" its parameters are for netclaim, add --driver-name {one.driver}"
            )


def _addressed(item: Object) -> Iterator[_Addressed]:
    if item.kind not in CONFIGS:
        return
    path = CONFIGS[item.kind]
    for number, config in enumerate(inside(item.object, path[:-1]).get("config", ())):
        if "opaque" in config:
            where = item.where((*path, number, "opaque", "driver"))
            yield _Addressed(config["opaque"]["driver"], config["opaque"].get("parameters"), where)
