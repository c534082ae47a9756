"""Addresses of an IPAMClaim on the embedded cluster: they go with it from pod to pod."""

import pytest

from netclaim.local.cluster import EmbeddedCluster
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import (
    ADDRESS_LEASE,
    ADDRESS_POOL,
    CLASS,
    IPAM_CLAIM,
    POD,
    POD_NETWORK,
    TEMPLATE,
)
from tests.embedded.local.test_cluster import in_cluster
from tests.embedded.local.test_kept_addresses import close, create, interfaces, nodes

pytestmark = pytest.mark.embedded

RANGES = [{"cidr": "10.21.0.0/24"}, {"cidr": "fd00:21::/64"}]
IPAM: JsonObject = {"type": "netclaim", "pool": "p"}
PARAMETERS: JsonObject = {
    "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
    "kind": "CNI",
    "ipamClaim": "vm",
}


def make_network(cluster: EmbeddedCluster) -> None:
    """A network whose pool keeps addresses, an IPAMClaim, and a template that names it."""
    create(cluster, ADDRESS_POOL, "p", {"ranges": RANGES, "keep": {"kinds": ["IPAMClaim"]}})
    network = {"type": "macvlan", "parent": {"name": "eth0"}, "ipam": IPAM}
    create(cluster, POD_NETWORK, "net1", network)
    claim = {"network": "net1", "interface": "net1"}
    create(cluster, IPAM_CLAIM, "vm", claim, namespace="default")
    opaque = {"driver": "cni.dra.networking.x-k8s.io", "parameters": PARAMETERS}
    devices = {
        "requests": [{"name": "lan", "exactly": {"deviceClassName": "net1"}}],
        "config": [{"requests": ["lan"], "opaque": opaque}],
    }
    create(cluster, TEMPLATE, "vm-lan", {"spec": {"devices": devices}}, namespace="default")


async def launch(cluster: EmbeddedCluster, name: str) -> tuple[str, tuple[str, ...]]:
    """Run a pod of the machine; returns its MAC and addresses."""
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "resourceClaims": [{"name": "lan", "resourceClaimTemplateName": "vm-lan"}],
    }
    create(cluster, POD, name, spec, namespace="default")
    return (await interfaces(cluster, 1))[name]


def status(cluster: EmbeddedCluster) -> JsonObject:
    """What the IPAMClaim says of its addresses."""
    found: JsonObject = cluster.verbs.get(IPAM_CLAIM, "vm", "default").get("status", {})
    return found


def test_a_machine_keeps_its_addresses() -> None:
    """On another node and under another pod's name; they are free when the IPAMClaim is deleted."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        make_network(cluster)
        await cluster.store.wait_for(lambda: cluster.store.get(CLASS, "net1") is not None)
        before = await launch(cluster, "launcher-1")
        has = {
            "ownerPod": {"name": "launcher-1"},
            "ips": [f"{before[1][0]}/24", f"{before[1][1]}/64"],
        }
        await cluster.store.wait_for(lambda: status(cluster) == has)
        left = nodes(cluster)
        close(cluster, left)
        cluster.verbs.delete(POD, "launcher-1", "default")
        await cluster.store.wait_for(lambda: not list(cluster.store.list(POD)))
        assert await launch(cluster, "launcher-2") == before
        assert not nodes(cluster) & left
        cluster.verbs.delete(POD, "launcher-2", "default")
        await cluster.store.wait_for(lambda: status(cluster) == {"ips": has["ips"]})
        cluster.verbs.delete(IPAM_CLAIM, "vm", "default")
        await cluster.store.wait_for(lambda: not list(cluster.store.list(ADDRESS_LEASE)))

    in_cluster(scenario)
