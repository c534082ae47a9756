"""Make a tap link, which is done by a device file rather than by netlink.

Promise: the link exists until it is deleted, with nobody holding it open.
Limit: it is made in the calling thread's namespace; for another one call this inside `call_in`.
"""

import fcntl
import os
import struct
from typing import Final

from netclaim.errors import HostError

DEVICE: Final = "/dev/net/tun"
IFREQ: Final = struct.Struct("16sH22x")  # name, flags; linux/if.h

# linux/if_tun.h
TUNSETIFF: Final = 0x400454CA
TUNSETPERSIST: Final = 0x400454CB
TUNSETOWNER: Final = 0x400454CC
TUNSETGROUP: Final = 0x400454CE
IFF_TAP: Final = 0x2
IFF_MULTI_QUEUE: Final = 0x100
IFF_NO_PI: Final = 0x1000  # no four bytes in front of each frame
IFF_VNET_HDR: Final = 0x4000


def make_tap(name: str, *, flags: int, owner: int | None = None, group: int | None = None) -> None:
    """Make a persistent tap; `owner` and `group` may open it besides root."""
    try:
        fd = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise HostError(f"cannot create a tap: {DEVICE}: {error.strerror}") from error
    try:
        fcntl.ioctl(fd, TUNSETIFF, IFREQ.pack(name.encode(), IFF_TAP | flags))
        if owner is not None:
            fcntl.ioctl(fd, TUNSETOWNER, _signed(owner))
        if group is not None:
            fcntl.ioctl(fd, TUNSETGROUP, _signed(group))
        fcntl.ioctl(fd, TUNSETPERSIST, 1)
    except OSError as error:
        raise HostError(f"cannot create the tap {name}: {error.strerror}") from error
    finally:
        os.close(fd)


def _signed(number: int) -> int:
    """Return 32 bits as ioctl wants them, which takes a C int."""
    return number - (1 << 32) if number >> 31 else number
