"""What the controller's queue holds, what comes first in it, and which networks a claim is about.

A key is the name of a network, or one of these. No I/O.
"""

from collections.abc import Iterable
from typing import Final

from netclaim.model.claims.claim import JsonObject
from netclaim.model.devices.link_name import ON
from netclaim.network.devices.network_device import is_device_of

POOL: Final = "pool/"  # in the queue, before a pool's name: a network's name has no slash
LEARN: Final = "learn/"  # in the queue: whether the API server keeps pools as devices
STAMP: Final = ""  # in the queue: all copies of templates; a network has a name
DEFINITIONS: Final = "/"  # all networks that are made of NetworkAttachmentDefinitions
NAMESPACE: Final = "namespace/"  # before a namespace's name: the networks' templates in it
REPORT: Final = "report/"  # before a network's name: its status
# What templates say follows from LEARN; people wait for those of a new namespace, and nobody for a
# status.
FIRST, NEXT, LAST = range(3)
RANKS: Final = LAST + 1


def rank(key: str) -> int:
    """How soon a key is worked on."""
    if key == LEARN or key.startswith(NAMESPACE):
        return FIRST
    return LAST if key.startswith((REPORT, POOL)) else NEXT


def networks_of(claim: JsonObject, names: Iterable[str]) -> set[str]:
    """The networks that a claim may have something of: their classes, or their devices."""
    return classes_of(claim) | _by_device(claim, names)


def _by_device(claim: JsonObject, names: Iterable[str]) -> set[str]:
    """The networks whose devices a claim has."""
    allocation = claim.get("status", {}).get("allocation") or {}
    results = allocation.get("devices", {}).get("results", ())
    devices = [each["device"] for each in results if ON in each["device"]]
    return {name for name in names for device in devices if is_device_of(name, device)}


def classes_of(claim: JsonObject) -> set[str]:
    """The classes that a claim asks for."""
    found: set[str] = set()
    for request in claim["spec"]["devices"]["requests"]:
        for each in (request.get("exactly") or {}, *request.get("firstAvailable", ())):
            found.add(each.get("deviceClassName", ""))
    return found
