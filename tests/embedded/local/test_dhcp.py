"""Addresses by DHCP in a whole cluster."""

from pathlib import Path

import pytest

from netclaim.local.cluster import EmbeddedCluster
from netclaim.schema.kinds import CLAIM, EVENT
from tests.embedded.local.test_cluster import (
    add_pod,
    all_gone,
    all_settled,
    claim_spec,
    in_cluster,
    make,
)
from tests.embedded.local.test_flaps import (
    events,
    interface,
    ip_batch,
    lacking,
    make_again,
    node_of,
    published,
)
from tests.support.dhcp_servers import SERVER, serving

pytestmark = pytest.mark.embedded

PEER = "data0-peer"  # the other end of the link, where the server is
ENDED = "cannot be used any more: its DHCP lease has ended, and no server has renewed it"


def notes(cluster: EmbeddedCluster) -> list[str]:
    """What the drivers' events say."""
    return [str(each.get("note", "")) for each in cluster.store.list(EVENT)]


def test_a_lease_that_ends_is_reported_and_made_good(tmp_path: Path) -> None:
    """The claim and an event say so; once a server answers, the pod has its interface again."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        (node,) = (each.place.name for each in cluster.nodes[:1])
        make_again(cluster, node)
        await cluster.store.wait_for(lambda: published(cluster) == 1)
        ip_batch(cluster, node, f"address add {SERVER}/24 dev {PEER}")
        netns = str(node_of(cluster, node))
        spec = claim_spec("data0")
        spec["devices"]["config"][0]["opaque"]["parameters"]["config"]["ipam"] = {"type": "dhcp"}
        make(cluster, CLAIM, "a", spec)
        with serving(netns, tmp_path / "first", lease_s=8, link=PEER) as server:
            add_pod(cluster, "a", resourceClaimName="a")
            pods = await all_settled(cluster, 1)
            assert pods["a"].state == "ready", pods["a"].reason
            space = cluster.netns_of(pods["a"].uid)
            assert interface(space)[1][0].startswith("10.9.0.")
            server.stop()
            await cluster.store.wait_for(lambda: "a" in lacking(cluster))
            await cluster.store.wait_for(lambda: any(ENDED in each for each in notes(cluster)))
        with serving(netns, tmp_path / "second", lease_s=3600, link=PEER):
            await cluster.store.wait_for(lambda: not lacking(cluster))
            assert interface(space)[1][0].startswith("10.9.0.")
            back = {"NetworkInterfaceRestored", "NetworkInterfaceChanged"}
            await cluster.store.wait_for(
                lambda: bool(back & {each[-1] for each in events(cluster)})
            )
            await all_gone(cluster)

    in_cluster(scenario)
