"""The plugin's two unix sockets: where they are, how they are bound, who may remove them.

Promise: a leftover of a process that is gone is replaced; a socket that somebody answers on is
never taken away, and on stop only our own is removed. Limit: two processes that start in the same
instant can both find the same leftover; the journal's lock, not this module, keeps drivers apart.
"""

import hashlib
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from netclaim.errors import HostError

__all__ = ["SOCKET_PATH_MAX", "BoundSocket", "PluginSockets", "ensure_directories", "listen"]

SOCKET_PATH_MAX: Final = 107  # bytes; sun_path has 108, one of them for the NUL
SOCKET_MODE: Final = 0o600  # kubelet is root; nobody else on the node prepares claims
DIRECTORY_MODE: Final = 0o750  # as kubelet makes its own plugin directories
BACKLOG: Final = 16  # kubelet keeps one connection a socket; the rest is for people looking


class PluginSockets(msgspec.Struct, frozen=True):
    """Where kubelet finds the driver. Both paths must be the same inside and outside a container.

    `registration` lies in the directory that kubelet watches, `dra` in one of the driver's own.
    """

    registration: Path
    dra: Path

    @classmethod
    def under(cls, kubelet_dir: Path, driver_name: str, instance: str = "") -> "PluginSockets":
        """The usual places below kubelet's root directory, such as /var/lib/kubelet.

        `instance` tells apart the two processes of a driver that is being updated, usually by the
        UID of their pod. Kubelet knows several since 1.33.
        """
        root = kubelet_dir.absolute()
        registry, own = root / "plugins_registry", root / "plugins" / driver_name
        if not instance:
            return cls(registry / f"{driver_name}-reg.sock", own / "dra.sock")
        names = [f"{driver_name}-{instance}", f"{driver_name}-{_digest(instance)}"]
        fitting = [n for n in names if len(bytes(registry / f"{n}-reg.sock")) <= SOCKET_PATH_MAX]
        name = fitting[0] if fitting else _digest(f"{driver_name}\0{instance}")
        return cls(registry / f"{name}-reg.sock", own / f"dra-{_digest(instance)}.sock")


def _digest(text: str) -> str:
    """A short name for a long one: 64 bits tell apart the few processes of a node."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def ensure_directories(sockets: PluginSockets) -> None:
    """Make the driver's own directory. Kubelet's two must be there already: kubelet made them."""
    own = sockets.dra.parent
    for directory in (sockets.registration.parent, own.parent):
        if not directory.is_dir():
            raise HostError(
                f"kubelet's directory {directory} does not exist: start kubelet first, mount the"
                " directory at the same path into this container, or name kubelet's root directory"
            )
    try:
        own.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
    except OSError as error:
        raise HostError(f"cannot create the driver's directory {own}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class BoundSocket:
    """A listening socket and the path it was bound to."""

    listener: socket.socket
    path: Path
    inode: tuple[int, int]  # device and number: the same path may be another's socket later

    def unlink(self) -> None:
        """Remove the path, if it still leads to this socket. Again: does nothing."""
        try:
            if _inode(self.path) == self.inode:
                self.path.unlink()
        except FileNotFoundError:
            return


def listen(path: Path) -> BoundSocket:
    """Bind and listen, replacing a leftover; kubelet may connect as soon as this returns."""
    length = len(bytes(path))
    if length > SOCKET_PATH_MAX:
        raise HostError(
            f"socket path {path} has {length} bytes, the kernel takes {SOCKET_PATH_MAX}:"
            " use a shorter driver name or kubelet directory"
        )
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_leftover(path)
        listener.bind(bytes(path))
        path.chmod(SOCKET_MODE)  # before listen(): nobody can have connected yet
        listener.listen(BACKLOG)
        return BoundSocket(listener, path, _inode(path))
    except OSError as error:
        listener.close()
        raise HostError(f"cannot listen on {path}: {error.strerror}") from error
    except HostError:
        listener.close()
        raise


def _remove_leftover(path: Path) -> None:
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise HostError(
                f"{path} is not a socket; remove it, because the driver's socket belongs there"
            )
        if _is_answered(path):
            raise HostError(
                f"another process serves {path}; stop it, or give this driver another name"
            )
        path.unlink()
    except FileNotFoundError:
        return


def _is_answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)  # a full backlog must not hold us up
        try:
            probe.connect(bytes(path))
        except ConnectionRefusedError:
            return False  # bound once, and nobody listens
        except BlockingIOError:
            return True  # somebody listens, with a full backlog
        return True


def _inode(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_dev, status.st_ino
