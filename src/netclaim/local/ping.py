"""Ping from one pod to an address: ICMP echo, as bytes, and over a socket in the pod's namespace.

It needs no program in the pod or on the machine. Limit: IPv4.
"""

import asyncio
import socket
import struct
from dataclasses import dataclass
from typing import Final

from netclaim.kernel import open_netns, socket_in

ECHO_REPLY, ECHO_REQUEST = 0, 8
HEADER: Final = struct.Struct("!BBHHH")  # type, code, checksum, id, sequence
IP_HEADER_MIN: Final = 20
PAYLOAD: Final = bytes(56)  # as much as ping(8) sends
BUFFER: Final = 2048  # more than any answer to it
TIMEOUT_S: Final = 1.0  # within one machine it takes a tenth of a millisecond
IDENTIFIER: Final = 0x6E63  # "nc"; nobody else pings in the pod's namespace


@dataclass(frozen=True, slots=True)
class Pong:
    """An answer, and how long it took."""

    sequence: int
    milliseconds: float


async def ping(netns: str, address: str, count: int = 3) -> tuple[Pong, ...]:
    """Ping this many times; returns the answers that came."""
    with open_netns(netns) as pod:
        sock = socket_in(
            pod, socket.AF_INET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.IPPROTO_ICMP
        )
    with sock:
        pongs = [await ping_once(sock, address, number) for number in range(1, count + 1)]
    return tuple(pong for pong in pongs if pong is not None)


async def ping_once(sock: socket.socket, address: str, sequence: int) -> Pong | None:
    """Ping once over a raw socket that does not block; None if no answer came in time."""
    loop = asyncio.get_running_loop()
    started_s = loop.time()
    await loop.sock_sendto(sock, echo_request(IDENTIFIER, sequence), (address, 0))
    try:
        async with asyncio.timeout(TIMEOUT_S):
            while not is_reply(await loop.sock_recv(sock, BUFFER), IDENTIFIER, sequence):
                pass  # the answer to another ping, or a late one
    except TimeoutError:
        return None
    return Pong(sequence, (loop.time() - started_s) * 1000)


def echo_request(identifier: int, sequence: int) -> bytes:
    """Return the message that asks for an echo."""
    bare = HEADER.pack(ECHO_REQUEST, 0, 0, identifier, sequence) + PAYLOAD
    return HEADER.pack(ECHO_REQUEST, 0, checksum(bare), identifier, sequence) + PAYLOAD


def is_reply(packet: bytes, identifier: int, sequence: int) -> bool:
    """Whether an IP packet is the answer to a request."""
    if len(packet) < IP_HEADER_MIN:
        return False
    message = packet[(packet[0] & 0x0F) * 4 :]  # behind the IP header, whose length is in words
    if len(message) < HEADER.size:
        return False
    kind, _, _, found, number = HEADER.unpack_from(message)
    return bool((kind, found, number) == (ECHO_REPLY, identifier, sequence))


def checksum(message: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    padded = message + b"\0" * (len(message) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
