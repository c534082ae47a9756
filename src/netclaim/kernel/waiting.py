"""Wait until the kernel has done what it does in its own time.

Promise: waits for events, not for a clock; returns at once where there is nothing to wait for.
Limit: for as long as it takes; the caller sets a limit with `asyncio.timeout`.
"""

import socket
from collections.abc import Callable

from netclaim.kernel import uapi
from netclaim.kernel.addresses import Address, list_addresses
from netclaim.kernel.links import Link, find_link_at
from netclaim.kernel.monitor import (
    AddressChanged,
    AddressGone,
    LinkChanged,
    LinkGone,
    Monitor,
    Resync,
)
from netclaim.kernel.netns import Netns
from netclaim.kernel.rtnl import Rtnl

__all__ = ["wait_addresses_settled", "wait_link"]


async def wait_addresses_settled(netns: Netns, rtnl: Rtnl, index: int) -> Address | None:
    """Wait until no IPv6 address of a link is on trial (duplicate address detection).

    Returns the first one that turned out to be taken by another machine, if any.
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
    """Wait until a link is as wanted, and return it; None: there is no such link (any more)."""
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
