"""ReplicaSets of Deployments, and pods of ReplicaSets: as many as wanted, of the latest template.

Each call brings the cluster one step nearer; a call that finds nothing to do writes nothing. Limit:
a new template replaces all pods at once.
"""

import hashlib
from typing import Final

import msgspec

from netclaim.local.api.verbs import LETTERS, Verbs
from netclaim.local.control.owned_pods import (
    MANAGER,
    add_pod,
    count_pods,
    delete_pods,
    living_pods,
    owned_by,
    owner_reference,
)
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import DEPLOYMENT, POD, REPLICA_SET

HASH_LABEL: Final = "pod-template-hash"
HASH_LETTERS: Final = 9  # as the real controller's names mostly have


def scale_deployments(verbs: Verbs) -> None:
    """Give each Deployment the ReplicaSet of its template, and scale older ones down to zero."""
    for deployment in list(verbs.list(DEPLOYMENT)):
        owned = owned_by(verbs, REPLICA_SET, deployment)
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
        pods = [pod for found in owned for pod in owned_by(verbs, POD, found)]
        count_pods(verbs, DEPLOYMENT, deployment, pods)


def scale_replica_sets(verbs: Verbs) -> None:
    """Make the pods that a ReplicaSet lacks, and delete those that are too many."""
    for found in list(verbs.list(REPLICA_SET)):
        alive = living_pods(verbs, found)
        wanted = found["spec"]["replicas"]
        for _ in range(wanted - len(alive)):
            if not add_pod(verbs, found):
                break
        delete_pods(verbs, alive[wanted:])
        count_pods(verbs, REPLICA_SET, found, alive)


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


def _digest(template: JsonObject) -> str:
    """Return a short name for a template: the same for the same, of letters allowed in names."""
    digest = hashlib.sha256(msgspec.json.encode(template, order="sorted")).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest[:HASH_LETTERS])
