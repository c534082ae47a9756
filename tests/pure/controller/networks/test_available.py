"""Which nodes have a network is worked out anew for nodes whose links have changed."""

from typing import Any

from netclaim.controller.cluster.slim import packed_slice, unpacked_slice
from netclaim.controller.networks.available import Available
from netclaim.controller.networks.wanted import availability
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.claims.claim import JsonObject
from tests.support.controller_parts import DRIVER, SPEC

NODES = ["node-a", "node-b", "node-c"]


def network(**spec: Any) -> PodNetwork:
    """A network on eth1."""
    return PodNetwork.read({"metadata": {"name": "media-net"}, "spec": {**SPEC, **spec}})


def slice_of(node: str, version: int, *links: str) -> JsonObject:
    """What a node's driver has published."""
    devices = [{"name": link, "attributes": {"name": {"string": link}}} for link in links]
    pool = {"name": node, "generation": version, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    meta = {"name": node, "resourceVersion": str(version)}
    return packed_slice({"metadata": meta, "spec": spec})


def test_it_is_what_a_look_at_everything_gives() -> None:
    """After a link came, a node went, a slice went, and the network changed."""
    available = Available(DRIVER)
    first = [slice_of("node-a", 1, "eth1"), slice_of("node-b", 2, "eth0")]
    came = [first[0], slice_of("node-b", 3, "eth0", "eth1")]
    other = network(parent={"name": "eth0"})
    for revision, (net, nodes, slices) in enumerate(
        (
            (network(), NODES, first),
            (network(), NODES, came),
            (network(), NODES[1:], came),
            (network(), NODES, came[1:]),
            (other, NODES, came),
            (other, NODES, []),
        )
    ):
        whole = [unpacked_slice(each) for each in slices]
        expected = availability(net, DRIVER, nodes, whole)
        assert available.of(net, revision, nodes, slices) == expected


def test_what_did_not_change_is_not_looked_at() -> None:
    """A slice of the same version is not read again, and its node's answer is the same object."""
    available = Available(DRIVER)
    (before,) = available.of(network(), 1, ["node-a"], [slice_of("node-a", 1, "eth1")])
    unread = {**slice_of("node-a", 1), "devices": b"not read"}
    (now,) = available.of(network(), 2, ["node-a"], [unread])
    assert now is before
    assert available.of(network(), 2, [], []) == [now]
