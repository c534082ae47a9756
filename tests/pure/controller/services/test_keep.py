"""Services that name a network have its addresses as endpoints, on an embedded API server."""

from typing import Any

from netclaim.controller.services.spread import MANAGED_BY, MANAGER
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import ENDPOINT_SLICE, EVENT, NODE, POD, POD_NETWORK, SERVICE
from netclaim.schema.network_service import DUMMY, NETWORK, SELECTOR, UPSTREAM_KIND, UPSTREAM_NAME
from tests.support.controller_parts import World, controlled
from tests.support.service_parts import (
    all_ready,
    app_pod,
    endpoints,
    network_service,
    set_ready,
    slices,
    wire,
)


def complaints(world: World) -> dict[str, str]:
    """The events at Services, by their reasons."""
    found = (each for each in world.store.list(EVENT) if each["regarding"]["kind"] == "Service")
    return {each["reason"]: each["note"] for each in found}


async def test_pods_are_endpoints_by_their_addresses_on_the_network() -> None:
    """IPv4 and IPv6 in slices of their own, ports by their names, and who it is."""
    async with controlled() as world:
        world.create(NODE, "node-a", labels={"topology.kubernetes.io/zone": "z1"})
        world.network()
        service = network_service(world)
        pod = app_pod(world, "a", hostname="a", subdomain="web")
        wire(world, pod, "10.10.1.5/24", "fd00::5/64", "fe80::1/64")
        app_pod(world, "without")
        wire(world, app_pod(world, "other", labels={"app": "db"}), "10.10.1.6/24")
        await world.until(lambda: len(slices(world)) == 2)
        assert endpoints(world) == all_ready("10.10.1.5", "fd00::5")
        four, six = sorted(slices(world), key=lambda each: str(each["addressType"]))
        assert (four["addressType"], six["addressType"]) == ("IPv4", "IPv6")
        assert four["ports"] == [{"name": "web", "port": 8080, "protocol": "TCP"}]
        (owner,) = four["metadata"]["ownerReferences"]
        assert owner["uid"] == service["metadata"]["uid"]
        labels = four["metadata"]["labels"]
        assert labels[MANAGED_BY] == MANAGER
        assert labels["service.kubernetes.io/headless"] == ""
        (endpoint,) = four["endpoints"]
        assert endpoint["nodeName"] == "node-a"
        assert endpoint["zone"] == "z1"
        assert endpoint["hostname"] == "a"
        assert endpoint["targetRef"]["uid"] == pod["metadata"]["uid"]


async def test_an_endpoint_is_ready_when_its_pod_and_its_interface_are() -> None:
    """Either of them takes the readiness, and gives it back; the end of the pod takes it all."""
    async with controlled() as world:
        world.network()
        network_service(world)
        pod = app_pod(world, "a", ready=False)
        wire(world, pod, "10.10.1.5/24")
        await world.until(lambda: endpoints(world) == {"10.10.1.5": set()})
        set_ready(world, pod, ready=True)
        await world.until(lambda: endpoints(world) == all_ready("10.10.1.5"))
        for attached in (True, False):
            wire(world, pod, "10.10.1.5/24", ready=attached, healthy=not attached)
            await world.until(lambda: endpoints(world) == {"10.10.1.5": set()})
            wire(world, pod, "10.10.1.5/24", healthy=True)
            await world.until(lambda: endpoints(world) == all_ready("10.10.1.5"))
        world.verbs.delete(POD, "a", "default")
        ending = {"10.10.1.5": {"serving", "terminating"}}
        await world.until(lambda: endpoints(world) == ending)
        set_ready(world, pod, ready=False, phase="Succeeded")
        await world.until(lambda: not slices(world))


async def test_addresses_may_be_published_before_they_are_ready() -> None:
    """If the Service says so."""
    async with controlled() as world:
        world.network()
        network_service(world, publishNotReadyAddresses=True)
        wire(world, app_pod(world, "a", ready=False), "10.10.1.5/24")
        await world.until(lambda: endpoints(world) == {"10.10.1.5": {"ready"}})


async def test_the_upstream_labels_name_a_network_too() -> None:
    """With a label in the selector that no pod has; the rest of it selects the pods."""
    async with controlled() as world:
        world.network()
        labels = {UPSTREAM_NAME: "media-net", UPSTREAM_KIND: "cni-networking-x-k8s-io-podnetwork"}
        spec = {"clusterIP": "None", "selector": {"app": "web", DUMMY: "true"}}
        world.create(SERVICE, "web", "default", labels=labels, spec=spec)
        theirs = {**labels, UPSTREAM_KIND: "devicenetwork-io-devicenetwork"}
        world.create(SERVICE, "theirs", "default", labels=theirs, spec=spec)
        wire(world, app_pod(world, "a"), "10.10.1.5/24")
        await world.until(lambda: endpoints(world) == all_ready("10.10.1.5"))
        assert slices(world)[0]["ports"] == []
        assert slices(world, "theirs") == []


