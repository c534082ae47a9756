"""Remove a link without waiting for the kernel to free it.

The kernel takes a link out of its namespace at once and announces that; but it answers the request
only when nothing refers to the link any more, some 15 ms later. In between the name is free again.

Promise: when `remove_link` returns or is cancelled, the kernel has carried out the request: the
link is out of the namespace, and a new one of its name is safe. The event loop is never held up.
Limit: one thread waits for the kernel's answer, also after `remove_link` has returned. Before
Linux 6.2 the kernel does not announce whose request removed a link, so there it waits for the
answer. After a timeout nothing is promised.
"""

import asyncio
import errno
import secrets
import socket
from typing import Final

from netclaim.errors import HostError
from netclaim.kernel.host.netns import Netns
from netclaim.kernel.netlink.client import RtnlTimeoutError, open_rtnetlink, receive
from netclaim.kernel.netlink.codec import Exchange
from netclaim.kernel.requests.links import delete_link_named

TIMEOUT_S: Final = 5.0  # as for any request
HIGH_PORTS: Final = 1 << 31  # above all process ids, by which the kernel chooses ports


async def remove_link(netns: Netns, name: str) -> bool:
    """Remove a link by its name, with its peer if it has one; False if it does not exist."""
    request = delete_link_named(name)
    exchange = Exchange([request], 1)
    # The peer's end is announced to the same port in its namespace, so that must be free there.
    port = HIGH_PORTS | secrets.randbits(31)
    with open_rtnetlink(netns, port=port) as sock:
        # A thread is inside send() while we read, so the descriptor stays open until it has ended.
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
    """Read the error, so that it is not logged as lost: a caller that waits gets a timeout."""
    if not sending.cancelled():
        sending.exception()
