"""Sysctls that this process, and the programs that it executes, may write.

A container that is not privileged sees /proc/sys read-only, and plugins write there: the pod's
sysctls, and forwarding on the node. Promise: only this process and its children see the change,
which needs CAP_SYS_ADMIN; where /proc/sys is writable, nothing is done.
Limit: call it before any thread is started. What a security module forbids stays forbidden.
"""

import ctypes
import os
from typing import Final

from netclaim.errors import HostError

__all__ = ["make_sysctls_writable"]

PROC_SYS: Final = "/proc/sys"
CLONE_NEWNS: Final = 0x00020000  # linux/sched.h
MS_REMOUNT, MS_BIND = 0x20, 0x1000  # linux/mount.h; without MS_RDONLY (1)
# What else a mount of /proc has, and a remount must repeat to keep.
MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x2, 0x4, 0x8


def make_sysctls_writable() -> bool:
    """See to it that /proc/sys can be written; whether anything had to be done."""
    if not os.statvfs(PROC_SYS).f_flag & os.ST_RDONLY:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOEXEC
    if libc.unshare(CLONE_NEWNS) or libc.mount(None, PROC_SYS.encode(), None, flags, None):
        why = os.strerror(ctypes.get_errno())
        raise HostError(
            f"{PROC_SYS} is read-only and cannot be made writable: {why}; the container needs the "
            f"capability SYS_ADMIN, and on nodes with AppArmor a profile that allows to mount"
        )
    return True
