"""A StatefulSet on the embedded cluster: its pods move, and their addresses go with them."""

from typing import Any

import pytest

from netclaim.kernel import Rtnl, list_addresses, list_links, open_netns
from netclaim.local.cluster import EmbeddedCluster
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import (
    ADDRESS_LEASE,
    ADDRESS_POOL,
    NODE,
    POD,
    POD_NETWORK,
    STATEFUL_SET,
)
from tests.embedded.local.test_cluster import all_settled, in_cluster

pytestmark = pytest.mark.embedded

RANGES = [{"cidr": "10.20.0.0/24"}, {"cidr": "fd00:20::/64"}]
LABELS = {"app": "db"}


def create(
    cluster: EmbeddedCluster, kind: Any, name: str, spec: JsonObject, *, namespace: str = ""
) -> None:
    """Make an object."""
    head = {"apiVersion": kind.addresses[0].api_version, "kind": kind.name}
    body = {**head, "metadata": {"name": name}, "spec": spec}
    cluster.verbs.create(kind, body, manager="t", namespace=namespace)


def make_set(cluster: EmbeddedCluster) -> None:
    """Two replicas on a network whose pool keeps addresses."""
    keep = {"kinds": ["StatefulSet"]}
    create(cluster, ADDRESS_POOL, "p", {"ranges": RANGES, "keep": keep})
    ipam = {"type": "netclaim", "pool": "p"}
    network = {"type": "macvlan", "parent": {"name": "eth0"}, "ipam": ipam}
    create(cluster, POD_NETWORK, "net1", network)
    pod = {
        "containers": [{"name": "c", "image": "i"}],
        "resourceClaims": [{"name": "n", "resourceClaimTemplateName": "net1"}],
    }
    spec = {
        "replicas": 2,
        "serviceName": "db",
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": pod},
    }
    create(cluster, STATEFUL_SET, "db", spec, namespace="default")


async def interfaces(
    cluster: EmbeddedCluster, count: int = 2
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """What all pods have, as their own network namespaces say: MAC and addresses."""
    found = {}
    for name, pod in (await all_settled(cluster, count)).items():
        assert pod.state == "ready", pod
        with open_netns(cluster.netns_of(pod.uid)) as opened, Rtnl.open(opened) as rtnl:
            (link,) = (each for each in await list_links(rtnl) if each.name == "net1")
            there = [each for each in await list_addresses(rtnl) if each.index == link.index]
        ips = sorted(str(each.ip) for each in there if not str(each.ip).startswith("fe80"))
        found[name] = (link.mac, tuple(ips))
    return found


def nodes(cluster: EmbeddedCluster) -> set[str]:
    """The nodes that the replicas are on."""
    return {each["spec"]["nodeName"] for each in cluster.store.list(POD)}


def close(cluster: EmbeddedCluster, names: set[str]) -> None:
    """Keep pods that come from these nodes."""
    for name in names:
        live = cluster.verbs.get(NODE, name)
        taint = {"key": "closed", "effect": "NoSchedule"}
        changed = {**live, "spec": {**live["spec"], "taints": [taint]}}
        cluster.verbs.update(NODE, changed, manager="t")


def test_replicas_come_back_on_another_node_with_their_addresses() -> None:
    """And with their MAC addresses; when the StatefulSet is deleted, the addresses are free."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        make_set(cluster)
        before, left = await interfaces(cluster), nodes(cluster)
        leased = {each["metadata"]["name"] for each in cluster.store.list(ADDRESS_LEASE)}
        assert len(leased) == 4
        close(cluster, left)
        uids = {each["metadata"]["uid"] for each in cluster.store.list(POD)}
        for name in before:
            cluster.verbs.delete(POD, name, "default")
        await cluster.store.wait_for(
            lambda: (
                not uids & {each["metadata"]["uid"] for each in cluster.store.list(POD)}
                and len(list(cluster.store.list(POD))) == 2
            )
        )
        assert await interfaces(cluster) == before
        assert not nodes(cluster) & left
        assert {each["metadata"]["name"] for each in cluster.store.list(ADDRESS_LEASE)} == leased
        cluster.verbs.delete(STATEFUL_SET, "db", "default")
        await cluster.store.wait_for(lambda: not list(cluster.store.list(ADDRESS_LEASE)))

    in_cluster(scenario)
