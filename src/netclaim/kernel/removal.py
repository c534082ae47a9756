"""Remove a link without waiting for the kernel to free it.

The kernel takes a link out of its namespace at once and tells so; but it answers the request only
when nobody refers to the link any more, some 15 ms later. In between the name is free again.

Promise: when `remove_link` returns or is cancelled, the kernel has carried out the request: the
link is out of the namespace, and a new one of its name is safe. The event loop is never held up.
Limit: one thread waits for the kernel's answer, also after `remove_link` has returned. Before
Linux 6.2 the kernel does not tell whose request took a link away: there it is the answer that is
waited for. After a timeout nothing is promised.
"""

import asyncio
import errno
import secrets
import socket
from typing import Final

from netclaim.errors import HostError
from netclaim.kernel.link_requests import delete_link_named
from netclaim.kernel.netlink import Exchange
from netclaim.kernel.netns import Netns
from netclaim.kernel.rtnl import RtnlTimeoutError, open_rtnetlink, receive

__all__ = ["remove_link"]

TIMEOUT_S: Final = 5.0  # as long as for any request
HIGH_PORTS: Final = 1 << 31  # where no process id is, so none that the kernel chose for it


async def remove_link(netns: Netns, name: str) -> bool:
    """Remove a link by its name; False: there is none. Its peer, if it has one, goes with it."""
    request = delete_link_named(name)
    exchange = Exchange([request], 1)
    # The peer's end is told to the same port of the peer's namespace, so it must be nobody's there.
    port = HIGH_PORTS | secrets.randbits(31)
    with open_rtnetlink(netns, port=port) as sock:
        # A thread is inside send() while we read; its descriptor stays open for as long.
        sending = asyncio.get_running_loop().run_in_executor(
            None, _send, sock.dup(), exchange.outgoing
        )
        try:
            async with asyncio.timeout(TIMEOUT_S):
                while not exchange.done and not exchange.replies:
                    exchange.feed(await receive(sock))
        except TimeoutError as error:
            raise RtnlTimeoutError(f"{request.about}: no answer in {TIMEOUT_S} s") from error
        except OSError as error:
            raise HostError(f"{request.about}: {error.strerror}") from error
        except asyncio.CancelledError:
            await asyncio.wait({sending})
            raise
        finally:
            sending.add_done_callback(_take_note)
    if not exchange.errors:
        return True
    if exchange.errors[0].errno == errno.ENODEV:
        return False
    raise exchange.errors[0]


def _send(sock: socket.socket, outgoing: bytes) -> None:
    with sock:
        sock.send(outgoing)


def _take_note(sending: asyncio.Future[None]) -> None:
    """Ask for the error, so that it is not told as lost: who waits for an answer gets a timeout."""
    if not sending.cancelled():
        sending.exception()
