"""Make the claim behind a pod's request for extended resources that a DeviceClass offers.

This works as in kube-scheduler (KEP-5004), except that the claim is made before there is a node for
the pod. Each call makes what is missing; a call that finds nothing to do writes nothing.
"""

from collections.abc import Mapping
from typing import Final

from netclaim.allocator.objects.extended import Wish, as_requests, extended_resources, offered
from netclaim.local.api.verbs import Verbs
from netclaim.local.control.claims import refuse_pod
from netclaim.local.control.owned_pods import owner_reference
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import CLAIM, CLASS, POD
from netclaim.schema.refusal import RefusedError

MANAGER: Final = "kube-scheduler"
ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"


def make_extended_claims(verbs: Verbs) -> None:
    """Make one claim for all extended resources of each pod that a class offers."""
    classes = offered(map(DeviceClass.read, verbs.list(CLASS)))
    for pod in list(verbs.list(POD)):
        if pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"]:
            continue
        if "extendedResourceClaimStatus" not in pod.get("status", {}):
            wishes = [
                wish
                for wish in extended_resources(pod["spec"])
                if wish.resource in classes and wish.amount
            ]
            if wishes:
                _make(verbs, pod, wishes, classes)


def _make(verbs: Verbs, pod: JsonObject, wishes: list[Wish], classes: Mapping[str, str]) -> None:
    meta = pod["metadata"]
    asked = as_requests(wishes, classes)
    body = {
        "apiVersion": CLAIM.addresses[0].api_version,
        "kind": CLAIM.name,
        "metadata": {
            "annotations": {ANNOTATION: "true"},
            "generateName": f"{meta['name']}-extended-resources-",
            "namespace": meta["namespace"],
            "ownerReferences": [owner_reference(pod)],
        },
        "spec": {"devices": {"requests": list(asked.values())}},
    }
    try:
        claim = verbs.create(CLAIM, body, manager=MANAGER)
    except RefusedError as refusal:
        refuse_pod(verbs, pod, str(refusal))
        return
    mappings = [
        {
            "containerName": wish.container,
            "resourceName": wish.resource,
            "requestName": request["name"],
        }
        for wish, request in asked.items()
    ]
    made = {"resourceClaimName": claim["metadata"]["name"], "requestMappings": mappings}
    now = verbs.get(POD, meta["name"], meta["namespace"])
    status = {**now.get("status", {}), "extendedResourceClaimStatus": made}
    verbs.set_status(POD, now, status, manager=MANAGER)