async def test_a_service_selects_pods_of_its_own_namespace_only() -> None:
    """And interfaces on its own network, as our own driver reports them."""
    async with controlled("other") as world:
        world.network()
        world.network("second")
        network_service(world)
        wire(world, app_pod(world, "elsewhere", namespace="other"), "10.10.1.6/24")
        wire(world, app_pod(world, "forged"), "10.10.1.8/24", driver="x.example.com")
        own = app_pod(world, "a")
        wire(world, own, "10.20.1.5/24", network="second")
        wire(world, own, "10.10.1.5/24")
        await world.until(lambda: bool(slices(world)))
        assert endpoints(world) == all_ready("10.10.1.5")


async def test_an_address_that_a_claim_chose_is_published_only_if_the_network_has_it() -> None:
    """Otherwise a tenant could send traffic of others anywhere; the Service says so."""
    ipam: dict[str, Any] = {"type": "host-local", "ranges": [[{"subnet": "10.10.1.0/24"}]]}
    async with controlled() as world:
        world.network(ipam=ipam, allow=["ips"])
        network_service(world)
        wire(world, app_pod(world, "good"), "10.10.1.77/24")
        wire(world, app_pod(world, "evil"), "10.96.0.1/32")
        await world.until(lambda: "AddressNotPublished" in complaints(world))
        assert endpoints(world) == all_ready("10.10.1.77")
        assert "10.96.0.1 of pod evil" in complaints(world)["AddressNotPublished"]


async def test_what_is_wrong_with_a_service_is_said_at_it() -> None:
    """It has no endpoints then; with a ClusterIP it has, and is told that nobody reaches them."""
    async with controlled() as world:
        world.network()
        wire(world, app_pod(world, "a"), "10.10.1.5/24")
        network_service(world, clusterIP="10.96.0.9")
        await world.until(lambda: "ClusterIPUnreachable" in complaints(world))
        assert endpoints(world) == all_ready("10.10.1.5")
        assert "service.kubernetes.io/headless" not in slices(world)[0]["metadata"]["labels"]
        network_service(world, "both", pods=None, selector={"app": "web"})
        await world.until(lambda: "NetworkServiceInvalid" in complaints(world))
        assert "primary addresses" in complaints(world)["NetworkServiceInvalid"]
        network_service(world, "none", "no-such-net")
        await world.until(lambda: "NetworkNotFound" in complaints(world))
        assert not slices(world, "both")
        assert not slices(world, "none")


async def test_slices_go_when_the_service_names_no_network() -> None:
    """Or the Service goes, or the network; those of others stay."""
    async with controlled() as world:
        others = world.create(ENDPOINT_SLICE, "web-x", "default", **FOREIGN)
        world.network()
        service = network_service(world)
        wire(world, app_pod(world, "a"), "10.10.1.5/24")
        await world.until(lambda: bool(endpoints(world)))
        meta = service["metadata"]
        world.change(SERVICE, "web", "default", metadata={**meta, "annotations": {}})
        await world.until(lambda: slices(world) == [others])
        world.change(SERVICE, "web", "default", metadata={**_named(world, "web")})
        await world.until(lambda: bool(endpoints(world)))
        world.verbs.delete(SERVICE, "web", "default")
        await world.until(lambda: slices(world) == [others])
        network_service(world)
        await world.until(lambda: bool(endpoints(world)))
        live = world.verbs.get(POD_NETWORK, "media-net")
        world.change(POD_NETWORK, "media-net", spec={**live["spec"], "provider": "x.example.com"})
        await world.until(lambda: slices(world) == [others])


async def test_a_controller_that_starts_finds_its_slices() -> None:
    """It writes nothing that is right, and deletes those of a Service that is gone."""
    left: list[JsonObject] = []

    async with controlled() as before:
        before.network()
        network_service(before)
        wire(before, app_pod(before, "a"), "10.10.1.5/24")
        await before.until(lambda: bool(endpoints(before)))
        left += [*before.store.list(ENDPOINT_SLICE)]

    async with controlled(known=before) as world:
        orphan = {**left[0], "metadata": {**left[0]["metadata"], "name": "orphan"}}
        del orphan["metadata"]["resourceVersion"]
        orphan["metadata"]["labels"] = {MANAGED_BY: MANAGER, "kubernetes.io/service-name": "gone"}
        world.verbs.create(ENDPOINT_SLICE, orphan, manager="test", namespace="default")
        await world.until(lambda: not slices(world, "gone"))
        assert slices(world) == left


FOREIGN: dict[str, Any] = {
    "labels": {"kubernetes.io/service-name": "web", MANAGED_BY: "endpointslice-controller.k8s.io"},
    "addressType": "IPv4",
    "endpoints": [],
    "ports": [],
}


def _named(world: World, name: str) -> JsonObject:
    """The metadata of a Service, with its network."""
    meta: JsonObject = world.verbs.get(SERVICE, name, "default")["metadata"]
    return {**meta, "annotations": {NETWORK: "media-net", SELECTOR: "app=web"}}
