"""What takes the kernel its time, or is done inside a namespace; `ip` is the witness."""

import asyncio
import ipaddress
import threading
from collections.abc import Iterator

import pytest

from netclaim.errors import HostError
from netclaim.kernel import (
    KernelError,
    Netns,
    Rtnl,
    call_in,
    current_netns_id,
    find_link,
    list_addresses,
)
from netclaim.kernel.host import nftables
from netclaim.kernel.host.sysctls.sysctl import SysctlError, read_sysctl, try_sysctl, write_sysctl
from netclaim.kernel.host.threads import to_the_end
from netclaim.kernel.host.tun import IFF_MULTI_QUEUE, IFF_NO_PI, make_tap
from netclaim.kernel.requests.bridge import set_port
from netclaim.kernel.requests.ip import add_address
from netclaim.kernel.requests.links import bridge, create_link, macvlan, set_link, veth
from netclaim.kernel.state.changes.waiting import wait_addresses_settled, wait_link
from netclaim.kernel.state.copies.address_copies import give_back, take_addresses
from netclaim.kernel.state.link_identity import LinkIdentity, identify_link, link_index
from netclaim.kernel.state.link_settings import link_settings
from netclaim.kernel.state.removal import remove_link
from tests.support.kernel_support import fresh_netns, ip, ip_json

pytestmark = pytest.mark.embedded


@pytest.fixture
def netns() -> Iterator[Netns]:
    """A namespace of the test's own."""
    with fresh_netns() as netns:
        yield netns


async def make_pair(rtnl: Rtnl) -> int:
    """Make the links one and two, each other's ends; returns the index of one."""
    await rtnl.call(create_link("one", veth("two")))
    link = await find_link(rtnl, "one")
    assert link is not None
    return link.index


