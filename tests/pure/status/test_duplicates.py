"""Addresses of several pods are found whatever else claims say."""

from collections.abc import Sequence
from typing import Any

import pytest

from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.network.pod_network import class_of
from netclaim.survey.duplicates import AddressUsers, duplicate_addresses

DEEP = "[" * 5000 + "]" * 5000
PLAIN = {"type": "macvlan", "name": "lan"}


def claim(
    name: str, config: Any, *, device: str = "eth1", node: str = "n", network: str = "", **data: Any
) -> ResourceClaim:
    """A claim whose pod has an address on a device of a node."""
    named = {"driver": "d", "pool": node, "device": device}
    entry = {"opaque": {"driver": "d", "parameters": {"config": config}}}
    allocated = {"results": [{**named, "request": "r"}], "config": [entry] if config else []}
    reported: dict[str, Any] = {**named, "networkData": {"ips": ["192.0.2.1/24"]}, **data}
    if network:
        reported["data"] = {"podNetwork": {"kind": "PodNetwork", "name": network}}
    return ResourceClaim.read(
        {
            "metadata": {"name": name, "namespace": "n"},
            "status": {"allocation": {"devices": allocated}, "devices": [reported]},
        }
    )


def network(name: str, **spec: Any) -> DeviceClass:
    """The class of a PodNetwork."""
    found = PodNetwork.read({"metadata": {"name": name}, "spec": {"type": "macvlan", **spec}})
    return DeviceClass.read(class_of(found, "d"))


def users(claims: Sequence[ResourceClaim], *classes: DeviceClass) -> list[set[str]]:
    """The claims of each address that several have."""
    return [{user.claim for user in one.users} for one in duplicate_addresses(claims, classes)]


def test_a_network_that_cannot_be_read_hides_no_other() -> None:
    """A claim's author may write what no decoder follows; two others still share an address."""
    assert users([claim("odd", DEEP), claim("a", PLAIN), claim("b", PLAIN)]) == [{"a", "b"}]


@pytest.mark.parametrize(
    ("device", "other"),
    [
        ("media-net-on-eth1", "media-net-on-eth1"),
        ("media-net-on-eth1", "media-net-on-eno1"),
        ("media-net-on-eth1-slot-0", "media-net-on-eth1-slot-3"),
    ],
)
def test_a_pod_network_is_one_network_whatever_its_links_are_called(
    device: str, other: str
) -> None:
    """A claim of the network's own device has no configuration; its status names the network."""
    pods = [
        claim("a", None, device=device, node="one", network="media-net"),
        claim("b", None, device=other, node="two", network="media-net"),
    ]
    assert users(pods, network("media-net")) == [{"a", "b"}]
    (found,) = duplicate_addresses(pods, [network("media-net")])
    assert (found.address, found.network) == ("192.0.2.1", "media-net")


def test_classes_and_devices_of_a_pod_network_meet() -> None:
    """One pod has the network by its class, and another by its device."""
    config = {"name": "media-net", "plugins": [{"type": "macvlan"}]}
    pods = [
        claim("a", config, node="one", network="media-net"),
        claim("b", None, device="media-net-on-eno1", node="two", network="media-net"),
    ]
    assert users(pods, network("media-net")) == [{"a", "b"}]


def test_a_network_of_a_bridge_belongs_to_each_node() -> None:
    """Nodes may give the same addresses on bridges of their own, also where a class says which."""
    pods = [
        claim(name, None, device="inner-on-cni", node=name, network="inner") for name in ("a", "b")
    ]
    assert users(pods, network("inner", type="bridge", bridge="br0")) == []
    assert users(pods) == []  # nobody says what the network is


def test_two_networks_on_a_link_of_a_node_meet() -> None:
    """The same link has both, so that their pods hear each other; another VLAN keeps them apart."""
    pods = [
        claim("a", None, device="one-on-eth1", network="one"),
        claim("b", None, device="two-on-eth1", network="two"),
    ]
    assert users(pods, network("one"), network("two")) == [{"a", "b"}]
    tagged = network("two", type="vlan", vlan=7)
    assert users(pods, network("one"), tagged) == []


def test_slots_of_a_link_are_on_it() -> None:
    """Where claims cannot share a link, each has a slot of it: on one node, or on two."""
    for node in ("n", "m"):
        pods = [
            claim("a", PLAIN, device="eth1-slot-0"),
            claim("b", PLAIN, device="eth1-slot-1", node=node),
        ]
        assert users(pods) == [{"a", "b"}]


def test_the_device_of_no_link_is_where_its_master_is() -> None:
    """Two such claims of a node may be on different links."""
    eth1, eth2 = ({**PLAIN, "name": link, "master": link} for link in ("eth1", "eth2"))
    pods = [claim("a", eth1, device="cni"), claim("b", eth2, device="cni")]
    assert users(pods) == []
    assert users([*pods, claim("c", eth1)]) == [{"a", "c"}]


def test_a_tenants_network_is_not_an_admins() -> None:
    """Whatever a tenant calls a network, it is not the PodNetwork of that name."""
    pods = [
        claim("a", {"type": "macvlan", "name": "media-net"}, device="eth2", node="one"),
        claim("b", None, device="media-net-on-eth1", node="two", network="media-net"),
    ]
    assert users(pods, network("media-net")) == []


def test_claims_change_and_go() -> None:
    """A claim that has another address, or is gone, shares the one it had with nobody."""
    known = AddressUsers({})
    for each in (claim("a", PLAIN), claim("b", PLAIN), claim("c", PLAIN)):
        known.put(each)
    (found,) = known.duplicates()
    assert [user.claim for user in found.users] == ["a", "b", "c"]
    known.put(claim("b", PLAIN, networkData={"ips": ["192.0.2.2/24"]}))
    (found,) = known.duplicates()
    assert [user.claim for user in found.users] == ["a", "c"]
    known.forget("n", "a")
    assert known.duplicates() == []
