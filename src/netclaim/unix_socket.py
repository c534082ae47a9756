"""Listening unix sockets: how long a path may be, and removing only what is one's own.

Promise: a path that another process has taken meanwhile is never removed. Limit: how a path is
taken, and who may connect, is for the modules that listen.
"""

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netclaim.errors import HostError

SOCKET_PATH_MAX: Final = 107  # bytes; sun_path has 108, one of them for the NUL


@dataclass(frozen=True, slots=True)
class BoundSocket:
    """A listening socket and the path that it was bound to."""

    listener: socket.socket
    path: Path
    inode: tuple[int, int]  # device and number, because the same path may lead to another later

    def unlink(self) -> None:
        """Remove the path, if it still leads to this socket. May be called twice."""
        try:
            if inode_of(self.path) == self.inode:
                self.path.unlink()
        except FileNotFoundError:
            return


def inode_of(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_dev, status.st_ino


def refuse_long_path(path: Path, remedy: str) -> None:
    """Raise HostError if the kernel cannot bind a socket to a path; `remedy` says what to do."""
    length = len(bytes(path))
    if length > SOCKET_PATH_MAX:
        raise HostError(
            f"socket path {path} has {length} bytes, the kernel takes {SOCKET_PATH_MAX}: {remedy}"
        )
