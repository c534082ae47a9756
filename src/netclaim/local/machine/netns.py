"""Make network namespaces that have a path, as runtimes do for pods, and remove them.

Promise: the calling thread is back in its own namespace at once, or the process is dead.
"""

import os
from pathlib import Path

from netclaim.errors import HostError
from netclaim.kernel import Netns, open_netns
from netclaim.kernel.host.netns import OWN_NETNS
from netclaim.kernel.host.syscalls import CLONE_NEWNET, MS_BIND, mount, setns, umount, unshare


def add_netns(path: Path) -> Netns:
    """Make a namespace and mount it at a path, which must not exist."""
    home = os.open(OWN_NETNS, os.O_RDONLY | os.O_CLOEXEC)
    try:
        path.touch(exist_ok=False)
        unshare(CLONE_NEWNET)
        try:
            mount(OWN_NETNS, path, flags=MS_BIND)
        finally:
            _return_to(home)
    except OSError as error:
        raise HostError(f"cannot create a network namespace at {path}: {error.strerror}") from error
    finally:
        os.close(home)
    return open_netns(path)


def remove_netns(path: Path) -> None:
    """Remove a namespace; the kernel ends it when nothing uses it any more. May be called twice."""
    if path.exists():
        umount(path)
        path.unlink()


def _return_to(home: int) -> None:
    try:
        setns(home, CLONE_NEWNET)
    except OSError:
        os.write(2, b"netclaim: cannot leave a new network namespace; aborting\n")
        os.abort()
