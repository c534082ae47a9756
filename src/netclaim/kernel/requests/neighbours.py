"""Requests about neighbours: who has which address on a link.

Limit: those that somebody entered for good; what the kernel learns, it learns again.
"""

import socket
import struct
from typing import Final

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import Request, u32

NDMSG: Final = struct.Struct("=BxxxiHBB")  # family, index, state, flags, kind of address
FAMILIES: Final = (socket.AF_INET, socket.AF_INET6)


def dump_neighbours(family: int, index: int, *, proxies: bool = False) -> Request:
    """Ask for the neighbours on a link, or for those that it answers for.

    Only a strict socket filters by link.
    """
    flags = uapi.NTF_PROXY if proxies else 0
    payload = NDMSG.pack(family, 0, 0, flags, 0) + u32(uapi.NDA_IFINDEX, index)
    return Request(uapi.RTM_GETNEIGH, payload, "list neighbours", dump=True)
