"""Convert objects between the form in which they are stored and the forms that are served.

resource.k8s.io is stored as v1. An event is stored in the form of events.k8s.io/v1; `kubectl get
events` reads it under the core group's older names.
"""

from typing import Final

from netclaim.manifests.kinds import GROUP
from netclaim.manifests.versions.conversion import Version, from_v1, is_version, to_v1
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import EVENT, Address, Kind

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
    """Convert an object that came in at an address to the stored form."""
    if kind.group == GROUP:
        return to_v1(found, kind.name, _version(address))
    if kind is EVENT and not address.group:
        found = _renamed(found, {core: new for new, core in EVENT_FIELDS.items()})
    return {**found, "apiVersion": kind.addresses[0].api_version, "kind": kind.name}


def served(found: JsonObject, kind: Kind, address: Address) -> JsonObject:
    """Convert a stored object to the form of an address."""
    if kind.group == GROUP:
        return from_v1(found, kind.name, _version(address))
    if kind is EVENT and not address.group:
        found = _renamed(found, EVENT_FIELDS)
    return {**found, "apiVersion": address.api_version, "kind": kind.name}


def _renamed(found: JsonObject, names: dict[str, str]) -> JsonObject:
    return {names.get(key, key): value for key, value in found.items()}


def _version(address: Address) -> Version:
    assert is_version(address.version)
    return address.version
