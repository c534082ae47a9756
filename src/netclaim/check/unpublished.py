"""Find what a request asks of a link that no link has: attributes and capacities of other names.

The scheduler finds no device then, and says so only when a pod waits. The names are those that the
driver publishes. A warning, because a newer driver may have more of them. Limit: a selector is read
as far as it writes an attribute out; pools of addresses are passed over.
"""

import re
from collections.abc import Iterator
from typing import Final

from netclaim.check.wanted import Wanted
from netclaim.manifests.finding import Finding
from netclaim.manifests.near import did_you_mean
from netclaim.manifests.objects import Object
from netclaim.model.counted_pool import pool_of_class
from netclaim.network.devices.device import ATTRIBUTES
from netclaim.network.devices.pool_device import ADDRESSES
from netclaim.network.devices.shares import ATTACHMENTS, BANDWIDTH, SLOT, WHOLE_LINK

ATTRIBUTE: Final = re.compile(r"""\bdevice\.attributes\[(["'])([^"']+)\1\]\.(\w+)""")
ATTRIBUTE_NAMES: Final = frozenset({*(name for name in ATTRIBUTES if "/" not in name), SLOT})
CAPACITY_NAMES: Final = (WHOLE_LINK, BANDWIDTH, ATTACHMENTS)


def unpublished_doubts(one: Wanted, subject: Object, driver: str) -> Iterator[Finding]:
    """Warn about attributes and capacities of a driver's links that no link has."""
    for number, selector in enumerate(one.fields.get("selectors", ())):
        text = selector.get("cel", {}).get("expression", "")
        named = {match[3] for match in ATTRIBUTE.finditer(text) if match[2] == driver}
        for name in sorted(named - ATTRIBUTE_NAMES):
            yield subject.warning(
                (*one.path, "selectors", number, "cel", "expression"),
                f'no link has an attribute "{name}"{did_you_mean(name, ATTRIBUTE_NAMES)}',
            )
    if pool_of_class(one.class_name):
        return
    for name in one.fields.get("capacity", {}).get("requests", {}):
        plain = name.removeprefix(f"{driver}/")
        if "/" not in plain and plain not in (*CAPACITY_NAMES, ADDRESSES):
            hint = did_you_mean(plain, CAPACITY_NAMES)
            known = "" if hint else f"; links have {', '.join(CAPACITY_NAMES)}"
            yield subject.warning(
                (*one.path, "capacity", "requests", name),
                f'no link has a capacity "{plain}"{hint}{known}',
            )
