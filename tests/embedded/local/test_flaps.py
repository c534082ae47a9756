"""A link that is removed and made again at once, under the interfaces that pods have on it."""

import asyncio
import json
import subprocess
from typing import Any

import pytest

from netclaim.local.cluster import EmbeddedCluster
from netclaim.schema.kinds import CLAIM, SLICE
from tests.embedded.local.test_cluster import (
    add_pod,
    all_gone,
    all_settled,
    claim_spec,
    in_cluster,
    leases,
    make,
)

pytestmark = pytest.mark.embedded

FLAPS = 12
POLL_S = 0.02
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
    return addresses[0]["address"], tuple(ips), tuple(ways)


def make_again(cluster: EmbeddedCluster, node: str) -> None:
    """Remove the link and make it again, faster than anybody looks."""
    netns = next(each.place.netns for each in cluster.nodes if each.place.name == node)
    batch = ["nsenter", f"--net={netns}", "ip", "-force", "-batch", "-"]
    subprocess.run(batch, input=MADE_AGAIN, text=True, check=False, capture_output=True)


def published(cluster: EmbeddedCluster) -> int:
    """How many nodes offer the link, with a carrier."""
    devices = [each for found in cluster.store.list(SLICE) for each in found["spec"]["devices"]]
    return sum(each["name"] == "data0" and not each.get("taints") for each in devices)


def test_interfaces_come_back_with_their_link() -> None:
    """Name, MAC, address and routes are the same after each flap, and nothing is left behind."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        for node in cluster.nodes:
            make_again(cluster, node.place.name)
        await cluster.store.wait_for(lambda: published(cluster) == len(cluster.nodes))
        spec = claim_spec("data0")
        ipam = spec["devices"]["config"][0]["opaque"]["parameters"]["config"]["ipam"]
        ipam.update(ROUTE)
        make(cluster, CLAIM, "macvlan", spec)
        add_pod(cluster, "a", resourceClaimName="macvlan")
        pod = (await all_settled(cluster, 1))["a"]
        assert pod.state == "ready", pod.reason
        netns = cluster.netns_of(pod.uid)
        before = interface(netns)
        assert before
        leased = leases(pod.node)
        for _ in range(FLAPS):
            make_again(cluster, pod.node)
            while interface(netns) != before:  # noqa: ASYNC110 -- as the pod's user would look
                await asyncio.sleep(POLL_S)
            assert leases(pod.node) == leased
        await all_gone(cluster)
        assert leases(pod.node) == set()

    in_cluster(scenario)
