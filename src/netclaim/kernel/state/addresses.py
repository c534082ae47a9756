"""Addresses as frozen values: read from messages, and listed.

Promise: any bytes give values, nothing, or MalformedMessageError.
"""

import socket
from typing import Final

import msgspec

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import MalformedMessageError, Message, attributes, number
from netclaim.kernel.requests.ip import IFADDRMSG, dump_addresses

ADDRESS_BYTES: Final = {int(socket.AF_INET): 4, int(socket.AF_INET6): 16}


class Address(msgspec.Struct, frozen=True):
    """An IP address on a link."""

    index: int
    family: int
    ip: str
    prefix_length: int
    scope: int
    flags: int

    def __str__(self) -> str:
        return f"{self.ip}/{self.prefix_length}"


async def list_addresses(rtnl: Rtnl, index: int = 0) -> tuple[Address, ...]:
    """List the addresses in the client's namespace, or of one link in it."""
    read = (read_address(message) for message in await rtnl.dump(dump_addresses(index)))
    return tuple(address for address in read if address is not None)


def read_address(message: Message) -> Address | None:
    """Read the address that a message describes; None if it describes something else."""
    if message.kind not in {uapi.RTM_NEWADDR, uapi.RTM_DELADDR}:
        return None
    if len(message.payload) < IFADDRMSG.size:
        raise MalformedMessageError("an address message without its fixed part")
    family, prefix_length, flags, scope, index = IFADDRMSG.unpack_from(message.payload)
    found = dict(attributes(message.payload, IFADDRMSG.size))
    # On a point-to-point link IFA_ADDRESS is the peer's; IFA_LOCAL, if present, is ours.
    packed = found.get(uapi.IFA_LOCAL) or found.get(uapi.IFA_ADDRESS)
    if family not in ADDRESS_BYTES or packed is None:
        return None
    wide_flags = found.get(uapi.IFA_FLAGS)
    return Address(
        index=index,
        family=family,
        ip=ip_text(family, packed),
        prefix_length=prefix_length,
        scope=scope,
        flags=flags if wide_flags is None else number(wide_flags),
    )


def ip_text(family: int, packed: bytes) -> str:
    """Write an address of a message as text."""
    if len(packed) != ADDRESS_BYTES.get(family):
        raise MalformedMessageError(f"an address of {len(packed)} bytes in family {family}")
    return socket.inet_ntop(family, packed)
