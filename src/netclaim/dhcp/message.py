"""A DHCP message as bytes, both ways.

Promise: what `decode` returns has a header of the right shape and options that end where they say.
Options that come in parts are joined (RFC 3396), also those in the fields `file` and `sname`.
Anything else is a MalformedError. Limit: what an option's value means, `granted` knows.
"""

import enum
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Final

from netclaim.errors import PeerError

# op, hardware type, its address length, hops, xid, secs, flags, then four addresses
HEADER: Final = struct.Struct("!BBBBIHH4s4s4s4s16s64s128s")
COOKIE: Final = b"\x63\x82\x53\x63"
REQUEST, REPLY = 1, 2
ETHERNET: Final = 1  # the only hardware that netclaim runs DHCP on
BROADCAST: Final = 0x8000  # of the flags: the answer is to go to everybody
MESSAGE_MIN: Final = 300  # bytes that BOOTP's relays expect; shorter ones are padded
MESSAGE_MAX: Final = 1500  # bytes: what a link of the usual MTU carries
OPTION_MAX: Final = 255  # bytes of one option, or of one of its parts
FILE, SNAME = 1, 2  # of the option 52: which fields have options, too
NOBODY: Final = IPv4Address(0)


class Option(enum.IntEnum):
    """The options that are sent or read; the numbers are those of RFC 2132 and its successors."""

    PAD = 0
    SUBNET_MASK = 1
    ROUTERS = 3
    NAME_SERVERS = 6
    DOMAIN = 15
    MTU = 26
    STATIC_ROUTES = 33
    REQUESTED_ADDRESS = 50
    LEASE_S = 51
    OVERLOAD = 52
    KIND = 53
    SERVER = 54
    REQUESTS = 55
    TEXT = 56
    SIZE_MAX = 57
    RENEWAL_S = 58
    REBINDING_S = 59
    CLIENT_ID = 61
    SEARCH = 119
    CLASSLESS_ROUTES = 121
    END = 255


class Kind(enum.IntEnum):
    """What a message is for: the value of its option 53."""

    DISCOVER = 1
    OFFER = 2
    REQUEST = 3
    DECLINE = 4
    ACK = 5
    NAK = 6
    RELEASE = 7


class MalformedError(PeerError):
    """Bytes that are no DHCP message, or say something that cannot be."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message; addresses that are not known are 0.0.0.0."""

    op: int
    xid: int
    mac: bytes
    options: Mapping[int, bytes] = field(default_factory=dict)
    secs: int = 0
    broadcast: bool = False
    client: IPv4Address = NOBODY  # what the client has, and uses
    yours: IPv4Address = NOBODY  # what the server gives it
    relay: IPv4Address = NOBODY

    @property
    def kind(self) -> int:
        """Its kind; 0 if it does not say, or not in one byte."""
        value = self.options.get(Option.KIND, b"")
        return value[0] if len(value) == 1 else 0


def encode(message: Message) -> bytes:
    """Return a message as bytes; an option that is too long for one is sent in parts."""
    header = HEADER.pack(
        message.op,
        ETHERNET,
        len(message.mac),
        0,
        message.xid,
        message.secs,
        BROADCAST if message.broadcast else 0,
        message.client.packed,
        message.yours.packed,
        NOBODY.packed,
        message.relay.packed,
        message.mac,
        b"",
        b"",
    )
    parts = [header, COOKIE]
    for code, value in message.options.items():
        for start in range(0, max(len(value), 1), OPTION_MAX):
            part = value[start : start + OPTION_MAX]
            parts.append(bytes((code, len(part))) + part)
    parts.append(bytes((Option.END,)))
    return b"".join(parts).ljust(MESSAGE_MIN, b"\0")


def decode(content: bytes) -> Message:
    """Read a message; MalformedError where it is none."""
    start = HEADER.size + len(COOKIE)
    if not start <= len(content) <= MESSAGE_MAX:
        raise MalformedError(f"{len(content)} bytes are no DHCP message")
    op, hardware, mac_size, _, xid, secs, flags, client, yours, _, relay, mac, sname, file = (
        HEADER.unpack_from(content)
    )
    if content[HEADER.size : start] != COOKIE:
        raise MalformedError("not a DHCP message: its cookie is another")
    if (hardware, mac_size) != (ETHERNET, 6):
        raise MalformedError(f"a hardware address of type {hardware} with {mac_size} bytes")
    options: dict[int, bytes] = {}
    _read_options(content[start:], options)
    overload = options.get(Option.OVERLOAD, b"\0")
    if overload[:1] and overload[0] & FILE:
        _read_options(file, options)
    if overload[:1] and overload[0] & SNAME:
        _read_options(sname, options)
    return Message(
        op=op,
        xid=xid,
        mac=mac[:mac_size],
        options=options,
        secs=secs,
        broadcast=bool(flags & BROADCAST),
        client=IPv4Address(client),
        yours=IPv4Address(yours),
        relay=IPv4Address(relay),
    )


def _read_options(content: bytes, found: dict[int, bytes]) -> None:
    """Add the options of a field to those found before it; each byte is looked at once."""
    at = 0
    while at < len(content):
        code = content[at]
        if code == Option.END:
            return
        if code == Option.PAD:
            at += 1
            continue
        if at + 1 >= len(content) or at + 2 + content[at + 1] > len(content):
            raise MalformedError(f"the option {code} is longer than the message")
        end = at + 2 + content[at + 1]
        found[code] = found.get(code, b"") + content[at + 2 : end]
        at = end
