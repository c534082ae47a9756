"""Which links of a node are offered, and why the others are not."""

import ipaddress
import socket

import msgspec
import pytest

from netclaim.kernel import Address, Link
from netclaim.kernel.netlink import uapi
from netclaim.network.links.withhold import NodeView, withheld, withheld_by_name

POD_NSID, UPLINK_NSID = 7, 0
LO = Link(index=1, name="lo", arphrd=772, flags=uapi.IFF_LOOPBACK | uapi.IFF_UP)
ETH0 = Link(
    index=2,
    name="eth0",
    arphrd=uapi.ARPHRD_ETHER,
    flags=uapi.IFF_UP,
    kind="veth",
    parent_index=40,
    parent_nsid=UPLINK_NSID,
)
NODE = NodeView(
    pod_nsids=frozenset({POD_NSID}),
    pod_networks=(
        ipaddress.ip_network("10.244.1.0/24"),
        ipaddress.ip_network("fd00:10:244:1::/64"),
    ),
)


def a_link(name: str, **facts: object) -> Link:
    """An Ethernet link that is up."""
    alone = {"index": 9, "name": name, "parent_index": 0, "parent_nsid": None}
    return msgspec.structs.replace(ETH0, **{**alone, **facts})


def reason(link: Link, *others: Link, addresses: tuple[Address, ...] = ()) -> str:
    """Say why the link is withheld; empty if it is offered."""
    return withheld([LO, link, *others], addresses, NODE).get(link.index, "")


@pytest.mark.parametrize(
    "link",
    [
        pytest.param(ETH0, id="a container's uplink: a veth to a namespace that is no pod's"),
        pytest.param(a_link("ens1f0", kind=""), id="a card"),
        pytest.param(a_link("p0", kind="", port_name="p0"), id="a card that switches by itself"),
        pytest.param(a_link("ib0", kind="", arphrd=uapi.ARPHRD_INFINIBAND), id="InfiniBand"),
        pytest.param(a_link("bond0", kind="bond"), id="a bond"),
        pytest.param(a_link("eth0.100", kind="vlan", parent_index=2), id="a VLAN of the node"),
        pytest.param(a_link("br-lan", kind="bridge"), id="a bridge that the owner made"),
        pytest.param(a_link("eth5", kind="", master_index=8, port_kind="vrf"), id="in a VRF"),
        pytest.param(
            a_link("eth6", kind="veth", parent_index=7, flags=0), id="a link that is down"
        ),
        pytest.param(a_link("veth9", kind="veth", parent_index=3), id="a pair within the node"),
    ],
)
def test_offered(link: Link) -> None:
    """A link that pods can be given, or be put on, is offered."""
    assert reason(link) == ""


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (LO, "it is the loopback interface"),
        (a_link("tunl0", kind="ipip", arphrd=768), "links of this kind"),
        (a_link("ifb0", kind="ifb"), "links of this kind"),
        (a_link("eth7", kind="", master_index=77, port_kind="bond"), "it is a port of another"),
        (a_link("veth8", kind="veth"), "it has no other end"),
        (a_link("eth3", kind="", port_name="pf0vf3"), "it stands for a function"),
        (a_link("cni0", kind="bridge"), "its name is one that pod networks"),
        (a_link("flannel.1", kind="vxlan"), "its name is one that pod networks"),
        (a_link("cilium_host", kind="veth", parent_index=7), "its name is one that pod networks"),
    ],
)
def test_withheld(link: Link, words: str) -> None:
    """A link of the node's own is withheld, with a reason in words."""
    assert reason(link).startswith(words)


@pytest.mark.parametrize("kind", ["veth", "netkit"])
def test_the_way_into_a_pod_is_withheld(kind: str) -> None:
    """The same kind of link is an uplink or a pod's by where its other end lives."""
    pods = msgspec.structs.replace(ETH0, index=9, name="veth1", kind=kind, parent_nsid=POD_NSID)
    assert withheld([LO, ETH0, pods], (), NODE) == {
        1: "it is the loopback interface",
        9: "it leads into a pod",
    }


def test_a_port_is_offered_through_its_master() -> None:
    """The bridge is offered and its port is not, by the bridge's name."""
    bridge = msgspec.structs.replace(a_link("br0", kind="bridge"), index=8)
    port = a_link("eth1", kind="", master_index=8, port_kind="bridge")
    assert withheld([bridge, port], (), NODE) == {9: "it is a port of br0"}


def test_attaching_a_pod_to_a_bridge_does_not_withdraw_it() -> None:
    """A bridge with pods on it is offered as it was without them."""
    bridge = msgspec.structs.replace(a_link("br0", kind="bridge"), index=8)
    pods = a_link("veth1", kind="veth", master_index=8, port_kind="bridge")
    pods = msgspec.structs.replace(pods, parent_nsid=POD_NSID)
    assert withheld([bridge, pods], (), NODE) == {9: "it leads into a pod"}


@pytest.mark.parametrize(
    ("family", "ip", "own"),
    [
        (socket.AF_INET, "10.244.1.1", True),
        (socket.AF_INET, "10.244.2.1", False),
        (socket.AF_INET6, "fd00:10:244:1::1", True),
        (socket.AF_INET6, "fd00:10:244:2::1", False),
    ],
)
def test_an_address_of_the_pod_network_marks_its_links(family: int, ip: str, own: bool) -> None:
    """A link with an address from the node's pod range is the pod network's."""
    address = Address(9, family, ip, 24, 0, 0)
    found = reason(a_link("br-pods", kind="bridge"), addresses=(address,))
    assert found == ("it has an address of the pod network" if own else "")


def test_a_node_that_knows_nothing_of_its_pods() -> None:
    """Without knowledge of pods a veth is offered, as it may be an uplink."""
    pods = msgspec.structs.replace(ETH0, index=9, name="veth1", parent_nsid=POD_NSID)
    assert withheld([LO, ETH0, pods], (), NodeView()) == {1: "it is the loopback interface"}


def test_only_a_name_is_a_guess() -> None:
    """A link that is withheld for a fact as well is not among those that settings may show."""
    plain = a_link("docker0", index=7, kind="bridge")
    pods = a_link("cali7", index=8, kind="veth", parent_nsid=POD_NSID, parent_index=2)
    port = a_link("lxc1", index=9, kind="veth", master_index=7)
    made = a_link("cbr0", index=10, kind="bridge")
    node = NodeView(frozenset({POD_NSID}), made_bridges=frozenset({"cbr0"}))
    links = [LO, ETH0, plain, pods, port, made]
    assert withheld_by_name(links, (), node) == {7}
    assert withheld(links, (), node).keys() == {1, 7, 8, 9, 10}
