"""Services of networks and pods on networks, for tests, and what slices say of them."""

from collections.abc import Iterable
from typing import Any

from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import CLAIM, ENDPOINT_SLICE, POD, SERVICE
from netclaim.schema.network_service import NETWORK, SELECTOR
from tests.support.controller_parts import DRIVER, World

SLICES = ENDPOINT_SLICE
SINCE = "2026-01-01T00:00:00Z"
PORTS = [{"name": "web", "port": 80, "targetPort": "http"}]
CONTAINER = {"name": "c", "image": "i", "ports": [{"name": "http", "containerPort": 8080}]}


def network_service(
    world: World,
    name: str = "web",
    network: str = "media-net",
    *,
    pods: str | None = "app=web",
    namespace: str = "default",
    **spec: Any,
) -> JsonObject:
    """Create a Service of a network."""
    annotations = {NETWORK: network} | ({SELECTOR: pods} if pods is not None else {})
    whole = {"clusterIP": "None", "ports": PORTS, **spec}
    return world.create(SERVICE, name, namespace, annotations=annotations, spec=whole)


def app_pod(world: World, name: str, *, ready: bool = True, **spec: Any) -> JsonObject:
    """A pod of the Service above, on a node; `namespace` and `labels` may be others."""
    namespace, labels = spec.pop("namespace", "default"), spec.pop("labels", {"app": "web"})
    whole = {"nodeName": "node-a", "containers": [CONTAINER], **spec}
    made = world.create(POD, name, namespace, labels=labels, spec=whole)
    return set_ready(world, made, ready=ready)


def set_ready(world: World, pod: JsonObject, *, ready: bool, phase: str = "Running") -> JsonObject:
    """Report a pod."""
    condition = {"type": "Ready", "status": str(ready)}
    status = {"phase": phase, "conditions": [condition]}
    return world.verbs.set_status(POD, _live(world, pod), status, manager="test")


def wire(
    world: World,
    pod: JsonObject,
    *ips: str,
    network: str = "media-net",
    ready: bool = True,
    healthy: bool | None = None,
    driver: str = DRIVER,
) -> None:
    """Give a pod a claim for a network, or change what the claim's driver says."""
    meta = pod["metadata"]
    name = f"{meta['name']}-{network}"
    if world.store.get(CLAIM, name, meta["namespace"]) is None:
        request = {"name": "nic", "exactly": {"deviceClassName": network}}
        spec = {"devices": {"requests": [request]}}
        world.create(CLAIM, name, meta["namespace"], spec=spec)
    device = {"driver": driver, "pool": "node-a", "device": "eth1"}
    conditions = [_condition("Ready", holds=ready)]
    if healthy is not None:
        conditions.append(_condition("Healthy", holds=healthy))
    status = {
        "allocation": {"devices": {"results": [{"request": "nic", **device}]}},
        "reservedFor": [{"resource": "pods", "name": meta["name"], "uid": meta["uid"]}],
        "devices": [
            {
                **device,
                "conditions": conditions,
                "data": {"podNetwork": {"kind": "PodNetwork", "name": network}},
                "networkData": {"interfaceName": "net1", "ips": list(ips)},
            }
        ],
    }
    live = world.verbs.get(CLAIM, name, meta["namespace"])
    world.verbs.set_status(CLAIM, live, status, manager="test")


def slices(world: World, service: str = "web", namespace: str = "default") -> list[JsonObject]:
    """The slices of a Service."""
    label = "kubernetes.io/service-name"
    found = world.store.list(SLICES, namespace)
    return [each for each in found if each["metadata"].get("labels", {}).get(label) == service]


def endpoints(world: World, service: str = "web", namespace: str = "default") -> JsonObject:
    """The conditions of a Service's endpoints, by their addresses; only those that are true."""
    return {
        each["addresses"][0]: {key for key, holds in each["conditions"].items() if holds}
        for found in slices(world, service, namespace)
        for each in found["endpoints"]
    }


def all_ready(*addresses: str) -> JsonObject:
    """What `endpoints` returns of endpoints that work."""
    return {each: {"ready", "serving"} for each in addresses}


def sizes(found: Iterable[JsonObject]) -> list[int]:
    """How many endpoints each slice has, the fullest first."""
    return sorted((len(each["endpoints"]) for each in found), reverse=True)


def _condition(kind: str, *, holds: bool) -> JsonObject:
    return {
        "type": kind,
        "status": str(holds),
        "reason": "Test",
        "message": "",
        "lastTransitionTime": SINCE,
    }


def _live(world: World, found: JsonObject) -> JsonObject:
    meta = found["metadata"]
    return world.verbs.get(POD, meta["name"], meta["namespace"])
