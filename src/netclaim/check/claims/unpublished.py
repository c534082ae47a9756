"""Find what selectors and requests ask of a device that none has.

Of links these are attributes and capacities of other names than the driver publishes; a warning,
because a newer driver may have more of them. Of every driver's devices they are names as a slice
writes them, but no selector: `attributes["example.com/model"]`, and `.model.string`. The scheduler
finds no device then, and says so only when a pod waits. Limit: of a selector, what it reads by
constant names counts; capacities of pools of addresses are passed over.
"""

from collections.abc import Collection, Iterator
from typing import Final

from netclaim.check.claims.selectable import conditions_of
from netclaim.check.claims.wanted import Wanted, wanted
from netclaim.manifests.finding import Finding
from netclaim.manifests.kinds import CLAIM_SPECS
from netclaim.manifests.near import did_you_mean
from netclaim.manifests.objects import Object, inside
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.counted_pool import pool_of_class
from netclaim.network.devices.device import ATTRIBUTES
from netclaim.network.devices.pool_device import ADDRESSES
from netclaim.network.devices.shares import ATTACHMENTS, BANDWIDTH, SLOT, WHOLE_LINK
from netclaim.paths import Path

ATTRIBUTE_NAMES: Final = frozenset({*(name for name in ATTRIBUTES if "/" not in name), SLOT})
# Those of other domains than the driver's own, by their plain names.
DOMAINS: Final = {
    name: domain for domain, slash, name in (each.partition("/") for each in ATTRIBUTES) if slash
}
CAPACITY_NAMES: Final = (WHOLE_LINK, BANDWIDTH)  # to ask for; `attachments` is the older way
KNOWN_CAPACITIES: Final = frozenset({*CAPACITY_NAMES, ATTACHMENTS, ADDRESSES})


def unread_doubts(subject: Object, drivers: Collection[str]) -> Iterator[Finding]:
    """Warn about what the selectors of a class or claim read, but no device has.

    `drivers` are the names of netclaim's driver; its attributes and capacities are known.
    """
    for path, text in _selectors(subject):
        for message in sorted({*_misread(text), *_unread(text, drivers)}):
            yield subject.warning(path, message)


def unpublished_doubts(one: Wanted, subject: Object, driver: str) -> Iterator[Finding]:
    """Warn about capacities that a request wants of a driver's links, and no link has."""
    if pool_of_class(one.class_name):
        return
    for name in one.fields.get("capacity", {}).get("requests", {}):
        plain = name.removeprefix(f"{driver}/")
        if "/" not in plain and plain not in KNOWN_CAPACITIES:
            path = (*one.path, "capacity", "requests", name)
            yield subject.warning(path, _no_capacity(plain))


def _selectors(subject: Object) -> Iterator[tuple[Path, str]]:
    """Yield the selectors of a class, or of everything that a claim asks for, with their paths."""
    holders: list[tuple[Path, JsonObject]] = (
        [(one.path, one.fields) for one in wanted(subject)]
        if subject.kind in CLAIM_SPECS
        else [(("spec",), inside(subject.object, ("spec",)))]
    )
    for path, fields in holders:
        for number, selector in enumerate(fields.get("selectors", ())):
            text = selector.get("cel", {}).get("expression", "")
            yield (*path, "selectors", number, "cel", "expression"), text


def _misread(text: str) -> Iterator[str]:
    """Say which attributes a selector reads in another form than a selector's."""
    for path in (path for one in conditions_of(text) for path in one.reads):
        match path:
            case ("attributes" | "capacity" as where, full, *_) if "/" in full:
                domain, _, name = full.partition("/")
                yield f'no domain has a slash; write device.{where}["{domain}"].{name}'
            case ("attributes", domain, name, member):
                value = f'device.attributes["{domain}"].{name}'
                yield f'{value} is the value itself, without a field "{member}"; leave that out'


def _unread(text: str, drivers: Collection[str]) -> Iterator[str]:
    """Say what a selector reads of the driver's links that none of them has."""
    for path in (path for one in conditions_of(text) for path in one.reads):
        match path:
            case ("attributes", domain, name, *_) if (
                domain in drivers and name not in ATTRIBUTE_NAMES
            ):
                yield f'no link has an attribute "{name}"{_meant(name)}'
            case ("capacity", domain, name, *_) if (
                domain in drivers and name not in KNOWN_CAPACITIES
            ):
                yield _no_capacity(name)


def _meant(name: str) -> str:
    if name in DOMAINS:
        return (
            f' in the driver\'s domain; did you mean device.attributes["{DOMAINS[name]}"].{name}?'
        )
    return did_you_mean(name, ATTRIBUTE_NAMES)


def _no_capacity(name: str) -> str:
    hint = did_you_mean(name, CAPACITY_NAMES)
    known = "" if hint else f"; links have {' and '.join(CAPACITY_NAMES)}"
    return f'no link has a capacity "{name}"{hint}{known}'
