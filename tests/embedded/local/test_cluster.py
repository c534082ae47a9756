"""The embedded cluster: real drivers, real interfaces, from a manifest to a ping and back."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from netclaim.kernel import Rtnl, is_live, list_addresses, list_links, open_netns
from netclaim.local.cluster import EmbeddedCluster, embedded_cluster
from netclaim.local.input.topology_file import load_topology
from netclaim.local.machine import contained
from netclaim.local.node.kubelet import Pace
from netclaim.local.ping import ping
from netclaim.local.result.outcome import outcomes, settled
from netclaim.local.topology import DEFAULT_TOPOLOGY
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import CLAIM, CLASS, EVENT, POD, SLICE, TEMPLATE

pytestmark = pytest.mark.embedded

DRIVER = "cni.dra.networking.x-k8s.io"


def in_cluster(scenario: Callable[[EmbeddedCluster], Awaitable[None]]) -> None:
    """Run a scenario in a cluster of the seeds' topology, in a process of its own."""

    async def whole() -> int:
        topology = load_topology(DEFAULT_TOPOLOGY)
        pace = Pace(prepare_s=0.05, sandbox_s=0.05, unprepare_s=0.05)
        async with embedded_cluster(topology, [DRIVER], pace=pace) as cluster:
            make(cluster, CLASS, "c", {})
            await scenario(cluster)
        return 0

    assert contained(lambda: asyncio.run(whole())) == 0


def make(cluster: EmbeddedCluster, kind: Any, name: str, spec: Any) -> JsonObject:
    """Make an object."""
    head = {"apiVersion": kind.addresses[0].api_version, "kind": kind.name}
    return cluster.verbs.create(
        kind, {**head, "metadata": {"name": name}, "spec": spec}, manager="t", namespace="default"
    )


def claim_spec(link: str, subnet: str = "10.20.0.0/24", **plugin: Any) -> JsonObject:
    """A claim for a macvlan on a link that others may have too."""
    selector = f'device.attributes["{DRIVER}"].name == "{link}"'
    wanted = {
        "deviceClassName": "c",
        "adminAccess": True,
        "selectors": [{"cel": {"expression": selector}}],
    }
    ipam = {"type": "host-local", "ranges": [[{"subnet": subnet}]]}
    config = {"cniVersion": "1.0.0", "name": "n", "type": "macvlan", "ipam": ipam, **plugin}
    opaque = {"driver": DRIVER, "parameters": {"interface": "net1", "config": config}}
    return {
        "devices": {
            "requests": [{"name": "a", "exactly": wanted}],
            "config": [{"requests": ["a"], "opaque": opaque}],
        }
    }


def add_pod(cluster: EmbeddedCluster, name: str, **claim: str) -> JsonObject:
    """A pod with at most one claim."""
    claims = {"resourceClaims": [{"name": "net", **claim}]} if claim else {}
    return make(cluster, POD, name, {"containers": [{"name": "c", "image": "i"}], **claims})


async def all_settled(cluster: EmbeddedCluster, count: int) -> dict[str, Any]:
    """The outcomes by pod, once nothing more is going to happen."""

    def now() -> tuple[Any, ...]:
        return outcomes(cluster.store, [DRIVER])

    await cluster.store.wait_for(lambda: settled(now(), count))
    return {pod.name: pod for pod in now()}


async def all_gone(cluster: EmbeddedCluster) -> None:
    """Delete all pods and wait until nothing is left of them."""
    for pod in list(cluster.store.list(POD)):
        cluster.verbs.delete(POD, pod["metadata"]["name"], "default")
    await cluster.store.wait_for(lambda: not list(cluster.store.list(POD)))


async def links_of(netns: str) -> dict[str, set[str]]:
    """The links in a namespace with their IPv4 addresses."""
    with open_netns(netns) as opened, Rtnl.open(opened) as rtnl:
        links, addresses = await list_links(rtnl), await list_addresses(rtnl)
    return {
        link.name: {str(a) for a in addresses if a.index == link.index and ":" not in a.ip}
        for link in links
    }


def leases(node: str) -> set[str]:
    """The addresses that are given out on a node."""
    number = load_topology(DEFAULT_TOPOLOGY).nodes.index(node)
    networks = Path(f"/run/{number}/lib/cni/netclaim").glob("*/namespace/*/leases/n")
    leased = (path for network in networks for path in network.iterdir())
    return {path.name for path in leased if path.name[0].isdigit()}


