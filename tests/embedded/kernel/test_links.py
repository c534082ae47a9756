"""Links, addresses and routes as the real kernel makes and lists them; `ip` is the witness."""

import errno
import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from netclaim.kernel.host.netns import Netns, call_in
from netclaim.kernel.host.sysctls.sysctl import write_sysctl
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import KernelError
from netclaim.kernel.requests.ip import (
    add_address,
    add_route,
    delete_address,
    delete_route,
)
from netclaim.kernel.requests.links import (
    bridge,
    create_link,
    delete_link,
    macvlan,
    set_link,
    veth,
)
from netclaim.kernel.state.addresses import list_addresses
from netclaim.kernel.state.links import Link, find_link, list_links, netns_number
from netclaim.kernel.state.routes import Route, list_routes
from tests.support.kernel_support import fill_with_altnames, fresh_netns, ip, ip_json

pytestmark = pytest.mark.embedded


@pytest.fixture
def netns() -> Iterator[Netns]:
    """A node's namespace."""
    with fresh_netns() as made:
        yield made


@pytest.fixture
def pod() -> Iterator[Netns]:
    """A pod's namespace."""
    with fresh_netns() as made:
        yield made


@pytest.fixture
def rtnl(netns: Netns) -> Iterator[Rtnl]:
    """A client in the node's namespace."""
    with Rtnl.open(netns) as client:
        yield client


async def the_link(rtnl: Rtnl, name: str) -> Link:
    """Look up a link that must be there."""
    link = await find_link(rtnl, name)
    assert link is not None, name
    return link


def agrees(link: Link, witness: dict[str, Any]) -> bool:
    """Compare a link with what `ip` says of it."""
    info = witness.get("linkinfo", {})
    return (link.index, link.name, link.mac, link.mtu, link.kind, link.oper_state, link.txqlen) == (
        witness["ifindex"],
        witness["ifname"],
        witness["address"],
        witness["mtu"],
        info.get("info_kind", ""),
        witness["operstate"].lower(),
        witness.get("txqlen", 0),
    )


async def test_links_agree_with_ip(rtnl: Rtnl, netns: Netns) -> None:
    """Every link is listed once, with the facts that `ip` prints."""
    await rtnl.batch(
        [
            create_link("br0", bridge()),
            create_link("up0", veth("up0-peer"), mac="02:00:00:00:00:07", mtu=1400),
        ]
    )
    parent = await the_link(rtnl, "up0")
    await rtnl.call(create_link("mv0", macvlan("private"), parent_index=parent.index))
    ip(netns, "link", "set", "up0", "up", "alias", "uplink to the rack")
    ip(netns, "link", "set", "up0-peer", "up", "master", "br0")
    links = {link.name: link for link in await list_links(rtnl)}
    witnesses = {witness["ifname"]: witness for witness in ip_json(netns, "link", "show")}
    assert links.keys() == witnesses.keys() == {"lo", "br0", "up0", "up0-peer", "mv0"}
    assert [name for name in links if not agrees(links[name], witnesses[name])] == []
    assert links["lo"].loopback
    assert links["up0"].alias == "uplink to the rack"
    assert links["up0"].up
    assert links["up0"].carrier
    assert links["up0"].parent_index == links["up0-peer"].index
    assert links["up0-peer"].master_index == links["br0"].index
    assert links["up0-peer"].port_kind == "bridge"
    assert links["mv0"].parent_index == parent.index
    assert links["mv0"].parent_nsid is None
    assert not links["mv0"].up
    assert links["up0"].arphrd == uapi.ARPHRD_ETHER


async def test_an_alternative_name_finds_its_link(rtnl: Rtnl, netns: Netns) -> None:
    """Alternative names are listed with the link, and each of them finds it."""
    long_name = "a-name-longer-than-fifteen-characters"
    await rtnl.call(create_link("br0", bridge()))
    for altname in ("enp0s1", long_name):
        ip(netns, "link", "property", "add", "dev", "br0", "altname", altname)
    found = [link for link in await list_links(rtnl) if link.name == "br0"]
    assert [set(link.altnames) for link in found] == [{"enp0s1", long_name}]
    assert (await the_link(rtnl, "enp0s1")).index == found[0].index


