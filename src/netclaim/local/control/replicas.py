"""Deployments into ReplicaSets, and those into pods: as many as are wanted, of the latest template.

Each call brings the cluster one step nearer; a call that finds nothing to do writes nothing. Limit:
a new template replaces all pods at once.
"""

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec
import structlog

from netclaim.local.api.verbs import LETTERS, Verbs
from netclaim.local.node.pod_status import is_running
from netclaim.model.claim import JsonObject
from netclaim.schema.kinds import DEPLOYMENT, POD, REPLICA_SET, Kind
from netclaim.schema.refusal import RefusedError

__all__ = ["scale_deployments", "scale_replica_sets"]

HASH_LABEL: Final = "pod-template-hash"
HASH_LETTERS: Final = 9  # as the real controller's names mostly have
MANAGER: Final = "kube-controller-manager"

log = structlog.get_logger()


def scale_deployments(verbs: Verbs) -> None:
    """Give each Deployment the ReplicaSet of its template, and its older ones no pods."""
    for deployment in list(verbs.list(DEPLOYMENT)):
        owned = _owned(verbs, REPLICA_SET, deployment)
        digest = _digest(deployment["spec"].get("template", {}))
        current = f"{deployment['metadata']['name']}-{digest}"
        if all(found["metadata"]["name"] != current for found in owned):
            body = _replica_set(deployment, current, digest)
            owned.append(verbs.create(REPLICA_SET, body, manager=MANAGER))
        for found in owned:
            is_current = found["metadata"]["name"] == current
            wanted = deployment["spec"]["replicas"] if is_current else 0
            if found["spec"]["replicas"] != wanted:
                changed = {**found, "spec": {**found["spec"], "replicas": wanted}}
                verbs.replace(REPLICA_SET, changed, found, manager=MANAGER)
        pods = [pod for found in owned for pod in _owned(verbs, POD, found)]
        _count(verbs, DEPLOYMENT, deployment, pods)


def scale_replica_sets(verbs: Verbs) -> None:
    """Make the pods that a ReplicaSet lacks, and delete those that are too many."""
    for found in list(verbs.list(REPLICA_SET)):
        pods = _owned(verbs, POD, found)
        alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        wanted = found["spec"]["replicas"]
        for _ in range(wanted - len(alive)):
            if not _add_pod(verbs, found):
                break
        for pod in alive[wanted:]:
            verbs.delete(POD, pod["metadata"]["name"], pod["metadata"]["namespace"])
        _count(verbs, REPLICA_SET, found, alive)


def _add_pod(verbs: Verbs, replica_set: JsonObject) -> bool:
    """Make one more pod; says whether it was taken."""
    try:
        verbs.create(POD, _pod(replica_set), manager=MANAGER)
    except RefusedError as refusal:
        name, namespace = replica_set["metadata"]["name"], replica_set["metadata"]["namespace"]
        log.warning("control.pod_refused", set=name, namespace=namespace, error=str(refusal))
        return False
    return True


def _owned(verbs: Verbs, kind: Kind, owner: JsonObject) -> list[JsonObject]:
    uid = owner["metadata"]["uid"]
    return [
        found
        for found in verbs.list(kind, owner["metadata"]["namespace"])
        if any(ref["uid"] == uid for ref in found["metadata"].get("ownerReferences", ()))
    ]


def _replica_set(deployment: JsonObject, name: str, digest: str) -> JsonObject:
    spec, meta = deployment["spec"], deployment["metadata"]
    template = spec.get("template", {})
    labels = {**template.get("metadata", {}).get("labels", {}), HASH_LABEL: digest}
    selector = spec["selector"]
    matched = {**selector.get("matchLabels", {}), HASH_LABEL: digest}
    return {
        "apiVersion": REPLICA_SET.addresses[0].api_version,
        "kind": REPLICA_SET.name,
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "labels": labels,
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": {
            "replicas": spec["replicas"],
            "selector": {**selector, "matchLabels": matched},
            "template": {
                **template,
                "metadata": {**template.get("metadata", {}), "labels": labels},
            },
        },
    }


def _pod(replica_set: JsonObject) -> JsonObject:
    template, meta = replica_set["spec"]["template"], replica_set["metadata"]
    kept = {key: template["metadata"][key] for key in ("labels", "annotations")
            if key in template["metadata"]}  # fmt: skip
    return {
        "apiVersion": "v1",
        "kind": POD.name,
        "metadata": {
            **kept,
            "generateName": f"{meta['name']}-",
            "namespace": meta["namespace"],
            "ownerReferences": [owner_reference(replica_set)],
        },
        "spec": template.get("spec", {}),
    }


def owner_reference(owner: JsonObject) -> JsonObject:
    """How an object says that another one made it and takes it along when it goes."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _count(verbs: Verbs, kind: Kind, obj: JsonObject, pods: Iterable[JsonObject]) -> None:
    there = list(pods)
    ready = sum(is_running(pod) for pod in there)
    status = {"replicas": len(there), "readyReplicas": ready, "availableReplicas": ready}
    if kind is DEPLOYMENT:
        status["updatedReplicas"] = len(there)
    now = verbs.get(kind, obj["metadata"]["name"], obj["metadata"]["namespace"])
    verbs.replace(kind, {**now, "status": status}, now, manager=MANAGER, subresource="status")


def _digest(template: JsonObject) -> str:
    """A short name for a template: the same for the same, made of the letters of names."""
    digest = hashlib.sha256(msgspec.json.encode(template, order="sorted")).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:HASH_LETTERS])
