"""An object's life as the server sees it: how it begins, what counts as a change, how it ends.

Pure.
"""

from collections.abc import Mapping
from typing import Any, Final

from netclaim.model.claim import JsonObject
from netclaim.schema.kinds import CLAIM, EVENT, NAMESPACE, NODE, POD, TEMPLATE, Kind

__all__ = ["SYSTEM_META", "born", "content", "grace_s", "is_over", "through_door"]

# Metadata that a write never changes.
SYSTEM_META: Final = (
    "name", "generateName", "namespace", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields",
)  # fmt: skip
UNGENERATED: Final = (CLAIM, TEMPLATE, EVENT, NAMESPACE, NODE)  # have no metadata.generation
POD_GRACE_S: Final = 30  # what a pod has to end, unless it says otherwise
FIRST_STATUS: Final[Mapping[str, Mapping[str, Any]]] = {
    "Pod": {"phase": "Pending"},
    "Namespace": {"phase": "Active"},
}


def born(obj: JsonObject, kind: Kind) -> JsonObject:
    """The object with the metadata and status it begins with, whatever its maker says."""
    meta = obj["metadata"]
    if kind in UNGENERATED:
        meta = {key: value for key, value in meta.items() if key != "generation"}
    if not kind.has_status or kind is NODE:  # kubelet says of its node how it is
        return {**obj, "metadata": meta}
    return {**obj, "metadata": meta, "status": dict(FIRST_STATUS.get(kind.name, {}))}


def through_door(config: JsonObject, subresource: str) -> JsonObject:
    """What of an intent counts: only the status by its own path, all but the status elsewhere."""
    if subresource:
        return {key: config[key] for key in ("apiVersion", "kind", "status") if key in config}
    return {key: value for key, value in config.items() if key != "status"}


def content(obj: JsonObject) -> JsonObject:
    """What makes two objects the same: everything but versions and the times of ownership."""
    meta = {key: obj["metadata"][key] for key in obj["metadata"] if key != "resourceVersion"}
    owners = [
        {key: value for key, value in entry.items() if key != "time"}
        for entry in meta.get("managedFields", ())
    ]
    return {**obj, "metadata": {**meta, "managedFields": owners}}


def grace_s(kind: Kind, obj: JsonObject, asked: int | None) -> int:
    """How long an object may take to end: a pod on a node has its time, others none."""
    if kind is not POD or not obj["spec"].get("nodeName"):
        return 0
    usual: int = obj["spec"].get("terminationGracePeriodSeconds", POD_GRACE_S)
    return usual if asked is None else asked


def is_over(meta: JsonObject) -> bool:
    """Whether an object that is being deleted has nothing left to wait for."""
    waiting = meta.get("finalizers") or meta.get("deletionGracePeriodSeconds")
    return "deletionTimestamp" in meta and not waiting
