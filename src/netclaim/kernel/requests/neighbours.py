"""Requests about neighbours: who has which address on a link.

Limit: those that somebody entered for good; what the kernel learns, it learns again.
"""

import socket
import struct
from typing import Final

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import Request, attribute, u32
from netclaim.kernel.requests.ip import IpAddress, family_of

NDMSG: Final = struct.Struct("=BxxxiHBB")  # family, index, state, flags, kind of address
FAMILIES: Final = (socket.AF_INET, socket.AF_INET6)


def dump_neighbours(family: int, index: int, *, proxies: bool = False) -> Request:
    """Ask for the neighbours on a link, or for those that it answers for.

    Only a strict socket filters by link.
    """
    flags = uapi.NTF_PROXY if proxies else 0
    payload = NDMSG.pack(family, 0, 0, flags, 0) + u32(uapi.NDA_IFINDEX, index)
    return Request(uapi.RTM_GETNEIGH, payload, "list neighbours", dump=True)


def add_neighbour(index: int, address: IpAddress, mac: str) -> Request:
    """Enter for good which MAC has an address on a link, in place of what was known of it."""
    payload = NDMSG.pack(family_of(address.version), index, uapi.NUD_PERMANENT, 0, 0)
    payload += attribute(uapi.NDA_DST, address.packed)
    payload += attribute(uapi.NDA_LLADDR, bytes.fromhex(mac.replace(":", "")))
    flags = uapi.NLM_F_CREATE | uapi.NLM_F_REPLACE
    return Request(uapi.RTM_NEWNEIGH, payload, f"add the neighbour {address}", flags)


def delete_neighbour(index: int, address: IpAddress) -> Request:
    """Forget a neighbour."""
    payload = NDMSG.pack(family_of(address.version), index, 0, 0, 0)
    payload += attribute(uapi.NDA_DST, address.packed)
    return Request(uapi.RTM_DELNEIGH, payload, f"delete the neighbour {address}")