async def test_as_many_alternative_names_as_the_kernel_takes_are_read(
    rtnl: Rtnl, netns: Netns
) -> None:
    """One link with 64 KiB of names does not keep the others from being listed."""
    await rtnl.batch([create_link("br0", bridge()), create_link("br1", bridge())])
    names = fill_with_altnames(netns, "br0")
    links = {link.name: link for link in await list_links(rtnl)}
    assert links.keys() == {"lo", "br0", "br1"}
    assert set(links["br0"].altnames) == names
    assert set((await the_link(rtnl, "br0")).altnames) == names


async def test_a_name_nobody_has_finds_nothing(rtnl: Rtnl) -> None:
    """A link that is not there is None, not an error."""
    assert await find_link(rtnl, "nobody") is None


async def test_two_hundred_veths_are_all_listed(rtnl: Rtnl, netns: Netns) -> None:
    """A dump of several datagrams gives every link exactly once."""
    pairs = range(200)
    await rtnl.batch([create_link(f"v{pair}", veth(f"w{pair}")) for pair in pairs])
    names = [link.name for link in await list_links(rtnl)]
    wanted = {"lo"} | {f"{end}{pair}" for end in "vw" for pair in pairs}
    assert len(names) == len(wanted)
    assert set(names) == wanted


async def test_a_client_sees_its_own_namespace(rtnl: Rtnl, pod: Netns) -> None:
    """Links made in one namespace are listed there and nowhere else."""
    await rtnl.call(create_link("nct-node", bridge()))
    with Rtnl.open(pod) as inside, Rtnl.open() as home:
        assert [link.name for link in await list_links(inside)] == ["lo"]
        assert await find_link(home, "nct-node") is None


async def test_macvlan_is_made_at_once_in_the_pod(rtnl: Rtnl, pod: Netns) -> None:
    """One request gives a link in another namespace with its final name, MAC and MTU."""
    await rtnl.call(create_link("up0", veth("up0-peer")))
    parent = await the_link(rtnl, "up0")
    mac = "02:00:00:00:01:02"
    await rtnl.call(
        create_link(
            "net1", macvlan(), parent_index=parent.index, netns_fd=pod.fd, mac=mac, mtu=1300
        )
    )
    assert await find_link(rtnl, "net1") is None
    with Rtnl.open(pod) as inside:
        link = await the_link(inside, "net1")
        assert (link.kind, link.mac, link.mtu) == ("macvlan", mac, 1300)
        assert link.parent_index == parent.index
        assert link.parent_nsid is not None
    details = next(w for w in ip_json(pod, "link", "show") if w["ifname"] == "net1")
    assert details["linkinfo"]["info_data"]["mode"] == "bridge"


async def test_address_up_and_routes_in_one_batch(rtnl: Rtnl, pod: Netns) -> None:
    """Addresses, the up flag and the routes through them are set by one batch."""
    await rtnl.call(create_link("host0", veth("net1", peer_netns_fd=pod.fd)))
    gateway = ipaddress.ip_address("10.9.0.1")
    with Rtnl.open(pod) as inside:
        index = (await the_link(inside, "net1")).index
        await inside.batch(
            [
                add_address(index, ipaddress.ip_interface("10.9.0.5/24")),
                add_address(index, ipaddress.ip_interface("fd00:9::5/64"), flags=uapi.IFA_F_NODAD),
                set_link(index, up=True),
                add_route(ipaddress.ip_network("0.0.0.0/0"), gateway=gateway, link_index=index),
                add_route(
                    ipaddress.ip_network("10.50.0.0/16"),
                    gateway=gateway,
                    source=ipaddress.ip_address("10.9.0.5"),
                    priority=77,
                    mtu=1200,
                    advmss=1100,
                ),
                add_route(ipaddress.ip_network("10.60.0.1/32"), link_index=index),
                add_route(
                    ipaddress.ip_network("::/0"),
                    gateway=ipaddress.ip_address("fd00:9::1"),
                    link_index=index,
                ),
                add_route(ipaddress.ip_network("10.70.0.0/16"), gateway=gateway, table=1000),
            ]
        )
        addresses = [a for a in await list_addresses(inside) if a.index == index]
        routes = await list_routes(inside)
        far = await list_routes(inside, table=1000)
    assert {str(a) for a in addresses if a.scope == 0} == {"10.9.0.5/24", "fd00:9::5/64"}
    assert {(r.family, r.gateway) for r in routes if r.default} == {
        (socket.AF_INET, "10.9.0.1"),
        (socket.AF_INET6, "fd00:9::1"),
    }
    assert [r.gateway for r in routes if r.destination == "10.60.0.1"] == [""]
    assert [(r.destination, r.table) for r in far] == [("10.70.0.0", 1000)]
    shown = {route["dst"]: route for route in ip_json(pod, "route", "show")}
    assert shown.keys() == {"default", "10.9.0.0/24", "10.50.0.0/16", "10.60.0.1"}
    special = shown["10.50.0.0/16"]
    assert (special["prefsrc"], special["metric"]) == ("10.9.0.5", 77)
    assert special["metrics"] == [{"mtu": 1200, "advmss": 1100}]
    assert (shown["10.60.0.1"]["scope"], shown["10.60.0.1"]["dev"]) == ("link", "net1")
    (info,) = (a for a in ip_json(pod, "address", "show", "dev", "net1"))
    assert next(a for a in info["addr_info"] if a["family"] == "inet")["broadcast"] == "10.9.0.255"


