"""The IPv4 and UDP headers of DHCP, for a client that has no address yet.

Promise: `unwrap` returns the content of a whole, unbroken datagram to a client's port, or None. It
says whether a checksum fits where there is one to look at. Limit: no fragments, which no server
sends to a client without an address.
"""

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Final

# version and length, tos, total length, id, fragment, ttl, protocol, checksum, source, destination
IPV4: Final = struct.Struct("!BBHHHBBH4s4s")
UDP: Final = struct.Struct("!HHHH")  # source port, destination port, length, checksum
PLAIN: Final = 0x45  # IPv4 with a header of twenty bytes
LENGTH_MASK, WORD = 0x0F, 4  # of the first byte: the header's length in words
FRAGMENT_MASK: Final = 0x3FFF  # more fragments, and the offset of this one
TTL: Final = 64
PROTOCOL_UDP: Final = 17
SERVER_PORT, CLIENT_PORT = 67, 68
EVERYBODY: Final = IPv4Address("255.255.255.255")


@dataclass(frozen=True, slots=True)
class Datagram:
    """What came for a client's port."""

    content: bytes
    source: IPv4Address


def wrap(content: bytes, source: IPv4Address, destination: IPv4Address) -> bytes:
    """Put the content into a datagram from a client to a server."""
    length = UDP.size + len(content)
    pseudo = source.packed + destination.packed + struct.pack("!HH", PROTOCOL_UDP, length)
    bare = UDP.pack(CLIENT_PORT, SERVER_PORT, length, 0) + content
    checksum = _checksum(pseudo + bare) or 0xFFFF  # 0 would say that there is none
    udp = UDP.pack(CLIENT_PORT, SERVER_PORT, length, checksum) + content
    parts = (PLAIN, 0, IPV4.size + length, 0, 0, TTL, PROTOCOL_UDP)
    header = IPV4.pack(*parts, 0, source.packed, destination.packed)
    return IPV4.pack(*parts, _checksum(header), source.packed, destination.packed) + udp


def unwrap(packet: bytes, *, checked: bool = True) -> Datagram | None:
    """Return what a server sent; None if a packet is anything else.

    `checked`: the UDP checksum is there. The kernel leaves it to the card, and a packet that never
    met one is without it.
    """
    if len(packet) < IPV4.size:
        return None
    first, _, total, _, fragment, _, protocol, _, source, destination = IPV4.unpack_from(packet)
    size = (first & LENGTH_MASK) * WORD
    if first >> 4 != 4 or size < IPV4.size or protocol != PROTOCOL_UDP or fragment & FRAGMENT_MASK:
        return None
    if not size + UDP.size <= total <= len(packet) or _checksum(packet[:size]):
        return None
    from_port, to_port, length, checksum = UDP.unpack_from(packet, size)
    if (from_port, to_port) != (SERVER_PORT, CLIENT_PORT) or not UDP.size <= length <= total - size:
        return None
    datagram = packet[size : size + length]
    pseudo = source + destination + struct.pack("!HH", PROTOCOL_UDP, length)
    if checked and checksum and _checksum(pseudo + datagram):
        return None
    return Datagram(datagram[UDP.size :], IPv4Address(source))


def _checksum(content: bytes) -> int:
    """The Internet checksum; 0 for content that has its own in it."""
    padded = content if len(content) % 2 == 0 else content + b"\0"
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
