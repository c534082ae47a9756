"""Who a link is, asked without netlink: by ioctl, in the calling thread's namespace.

Promise: a tenth of the time that a look-up by netlink takes, for a tenth of what that tells.
Limit: links whose address is a MAC. For another namespace call these inside `call_in`.
"""

import fcntl
import socket
import struct
from typing import Final

import msgspec

__all__ = ["LinkIdentity", "identify_link", "link_index"]

SIOCGIFHWADDR: Final = 0x8927  # linux/sockios.h
IFREQ: Final = struct.Struct("16sH14s8x")  # name, kind of address, address; linux/if.h
MAC_BYTES: Final = 6


class LinkIdentity(msgspec.Struct, frozen=True):
    """What it takes to work with a link: its index, its name, its MAC."""

    index: int
    name: str
    mac: str


def link_index(name: str) -> int | None:
    """Look up the index alone; None: there is no such link."""
    try:
        return socket.if_nametoindex(name)
    except OSError:  # it says no more than that there is none
        return None


def identify_link(name: str) -> LinkIdentity | None:
    """Look a link up by its name; None: there is none."""
    index = link_index(name)
    if index is None:
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            answer = fcntl.ioctl(sock, SIOCGIFHWADDR, IFREQ.pack(name.encode(), 0, b""))
        except OSError:  # gone since
            return None
    _, _, address = IFREQ.unpack(answer)
    return LinkIdentity(index, name, address[:MAC_BYTES].hex(":"))
