"""Who a link is, asked by ioctl on a socket that is there already: in that socket's namespace.

Promise: a tenth of the time that a look-up by netlink takes, for a tenth of what that tells. The
kernel answers these on any socket, so one for netlink will do, and nobody has to be entered.
Limit: links whose address is a MAC, by their name alone; an alternative name finds nothing.
"""

import fcntl
import struct
from typing import Final, Protocol

import msgspec

__all__ = ["LinkIdentity", "identify_link", "link_index", "link_mtu"]

SIOCGIFMTU: Final = 0x8921  # linux/sockios.h
SIOCGIFHWADDR: Final = 0x8927
SIOCGIFINDEX: Final = 0x8933
IFREQ_ADDRESS: Final = struct.Struct("16sH14s8x")  # name, kind of address, address; linux/if.h
IFREQ_NUMBER: Final = struct.Struct("16si20x")  # name, index or MTU
NAME_MAX: Final = 15  # bytes; the kernel would cut a longer one, and find another link
MAC_BYTES: Final = 6


class Socket(Protocol):
    """What ioctl wants of a socket."""

    def fileno(self) -> int:
        """Return its descriptor."""
        ...


class LinkIdentity(msgspec.Struct, frozen=True):
    """What it takes to work with a link: its index, its name, its MAC."""

    index: int
    name: str
    mac: str


def link_index(sock: Socket, name: str) -> int | None:
    """Look up the index alone; None: there is no such link."""
    return _number(sock, SIOCGIFINDEX, name)


def link_mtu(sock: Socket, name: str) -> int | None:
    """Look up the MTU alone; None: there is no such link."""
    return _number(sock, SIOCGIFMTU, name)


def identify_link(sock: Socket, name: str) -> LinkIdentity | None:
    """Look a link up by its name; None: there is none."""
    index = link_index(sock, name)
    if index is None:
        return None
    try:
        answer = fcntl.ioctl(sock, SIOCGIFHWADDR, IFREQ_ADDRESS.pack(name.encode(), 0, b""))
    except OSError:  # gone since
        return None
    _, _, address = IFREQ_ADDRESS.unpack(answer)
    return LinkIdentity(index, name, address[:MAC_BYTES].hex(":"))


def _number(sock: Socket, question: int, name: str) -> int | None:
    written = name.encode()
    if len(written) > NAME_MAX:
        return None
    try:
        answer = fcntl.ioctl(sock, question, IFREQ_NUMBER.pack(written, 0))
    except OSError:  # it says no more than that there is none
        return None
    _, found = IFREQ_NUMBER.unpack(answer)
    return int(found)