async def test_addresses_and_routes_can_be_taken_back(rtnl: Rtnl) -> None:
    """What was added is removed by the request that names it."""
    await rtnl.call(create_link("br0", bridge()))
    index = (await the_link(rtnl, "br0")).index
    address = ipaddress.ip_interface("10.9.0.5/24")
    destination = ipaddress.ip_network("10.60.0.0/16")
    await rtnl.batch(
        [
            add_address(index, address),
            set_link(index, up=True),
            add_route(destination, link_index=index),
        ]
    )
    assert "10.60.0.0" in {route.destination for route in await list_routes(rtnl)}
    await rtnl.batch([delete_route(destination, link_index=index), delete_address(index, address)])
    assert "10.60.0.0" not in {route.destination for route in await list_routes(rtnl)}
    assert str(address) not in {str(found) for found in await list_addresses(rtnl)}


async def test_an_address_is_our_end_with_all_its_flags(rtnl: Rtnl, netns: Netns) -> None:
    """Of a point-to-point address the near end is given; flags beyond the first eight are too."""
    no_prefix_route = 0x200  # IFA_F_NOPREFIXROUTE, which the fixed part has no room for
    await rtnl.call(create_link("br0", bridge()))
    ip(netns, "address", "add", "10.1.0.1", "peer", "10.2.0.2/32", "dev", "br0", "noprefixroute")
    (address,) = await list_addresses(rtnl)
    assert str(address) == "10.1.0.1/32"
    assert address.flags & no_prefix_route


async def test_a_multipath_route_is_each_of_its_ways(rtnl: Rtnl, netns: Netns) -> None:
    """A default route over two links leads over both."""
    await rtnl.batch([create_link(name, bridge()) for name in ("br0", "br1")])
    for name in ("br0", "br1"):
        ip(netns, "link", "set", name, "up")
    ip(netns, "route", "add", "default", "nexthop", "dev", "br0", "nexthop", "dev", "br1")
    wanted = {(await the_link(rtnl, name)).index for name in ("br0", "br1")}
    assert {route.index for route in await list_routes(rtnl) if route.default} == wanted


@pytest.mark.parametrize("compat", ["1", "0"], ids=["with the links", "with the number only"])
@pytest.mark.parametrize("family", ["-4", "-6"])
async def test_a_route_by_a_next_hop_leads_where_that_does(
    rtnl: Rtnl, netns: Netns, compat: str, family: str
) -> None:
    """Also one by a group of next hops, whether or not the kernel says the links in the route."""
    call_in(netns, lambda: write_sysctl("net/ipv4/nexthop_compat_mode", compat))
    await rtnl.batch([create_link(name, bridge()) for name in ("br0", "br1")])
    for name in ("br0", "br1"):
        ip(netns, "link", "set", name, "up")
    near = {"-4": ("10.7.0.1/24", "10.7.0.9"), "-6": ("fd07::1/64", "fd07::9")}[family]
    ip(netns, family, "address", "add", near[0], "dev", "br1")
    ip(netns, family, "nexthop", "add", "id", "1", "dev", "br0")
    ip(netns, family, "nexthop", "add", "id", "2", "via", near[1], "dev", "br1")
    ip(netns, "nexthop", "add", "id", "12", "group", "1/2,5")
    ip(netns, family, "route", "add", "default", "nhid", "12")
    ip(netns, family, "route", "add", "default", "nhid", "2", "table", "77")
    br0, br1 = [(await the_link(rtnl, name)).index for name in ("br0", "br1")]
    ways = {(r.table, r.index, r.gateway) for r in await list_routes(rtnl, 0) if r.default}
    assert ways == {(254, br0, ""), (254, br1, near[1]), (77, br1, near[1])}