def test_an_action_inside_sees_the_namespace_and_the_caller_is_back(netns: Netns) -> None:
    """What it returns or raises comes out; the thread is where it was."""
    home = current_netns_id()
    assert call_in(netns, current_netns_id) == netns.id
    with pytest.raises(ZeroDivisionError):
        call_in(netns, lambda: 1 // 0)
    with pytest.raises(FileNotFoundError):
        call_in(netns, lambda: open("/none"))  # noqa: PTH123, SIM115 -- an OSError is not a refusal
    assert current_netns_id() == home


def test_settings_are_those_of_the_namespace(netns: Netns) -> None:
    """A sysctl is written and read where the thread is; dots in a link's name are no separators."""
    name = "net/ipv4/ip_forward"
    outside = read_sysctl(name)
    call_in(netns, lambda: write_sysctl(name, "1"))
    assert call_in(netns, lambda: read_sysctl(name)) == "1"
    assert read_sysctl(name) == outside
    with pytest.raises(SysctlError) as caught:
        write_sysctl("net/ipv4/conf/none.5/arp_notify", "1")
    assert caught.value.name == "net/ipv4/conf/none.5/arp_notify"
    assert not try_sysctl("net/none", "1")
    with pytest.raises(SysctlError):
        read_sysctl("net/none")


async def test_a_removed_link_is_gone_and_its_name_free(netns: Netns) -> None:
    """Its peer goes with it; a link that is not there is told apart."""
    with Rtnl.open(netns) as rtnl:
        for _ in range(5):
            await make_pair(rtnl)
            assert await remove_link(netns, "one")
            assert await find_link(rtnl, "one") is None
            assert await find_link(rtnl, "two") is None
        assert not await remove_link(netns, "one")


async def test_removing_holds_up_nobody(netns: Netns) -> None:
    """Other requests are answered while the kernel still frees a link."""
    with Rtnl.open(netns) as rtnl:
        for number in range(8):
            await rtnl.call(create_link(f"a{number}", veth(f"b{number}")))
        async with asyncio.TaskGroup() as group:
            for number in range(8):
                group.create_task(remove_link(netns, f"a{number}"))
        assert [link["ifname"] for link in ip_json(netns, "link", "show")] == ["lo"]


async def test_a_link_that_may_not_be_removed_is_told(netns: Netns) -> None:
    """The kernel's refusal comes out as such."""
    with pytest.raises(KernelError):
        await remove_link(netns, "lo")


async def test_waiting_for_a_link_ends_when_it_is_as_wanted(netns: Netns) -> None:
    """At once if it is already, on its change if it is not, with None when it goes."""
    with Rtnl.open(netns) as rtnl:
        index = await make_pair(rtnl)
        down = await wait_link(netns, rtnl, index, lambda link: not link.up)
        assert down is not None
        async with asyncio.TaskGroup() as group:
            up = group.create_task(
                wait_link(netns, rtnl, index, lambda link: link.oper_state == "up")
            )
            gone = group.create_task(wait_link(netns, rtnl, index, lambda _: False))
            await asyncio.sleep(0)
            ip(netns, "link", "set", "two", "up")
            ip(netns, "link", "set", "one", "up")
            assert (link := await up) is not None
            assert link.name == "one"
            ip(netns, "link", "del", "one")
            assert await gone is None
        assert await wait_link(netns, rtnl, index, lambda _: True) is None


async def test_waiting_for_addresses_ends_when_none_is_on_trial(netns: Netns) -> None:
    """IPv6 addresses are tried before use; one that a neighbour has fails."""
    with Rtnl.open(netns) as rtnl:
        index = await make_pair(rtnl)
        assert await wait_addresses_settled(netns, rtnl, index) is None
        ip(netns, "link", "set", "two", "up")
        await rtnl.batch(
            [
                add_address(index, ipaddress.ip_interface("2001:db8::1/64")),
                set_link(index, up=True),
            ]
        )
        assert await wait_addresses_settled(netns, rtnl, index) is None
        (own,) = (one for one in ip_json(netns, "address", "show") if one["ifname"] == "one")
        assert not any(address.get("tentative") for address in own["addr_info"])


async def test_addresses_come_back_with_all_they_had(netns: Netns) -> None:
    """Broadcast, peer, label and flags are the same after a round trip; twice changes nothing."""
    with Rtnl.open(netns) as rtnl:
        index = await make_pair(rtnl)
        for address in (
            ("192.0.2.1/24", "broadcast", "192.0.2.99"),
            ("192.0.2.2/24", "label", "one:x"),
            ("203.0.113.1", "peer", "203.0.113.2"),
            ("2001:db8::1/64", "nodad", "noprefixroute"),
        ):
            ip(netns, "address", "add", *address, "dev", "one")
        before = ip_json(netns, "address", "show", "one")
        taken = await take_addresses(rtnl, index)
        assert len(taken) == 4
        ip(netns, "address", "flush", "dev", "one")
        for _ in range(2):
            await rtnl.batch([give_back(index, address) for address in taken])
            assert ip_json(netns, "address", "show", "one") == before


async def test_a_port_has_its_switches(netns: Netns) -> None:
    """Hairpin and isolation are the port's."""
    with Rtnl.open(netns) as rtnl:
        index = await make_pair(rtnl)
        await rtnl.call(create_link("br", bridge()))
        link = await find_link(rtnl, "br")
        assert link is not None
        await rtnl.batch(
            [
                set_link(index, master_index=link.index),
                set_port(index, hairpin=True, isolated=True),
            ]
        )
        (port,) = ip_json(netns, "link", "show", "one")
        data = port["linkinfo"]["info_slave_data"]
        assert (data["hairpin"], data["isolated"]) == (True, True)


async def test_settings_of_a_kind_are_read(netns: Netns) -> None:
    """The mode of a macvlan and its broadcast queue; who is promiscuous; None for no link."""
    with Rtnl.open(netns) as rtnl:
        index = await make_pair(rtnl)
        kind = macvlan("vepa", broadcast_queue=77)
        await rtnl.call(create_link("mac", kind, parent_index=index))
        await rtnl.call(set_link(index, promiscuous=True))
        settings = await link_settings(rtnl, "mac")
        assert settings is not None
        assert (settings.kind, settings.number(1), settings.number(7)) == ("macvlan", 2, 77)
        assert settings.number(999) == 0
        parent = await link_settings(rtnl, "one")
        assert parent is not None
        assert parent.promiscuity >= 1
        assert await link_settings(rtnl, "none") is None


def test_a_tap_stays_when_nobody_has_it_open(netns: Netns) -> None:
    """It has the owner, group and queues that were asked for; a second of the name is refused."""
    flags = IFF_NO_PI | IFF_MULTI_QUEUE
    call_in(netns, lambda: make_tap("tap0", flags=flags, owner=61000, group=61001))
    (link,) = ip_json(netns, "link", "show", "tap0")
    data = link["linkinfo"]["info_data"]
    assert (data["type"], data["multi_queue"], data["pi"]) == ("tap", True, False)
    assert (data["user"], data["group"]) == (61000, 61001)
    with pytest.raises(HostError, match="lo"):
        call_in(netns, lambda: make_tap("lo", flags=flags))


def test_rules_are_carried_out_together_or_not_at_all(netns: Netns) -> None:
    """A mistake in one command leaves nothing of the others; a chain lists its rules."""

    def act() -> None:
        good = "add table inet t\nadd chain inet t c\nadd rule inet t c ip saddr 192.0.2.1 accept"
        with pytest.raises(nftables.NftError):
            nftables.run(good + "\nadd rule inet t none accept")
        assert nftables.list_chains("inet", "t") == set()
        assert nftables.list_rules("inet", "t", "c") == []
        nftables.run(good)
        assert nftables.list_chains("inet", "t") == {"c"}
        (rule,) = nftables.list_rules("inet", "t", "c")
        nftables.run(f"delete rule inet t c handle {rule['handle']}")
        assert nftables.list_rules("inet", "t", "c") == []

    call_in(netns, act)


async def test_a_slow_request_is_answered_like_any_other(netns: Netns) -> None:
    """Moving a link to another namespace, and being refused."""
    with Rtnl.open(netns) as rtnl, fresh_netns() as other:
        index = await make_pair(rtnl)
        await rtnl.call_slow(set_link(index, netns_fd=other.fd, name="moved", up=True))
        (link,) = ip_json(other, "link", "show", "moved")
        assert "UP" in link["flags"]
        with pytest.raises(KernelError):
            await rtnl.call_slow(set_link(index, netns_fd=other.fd))


async def test_a_cancelled_task_ends_when_its_work_has_ended() -> None:
    """Nothing happens behind the back of who cleans up; errors of the work are not lost before."""
    began, proceed, done = asyncio.Event(), threading.Event(), []
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(began.set)
        proceed.wait()
        done.append(True)
        raise ZeroDivisionError

    task = asyncio.ensure_future(to_the_end(work))
    await began.wait()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    proceed.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == [True]
    with pytest.raises(ZeroDivisionError):
        await to_the_end(work)


async def test_the_addresses_of_one_link_are_listed_alone(netns: Netns) -> None:
    """The kernel leaves out those of other links, of both families."""
    with Rtnl.open(netns) as rtnl:
        index = await make_pair(rtnl)
        for link, number in (("one", 1), ("two", 2)):
            ip(netns, "address", "add", f"192.0.2.{number}/24", "dev", link)
            ip(netns, "address", "add", f"2001:db8::{number}/64", "dev", link)
        found = {str(address) for address in await list_addresses(rtnl, index)}
        assert found == {"192.0.2.1/24", "2001:db8::1/64"}


async def test_a_link_is_identified_where_the_socket_is(netns: Netns) -> None:
    """Index and MAC are those that netlink tells; no link is None, and a name is never cut."""
    with Rtnl.open(netns) as rtnl, Rtnl.open() as elsewhere:
        await rtnl.call(create_link("one", veth("two-of-15-bytes"), mac="02:00:00:00:00:07"))
        link = await find_link(rtnl, "one")
        assert link is not None
        found = identify_link(rtnl, "one")
        assert found == LinkIdentity(link.index, "one", "02:00:00:00:00:07")
        assert link_index(rtnl, "two-of-15-bytes") == link.parent_index
        assert link_index(rtnl, "two-of-15-bytes-and-more") is None
        assert identify_link(rtnl, "three") is None
        assert identify_link(elsewhere, "one") is None
