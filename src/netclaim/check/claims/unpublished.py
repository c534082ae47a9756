"""Find what a request asks of a link that no link has: attributes and capacities of other names.

The scheduler finds no device then, and says so only when a pod waits. The names are those that the
driver publishes. A warning, because a newer driver may have more of them. Limit: of a selector,
what it reads by constant names counts; capacities of pools of addresses are passed over.
"""

from collections.abc import Iterator
from typing import Final

from netclaim.check.claims.selectable import conditions_of
from netclaim.check.claims.wanted import Wanted
from netclaim.manifests.finding import Finding
from netclaim.manifests.near import did_you_mean
from netclaim.manifests.objects import Object
from netclaim.model.pools.counted_pool import pool_of_class
from netclaim.network.devices.device import ATTRIBUTES
from netclaim.network.devices.pool_device import ADDRESSES
from netclaim.network.devices.shares import ATTACHMENTS, BANDWIDTH, SLOT, WHOLE_LINK

ATTRIBUTE_NAMES: Final = frozenset({*(name for name in ATTRIBUTES if "/" not in name), SLOT})
# Those of other domains than the driver's own, by their plain names.
DOMAINS: Final = {
    name: domain for domain, slash, name in (each.partition("/") for each in ATTRIBUTES) if slash
}
CAPACITY_NAMES: Final = (WHOLE_LINK, BANDWIDTH)  # to ask for; `attachments` is the older way
KNOWN_CAPACITIES: Final = frozenset({*CAPACITY_NAMES, ATTACHMENTS, ADDRESSES})


def unpublished_doubts(one: Wanted, subject: Object, driver: str) -> Iterator[Finding]:
    """Warn about attributes and capacities of a driver's links that no link has."""
    for number, selector in enumerate(one.fields.get("selectors", ())):
        text = selector.get("cel", {}).get("expression", "")
        path = (*one.path, "selectors", number, "cel", "expression")
        for message in sorted(_unread(text, driver)):
            yield subject.warning(path, message)
    if pool_of_class(one.class_name):
        return
    for name in one.fields.get("capacity", {}).get("requests", {}):
        plain = name.removeprefix(f"{driver}/")
        if "/" not in plain and plain not in KNOWN_CAPACITIES:
            path = (*one.path, "capacity", "requests", name)
            yield subject.warning(path, _no_capacity(plain))


def _unread(text: str, driver: str) -> set[str]:
    """Say what a selector reads of a driver's links that none of them has."""
    found = set()
    for path in (path for one in conditions_of(text) for path in one.reads):
        match path:
            case ("attributes", domain, name) if domain == driver and name not in ATTRIBUTE_NAMES:
                found.add(f'no link has an attribute "{name}"{_meant(name)}')
            case ("capacity", domain, name) if domain == driver and name not in KNOWN_CAPACITIES:
                found.add(_no_capacity(name))
    return found


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