async def test_an_ipv4_route_by_an_ipv6_gateway_has_that_gateway(rtnl: Rtnl, netns: Netns) -> None:
    """A gateway of the other address family is a gateway."""
    await rtnl.call(create_link("br0", bridge()))
    ip(netns, "link", "set", "br0", "up")
    ip(netns, "route", "add", "10.1.2.3/32", "via", "inet6", "fe80::1", "dev", "br0")
    routes: list[Route] = [r for r in await list_routes(rtnl) if r.destination == "10.1.2.3"]
    assert [route.gateway for route in routes] == ["fe80::1"]


async def test_a_table_without_routes_is_empty(rtnl: Rtnl) -> None:
    """A table that does not exist has no routes."""
    assert await list_routes(rtnl, table=4321) == ()


async def test_a_link_is_moved_renamed_and_deleted(rtnl: Rtnl, pod: Netns) -> None:
    """A link can be given to a pod under a new name, and is gone after deletion."""
    await rtnl.call(create_link("br0", bridge()))
    await rtnl.call(create_link("up0", veth("up0-peer")))
    peer = await the_link(rtnl, "up0-peer")
    master = await the_link(rtnl, "br0")
    await rtnl.call(set_link(peer.index, master_index=master.index, alias="to be moved"))
    assert (await the_link(rtnl, "up0-peer")).alias == "to be moved"
    await rtnl.call(set_link(peer.index, master_index=0))
    await rtnl.call(set_link(peer.index, netns_fd=pod.fd, name="net1"))
    with Rtnl.open(pod) as inside:
        await rtnl.call(set_link((await the_link(rtnl, "up0")).index, mtu=1234))
        moved = await the_link(inside, "net1")
        assert moved.master_index == 0
        await inside.call(delete_link(moved.index))
        assert await find_link(inside, "net1") is None
    assert await find_link(rtnl, "up0") is None  # a pair ends together


async def test_the_number_of_a_namespace_is_that_of_its_links(rtnl: Rtnl, pod: Netns) -> None:
    """A veth names the namespace of its peer by the number that the kernel gives for it."""
    with fresh_netns() as stranger:
        await rtnl.call(create_link("veth0", veth("eth0", peer_netns_fd=pod.fd)))
        link = await the_link(rtnl, "veth0")
        assert link.parent_nsid is not None
        assert await netns_number(rtnl, pod) == link.parent_nsid
        assert await netns_number(rtnl, stranger) is None


async def test_the_kernels_own_words_are_in_the_error(rtnl: Rtnl) -> None:
    """A refused request carries the errno, what was asked and the kernel's explanation."""
    await rtnl.call(create_link("br0", bridge()))
    with pytest.raises(KernelError) as caught:
        await rtnl.call(create_link("br0", bridge()))
    assert caught.value.errno == errno.EEXIST
    assert str(caught.value).startswith("create bridge link br0: ")
    with pytest.raises(KernelError) as caught:
        await rtnl.call(set_link((await the_link(rtnl, "br0")).index, mtu=10))
    assert caught.value.errno == errno.EINVAL
    assert caught.value.detail == "mtu less than device minimum"


async def test_a_batch_tries_everything_and_raises_the_first_failure(rtnl: Rtnl) -> None:
    """Requests after a failed one are carried out; later failures are notes of the first."""
    with pytest.raises(KernelError) as caught:
        await rtnl.batch(
            [
                create_link("br0", bridge()),
                delete_link(4711),
                create_link("br0", bridge()),
                create_link("br1", bridge()),
            ]
        )
    assert caught.value.errno == errno.ENODEV
    assert [note.split(":")[0] for note in caught.value.__notes__] == ["also"]
    assert {link.name for link in await list_links(rtnl)} == {"lo", "br0", "br1"}
