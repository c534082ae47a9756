"""Shares of a pool that no interface has an address for, on the embedded cluster."""

import pytest

from netclaim.local.cluster import EmbeddedCluster
from netclaim.model.claims.claim import JsonObject
from netclaim.network.devices.pool_device import TAINT
from netclaim.schema.kinds import ADDRESS_LEASE, ADDRESS_POOL, CLAIM, POD, POD_NETWORK, TEMPLATE
from tests.embedded.local.test_cluster import all_settled, in_cluster
from tests.embedded.local.test_kept_addresses import create

pytestmark = pytest.mark.embedded

TOLERATED = [{"key": TAINT, "operator": "Exists"}]


def request(name: str, class_name: str) -> JsonObject:
    """A request for one device."""
    return {"name": name, "exactly": {"deviceClassName": class_name, "tolerations": TOLERATED}}


def add_pod(cluster: EmbeddedCluster, name: str, *requests: JsonObject) -> None:
    """Add a pod whose claim asks for this."""
    spec = {"spec": {"devices": {"requests": list(requests)}}}
    create(cluster, TEMPLATE, name, spec, namespace="default")
    pod = {
        "containers": [{"name": "c", "image": "i"}],
        "resourceClaims": [{"name": "n", "resourceClaimTemplateName": name}],
    }
    create(cluster, POD, name, pod, namespace="default")


def refusals(cluster: EmbeddedCluster) -> dict[str, str]:
    """What the driver says of claims that it refused, by the name of their template."""
    found = {}
    for claim in cluster.store.list(CLAIM):
        for device in claim.get("status", {}).get("devices", ()):
            for each in device["conditions"]:
                if each["reason"] == "NetworkInterfaceRefused":
                    found[claim["metadata"]["generateName"]] = each["message"]
    return found


def test_shares_that_no_interface_uses_are_refused() -> None:
    """The claim says so, by which the controller evicts its pod; one that uses its share starts."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        create(cluster, ADDRESS_POOL, "p", {"ranges": [{"cidr": "10.20.0.0/29"}]})
        ipam = {"type": "netclaim", "pool": "p"}
        network = {"type": "macvlan", "parent": {"name": "eth0"}, "ipam": ipam}
        create(cluster, POD_NETWORK, "net1", network)
        shares = [request(f"a{number}", "addresses.p") for number in range(3)]
        add_pod(cluster, "hoard", request("nic", "net1"), *shares)
        await cluster.store.wait_for(lambda: bool(refusals(cluster)))
        assert list(refusals(cluster)) == ["hoard-n-"]
        said = refusals(cluster)["hoard-n-"]
        assert "asks for 3 addresses of the pool p" in said
        assert not list(cluster.store.list(ADDRESS_LEASE))
        add_pod(cluster, "right", request("nic", "net1"), shares[0])
        assert (await all_settled(cluster, 2))["right"].state == "ready"

    in_cluster(scenario)