def test_slices_show_the_nodes_links() -> None:
    """Each driver publishes its node's links, and none that belong to pods."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        add_pod(cluster, "plain")
        await all_settled(cluster, 1)
        found = {
            found["spec"]["nodeName"]: [device["name"] for device in found["spec"]["devices"]]
            for found in cluster.store.list(SLICE)
        }
        assert found == {
            "kind-control-plane": ["cni", "eth0"],
            "kind-worker": ["cni", "eth0", "eth1"],
            "kind-worker2": ["cni", "eth0"],
        }

    in_cluster(scenario)


def test_pod_gets_its_interface_and_gives_it_back() -> None:
    """From a template to an interface in the pod and its report, and all the way back."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        make(cluster, TEMPLATE, "t", {"spec": claim_spec("eth1")})
        for name in ("p", "q"):
            add_pod(cluster, name, resourceClaimTemplateName="t")
        found = await all_settled(cluster, 2)
        assert {pod.state for pod in found.values()} == {"ready"}
        assert {pod.node for pod in found.values()} == {"kind-worker"}
        netns = {name: cluster.netns_of(pod.uid) for name, pod in found.items()}
        for name, pod in found.items():
            there = await links_of(netns[name])
            assert there.keys() == {"lo", "eth0", "net1"}
            assert there["net1"] == set(pod.interfaces[0].ips)
            assert there["eth0"] == {f"{pod.ip}/24"}
        address = found["q"].interfaces[0].ips[0].partition("/")[0]
        assert len(await ping(netns["p"], address, 2)) == 2
        assert len(leases("kind-worker")) == 2
        await all_gone(cluster)
        await cluster.store.wait_for(lambda: not list(cluster.store.list(CLAIM)))
        assert not any(is_live(path) for path in netns.values())
        assert leases("kind-worker") == set()
        assert [note for node in cluster.nodes for note in node.kubelet.claims.notes] == []

    in_cluster(scenario)


def test_pods_reach_each_other_across_nodes() -> None:
    """The primary network leads from any pod to any other."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        for name in ("p", "q", "r"):
            add_pod(cluster, name)
        found = await all_settled(cluster, 3)
        assert len({pod.node for pod in found.values()}) == 3
        for other in ("q", "r"):
            assert await ping(cluster.netns_of(found["p"].uid), found[other].ip, 1)

    in_cluster(scenario)


def test_shared_claim_gives_each_pod_an_interface() -> None:
    """Two pods on one claim have an interface each, and the claim is released after the last."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        make(cluster, CLAIM, "x", claim_spec("eth1"))
        for name in ("p", "q"):
            add_pod(cluster, name, resourceClaimName="x")
        found = await all_settled(cluster, 2)
        ips = {pod.interfaces[0].ips for pod in found.values()}
        assert len(ips) == 2
        cluster.verbs.delete(POD, "p", "default")
        await cluster.store.wait_for(lambda: cluster.store.get(POD, "p", "default") is None)
        assert "allocation" in cluster.verbs.get(CLAIM, "x", "default")["status"]
        assert "net1" in await links_of(cluster.netns_of(found["q"].uid))
        await all_gone(cluster)
        await cluster.store.wait_for(
            lambda: "allocation" not in cluster.verbs.get(CLAIM, "x", "default")["status"]
        )
        assert leases("kind-worker") == set()

    in_cluster(scenario)


@pytest.mark.parametrize(
    ("claim", "stage", "told"),
    [
        (claim_spec("eth9"), "schedule", '"eth9"` is false'),
        (claim_spec("eth1", master="eth0"), "prepare", "eth0"),
        (claim_spec("eth1", mtu=9000), "attach", "macvlan"),
    ],
)
def test_what_stops_a_pod_is_told(claim: JsonObject, stage: str, told: str) -> None:
    """The scheduler's, the preparing and the attaching driver's words reach the outcome."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        make(cluster, CLAIM, "x", claim)
        add_pod(cluster, "p", resourceClaimName="x")
        pod = (await all_settled(cluster, 1))["p"]
        assert (pod.state, pod.stage) == ("stopped", stage)
        assert told in pod.reason
        await all_gone(cluster)
        assert leases("kind-worker") == set()

    in_cluster(scenario)


def test_pod_that_could_not_start_starts_once_it_can() -> None:
    """A pod for which no address was left gets the one that another pod gives back."""
    one = claim_spec("eth1", "10.20.0.0/30")
    ranges = one["devices"]["config"][0]["opaque"]["parameters"]["config"]["ipam"]["ranges"]
    ranges[0][0] |= {"rangeStart": "10.20.0.2", "rangeEnd": "10.20.0.2"}

    async def scenario(cluster: EmbeddedCluster) -> None:
        make(cluster, TEMPLATE, "t", {"spec": one})
        add_pod(cluster, "p", resourceClaimTemplateName="t")
        await all_settled(cluster, 1)
        add_pod(cluster, "q", resourceClaimTemplateName="t")
        assert (await all_settled(cluster, 2))["q"].state == "stopped"
        cluster.verbs.delete(POD, "p", "default")

        def is_ready() -> bool:
            found = {pod.name: pod for pod in outcomes(cluster.store, [DRIVER])}
            return found["q"].state == "ready"

        await cluster.store.wait_for(is_ready)
        reasons = {event["reason"] for event in cluster.store.list(EVENT)}
        assert reasons == {"FailedCreatePodSandBox", "NetworkInterfaceNotReady"}

    in_cluster(scenario)


@pytest.mark.parametrize("turns", [2, 3])
def test_ends_while_its_objects_change(turns: int) -> None:
    """A cluster can be left while its controller is reading: nothing is closed under it."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        make(cluster, TEMPLATE, "last", {"spec": claim_spec("eth1")})
        for _ in range(turns):  # of the event loop: the change has come, and is being read
            await asyncio.sleep(0)

    in_cluster(scenario)
