"""The kernel's settings under /proc/sys, as they are in one network namespace.

Promise: a name is a path with slashes, so that a link's name may hold dots. It leads to nothing
outside of /proc/sys.
Limit: what `net/` leads to is decided by the calling thread's namespace when a file is opened; for
another namespace call these inside `call_in`.
"""

import errno
import os
from typing import Final

from netclaim.errors import HostError

ROOT = "/proc/sys"
# The kernel writes a setting in one piece, and most are a number. A link has 120, and all are read
# when a pod takes it and again when it comes home, so they are not read as files of text.
READ_BYTES: Final = 65536


class SysctlError(HostError):
    """A setting cannot be read or written."""

    def __init__(self, name: str, error: OSError) -> None:
        super().__init__(f"sysctl {name}: {error.strerror}")
        self.name = name
        self.errno = error.errno


def read_sysctl(name: str, *, directory: int | None = None) -> str:
    """Read a setting; in an open directory it is found by its name there, which is cheaper."""
    try:
        path = _path(name) if directory is None else name
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=directory)
        try:
            return os.read(fd, READ_BYTES).decode(errors="replace").strip()
        finally:
            os.close(fd)
    except OSError as error:
        raise SysctlError(name, error) from error


def write_sysctl(name: str, value: str) -> None:
    try:
        fd = os.open(_path(name), os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, value.encode())
        finally:
            os.close(fd)
    except OSError as error:
        raise SysctlError(name, error) from error


def try_sysctl(name: str, value: str) -> bool:
    """Change a setting that is only nice to have; returns whether that succeeded."""
    try:
        write_sysctl(name, value)
    except SysctlError:
        return False
    return True


def _path(name: str) -> str:
    if ".." in name.split("/") or "\0" in name:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), name)
    return f"{ROOT}/{name}"
