"""The plugin's two unix sockets: where they are, how they are bound, and who may remove them.

Promise: a leftover of a process that is gone is replaced; a socket on which a process answers is
never taken away, and on stop only our own is removed. Limit: two processes that start in the same
instant can both find the same leftover; the journal's lock, not this module, keeps drivers apart.
"""

import hashlib
import socket
import stat
from pathlib import Path
from typing import Final

import msgspec

from netclaim.errors import HostError
from netclaim.unix_socket import SOCKET_PATH_MAX, BoundSocket, inode_of, refuse_long_path

SOCKET_MODE: Final = 0o600  # kubelet is root; nobody else on the node prepares claims
DIRECTORY_MODE: Final = 0o750  # as kubelet makes its own plugin directories
BACKLOG: Final = 16  # kubelet keeps one connection for each socket; the rest is for tools that look


class PluginSockets(msgspec.Struct, frozen=True):
    """Where kubelet finds the driver. Both paths must be the same inside and outside a container.

    `registration` lies in the directory that kubelet watches, `dra` in one of the driver's own.
    """

    registration: Path
    dra: Path

    @classmethod
    def under(cls, kubelet_dir: Path, driver_name: str, instance: str = "") -> "PluginSockets":
        """Return the usual places below kubelet's root directory, for example /var/lib/kubelet.

        `instance` distinguishes the two processes of a driver that is being updated, usually by the
        UID of their pod. Kubelet has supported several instances since 1.33.
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
    """Shorten a name; 64 bits are enough to distinguish the few processes of a node."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def ensure_directories(sockets: PluginSockets) -> None:
    """Make the driver's own directory; kubelet's two must exist, since kubelet made them."""
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


def listen(path: Path) -> BoundSocket:
    """Bind and listen, replacing a leftover; kubelet may connect as soon as this returns."""
    refuse_long_path(path, "use a shorter driver name or kubelet directory")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_leftover(path)
        listener.bind(bytes(path))
        path.chmod(SOCKET_MODE)  # before listen(), so nobody can have connected yet
        listener.listen(BACKLOG)
        return BoundSocket(listener, path, inode_of(path))
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
        if is_answered(path):
            raise HostError(
                f"another process serves {path}; stop it, or give this driver another name"
            )
        path.unlink()
    except FileNotFoundError:
        return


def is_answered(path: Path) -> bool:
    """Whether a process accepts connections at a socket, by making one and leaving."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)  # a full backlog must not hold us up
        try:
            probe.connect(bytes(path))
        except ConnectionRefusedError:
            return False  # it was bound, but nobody listens
        except BlockingIOError:
            return True  # a process listens, with a full backlog
        return True
