"""What controllers of pods share: the pods of an owner, making one more, counting them.

Promise: a pod that the API refuses is logged and left out; nothing here raises for it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import structlog

from netclaim.local.api.verbs import Verbs
from netclaim.local.node.pod_status import is_running
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import DAEMON_SET, DEPLOYMENT, JOB, POD, Kind
from netclaim.schema.refusal import RefusedError

MANAGER: Final = "kube-controller-manager"

log = structlog.get_logger()


def owner_reference(owner: JsonObject) -> JsonObject:
    """Return a reference to the object that made another, which is deleted together with it."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owned_by(verbs: Verbs, kind: Kind, owner: JsonObject) -> list[JsonObject]:
    """Return the objects of a kind that another one made."""
    uid = owner["metadata"]["uid"]
    return [
        found
        for found in verbs.list(kind, owner["metadata"]["namespace"])
        if any(ref["uid"] == uid for ref in found["metadata"].get("ownerReferences", ()))
    ]


def living_pods(verbs: Verbs, owner: JsonObject) -> list[JsonObject]:
    """Return the pods of an owner that are not being deleted."""
    pods = owned_by(verbs, POD, owner)
    return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]


def add_pod(
    verbs: Verbs,
    owner: JsonObject,
    *,
    name: str = "",
    prefix: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
) -> bool:
    """Make one more pod from an owner's template; returns whether the API accepted it.

    Without a name it gets one from the prefix, which is the owner's name unless it is given.
    """
    template, meta = owner["spec"].get("template", {}), owner["metadata"]
    inner = template.get("metadata", {})
    body = {
        "apiVersion": "v1",
        "kind": POD.name,
        "metadata": {
            **_filled("labels", {**inner.get("labels", {}), **(labels or {})}),
            **_filled("annotations", {**inner.get("annotations", {}), **(annotations or {})}),
            **({"name": name} if name else {"generateName": f"{prefix or meta['name']}-"}),
            "namespace": meta["namespace"],
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": {**template.get("spec", {}), **(spec or {})},
    }
    try:
        verbs.create(POD, body, manager=MANAGER)
    except RefusedError as refusal:
        owned = {"owner": meta["name"], "namespace": meta["namespace"]}
        log.warning("control.pod_refused", **owned, error=str(refusal))
        return False
    return True


def delete_pods(verbs: Verbs, pods: Iterable[JsonObject]) -> None:
    for pod in pods:
        verbs.delete(POD, pod["metadata"]["name"], pod["metadata"]["namespace"])


def count_pods(verbs: Verbs, kind: Kind, obj: JsonObject, pods: Iterable[JsonObject]) -> None:
    """Write how many pods an owner has, and how many of them run."""
    there = list(pods)
    ready = sum(is_running(pod) for pod in there)
    now = verbs.get(kind, obj["metadata"]["name"], obj["metadata"]["namespace"])
    status = _status(kind, len(there), ready)
    verbs.set_status(kind, now, status, manager=MANAGER)


def _status(kind: Kind, there: int, ready: int) -> JsonObject:
    """Return the counts under the names that each kind has for them."""
    if kind is JOB:
        return {"active": there, "ready": ready}
    if kind is DAEMON_SET:
        return {
            "desiredNumberScheduled": there,
            "currentNumberScheduled": there,
            "numberReady": ready,
            "numberAvailable": ready,
        }
    status = {"replicas": there, "readyReplicas": ready, "availableReplicas": ready}
    return {**status, "updatedReplicas": there} if kind is DEPLOYMENT else status


def _filled(key: str, values: Mapping[str, str]) -> JsonObject:
    return {key: dict(values)} if values else {}
