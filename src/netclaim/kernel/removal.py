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
from typing import Any

from netclaim.kernel import uapi
from netclaim.kernel.link_requests import delete_link_named
from netclaim.kernel.links import read_link
from netclaim.kernel.netlink import Exchange, KernelError, messages
from netclaim.kernel.netns import Netns
from netclaim.kernel.rtnl import RECEIVE_BYTES, open_rtnetlink, receive

__all__ = ["remove_link"]


async def remove_link(netns: Netns, name: str) -> bool:
    """Remove a link by its name; False: there is none. Its peer, if it has one, goes with it."""
    loop = asyncio.get_running_loop()
    with open_rtnetlink(netns, uapi.RTMGRP_LINK) as listener:
        answer = loop.run_in_executor(None, _request, open_rtnetlink(netns), name)
        async with asyncio.TaskGroup() as group:
            gone = group.create_task(_told(listener, name))
            either: set[asyncio.Future[Any]] = {gone, answer}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            told = gone.done() and gone.result()
            gone.cancel()
    if told:
        return True
    error = await answer
    if error is None:
        return True
    if error.errno == errno.ENODEV:
        return False
    raise error


def _request(sock: socket.socket, name: str) -> KernelError | None:
    """Have the kernel remove the link, and wait until it has; takes over the socket."""
    exchange = Exchange([delete_link_named(name)], 1)
    with sock:
        sock.setblocking(True)
        sock.send(exchange.outgoing)
        while not exchange.done:
            exchange.feed(sock.recv(RECEIVE_BYTES))
    return exchange.errors[0] if exchange.errors else None


async def _told(listener: socket.socket, name: str) -> bool:
    """Wait until the kernel says that the link is gone; False: its word was lost."""
    while True:
        try:
            datagram = await receive(listener)
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                return False
            raise
        for message in messages(datagram):
            if message.kind == uapi.RTM_DELLINK:
                link = read_link(message)
                if link is not None and link.name == name:
                    return True
