"""Changes of real links and addresses, as they arrive."""

import asyncio
import ipaddress
import sys
import textwrap
from collections.abc import Callable, Iterator

import pytest

from netclaim.errors import HostError
from netclaim.kernel.host.netns import Netns
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.requests.ip import add_address, delete_address
from netclaim.kernel.requests.links import bridge, create_link, delete_link, set_link, veth
from netclaim.kernel.state.addresses import list_addresses
from netclaim.kernel.state.changes.monitor import (
    AddressChanged,
    AddressGone,
    Event,
    LinkChanged,
    LinkGone,
    Monitor,
    Resync,
)
from netclaim.kernel.state.links import Link, find_link, list_links
from tests.support.kernel_support import fresh_netns

pytestmark = pytest.mark.embedded

PATIENCE_S = 30  # for a machine under load; an event that comes at all comes at once
TINY_BUFFER_BYTES = 1  # the kernel makes of it its minimum, which holds less than two events


@pytest.fixture
def netns() -> Iterator[Netns]:
    """A namespace of the test's own."""
    with fresh_netns() as made:
        yield made


@pytest.fixture
def rtnl(netns: Netns) -> Iterator[Rtnl]:
    """A client in that namespace."""
    with Rtnl.open(netns) as client:
        yield client


@pytest.fixture
def monitor(netns: Netns) -> Iterator[Monitor]:
    """A monitor of that namespace."""
    with Monitor(netns) as made:
        yield made


async def until(monitor: Monitor, wanted: Callable[[Event], bool]) -> list[Event]:
    """Gather events up to the one that is wanted."""
    gathered = []
    async with asyncio.timeout(PATIENCE_S):
        async for event in monitor:
            gathered.append(event)
            if wanted(event):
                break
    return gathered


def changed(name: str, **facts: object) -> Callable[[Event], bool]:
    """Match a change of the named link after which these facts hold."""
    return lambda event: (
        isinstance(event, LinkChanged)
        and event.link.name == name
        and all(getattr(event.link, fact) == value for fact, value in facts.items())
    )


async def make_bridge(rtnl: Rtnl, name: str) -> Link:
    """Make a link that does nothing by itself."""
    await rtnl.call(create_link(name, bridge()))
    link = await find_link(rtnl, name)
    assert link is not None
    return link


async def test_first_comes_resync(monitor: Monitor) -> None:
    """Before any change a consumer is told to list what is there already."""
    assert await anext(monitor) == Resync()


async def test_a_link_from_its_making_to_its_end(monitor: Monitor, rtnl: Rtnl) -> None:
    """Adding, changing the MTU, renaming and deleting a link are told, under one index."""
    link = await make_bridge(rtnl, "br0")
    await until(monitor, changed("br0", index=link.index))
    await rtnl.call(set_link(link.index, mtu=1280))
    await until(monitor, changed("br0", mtu=1280))
    await rtnl.call(set_link(link.index, name="br9"))
    await until(monitor, changed("br9", index=link.index))
    await rtnl.call(delete_link(link.index))
    *_, last = await until(monitor, lambda event: isinstance(event, LinkGone))
    assert isinstance(last, LinkGone)
    assert (last.link.index, last.link.name) == (link.index, "br9")


async def test_a_link_coming_up_is_told(monitor: Monitor, rtnl: Rtnl) -> None:
    """A link is reported up when its far end comes up, although nobody touched the link."""
    await rtnl.call(create_link("up0", veth("up0-peer")))
    near, far = await find_link(rtnl, "up0"), await find_link(rtnl, "up0-peer")
    assert near is not None
    assert far is not None
    await rtnl.call(set_link(near.index, up=True))
    await until(monitor, changed("up0", up=True))
    await rtnl.call(set_link(far.index, up=True))
    await until(monitor, changed("up0", oper_state="up", carrier=True))
    await rtnl.call(set_link(far.index, up=False))
    await until(monitor, changed("up0", oper_state="lowerlayerdown", carrier=False))


@pytest.mark.parametrize("text", ["10.9.0.5/24", "fd00:9::5/64"])
async def test_an_address_coming_and_going_is_told(monitor: Monitor, rtnl: Rtnl, text: str) -> None:
    """Adding and deleting an address are told, in either family."""
    link = await make_bridge(rtnl, "br0")
    address = ipaddress.ip_interface(text)
    await rtnl.call(add_address(link.index, address))
    *_, added = await until(monitor, lambda event: isinstance(event, AddressChanged))
    await rtnl.call(delete_address(link.index, address))
    *_, removed = await until(monitor, lambda event: isinstance(event, AddressGone))
    assert isinstance(added, AddressChanged)
    assert isinstance(removed, AddressGone)
    assert (added.address.index, str(added.address)) == (link.index, text)
    assert (removed.address.index, str(removed.address)) == (link.index, text)


