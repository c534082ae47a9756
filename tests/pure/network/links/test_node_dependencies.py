"""Which links the node depends on."""

import socket
from typing import Any

import pytest

from netclaim.kernel import Address, Link, Route
from netclaim.kernel.netlink import uapi
from netclaim.model import NodeFacts
from netclaim.network.links.node_dependencies import carriers, node_networks, node_peers, used
from netclaim.network.policy.metadata import METADATA_NETWORKS
from tests.support.network_parts import link_of

LO = link_of("lo", 1)
ETH0, ETH1, ETH2 = link_of("eth0", 2), link_of("eth1", 3), link_of("eth2", 4)
LINKS = (LO, ETH0, ETH1, ETH2)


def route(index: int, to: str = "", length: int = 0, **more: Any) -> Route:
    """A route over a link."""
    family = socket.AF_INET6 if ":" in to else socket.AF_INET
    table = more.pop("table", uapi.RT_TABLE_MAIN)
    return Route(family, to, length, index, "", table, 0, uapi.RTN_UNICAST)


def address(index: int, ip: str) -> Address:
    """An address on a link."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    return Address(index=index, family=family, ip=ip, prefix_length=24, scope=0, flags=0)


def test_the_default_route_makes_a_carrier_in_any_table() -> None:
    """Policy routing hides the default route in a table of its own; it counts all the same."""
    assert carriers(LINKS, (), [route(2)], NodeFacts()) == {2: "the node's default route uses it"}
    assert set(carriers(LINKS, (), [route(3, table=100), route(2)], NodeFacts())) == {2, 3}


def test_an_address_of_the_node_makes_a_carrier() -> None:
    """Kubelet is reached at the addresses that the Node object has."""
    node = NodeFacts(addresses=("192.168.7.9", "fd00::9", "not-an-address"))
    found = carriers(LINKS, [address(3, "192.168.7.9"), address(4, "10.0.0.1")], (), node)
    assert found == {3: "it has the node's address 192.168.7.9"}
    assert set(carriers(LINKS, [address(4, "fd00::9")], (), node)) == {4}


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        ([route(2), route(3, "10.96.0.0", 16)], {2, 3}),
        ([route(3, "10.0.0.0", 8), route(4, "10.96.0.0", 16)], {4}),
        ([route(3, "10.96.0.0", 16), route(4, "10.96.0.0", 16)], {3, 4}),
        ([route(3, "192.168.0.0", 16)], set()),
    ],
)
def test_the_way_to_the_api_server_makes_a_carrier(routes: list[Route], expected: set[int]) -> None:
    """The most specific route to the API server counts, and each of several equal ones."""
    node = NodeFacts(api_addresses=("10.96.0.1",))
    assert set(carriers(LINKS, (), routes, node)) == expected


def test_what_a_carrier_stands_on_carries_too() -> None:
    """Under a VLAN, behind a bridge or bond, and at the other end of a pair."""
    vlan = link_of("eth1.7", 10, kind="vlan", parent_index=3)
    bond = link_of("bond0", 11, kind="bond")
    port = link_of("eth2", 4, master_index=11, port_kind="bond")
    peer = link_of("eth2-peer", 12, kind="veth", parent_index=4)
    found = carriers((ETH1, vlan), (), [route(10)], NodeFacts())
    assert found[3] == "eth1.7, which carries the node, depends on it"
    assert set(carriers((ETH0, bond, port), (), [route(11)], NodeFacts())) == {11, 4}
    pair = link_of("eth2", 4, kind="veth", parent_index=12)
    assert set(carriers((ETH0, pair, peer), (), [route(4)], NodeFacts())) == {4, 12}


def test_what_stands_on_a_carrier_does_not_carry() -> None:
    """A macvlan beside the node's own addresses can go; nothing of the node is lost with it."""
    above = link_of("mv0", 10, kind="macvlan", parent_index=2)
    assert set(carriers((ETH0, above), (), [route(2)], NodeFacts())) == {2}


def test_the_loopback_and_other_namespaces_are_left_out() -> None:
    """A route over the loopback carries nothing, and a parent elsewhere is another number."""
    loopback = Link(index=1, name="lo", arphrd=772, flags=uapi.IFF_LOOPBACK)
    away = link_of("eth0", 2, kind="veth", parent_index=3, parent_nsid=0)
    assert carriers((loopback, ETH1), (), [route(1)], NodeFacts()) == {}
    assert set(carriers((away, ETH1), (), [route(2)], NodeFacts())) == {2}


def test_the_node_lives_where_its_carriers_and_their_peers_are() -> None:
    """Networks on carrying links count, gateways beyond them, and the addresses it is known by."""
    way = Route(socket.AF_INET, "", 0, 2, "192.0.2.1", uapi.RT_TABLE_MAIN, 0, uapi.RTN_UNICAST)
    on_link = route(2, "10.5.0.0", 16)
    there = [address(2, "172.18.0.3"), address(3, "10.0.0.1")]
    node = NodeFacts(addresses=("198.51.100.7",), api_addresses=("10.96.0.1", "api.example.com"))
    found = node_networks({2}, there, [way, on_link, route(3, "10.6.0.0", 16)], node)
    assert [str(each) for each in found] == [
        "172.18.0.0/24",
        "192.0.2.1/32",
        "10.5.0.0/16",
        "198.51.100.7/32",
        "10.96.0.1/32",
        *METADATA_NETWORKS,
    ]
    assert "169.254.0.0/16" in METADATA_NETWORKS
    assert node_peers({2}, [way], node) == {"192.0.2.1", "198.51.100.7", "10.96.0.1"}


def test_the_node_uses_links_where_it_has_an_address_or_a_gateway() -> None:
    """One that is only up has a link-local address, and that is nobody's use."""
    there = [address(2, "172.18.0.3"), address(3, "fe80::1"), address(4, "169.254.0.7")]
    way = Route(socket.AF_INET, "10.9.0.0", 16, 4, "10.8.0.1", 254, 0, uapi.RTN_UNICAST)
    assert used(there, [way, route(3, "fe80::", 64)]) == {
        2: "the node has the address 172.18.0.3 on it",
        4: "the node's route to 10.9.0.0/16 uses it",
    }
