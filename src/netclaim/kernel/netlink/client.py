"""A client of rtnetlink: one socket in one namespace, requests answered or refused.

Promise: a call returns the kernel's answer or raises; a call given up halfway does not disturb
the next. A socket keeps its namespace alive until it is closed.
Limit: the kernel does the work inside send(), and that of a list inside recv(), under a lock for
all namespaces. That holds the event loop for tenths of a millisecond, and for seconds while another
process holds the lock; a program that has others to answer uses this on a loop of its own, as the
driver does (docs/decisions/0015). Moving a link to another namespace takes 15 ms even then; for
such requests there is `call_slow`, which lets the loop's other tasks go on.
"""

import asyncio
import errno
import socket
import sys
import time
from collections.abc import Sequence
from typing import Final, Self

from netclaim.errors import HostError, PeerError
from netclaim.kernel.host.closing import Closing
from netclaim.kernel.host.netns import Netns, socket_in
from netclaim.kernel.host.threads import to_the_end
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import Exchange, Message, Request

SOCKET_KIND: Final = int(socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
ASK_SIZE: Final = int(socket.MSG_PEEK | socket.MSG_TRUNC)  # the whole size, and takes nothing
RECEIVE_BYTES: Final = 65536  # the kernel fills at most 32 KiB at once, unless one link needs more
SO_NETNS_COOKIE: Final = 71  # asm-generic/socket.h
BATCH_MAX: Final = 64  # an ack takes about 1 KiB of the receive buffer (208 KiB) until it is read
HOLD_S: Final = 0.005  # how long requests in a row may hold the loop; an ADD takes a tenth of it
DUMP_TRIES: Final = 5  # a list that changes during each of five readings is not going to settle


class RtnlTimeoutError(PeerError):
    """The kernel did not answer in time."""


class UnstableDumpError(PeerError):
    """A list changed during each reading."""


def open_rtnetlink(
    netns: Netns | None,
    groups: int = 0,
    *,
    port: int = 0,
    protocol: int = socket.NETLINK_ROUTE,
) -> socket.socket:
    """Open a socket in a namespace, or in our own; `groups` are the RTMGRP_* it listens to.

    The kernel answers to `port`; 0 lets it choose one.
    """
    family = socket.AF_NETLINK
    try:
        sock = (
            socket.socket(family, SOCKET_KIND, protocol)
            if netns is None
            else socket_in(netns, family, SOCKET_KIND, protocol)
        )
    except OSError as error:
        raise HostError(f"cannot open a netlink socket: {error.strerror}") from error
    sock.bind((port, groups))
    return sock


async def receive(sock: socket.socket) -> bytes:
    """Wait for a datagram. If one is there already, no other task runs in between."""
    while (datagram := receive_now(sock)) is None:
        await _readable(sock)
    return datagram


def receive_now(sock: socket.socket) -> bytes | None:
    """Return a datagram that is there already, complete, or None.

    A container can give a link more alternative names than RECEIVE_BYTES hold, so the size is asked
    for first: that takes 1 us, while a larger buffer for every datagram would take several.
    """
    try:
        size = sock.recv_into(bytearray(1), 1, ASK_SIZE)
        # Not less than usual: the kernel fills a list's datagrams up to the size last asked for.
        return sock.recv(max(size, RECEIVE_BYTES))
    except BlockingIOError:
        return None


def discard(sock: socket.socket) -> None:
    """Read and drop all that has come so far."""
    while True:
        try:
            sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.ENOBUFS:  # reported once for each overrun; more may be queued
                raise


class Rtnl(Closing):
    """Requests to the kernel, one exchange at a time; tasks may share it."""

    def __init__(self, sock: socket.socket, *, timeout_s: float) -> None:
        """Take over `sock`, as `open_rtnetlink` made it."""
        self._sock = sock
        self._timeout_s = timeout_s
        self._turn = asyncio.Lock()
        self._sequence = 1
        self._stale = False  # an exchange was given up, and its answers may still come
        self._since = time.perf_counter()

    @classmethod
    def open(
        cls,
        netns: Netns | None = None,
        *,
        timeout_s: float = 5.0,
        protocol: int = socket.NETLINK_ROUTE,
    ) -> Self:
        """Connect to the kernel in `netns`, or in our own namespace."""
        sock = open_rtnetlink(netns, protocol=protocol)
        for option in (
            uapi.NETLINK_EXT_ACK,  # errors explained in words
            uapi.NETLINK_CAP_ACK,  # and without our request repeated
            uapi.NETLINK_GET_STRICT_CHK,  # dumps filtered by the kernel
        ):
            sock.setsockopt(uapi.SOL_NETLINK, option, 1)
        return cls(sock, timeout_s=timeout_s)

    def close(self) -> None:
        """Close the socket and release its namespace. A second call does nothing."""
        self._sock.close()

    def fileno(self) -> int:
        """Return the socket's descriptor, for questions by ioctl."""
        return self._sock.fileno()

    def netns_cookie(self) -> int:
        """Return a number that no other namespace has, not even a later one.

        It is 0 on kernels before 5.14, which do not provide it. (An inode's number is used again.)
        """
        try:
            cookie = self._sock.getsockopt(socket.SOL_SOCKET, SO_NETNS_COOKIE, 8)
        except OSError:
            return 0
        return int.from_bytes(cookie, sys.byteorder)

    async def call(self, request: Request) -> list[Message]:
        """Make one request; returns the messages before the ack, or raises KernelError."""
        exchange = await self._exchange([request])
        if exchange.errors:
            raise exchange.errors[0]
        return exchange.replies

    async def call_slow(self, request: Request) -> list[Message]:
        """Make a request that takes the kernel long; a thread waits for it, not the event loop."""
        exchange = await self._exchange([request], slow=True)
        if exchange.errors:
            raise exchange.errors[0]
        return exchange.replies

    async def batch(self, requests: Sequence[Request]) -> None:
        """Make requests in order, many in one system call.

        Every request is tried. If any fails, the first failure is raised, because the others mostly
        follow from it; they are its notes.
        """
        errors = []
        for start in range(0, len(requests), BATCH_MAX):
            exchange = await self._exchange(requests[start : start + BATCH_MAX])
            errors += exchange.errors
        if errors:
            first, *others = errors
            for other in others:
                first.add_note(f"also: {other}")
            raise first

    async def dump(self, request: Request) -> list[Message]:
        """Read a list; it is read again if it changed meanwhile."""
        for _ in range(DUMP_TRIES):
            exchange = await self._exchange([request])
            if exchange.errors:
                raise exchange.errors[0]
            if not exchange.interrupted:
                return exchange.replies
        raise UnstableDumpError(f"{request.about}: changed during each of {DUMP_TRIES} readings")

    async def _exchange(self, requests: Sequence[Request], *, slow: bool = False) -> Exchange:
        if time.perf_counter() - self._since > HOLD_S:
            # The kernel answers at once, so nothing below waits; this gives other tasks a turn.
            await asyncio.sleep(0)
            self._since = time.perf_counter()
        async with self._turn:
            exchange = Exchange(requests, self._sequence)
            self._sequence += len(requests)
            try:
                if self._stale:
                    discard(self._sock)  # this also ends a dump in the kernel that was given up
                self._stale = True
                if slow:
                    await to_the_end(self._sock.send, exchange.outgoing)
                else:
                    self._sock.send(exchange.outgoing)
                # As a rule the answers come while we send, and there is nothing to wait for.
                while not exchange.done and (datagram := receive_now(self._sock)) is not None:
                    exchange.feed(datagram)
                if not exchange.done:
                    async with asyncio.timeout(self._timeout_s):
                        while not exchange.done:
                            exchange.feed(await receive(self._sock))
            except TimeoutError as error:
                about = requests[0].about
                raise RtnlTimeoutError(f"{about}: no answer in {self._timeout_s} s") from error
            except OSError as error:
                raise HostError(f"{requests[0].about}: {error.strerror}") from error
            self._stale = False
            return exchange


async def _readable(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    fd = sock.fileno()
    loop.add_reader(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)