async def test_leaving_a_bridge_is_not_the_end_of_a_link(monitor: Monitor, rtnl: Rtnl) -> None:
    """The kernel's "port deleted" of a bridge is a change of the link, not its deletion."""
    master = await make_bridge(rtnl, "br0")
    await rtnl.call(create_link("up0", veth("up0-peer")))
    port = await find_link(rtnl, "up0")
    assert port is not None
    await rtnl.call(set_link(port.index, master_index=master.index))
    await until(monitor, changed("up0", master_index=master.index))
    await rtnl.call(set_link(port.index, master_index=0))
    await make_bridge(rtnl, "marker")
    events = await until(monitor, changed("marker"))
    assert any(map(changed("up0", master_index=0), events))
    assert not [event for event in events if isinstance(event, LinkGone)]


async def test_moving_to_another_namespace_ends_a_link_here(monitor: Monitor, rtnl: Rtnl) -> None:
    """A link given to a pod is gone from the node, and new in the pod."""
    await rtnl.call(create_link("up0", veth("up0-peer")))
    link = await find_link(rtnl, "up0")
    assert link is not None
    with fresh_netns() as pod, Monitor(pod) as pod_monitor:
        await rtnl.call(set_link(link.index, netns_fd=pod.fd))
        await until(monitor, lambda event: isinstance(event, LinkGone))
        await until(pod_monitor, changed("up0"))


async def test_an_overrun_is_told_by_resync(netns: Netns, rtnl: Rtnl) -> None:
    """Events beyond the buffer become one Resync; nothing from before it comes after it."""
    with Monitor(netns, receive_buffer_bytes=TINY_BUFFER_BYTES) as monitor:
        assert await anext(monitor) == Resync()
        await rtnl.batch([create_link(f"br{number}", bridge()) for number in range(50)])
        assert await anext(monitor) == Resync()
        await make_bridge(rtnl, "marker")
        events = await until(monitor, changed("marker"))
        assert {event.link.name for event in events if isinstance(event, LinkChanged)} == {"marker"}


async def test_a_monitor_works_in_a_user_namespace() -> None:
    """Where the machine's root has no say, links and their changes are seen all the same."""
    program = """
        import asyncio
        from netclaim.kernel import Monitor, Rtnl, list_links, open_netns
        from netclaim.kernel.requests.links import bridge, create_link
        from netclaim.kernel.state.changes.monitor import LinkChanged

        async def main():
            with open_netns("/proc/self/ns/net") as own, Rtnl.open(own) as rtnl:
                with Monitor(own) as monitor:
                    await rtnl.call(create_link("br0", bridge()))
                    async for event in monitor:
                        if isinstance(event, LinkChanged):
                            print(event.link.name, len(await list_links(rtnl)))
                            return

        asyncio.run(main())
    """
    ended = await asyncio.create_subprocess_exec(
        *("unshare", "--user", "--map-root-user", "--net"),
        *(sys.executable, "-c", textwrap.dedent(program)),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await ended.communicate()
    assert output == b"br0 2\n"


async def test_a_closed_monitor_says_so(monitor: Monitor) -> None:
    """Waiting on a monitor after its close is an error of ours; closing again is nothing."""
    await anext(monitor)
    monitor.close()
    monitor.close()
    with pytest.raises(HostError, match="link changes"):
        await anext(monitor)


class Follower:
    """A consumer as the monitor's promise describes it."""

    def __init__(self, rtnl: Rtnl) -> None:
        self._rtnl = rtnl
        self.links: dict[int, Link] = {}
        self.addresses: set[str] = set()

    async def follow(self, event: Event) -> None:
        """List everything on Resync, else apply what is told."""
        match event:
            case Resync():
                self.links = {link.index: link for link in await list_links(self._rtnl)}
                self.addresses = {str(address) for address in await list_addresses(self._rtnl)}
            case LinkChanged(link):
                self.links[link.index] = link
            case LinkGone(link):
                self.links.pop(link.index, None)
            case AddressChanged(address):
                self.addresses.add(str(address))
            case AddressGone(address):
                self.addresses.discard(str(address))

    def knows(self, name: str) -> bool:
        """Say whether it has heard of a link."""
        return any(link.name == name for link in self.links.values())


@pytest.mark.parametrize("buffer_bytes", [TINY_BUFFER_BYTES, 1 << 20])
async def test_a_consumer_ends_with_what_the_kernel_has(
    netns: Netns, rtnl: Rtnl, buffer_bytes: int
) -> None:
    """Listing on Resync and following the rest gives the kernel's state, overrun or not."""
    follower = Follower(rtnl)
    with Monitor(netns, receive_buffer_bytes=buffer_bytes) as monitor:
        await follower.follow(await anext(monitor))
        for number in range(20):
            link = await make_bridge(rtnl, f"br{number}")
            address = ipaddress.ip_interface(f"10.9.{number}.1/24")
            await rtnl.batch(
                [add_address(link.index, address), set_link(link.index, mtu=1300 + number)]
            )
            if number % 3 == 0:
                await rtnl.call(delete_link(link.index))
            if number % 7 == 0:
                await follower.follow(await anext(monitor))
        await make_bridge(rtnl, "marker")
        async with asyncio.timeout(PATIENCE_S):
            while not follower.knows("marker"):
                await follower.follow(await anext(monitor))
        assert set(follower.links.values()) == set(await list_links(rtnl))
        assert follower.addresses == {str(address) for address in await list_addresses(rtnl)}
