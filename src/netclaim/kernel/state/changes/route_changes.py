"""Whether routes have changed, without following each of them.

A node that speaks BGP changes routes all the time, and nobody needs to know until somebody asks. So
nothing waits for these announcements; they lie in the socket until then.
Promise: a route that was added, replaced or deleted by a request is noticed at the next question.
Limit: the kernel drops routes silently with the link or the address that they need.
"""

import errno
from collections.abc import Callable
from typing import Final

from netclaim.errors import HostError
from netclaim.kernel.host.closing import Closing
from netclaim.kernel.host.netns import Netns
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import discard, open_rtnetlink, receive_now
from netclaim.kernel.netlink.codec import MalformedMessageError, messages
from netclaim.kernel.state.routes import Route, read_routes

GROUPS: Final = uapi.RTMGRP_IPV4_ROUTE | uapi.RTMGRP_IPV6_ROUTE | uapi.RTMGRP_NEXTHOP
LOOKED_AT: Final = 64  # datagrams; more of them at once are as many as a list of all routes


class RouteChanges(Closing):
    """The announcements of one namespace since the last question."""

    def __init__(self, netns: Netns | None = None) -> None:
        """Listen in `netns`, or in our own namespace."""
        self._sock = open_rtnetlink(netns, GROUPS)

    def close(self) -> None:
        """Stop listening. A second call does nothing."""
        self._sock.close()

    def any(self, matters: Callable[[Route], bool]) -> bool:
        """Whether a route that matters has changed since the last call, or one may have."""
        try:
            for _ in range(LOOKED_AT):
                datagram = receive_now(self._sock)
                if datagram is None:
                    return False
                if _changes(datagram, matters):
                    break
            discard(self._sock)
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise HostError(f"cannot follow changes of routes: {error.strerror}") from error
            discard(self._sock)
        return True


def _changes(datagram: bytes, matters: Callable[[Route], bool]) -> bool:
    try:
        for message in messages(datagram):
            routes = read_routes(message)
            # No route that can be read: a next hop has changed, say, and with it who uses it.
            if not routes or any(map(matters, routes)):
                return True
    except MalformedMessageError:
        return True
    return False
