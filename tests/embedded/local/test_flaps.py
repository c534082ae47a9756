"""A link that is removed and made again at once, under the interfaces that pods have on it.

NETCLAIM_FLAPS=N does so N times, instead of a dozen, and prints how long pods were without what
they had; `make soak` has 1,000.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from netclaim.local.cluster import EmbeddedCluster
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import CLAIM, CLASS, EVENT, POD, SLICE
from tests.embedded.local.test_cluster import (
    add_pod,
    all_gone,
    all_settled,
    claim_spec,
    in_cluster,
    leases,
    make,
)

# A thousand flaps take some ten minutes where nothing else runs.
pytestmark = [pytest.mark.embedded, pytest.mark.timeout(3600)]

FLAPS = int(os.environ.get("NETCLAIM_FLAPS", "12"))
POLL_S = 0.02
BOUND_S = 2.0  # what docs/reliability.md says of a flap on a node that has time
DIGITS = "0123456789"  # a pod's other link has the index of the interface in its name
MADE_AGAIN = """
link del data0
link add data0 address 02:00:00:00:da:7a type veth peer name data0-peer
link set data0-peer up
link set data0 up
"""
ROUTE = {"routes": [{"dst": "198.51.100.0/24", "gw": "10.20.0.1"}]}


def shown(netns: str, *command: str) -> Any:
    """What `ip` says in a namespace."""
    ip = ["nsenter", f"--net={netns}", "ip", "-j", *command]
    done = subprocess.run(ip, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else []


def interface(netns: str) -> tuple[Any, ...]:
    """What a pod has of its net1; nothing if it has none."""
    addresses = shown(netns, "address", "show", "dev", "net1")
    if not addresses or "UP" not in addresses[0]["flags"]:
        return ()
    ips = [each["local"] for each in addresses[0]["addr_info"] if each["scope"] == "global"]
    routes = shown(netns, "route", "show", "dev", "net1")
    ways = sorted((each["dst"], each.get("gateway", "")) for each in routes)
    return addresses[0]["address"], tuple(ips), tuple(ways), limit(netns)


def limit(netns: str) -> tuple[str, ...]:
    """What limits a pod's net1 in both directions: its queues, on net1 and on a link of its own."""
    tc = ["nsenter", f"--net={netns}", "tc", "qdisc", "show"]
    said = subprocess.run(tc, capture_output=True, text=True, check=False).stdout
    queues = (line.split() for line in said.splitlines())
    buckets = [queue for queue in queues if "tbf" in queue]
    return tuple(sorted(f"{queue[4].rstrip(DIGITS)} {rate(queue)}" for queue in buckets))


def rate(queue: list[str]) -> str:
    """The rate of a token bucket."""
    return queue[queue.index("rate") + 1]


def node_of(cluster: EmbeddedCluster, name: str) -> Path:
    """Where the node's namespace is."""
    return next(each.place.netns for each in cluster.nodes if each.place.name == name)


def macvlans_in(netns: Path) -> list[str]:
    """Macvlans that stayed in the node's own namespace."""
    links = shown(str(netns), "-details", "link", "show")
    kinds = {each["ifname"]: each.get("linkinfo", {}).get("info_kind") for each in links}
    return [name for name, kind in kinds.items() if kind == "macvlan"]


def make_again(cluster: EmbeddedCluster, node: str) -> None:
    """Remove the link and make it again, faster than anybody looks."""
    ip_batch(cluster, node, MADE_AGAIN)


def ip_batch(cluster: EmbeddedCluster, node: str, commands: str) -> None:
    """Have `ip` do several things in a node's namespace."""
    batch = ["nsenter", f"--net={node_of(cluster, node)}", "ip", "-force", "-batch", "-"]
    subprocess.run(batch, input=commands, text=True, check=False, capture_output=True)


def published(cluster: EmbeddedCluster) -> int:
    """How many nodes offer the link, with a carrier."""
    devices = [each for found in cluster.store.list(SLICE) for each in found["spec"]["devices"]]
    return sum(each["name"] == "data0" and not each.get("taints") for each in devices)


def with_a_limit(spec: JsonObject) -> JsonObject:
    """The same as one of the claims that share the link's bandwidth."""
    wanted = spec["devices"]["requests"][0]["exactly"]
    del wanted["adminAccess"]
    wanted["capacity"] = {"requests": {"bandwidth": "100M"}}
    return spec


def opaque_of(spec: JsonObject) -> JsonObject:
    """A claim's parameters as a class has them."""
    found: JsonObject = {"opaque": spec["devices"]["config"][0]["opaque"]}
    return found


def of_class(spec: JsonObject, name: str) -> JsonObject:
    """The same with the network of a class, on a device that any number of claims may have."""
    wanted = spec["devices"]["requests"][0]["exactly"]
    del wanted["adminAccess"], spec["devices"]["config"]
    wanted["deviceClassName"] = name
    return spec


def events(cluster: EmbeddedCluster) -> set[tuple[str, str, str]]:
    """The drivers' events about claims that lost something."""
    found = cluster.store.list(EVENT)
    return {
        (each["regarding"]["name"], each["type"], each["reason"])
        for each in found
        if "Interface" in each["reason"]
    }


def lacking(cluster: EmbeddedCluster) -> set[str]:
    """The claims whose status says that their interface is not there."""
    return {
        claim["metadata"]["name"]
        for claim in cluster.store.list(CLAIM)
        for device in claim.get("status", {}).get("devices", ())
        for condition in device["conditions"]
        if condition["type"] == "Ready" and condition["status"] == "False"
    }


