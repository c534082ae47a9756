"""What became of the Services that name a network: their endpoints, or what is wrong. No I/O.

A Service is settled when its slices have what they should have, by the rules of the controller.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from netclaim.controller.services.endpoints import Guard, endpoints_of
from netclaim.controller.services.interfaces import Interfaces
from netclaim.controller.services.pods import slim_pod
from netclaim.controller.services.spread import MANAGED_BY, MANAGER, SERVICE_NAME
from netclaim.local.api.store import Store
from netclaim.model.api.base import ObjectError
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.api.service import Service
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import show
from netclaim.schema.kinds import CLAIM, ENDPOINT_SLICE, POD, POD_NETWORK, SERVICE
from netclaim.schema.network_service import NetworkService, network_service


@dataclass(frozen=True, slots=True)
class ServiceOutcome:
    """A Service of a network, and its endpoints."""

    namespace: str
    name: str
    network: str
    endpoints: tuple[str, ...]  # addresses that are ready
    fault: str = ""  # why it has none
    doubt: str = ""
    settled: bool = True


def service_outcomes(store: Store, driver: str) -> tuple[ServiceOutcome, ...]:
    """Return what became of all Services that name a network."""
    named = list(_named(store))
    if not named:
        return ()
    interfaces = Interfaces(driver)
    for claim in store.list(CLAIM):
        interfaces.changed(None, {"status": {}, **claim})
    return tuple(_outcome(store, interfaces, *each) for each in named)


def _named(store: Store) -> Iterator[tuple[Service, NetworkService]]:
    for found in store.list(SERVICE):
        try:
            service = Service.read(found)
        except ObjectError:
            continue
        if (named := network_service(service)) is not None:
            yield service, named


def _outcome(
    store: Store, interfaces: Interfaces, service: Service, named: NetworkService
) -> ServiceOutcome:
    meta = service.metadata
    there = list(_published(store, service))
    fault = "; ".join(f"{show(each.path)}: {each.message}" for each in named.faults)
    found = store.get(POD_NETWORK, named.network)
    if found is None:
        fault = fault or f"there is no PodNetwork {named.network}"
        wanted: set[tuple[str, bool]] = set()
    else:
        wanted = set(_wanted(store, interfaces, service, named, PodNetwork.read(found)))
    return ServiceOutcome(
        meta.namespace,
        meta.name,
        named.network,
        tuple(address for address, ready in there if ready),
        fault,
        named.doubt,
        settled=bool(fault) or wanted == set(there),
    )


def _wanted(
    store: Store,
    interfaces: Interfaces,
    service: Service,
    named: NetworkService,
    network: PodNetwork,
) -> Iterator[tuple[str, bool]]:
    namespace = service.metadata.namespace
    pods = (
        (slim_pod(pod), interfaces.of((namespace, pod["metadata"]["uid"]), named.network))
        for pod in store.list(POD, namespace)
        if named.selects(pod["metadata"].get("labels", {}))
    )
    for endpoint in endpoints_of(service, pods, Guard(network), lambda _: ""):
        yield endpoint.key[1], endpoint.body["conditions"]["ready"]


def _published(store: Store, service: Service) -> Iterable[tuple[str, bool]]:
    for found in store.list(ENDPOINT_SLICE, service.metadata.namespace):
        if _labels(found).get(SERVICE_NAME) != service.metadata.name:
            continue
        if _labels(found).get(MANAGED_BY) == MANAGER:
            for each in found["endpoints"]:
                yield each["addresses"][0], each["conditions"]["ready"]


def _labels(found: JsonObject) -> JsonObject:
    labels: JsonObject = found["metadata"].get("labels", {})
    return labels
