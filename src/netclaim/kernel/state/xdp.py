"""XDP programs of a link: which there are, and removing those that were not there before.

A program stays on a link when that moves to another namespace, so that a container's would go on
seeing what others receive. Limit: one that is held by a BPF link goes with the process that holds
it, and cannot be removed by a request; one that was removed is not loaded again.
"""

import struct
from typing import Final

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import (
    KernelError,
    Request,
    attribute,
    attributes,
    nested,
    number,
    u32,
)
from netclaim.kernel.requests.links import IFINFOMSG, get_link_at, set_link_parts

IFLA_XDP_FD, IFLA_XDP_FLAGS = 1, 3  # linux/if_link.h, inside IFLA_XDP
# The attribute with a program's number, and the flag that says how it is attached.
GENERIC: Final = 1 << 1  # in the kernel, whatever the card's driver can do
WAYS: Final = {5: 1 << 2, 6: GENERIC, 7: 1 << 3}  # by the driver, in general, in hardware
NO_PROGRAM: Final = -1
FD: Final = struct.Struct("=i")


def set_program(index: int, fd: int, flag: int) -> Request:
    """Attach a program in one of the ways, or remove the one that is (NO_PROGRAM)."""
    parts = attribute(IFLA_XDP_FD, FD.pack(fd)) + u32(IFLA_XDP_FLAGS, flag)
    return set_link_parts(index, nested(uapi.IFLA_XDP, parts))


async def read_programs(rtnl: Rtnl, index: int) -> dict[int, int]:
    """Read the programs' numbers, by the flag that says how each is attached."""
    (message,) = await rtnl.call(get_link_at(index))
    found = dict(attributes(message.payload, IFINFOMSG.size))
    inner = dict(attributes(found.get(uapi.IFLA_XDP, b"")))
    return {flag: number(inner[kind]) for kind, flag in WAYS.items() if inner.get(kind)}


async def remove_programs(rtnl: Rtnl, index: int, before: dict[int, int]) -> list[str]:
    """Remove programs that were not there before; returns what failed, in words."""
    now = await read_programs(rtnl, index)
    failed = [
        f"the XDP program {program} was removed"
        for flag, program in before.items()
        if flag not in now
    ]
    for flag, program in now.items():
        if before.get(flag) != program:
            try:
                await rtnl.call(set_program(index, NO_PROGRAM, flag))
            except KernelError as error:
                failed.append(str(error))
    return failed