@dataclass(frozen=True)
class Standing:
    """Pods that stand on the link, each in its own way, and what they had at first."""

    cluster: EmbeddedCluster
    spaces: Mapping[str, str]
    before: Mapping[str, Any]
    leased: Mapping[str, set[str]]

    @property
    def nodes(self) -> tuple[str, ...]:
        """Where they are."""
        return tuple(self.leased)

    async def wait_back(self) -> float:
        """Look as the pods' users would, until all is as before; how long that took."""
        began = time.monotonic()
        while {n: interface(netns) for n, netns in self.spaces.items()} != self.before:  # noqa: ASYNC110
            await asyncio.sleep(POLL_S)
        assert {node: leases(node) for node in self.nodes} == self.leased
        return time.monotonic() - began

    async def wait_said(self) -> None:
        """Wait until events say that the pods have what they had, and see that none differs."""
        back = {(name, "Normal", "NetworkInterfaceRestored") for name in self.spaces}
        await self.cluster.store.wait_for(lambda: back <= events(self.cluster))
        assert not any(reason.endswith("Changed") for _, _, reason in events(self.cluster))

    async def end(self) -> None:
        """End the pods, and see that nothing is left of them."""
        await all_gone(self.cluster)
        for node in self.nodes:
            assert leases(node) == set()
            assert macvlans_in(node_of(self.cluster, node)) == []


async def pods_on_link(cluster: EmbeddedCluster) -> Standing:
    """Pods with a share of the link, without a limit and with one, and one by the device `cni`."""
    for node in cluster.nodes:
        make_again(cluster, node.place.name)
    await cluster.store.wait_for(lambda: published(cluster) == len(cluster.nodes))
    spec = claim_spec("data0")
    ipam = spec["devices"]["config"][0]["opaque"]["parameters"]["config"]["ipam"]
    ipam.update(ROUTE)
    make(cluster, CLAIM, "free", spec)
    make(cluster, CLAIM, "limited", with_a_limit(claim_spec("data0")))
    make(cluster, CLASS, "anybody", {"config": [opaque_of(claim_spec("", master="data0"))]})
    make(cluster, CLAIM, "generic", of_class(claim_spec("cni"), "anybody"))
    for name in ("free", "limited", "generic"):
        add_pod(cluster, name, resourceClaimName=name)
    pods = await all_settled(cluster, 3)
    assert {pod.state for pod in pods.values()} == {"ready"}, [p.reason for p in pods.values()]
    spaces = {name: cluster.netns_of(pod.uid) for name, pod in pods.items()}
    before = {name: interface(netns) for name, netns in spaces.items()}
    limits = {name: len(each[-1]) for name, each in before.items()}
    assert limits == {"free": 0, "limited": 2, "generic": 0}, before
    leased = {pod.node: leases(pod.node) for pod in pods.values()}
    return Standing(cluster, spaces, before, leased)


def test_interfaces_come_back_with_their_link() -> None:
    """Name, MAC, address, routes and limit are the same after each flap; nothing is left behind."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        standing = await pods_on_link(cluster)
        without_s = []
        for _ in range(FLAPS):
            for node in standing.nodes:
                make_again(cluster, node)
            without_s.append(await standing.wait_back())
        middle, last = statistics.median(without_s), max(without_s)
        late = sum(each > BOUND_S for each in without_s)
        sys.stdout.write(
            f"{FLAPS} flaps: back after {middle:.2f} s, at most {last:.2f} s; "
            f"{late} took more than {BOUND_S:g} s\n"
        )
        await standing.wait_said()
        await standing.end()

    in_cluster(scenario)


def test_interfaces_come_back_with_a_link_that_was_away() -> None:
    """What was lost, undone and reported is the same again once the link is there."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        standing = await pods_on_link(cluster)
        for node in standing.nodes:
            ip_batch(cluster, node, "link del data0")
        await cluster.store.wait_for(lambda: lacking(cluster) == set(standing.spaces))
        assert [interface(netns) for netns in standing.spaces.values()] == [()] * 3
        for node in standing.nodes:
            make_again(cluster, node)
        await standing.wait_back()
        await cluster.store.wait_for(lambda: not lacking(cluster))
        await standing.wait_said()
        await standing.end()

    in_cluster(scenario)


def test_a_pod_goes_if_its_class_says_so() -> None:
    """Of two pods whose link stays away, the one whose class sets a limit is evicted."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        (node,) = (each.place.name for each in cluster.nodes[:1])
        make_again(cluster, node)
        await cluster.store.wait_for(lambda: published(cluster) == 1)
        for name, limit in (("stays", {}), ("goes", {"evictAfterSeconds": 1})):
            config = opaque_of(claim_spec("", master="data0"))
            old = config["opaque"]["parameters"]
            kind = {"apiVersion": "cni.networking.x-k8s.io/v1alpha1", "kind": "CNI"}
            config["opaque"]["parameters"] = {
                **kind,
                "ifName": old["interface"],
                "config": old["config"],
                **limit,
            }
            make(cluster, CLASS, name, {"config": [config]})
            make(cluster, CLAIM, name, of_class(claim_spec("data0"), name))
            add_pod(cluster, name, resourceClaimName=name)
        await all_settled(cluster, 2)
        ip_batch(cluster, node, "link del data0")
        await cluster.store.wait_for(lambda: cluster.store.get(POD, "goes", "default") is None)
        await cluster.store.wait_for(lambda: "stays" in lacking(cluster))
        assert cluster.store.get(POD, "stays", "default") is not None
        told = [each for each in cluster.store.list(EVENT) if each["reason"] == "InterfaceLost"]
        assert [each["regarding"]["name"] for each in told] == ["goes"]
        await all_gone(cluster)

    in_cluster(scenario)
