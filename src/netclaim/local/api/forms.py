"""Objects between the form in which they are stored and the forms in which they are served.

resource.k8s.io is stored as v1. An event is stored as events.k8s.io/v1 has it; the core group's
older words for the same are what `kubectl get events` reads.
"""

from typing import Final, TypeGuard

from netclaim.manifests.conversion import GROUP, VERSIONS, Version, from_v1, to_v1
from netclaim.model.claim import JsonObject
from netclaim.schema.kinds import EVENT, Address, Kind

__all__ = ["served", "stored"]

# events.k8s.io and the core group: the same fields under other names.
EVENT_FIELDS: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}


def stored(found: JsonObject, kind: Kind, address: Address) -> JsonObject:
    """An object as it came in at an address, in the form to store."""
    if kind.group == GROUP:
        return to_v1(found, kind.name, _version(address))
    if kind is EVENT and not address.group:
        found = _renamed(found, {core: new for new, core in EVENT_FIELDS.items()})
    return {**found, "apiVersion": kind.addresses[0].api_version, "kind": kind.name}


def served(found: JsonObject, kind: Kind, address: Address) -> JsonObject:
    """A stored object in the form of an address."""
    if kind.group == GROUP:
        return from_v1(found, kind.name, _version(address))
    if kind is EVENT and not address.group:
        found = _renamed(found, EVENT_FIELDS)
    return {**found, "apiVersion": address.api_version, "kind": kind.name}


def _renamed(found: JsonObject, names: dict[str, str]) -> JsonObject:
    return {names.get(key, key): value for key, value in found.items()}


def _version(address: Address) -> Version:
    assert _is_version(address.version)
    return address.version


def _is_version(text: str) -> TypeGuard[Version]:
    return text in VERSIONS
