"""Which drivers manifests are written for, by the parameters they have for each.

Promise: netclaim never pretends to be another project's driver; a name that is nearly netclaim's,
or nearly one that the manifests select devices by, is a mistake and not one more driver. Limit:
parameters that are wrong in both dialects (see `network.request.dialect`) belong to no driver,
unless they are for netclaim's own name.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from netclaim.check.claims.wanted import wanted
from netclaim.manifests.kinds import CLAIM_SPECS, CONFIGS
from netclaim.manifests.near import near
from netclaim.manifests.objects import Object, inside
from netclaim.network import DRIVER_NAME
from netclaim.network.request.dialect import is_our_dialect

TYPO: Final = 0.85  # how alike two names are if one is a slip; poc.dra.networking is at 0.67
# A selector names a driver itself, or as the domain of its attributes.
SELECTED: Final = re.compile(r"""device\.(?:driver\s*==\s*|attributes\[\s*)["']([^"']+)["']""")


class _Addressed(NamedTuple):
    """A driver, the parameters for it, and where they are: `FILE:LINE`."""

    driver: str
    parameters: Any
    where: str


def driver_names(items: Sequence[Object]) -> tuple[str, ...]:
    """Return the names to run netclaim's driver under; its own if the manifests name none."""
    addressed = [one for item in items for one in _addressed(item)]
    ours = dict.fromkeys(
        one.driver
        for one in addressed
        if one.driver == DRIVER_NAME
        or (isinstance(one.parameters, dict) and is_our_dialect(one.parameters))
    )
    right = (DRIVER_NAME, *(name for item in items for name in _selected(item)))
    found = dict.fromkeys(name if name in right else _slip(name, right) or name for name in ours)
    return tuple(found) or (DRIVER_NAME,)


def unserved(items: Iterable[Object], served: Iterable[str]) -> Iterator[str]:
    """Report once each driver that manifests address and that is not run, and where."""
    running = tuple(served)
    known = set(running)
    for one in (one for item in items for one in _addressed(item)):
        if one.driver in known:
            continue
        known.add(one.driver)
        guess = _slip(one.driver, (*running, DRIVER_NAME))
        if guess not in ("", one.driver):
            yield f'{one.where}: unknown driver "{one.driver}"; did you mean "{guess}"?'
        else:
            yield (
                f"{one.where}: the driver {one.driver} is not run here, so it has no devices; if"
                f" its parameters are for netclaim, add --driver-name {one.driver}"
            )


def _slip(name: str, right: Iterable[str]) -> str:
    """Return the name that was meant, if this one is nearly it."""
    return near(name, right, cutoff=TYPO)


def _selected(item: Object) -> Iterator[str]:
    """Yield the drivers that the selectors of a class or claim name."""
    found: list[Any] = []
    if item.kind == "DeviceClass":
        found += inside(item.object, ("spec",)).get("selectors", ())
    if item.kind in CLAIM_SPECS:
        for one in wanted(item):
            found += one.fields.get("selectors", ())
    for selector in found:
        expression = str((selector.get("cel") or {}).get("expression", ""))
        yield from SELECTED.findall(expression)


def _addressed(item: Object) -> Iterator[_Addressed]:
    if item.kind not in CONFIGS:
        return
    path = CONFIGS[item.kind]
    for number, config in enumerate(inside(item.object, path[:-1]).get("config", ())):
        if "opaque" in config:
            where = item.where((*path, number, "opaque", "driver"))
            yield _Addressed(config["opaque"]["driver"], config["opaque"].get("parameters"), where)
