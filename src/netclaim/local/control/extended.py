"""Extended resources that a DeviceClass offers: the claim behind a pod's request for them.

As kube-scheduler does it (KEP-5004), except that the claim is made before there is a node for the
pod. Each call makes what is missing; a call that finds nothing to do writes nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from netclaim.local.api.verbs import Verbs
from netclaim.local.control.claims import refuse_pod
from netclaim.local.control.owned import owner_reference
from netclaim.model.claim import JsonObject
from netclaim.model.quantity import Quantity, QuantityError
from netclaim.schema.kinds import CLAIM, CLASS, POD
from netclaim.schema.refusal import RefusedError

__all__ = ["extended_resources", "make_extended_claims", "offered"]

MANAGER: Final = "kube-scheduler"
IMPLICIT: Final = "deviceclass.resource.kubernetes.io/"  # before a class's name: every class has it
ANNOTATION: Final = "resource.kubernetes.io/extended-resource-claim"


class Wish(NamedTuple):
    """So many of a resource, for one container."""

    container: str
    position: int  # of the container, those of initContainers first
    resource: str
    amount: int


def offered(classes: Iterable[JsonObject]) -> dict[str, str]:
    """The extended resources that classes offer, with the class of each."""
    found: dict[str, str] = {}
    for one in classes:
        name = one["metadata"]["name"]
        found[f"{IMPLICIT}{name}"] = name
        if explicit := one.get("spec", {}).get("extendedResourceName"):
            found[explicit] = name
    return found


def extended_resources(spec: JsonObject) -> Iterator[Wish]:
    """What the containers of a pod want of resources that are not Kubernetes' own."""
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    for position, container in enumerate(containers):
        resources = container.get("resources") or {}
        wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for resource, amount in wanted.items():
            domain, slash, _ = resource.rpartition("/")
            if slash and (resource.startswith(IMPLICIT) or not _is_kubernetes(domain)):
                yield Wish(container.get("name", ""), position, resource, _count(amount))


def make_extended_claims(verbs: Verbs) -> None:
    """Make one claim for all extended resources of each pod that a class offers."""
    classes = offered(verbs.list(CLASS))
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
    named = {f"container-{w.position}-request-{n}": w for n, w in enumerate(wishes)}
    requests = [
        {
            "name": name,
            "exactly": {
                "deviceClassName": classes[wish.resource],
                "allocationMode": "ExactCount",
                "count": wish.amount,
            },
        }
        for name, wish in named.items()
    ]
    body = {
        "apiVersion": CLAIM.addresses[0].api_version,
        "kind": CLAIM.name,
        "metadata": {
            "annotations": {ANNOTATION: "true"},
            "generateName": f"{meta['name']}-extended-resources-",
            "namespace": meta["namespace"],
            "ownerReferences": [owner_reference(pod)],
        },
        "spec": {"devices": {"requests": requests}},
    }
    try:
        claim = verbs.create(CLAIM, body, manager=MANAGER)
    except RefusedError as refusal:
        refuse_pod(verbs, pod, str(refusal))
        return
    mappings = [
        {"containerName": wish.container, "resourceName": wish.resource, "requestName": name}
        for name, wish in named.items()
    ]
    made = {"resourceClaimName": claim["metadata"]["name"], "requestMappings": mappings}
    now = verbs.get(POD, meta["name"], meta["namespace"])
    status = {**now.get("status", {}), "extendedResourceClaimStatus": made}
    verbs.replace(POD, {**now, "status": status}, now, manager=MANAGER, subresource="status")


def _is_kubernetes(domain: str) -> bool:
    return domain == "kubernetes.io" or domain.endswith(".kubernetes.io")


def _count(amount: object) -> int:
    """The whole number that a quantity is; 0 for what is none, which no API server stores."""
    try:
        return int(Quantity.parse(str(amount)).value)
    except QuantityError:
        return 0
