"""Changes of links and addresses, as they happen, and of the numbers of namespaces.

Promise: nothing is missed silently. The first event is Resync, and so is each one after the kernel
had to drop some: a consumer that lists everything on Resync and follows the other events ends with
what the kernel has.
Limit: events come as fast as the kernel makes them; a consumer that wants fewer gathers them.
"""

import errno
import socket
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Self, TypeAlias

import msgspec

from netclaim.errors import HostError
from netclaim.kernel.host.closing import Closing
from netclaim.kernel.host.netns import Netns
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import discard, open_rtnetlink, receive, receive_now
from netclaim.kernel.netlink.codec import Message, attributes, messages, signed
from netclaim.kernel.requests.links import RTGENMSG
from netclaim.kernel.state.addresses import Address, read_address
from netclaim.kernel.state.links import Link, read_link

GROUPS: Final = (
    uapi.RTMGRP_LINK | uapi.RTMGRP_IPV4_IFADDR | uapi.RTMGRP_IPV6_IFADDR | uapi.RTMGRP_NSID
)
RECEIVE_BUFFER_BYTES: Final = 1 << 20  # a link event takes about 4 KiB: those of 250 pods
SO_RCVBUFFORCE: Final = 33  # asm-generic/socket.h; beyond net.core.rmem_max, with CAP_NET_ADMIN


class LinkChanged(msgspec.Struct, frozen=True):
    """A link is new, or something about it has changed."""

    link: Link


class LinkGone(msgspec.Struct, frozen=True):
    """A link was deleted or has moved to another namespace; this is its last state."""

    link: Link


class AddressChanged(msgspec.Struct, frozen=True):
    """An address is new, or something about it has changed."""

    address: Address


class AddressGone(msgspec.Struct, frozen=True):
    """An address was removed from its link."""

    address: Address


class NamespaceGone(msgspec.Struct, frozen=True):
    """A namespace has ended; another one may get the number by which links referred to it."""

    nsid: int


class Resync(msgspec.Struct, frozen=True):
    """Everything known before is void: list everything now."""


Event: TypeAlias = LinkChanged | LinkGone | AddressChanged | AddressGone | NamespaceGone | Resync


def read_events(datagram: bytes) -> list[Event]:
    """Take apart what the kernel announced; what is none of the above is ignored."""
    read = (_read_event(message) for message in messages(datagram))
    return [event for event in read if event is not None]


class Monitor(Closing):
    """An endless asynchronous iterator of events, for one consumer; listens once it is made."""

    def __init__(
        self, netns: Netns | None = None, *, receive_buffer_bytes: int = RECEIVE_BUFFER_BYTES
    ) -> None:
        """Listen in `netns`, or in our own namespace."""
        self._sock = open_rtnetlink(netns, GROUPS)
        try:
            self._sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, receive_buffer_bytes)
        except PermissionError:  # in a user namespace, where the system's own limit has to do
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self._events: deque[Event] = deque([Resync()])

    def close(self) -> None:
        """Stop listening. A second call does nothing."""
        self._sock.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            with self._overrun_noted():
                self._events.extend(read_events(await receive(self._sock)))
        return self._events.popleft()

    def fileno(self) -> int:
        """Return the socket's descriptor, which is readable when `take` returns something."""
        return self._sock.fileno()

    def take(self) -> list[Event]:
        """Return what has been announced so far, which may be nothing.

        The kernel announces a change before its author hears that it is made.
        """
        with self._overrun_noted():
            while (datagram := receive_now(self._sock)) is not None:
                self._events.extend(read_events(datagram))
        taken, self._events = list(self._events), deque()
        return taken

    @contextmanager
    def _overrun_noted(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise HostError(f"cannot follow link changes: {error.strerror}") from error
            # What is queued is older than what was dropped, and so than the list that follows.
            discard(self._sock)
            self._events = deque([Resync()])


def _read_event(message: Message) -> Event | None:
    link = read_link(message)
    if link is not None:
        return LinkGone(link) if message.kind == uapi.RTM_DELLINK else LinkChanged(link)
    address = read_address(message)
    if address is not None:
        gone = message.kind == uapi.RTM_DELADDR
        return AddressGone(address) if gone else AddressChanged(address)
    if message.kind == uapi.RTM_DELNSID:
        nsid = dict(attributes(message.payload, RTGENMSG.size)).get(uapi.NETNSA_NSID)
        return None if nsid is None else NamespaceGone(signed(nsid))
    return None
