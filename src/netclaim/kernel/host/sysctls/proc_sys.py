"""Make sysctls writable for this process and the programs that it executes.

A container that is not privileged sees /proc/sys read-only, but plugins write there: the pod's
sysctls, and forwarding on the node. Promise: only this process and its children see the change,
which needs CAP_SYS_ADMIN; if /proc/sys is writable already, nothing is done.
Limit: call it before any thread is started. What a security module forbids stays forbidden.
"""

import os
from typing import Final

from netclaim.errors import HostError
from netclaim.kernel.host.syscalls import CLONE_NEWNS, MS_BIND, mount, unshare

PROC_SYS: Final = "/proc/sys"
MS_REMOUNT: Final = 0x20  # linux/mount.h; without MS_RDONLY (1)
# The other flags of a mount of /proc, which a remount must repeat to keep.
MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x2, 0x4, 0x8


def make_sysctls_writable() -> bool:
    """Make /proc/sys writable; returns whether anything had to be done."""
    if not os.statvfs(PROC_SYS).f_flag & os.ST_RDONLY:
        return False
    try:
        unshare(CLONE_NEWNS)
        mount("", PROC_SYS, flags=MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOEXEC)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise HostError(
            f"{PROC_SYS} is read-only and cannot be made writable: {why}; the container needs the "
            f"capability SYS_ADMIN, and on nodes with AppArmor a profile that allows to mount"
        ) from error
    return True
