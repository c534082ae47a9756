"""What ethtool sets of a link: read as bytes, and set again.

Promise: what a link does not have is left out; nothing is set that is as it was. The kernel answers
on any socket, so a netlink socket of the link's namespace will do.
Limit: what has a structure of fixed size, and features. Not: speed, wake on LAN, flow rules and the
key of receive-side scaling, which differ from card to card.
"""

import array
import errno
import fcntl
import struct
from typing import Final

import msgspec

from netclaim.kernel.state.link_identity import NAME_MAX, Socket

SIOCETHTOOL: Final = 0x8946  # linux/sockios.h
IFREQ: Final = struct.Struct("=16sQ16x")  # name, address of the structure
WORDS: Final = struct.Struct("=II")
SET_INFO: Final = struct.Struct("=IIQI")  # command, reserved, mask, size of the only set in it
GET_SET_INFO: Final = 0x37  # linux/ethtool.h, like all below
FEATURES_SET: Final = 4
GET_FEATURES, SET_FEATURES = 0x3A, 0x3B
BLOCK_WORDS: Final = 4  # of 32 features: available, requested, active, never changed


class Part(msgspec.Struct, frozen=True):
    """A structure of 32-bit words, the first of which is the command."""

    name: str
    get: int
    set: int
    words: int


# In this order: a card may not take its rings and queues without resetting the others.
PARTS: Final = (
    Part("channels", 0x3C, 0x3D, 9),
    Part("rings", 0x10, 0x11, 9),
    Part("coalescing", 0x0E, 0x0F, 23),
    Part("pause", 0x12, 0x13, 4),
    Part("private flags", 0x27, 0x28, 2),
)


class CardSettings(msgspec.Struct, frozen=True):
    """Settings by the names of `PARTS`, without the command; and features as wanted."""

    parts: dict[str, bytes] = {}
    features: tuple[int, ...] = ()  # blocks of 32


def read_card(sock: Socket, name: str) -> CardSettings:
    """Read all that there is."""
    found = {part.name: _get(sock, name, part) for part in PARTS}
    return CardSettings(
        {name: value for name, value in found.items() if value is not None},
        tuple(wanted for _, wanted in _features(sock, name)),
    )


def write_card(sock: Socket, name: str, before: CardSettings) -> list[str]:
    """Set what has changed; returns what could not be set, in words."""
    failed = []
    now = read_card(sock, name)
    for part in PARTS:
        value = before.parts.get(part.name)
        if value is not None and value != now.parts.get(part.name):
            try:
                ethtool(sock, name, bytearray(struct.pack("=I", part.set) + value))
            except OSError as error:
                failed.append(f"{part.name}: {error.strerror}")
    if before.features and before.features != now.features:
        blocks = [
            (available, wanted)
            for (available, _), wanted in zip(_features(sock, name), before.features, strict=False)
        ]
        data = WORDS.pack(SET_FEATURES, len(blocks))
        try:
            ethtool(sock, name, bytearray(data + b"".join(WORDS.pack(*each) for each in blocks)))
        except OSError as error:
            failed.append(f"features: {error.strerror}")
    return failed


def _get(sock: Socket, name: str, part: Part) -> bytes | None:
    data = bytearray(struct.pack("=I", part.get) + bytes(4 * (part.words - 1)))
    try:
        return bytes(ethtool(sock, name, data)[4:])
    except OSError:
        return None


def _features(sock: Socket, name: str) -> list[tuple[int, int]]:
    """Blocks of features: which can be changed, and which of these are wanted."""
    try:
        asked = bytearray(SET_INFO.pack(GET_SET_INFO, 0, 1 << FEATURES_SET, 0))
        count = SET_INFO.unpack(ethtool(sock, name, asked))[3]
        blocks = (count + 31) // 32
        data = bytearray(WORDS.pack(GET_FEATURES, blocks) + bytes(4 * BLOCK_WORDS * blocks))
        answer = ethtool(sock, name, data)
    except OSError:
        return []
    words = struct.unpack_from(f"={BLOCK_WORDS * blocks}I", answer, WORDS.size)
    starts = range(0, len(words), BLOCK_WORDS)
    return [(words[at], words[at + 1] & words[at]) for at in starts]


def ethtool(sock: Socket, name: str, data: bytearray) -> bytes:
    """Ask by one structure, which starts with the command; returns it as the kernel leaves it."""
    written = name.encode()
    if len(written) > NAME_MAX:
        raise OSError(errno.ENODEV, "no such link")
    buffer = array.array("B", data)
    address, _ = buffer.buffer_info()
    fcntl.ioctl(sock, SIOCETHTOOL, IFREQ.pack(written, address))
    return buffer.tobytes()
