"""Measure the bits per second from one network namespace to another, and how long an answer takes.

Promise: it uses real TCP and UDP through the kernel, on sockets that are in the namespaces while
this process is not. Only what arrives is counted. A rate is the median of several stretches, so
that a moment in which the machine was busy with something else does not count. It ends after a
number of bytes or, for a path that carries next to nothing, after some seconds.
Limit: a single stream; on a fast path it measures this program.
"""

import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from netclaim.kernel import Netns, socket_in

__all__ = ["TOLERANCE", "answer_times", "fair_rate", "loaded", "rate"]

STRETCHES: Final = 3
STRETCH_MIN: Final = 1 << 19  # bytes; TCP comes in clumps of some 64 KiB
CHUNK: Final = bytes(1 << 16)
PATIENCE_S: Final = 20.0  # for a path that is much slower than expected
FULL: Final = 8 << 20  # bytes, after which every queue on the path is as long as it gets
PAUSE_S: Final = 0.002  # between two questions, so that they meet the queues at all lengths
DATAGRAM: Final = bytes(1400)  # fits any link, with its headers
ATTEMPTS: Final = 6  # a busy machine holds a reader up, and what piled up meanwhile comes at once
TOLERANCE: Final = 0.1  # how far a rate may be off
PROTOCOLS: Final = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}


def rate(
    sender: Netns, receiver: Netns, address: str, *, expected: int, protocol: str = "tcp"
) -> float:
    """Measure the bits of payload that arrive at `address` in `receiver` each second.

    `expected` bits per second make a stretch a quarter of a second, or more if they are few; by
    UDP, a quarter more than that is sent. The first stretch does not count: a queue lets more pass
    while it is fresh.
    """
    with _streaming(sender, receiver, address, protocol, paced=expected * 5 // 4) as incoming:
        size = max(expected // 32, STRETCH_MIN)
        _take(incoming, size)
        return statistics.median(_take(incoming, size) for _ in range(STRETCHES))


def fair_rate(
    sender: Netns, receiver: Netns, address: str, *, expected: int, protocol: str = "tcp"
) -> float:
    """Measure until the rate is within a tenth of what is expected; returns it as a part of that.

    If the path is limited otherwise, or not at all, that never happens; the last rate is returned.
    """
    part = 0.0
    for _ in range(ATTEMPTS):
        part = rate(sender, receiver, address, expected=expected, protocol=protocol) / expected
        if abs(part - 1) <= TOLERANCE:
            break
    return part


@contextmanager
def loaded(sender: Netns, receiver: Netns, address: str) -> Iterator[None]:
    """Fill the path with TCP for as long as the block lasts."""
    with _streaming(sender, receiver, address, "tcp", paced=0) as incoming:
        _take(incoming, FULL)
        thread = threading.Thread(target=_drain, args=(incoming,), daemon=True)
        thread.start()
        yield
    thread.join(PATIENCE_S)


def answer_times(asker: Netns, answerer: Netns, address: str, *, count: int) -> list[float]:
    """Ask by UDP, one question after the other; returns the seconds until each answer."""
    took = []
    with (
        socket_in(asker, _family(address), socket.SOCK_DGRAM, 0) as asking,
        socket_in(answerer, _family(address), socket.SOCK_DGRAM, 0) as answering,
    ):
        answering.bind((address, 0))
        answering.settimeout(1.0)
        asking.settimeout(1.0)
        asking.connect(answering.getsockname())
        for number in range(count):
            question = number.to_bytes(4, "big")
            begun = time.perf_counter()
            with suppress(TimeoutError):
                asking.send(question)
                while (came := answering.recvfrom(64))[0] != question:
                    pass
                answering.sendto(*came)
                while asking.recv(64) != question:
                    pass
                took.append(time.perf_counter() - begun)
            time.sleep(PAUSE_S)
    return took


@contextmanager
def _streaming(
    sender: Netns, receiver: Netns, address: str, protocol: str, *, paced: int
) -> Iterator[socket.socket]:
    """Send for as long as the block lasts; by UDP, `paced` bits per second."""
    with _connected(sender, receiver, address, protocol) as (outgoing, incoming):
        over = threading.Event()
        pace = paced if protocol == "udp" else 0
        thread = threading.Thread(target=_send, args=(outgoing, over, pace), daemon=True)
        thread.start()
        try:
            yield incoming
        finally:
            over.set()
            with suppress(OSError):
                outgoing.shutdown(socket.SHUT_RDWR)
            thread.join(PATIENCE_S)


@contextmanager
def _connected(
    sender: Netns, receiver: Netns, address: str, protocol: str
) -> Iterator[tuple[socket.socket, socket.socket]]:
    kind = PROTOCOLS[protocol]
    with (
        socket_in(receiver, _family(address), kind, 0) as there,
        socket_in(sender, _family(address), kind, 0) as here,
    ):
        there.settimeout(PATIENCE_S)
        here.settimeout(PATIENCE_S)
        there.bind((address, 0))
        if protocol == "tcp":
            there.listen(1)
            here.connect(there.getsockname())
            accepted, _ = there.accept()
            with accepted:
                accepted.settimeout(PATIENCE_S)
                yield here, accepted
        else:
            here.connect(there.getsockname())
            yield here, there


def _family(address: str) -> int:
    return int(socket.AF_INET6 if ":" in address else socket.AF_INET)


def _send(outgoing: socket.socket, over: threading.Event, paced: int) -> None:
    """Send until it is over: as much as possible, or this many bits per second."""
    begun, sent = time.perf_counter(), 0
    with suppress(OSError):  # the other end is closed
        while not over.is_set():
            if not paced:
                outgoing.send(CHUNK)
            elif sent * 8 <= (time.perf_counter() - begun) * paced:
                sent += outgoing.send(DATAGRAM)
            else:
                over.wait(0.001)


def _drain(incoming: socket.socket) -> None:
    with suppress(OSError):
        while incoming.recv(len(CHUNK)):
            pass


def _take(incoming: socket.socket, size: int) -> float:
    """Receive this many bytes; returns the bits per second at which they came."""
    begun, taken = time.perf_counter(), 0
    while taken < size and time.perf_counter() - begun < PATIENCE_S:
        taken += len(incoming.recv(len(CHUNK)))
    return taken * 8 / (time.perf_counter() - begun)
