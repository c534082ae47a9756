"""Remove a link without waiting for the kernel to free it.

The kernel takes a link out of its namespace at once and tells so; but it answers the request only
when nobody refers to the link any more, some 15 ms later. In between the name is free again.

Promise: when `remove_link` returns, the link is out of the namespace; the event loop was never
held up.
Limit: one thread waits for the kernel's answer, also after `remove_link` has returned.
"""

import asyncio
import errno
import socket
from typing import Final

from netclaim.errors import HostError
from netclaim.kernel import uapi
from netclaim.kernel.link_requests import delete_link_named
from netclaim.kernel.links import read_link
from netclaim.kernel.netlink import Exchange, messages
from netclaim.kernel.netns import Netns
from netclaim.kernel.rtnl import RtnlTimeoutError, open_rtnetlink, receive

__all__ = ["remove_link"]

TIMEOUT_S: Final = 5.0  # as long as for any request
LOST: Final = errno.ENOBUFS  # the kernel dropped something that it had to say


async def remove_link(netns: Netns, name: str) -> bool:
    """Remove a link by its name; False: there is none. Its peer, if it has one, goes with it."""
    request = delete_link_named(name)
    exchange = Exchange([request], 1)
    # One socket listens and asks; a thread is inside send() while we read what the kernel says.
    with open_rtnetlink(netns, uapi.RTMGRP_LINK) as sock:
        loop = asyncio.get_running_loop()
        sending = loop.run_in_executor(None, sock.send, exchange.outgoing)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                if await _told_first(sock, exchange, name):
                    return True
        except TimeoutError as error:
            raise RtnlTimeoutError(f"{request.about}: no answer in {TIMEOUT_S} s") from error
        except OSError as error:
            if error.errno != LOST:
                raise HostError(f"{request.about}: {error.strerror}") from error
        await sending  # whatever was lost, the link is gone when this returns
    if not exchange.errors:
        return True
    if exchange.errors[0].errno == errno.ENODEV:
        return False
    raise exchange.errors[0]


async def _told_first(sock: socket.socket, exchange: Exchange, name: str) -> bool:
    """Read until the link is said to be gone (True) or the request is answered (False)."""
    while not exchange.done:
        datagram = await receive(sock)
        exchange.feed(datagram)
        for message in messages(datagram):
            if message.kind == uapi.RTM_DELLINK:
                link = read_link(message)
                if link is not None and link.name == name:
                    return True
    return False
