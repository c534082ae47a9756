"""Wait for what the kernel does in its own time.

Promise: this waits for events, not for a clock, and returns at once if there is nothing to wait
for. Limit: it waits as long as it takes; the caller sets a limit with `asyncio.timeout`.
"""

import socket
from collections.abc import Callable

from netclaim.kernel.host.netns import Netns
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.state.addresses import Address, list_addresses
from netclaim.kernel.state.changes.monitor import (
    AddressChanged,
    AddressGone,
    LinkChanged,
    LinkGone,
    Monitor,
    Resync,
)
from netclaim.kernel.state.links import Link, find_link_at


async def wait_addresses_settled(netns: Netns, rtnl: Rtnl, index: int) -> Address | None:
    """Wait until no IPv6 address of a link is on trial (duplicate address detection).

    Returns the first one that another machine already has, if any.
    """
    with Monitor(netns) as monitor:
        async for event in monitor:
            match event:
                case Resync():
                    pass
                case AddressChanged(address) | AddressGone(address) if address.index == index:
                    pass
                case _:
                    continue
            own = [
                address
                for address in await list_addresses(rtnl, index)
                if address.family == socket.AF_INET6
            ]
            failed = next((each for each in own if each.flags & uapi.IFA_F_DADFAILED), None)
            if failed or not any(each.flags & uapi.IFA_F_TENTATIVE for each in own):
                return failed
    raise AssertionError("a monitor does not end")


async def wait_link(
    netns: Netns | None, rtnl: Rtnl, index: int, wanted: Callable[[Link], bool]
) -> Link | None:
    """Wait until a link is as wanted, and return it; None if it does not exist (any more)."""
    with Monitor(netns) as monitor:
        async for event in monitor:
            match event:
                case Resync():
                    link = await find_link_at(rtnl, index)
                case LinkChanged(changed) if changed.index == index:
                    link = changed
                case LinkGone(gone) if gone.index == index:
                    link = None
                case _:
                    continue
            if link is None or wanted(link):
                return link
    raise AssertionError("a monitor does not end")
