"""An object's life in the server: how it begins, what counts as a change, how it ends. No I/O."""

from collections.abc import Mapping
from typing import Any, Final

from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import CLAIM, EVENT, NAMESPACE, NODE, POD, TEMPLATE, Kind

# Metadata that a write never changes.
SYSTEM_META: Final = (
    "name", "generateName", "namespace", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields",
)  # fmt: skip
UNGENERATED: Final = (CLAIM, TEMPLATE, EVENT, NAMESPACE, NODE)  # these have no metadata.generation
POD_GRACE_S: Final = 30  # how long a pod may take to end, unless it says otherwise
FIRST_STATUS: Final[Mapping[str, Mapping[str, Any]]] = {
    "Pod": {"phase": "Pending"},
    "Namespace": {"phase": "Active"},
}


def born(obj: JsonObject, kind: Kind) -> JsonObject:
    """Return the object with its initial metadata and status, whatever the request has there."""
    meta = obj["metadata"]
    if kind in UNGENERATED:
        meta = {key: value for key, value in meta.items() if key != "generation"}
    if not kind.has_status or kind is NODE:  # kubelet reports its node's state
        return {**obj, "metadata": meta}
    return {**obj, "metadata": meta, "status": dict(FIRST_STATUS.get(kind.name, {}))}


def through_door(config: JsonObject, subresource: str) -> JsonObject:
    """Return the part of an intent that counts: the status on its own path, the rest elsewhere."""
    if subresource:
        return {key: config[key] for key in ("apiVersion", "kind", "status") if key in config}
    return {key: value for key, value in config.items() if key != "status"}


def content(obj: JsonObject) -> JsonObject:
    """Return what makes two objects equal: all but versions and the times of ownership."""
    meta = {key: obj["metadata"][key] for key in obj["metadata"] if key != "resourceVersion"}
    owners = [
        {key: value for key, value in entry.items() if key != "time"}
        for entry in meta.get("managedFields", ())
    ]
    return {**obj, "metadata": {**meta, "managedFields": owners}}


def grace_s(kind: Kind, obj: JsonObject, asked: int | None) -> int:
    """Return how long an object may take to end: a pod on a node has its time, others none."""
    if kind is not POD or not obj["spec"].get("nodeName"):
        return 0
    usual: int = obj["spec"].get("terminationGracePeriodSeconds", POD_GRACE_S)
    return usual if asked is None else asked


def is_over(meta: JsonObject) -> bool:
    """Whether an object that is being deleted has nothing left to wait for."""
    waiting = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
    return "deletionTimestamp" in meta and not waiting
