"""System calls that Python does not have: namespaces, mounts, and the parent's death.

Each raises OSError as Python's own would.
"""

import ctypes
import os
from pathlib import Path
from typing import Final

# linux/sched.h
CLONE_NEWNS: Final = 0x00020000
CLONE_NEWIPC: Final = 0x08000000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWPID: Final = 0x20000000
CLONE_NEWNET: Final = 0x40000000
# linux/mount.h
MS_BIND: Final = 0x1000
MS_REC: Final = 0x4000
MS_PRIVATE: Final = 1 << 18
MS_SHARED: Final = 1 << 20
MNT_DETACH: Final = 2
# linux/prctl.h
PR_SET_PDEATHSIG: Final = 1
SIGKILL: Final = 9

_libc: Final = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Leave the namespaces that `flags` name for new ones."""
    _check(_libc.unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    """Enter the namespace that a descriptor refers to."""
    _check(_libc.setns(fd, kind), "setns")


def mount(
    source: str, target: str | Path, kind: str = "", *, flags: int = 0, options: str = ""
) -> None:
    result = _libc.mount(
        source.encode(),
        bytes(Path(target)),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    _check(result, f"mount {source} on {target}")


def umount(target: Path) -> None:
    """Unmount: at once for path lookups, later for processes that still use it."""
    _check(_libc.umount2(bytes(target), MNT_DETACH), f"umount {target}")


def die_with_parent() -> None:
    """Have the kernel end this process when the one that started it ends, however it does."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "prctl")


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
