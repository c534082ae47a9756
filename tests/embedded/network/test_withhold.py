"""The links of a node made of namespaces, as in the lab: which of them are offered."""

import ipaddress
from collections.abc import Iterator

import pytest

from netclaim.kernel import (
    Netns,
    Rtnl,
    SysfsFacts,
    find_link,
    list_addresses,
    list_links,
    list_routes,
    netns_number,
)
from netclaim.kernel.requests.ip import add_address, add_route
from netclaim.kernel.requests.links import bridge, create_link, set_link, veth
from netclaim.network.devices.device import device_of
from netclaim.network.links.withhold import NodeView, withheld
from tests.support.kernel_support import fresh_netns

pytestmark = pytest.mark.embedded


@pytest.fixture
def node() -> Iterator[Netns]:
    """A node's namespace."""
    with fresh_netns() as made:
        yield made


async def index_of(rtnl: Rtnl, name: str) -> int:
    """Look up a link that must be there."""
    link = await find_link(rtnl, name)
    assert link is not None
    return link.index


async def test_uplinks_are_offered_and_pods_veths_are_not(node: Netns) -> None:
    """On a node whose uplinks are veths like those of its pods, just the uplinks are offered."""
    with (
        fresh_netns() as rack,
        fresh_netns() as pod,
        Rtnl.open(node) as rtnl,
        Rtnl.open(rack) as switch,
    ):
        for name in ("eth0", "eth1"):
            await switch.call(create_link(f"to-{name}", veth(name, peer_netns_fd=node.fd)))
        await rtnl.batch(
            [
                create_link("veth0a1b2c3d", veth("eth0", peer_netns_fd=pod.fd)),
                create_link("vethport", veth("eth1", peer_netns_fd=pod.fd)),
                create_link("br-lan", bridge()),
            ]
        )
        port, master = await index_of(rtnl, "vethport"), await index_of(rtnl, "br-lan")
        await rtnl.call(set_link(port, master_index=master))
        links = await list_links(rtnl)
        number = await netns_number(rtnl, pod)
        assert number is not None
        reasons = withheld(links, await list_addresses(rtnl), NodeView(frozenset({number})))
    offered = {link.name for link in links if link.index not in reasons}
    assert offered == {"eth0", "eth1", "br-lan"}


async def test_a_real_link_becomes_a_device(node: Netns) -> None:
    """The kernel's facts of an uplink with an address and the default route are published."""
    with fresh_netns() as rack, Rtnl.open(node) as rtnl, Rtnl.open(rack) as switch:
        peer = veth("eth1", peer_netns_fd=node.fd, peer_mac="02:00:00:00:00:11")
        await switch.call(create_link("to-eth1", peer))
        await switch.call(set_link(await index_of(switch, "to-eth1"), up=True))
        index = await index_of(rtnl, "eth1")
        await rtnl.batch(
            [
                set_link(index, up=True),
                add_address(index, ipaddress.ip_interface("10.9.0.5/24")),
                add_route(
                    ipaddress.ip_network("0.0.0.0/0"), gateway=ipaddress.ip_address("10.9.0.1")
                ),
            ]
        )
        link = await find_link(rtnl, "eth1")
        assert link is not None
        default = {route.index for route in await list_routes(rtnl) if route.default}
        device = device_of(
            link, await list_addresses(rtnl), SysfsFacts(), default_route=index in default
        )
    wanted = {
        "name": "eth1",
        "kind": "veth",
        "mac": "02:00:00:00:00:11",
        "mtu": 1500,
        "ipv4": "10.9.0.5/24",
        "defaultRoute": True,
    }
    assert device.name == "eth1"
    assert wanted.items() <= dict(device.attributes).items()
