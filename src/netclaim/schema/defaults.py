"""What the API server itself writes into an object, or takes away, before the object is judged.

No I/O: the clock and the random parts of names are handed in as `Stamps`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from netclaim.manifests.fields import edit
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import RULE, Kind
from netclaim.schema.rules.claim_status import allocated_ids, device_id

GENERATED_MAX: Final = 58  # of a generated name before its five letters
USERS_META: Final = ("labels", "annotations", "ownerReferences", "finalizers")
NAME_LABEL: Final = "kubernetes.io/metadata.name"  # of every namespace, for selectors
EQUAL: Final = {"operator": "Equal"}
LISTS: Final = frozenset({"bools", "ints", "strings", "versions"})  # of an attribute


@dataclass(frozen=True, slots=True)
class Stamps:
    """Where times, UIDs and the tails of generated names come from."""

    now: Callable[[], str]
    uid: Callable[[], str]
    tail: Callable[[], str]  # five letters and digits


def stamp_new(meta: JsonObject, kind: Kind, namespace: str, stamps: Stamps) -> JsonObject:
    """The metadata of an object that is about to be created."""
    name = meta.get("name", "")
    if not name and (prefix := meta.get("generateName")):
        name = f"{prefix[:GENERATED_MAX]}{stamps.tail()}"
    stamped = {"name": name} if name else {}
    if meta.get("generateName"):
        stamped["generateName"] = meta["generateName"]
    if kind.namespaced:
        stamped["namespace"] = namespace
    kept = {key: meta[key] for key in USERS_META if meta.get(key)}
    system = {"uid": stamps.uid(), "generation": 1, "creationTimestamp": stamps.now()}
    return stamped | system | kept


def with_defaults(obj: JsonObject, kind: Kind, now: str) -> JsonObject:  # noqa: PLR0911 - a table
    """The object with the fields that the API adds to it."""
    match kind.name:
        case "Namespace":
            meta = obj["metadata"]
            labels = {**meta.get("labels", {}), NAME_LABEL: meta.get("name", "")}
            return {**obj, "metadata": {**meta, "labels": labels}}
        case "ResourceClaim":
            return _with_request_defaults(obj, "spec")
        case "ResourceClaimTemplate":
            return _with_request_defaults(obj, "spec.spec")
        case "ResourceSlice":
            kept = edit(obj, "spec.devices.*.attributes.*", _without_lists)
            return _with_times(kept, "spec.devices.*.taints.*", now)
        case "DeviceTaintRule":
            return _with_times(obj, "spec.taint", now)
        case "Deployment" | "ReplicaSet" | "StatefulSet":
            return {**obj, "spec": {"replicas": 1, **obj.get("spec", {})}}
        case "Job":
            spec = obj.get("spec", {})
            once = {} if "parallelism" in spec or "completions" in spec else {"completions": 1}
            return {**obj, "spec": {"parallelism": 1, **once, **spec}}
    return obj


def _with_times(obj: JsonObject, taints: str, now: str) -> JsonObject:
    return dict(edit(obj, taints, lambda taint, _: {"timeAdded": now, **taint}))


def restamped(obj: JsonObject, old: JsonObject, kind: Kind) -> JsonObject:
    """The changed object; a taint whose effect changed loses the time of its old effect."""
    if kind is not RULE:
        return obj
    taint, before = (one.get("spec", {}).get("taint", {}) for one in (obj, old))
    same_time = taint.get("timeAdded") == before.get("timeAdded")
    if taint.get("effect") == before.get("effect") or not same_time:
        return obj
    kept = {key: value for key, value in taint.items() if key != "timeAdded"}
    return {**obj, "spec": {**obj["spec"], "taint": kept}}


def _with_request_defaults(obj: JsonObject, spec: str) -> JsonObject:
    def complete(wanted: JsonObject, _: object) -> JsonObject:
        mode = wanted.get("allocationMode") or "ExactCount"
        count = {} if mode != "ExactCount" or wanted.get("count") else {"count": 1}
        tolerated: JsonObject = edit(wanted, "tolerations.*", lambda one, _: {**EQUAL, **one})
        return {**tolerated, "allocationMode": mode, **count}

    for pattern in ("exactly", "firstAvailable.*"):
        obj = edit(obj, f"{spec}.devices.requests.*.{pattern}", complete)
    return obj


def _without_lists(attribute: JsonObject, _: object) -> JsonObject:
    """A server of 1.36 drops attributes that are lists, unless their feature gate is open."""
    return {key: value for key, value in attribute.items() if key not in LISTS}


def without_stale_devices(status: JsonObject, old: JsonObject) -> JsonObject:
    """A claim's new status without reports on devices that this change deallocates."""
    gone = allocated_ids(old) - allocated_ids(status)
    kept = [device for device in status.get("devices", ()) if device_id(device) not in gone]
    rest = {key: value for key, value in status.items() if key != "devices"}
    return {**rest, "devices": kept} if kept else rest
