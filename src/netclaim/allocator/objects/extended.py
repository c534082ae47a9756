"""Extended resources that a DeviceClass offers: what pods want of them, as requests of a claim.

They are read as kube-scheduler reads them (KEP-5004). No I/O.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from netclaim.model.api.base import JsonObject
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.quantity import Quantity, QuantityError

IMPLICIT: Final = "deviceclass.resource.kubernetes.io/"  # before a class's name: every class has it


class Wish(NamedTuple):
    """An amount of a resource that a container wants."""

    container: str
    position: int  # of the container, those of initContainers first
    resource: str
    amount: int


def offered(classes: Iterable[DeviceClass]) -> dict[str, str]:
    """Return the extended resources that classes offer, with the class of each."""
    found: dict[str, str] = {}
    for one in classes:
        found[f"{IMPLICIT}{one.name}"] = one.name
        if one.spec.extended_resource_name:
            found[one.spec.extended_resource_name] = one.name
    return found


def extended_resources(spec: Mapping[str, Any]) -> Iterator[Wish]:
    """Yield what the containers of a pod want of resources that are not Kubernetes' own."""
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    for position, container in enumerate(containers):
        resources = container.get("resources") or {}
        wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        for resource, amount in wanted.items():
            domain, slash, _ = resource.rpartition("/")
            if slash and (resource.startswith(IMPLICIT) or not _is_kubernetes(domain)):
                yield Wish(container.get("name", ""), position, resource, _count(amount))


def as_requests(wishes: Iterable[Wish], classes: Mapping[str, str]) -> dict[Wish, JsonObject]:
    """Return the request for each wish; `classes` has that of each resource."""
    return {
        wish: {
            "name": f"container-{wish.position}-request-{number}",
            "exactly": {
                "deviceClassName": classes[wish.resource],
                "allocationMode": "ExactCount",
                "count": wish.amount,
            },
        }
        for number, wish in enumerate(wishes)
    }


def _is_kubernetes(domain: str) -> bool:
    return domain == "kubernetes.io" or domain.endswith(".kubernetes.io")


def _count(amount: object) -> int:
    """Return a quantity as a whole number; 0 for anything else, which no API server stores."""
    try:
        return int(Quantity.parse(str(amount)).value)
    except QuantityError:
        return 0
