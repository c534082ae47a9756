"""The file system that an embedded cluster sees: the machine's, with directories of its own on top.

/run is memory of the cluster's own, shared by all its nodes: sockets, the pods' namespaces, and for
each node a directory. A node's processes see that directory's `lib` as /var/lib, so that what a
plugin keeps there (addresses given out, results) belongs to the node, and a /sys that shows the
node's links. Promise: nothing is written to the machine's own file system. What is needed to run
netclaim itself stays visible, wherever it is installed.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netclaim.errors import HostError
from netclaim.kernel.host.syscalls import (
    CLONE_NEWNET,
    CLONE_NEWNS,
    MS_BIND,
    MS_PRIVATE,
    MS_REC,
    MS_SHARED,
    die_with_parent,
    mount,
    setns,
    unshare,
)
from netclaim.local.machine.hardware import show_cards
from netclaim.local.topology import Link

RUN: Final = Path("/run")
LIB: Final = Path("/var/lib")
NETNS: Final = RUN / "netns"  # where runtimes and `ip netns` have the namespaces of pods
NODES: Final = RUN / "nodes"


@dataclass(frozen=True, slots=True)
class NodePlace:
    """The paths of a node. Its number keeps them short: a socket's path has 107 bytes."""

    name: str
    number: int

    @property
    def directory(self) -> Path:
        """The directory of all files of the node."""
        return RUN / str(self.number)

    @property
    def netns(self) -> Path:
        return NODES / self.name

    @property
    def kubelet_dir(self) -> Path:
        return self.directory / "kubelet"

    @property
    def nri_socket(self) -> Path:
        return self.directory / "nri.sock"

    @property
    def cdi_dir(self) -> Path:
        """The directory in which drivers write what containers get."""
        return self.directory / "cdi"

    @property
    def lib(self) -> Path:
        """The directory that the node sees as /var/lib."""
        return self.directory / "lib"

    def make(self) -> None:
        """Make the directories that a node's owner, or kubelet, makes."""
        for directory in (
            self.kubelet_dir / "plugins",
            self.kubelet_dir / "plugins_registry",
            self.directory / "state",
            self.lib,
        ):
            directory.mkdir(parents=True, exist_ok=True)


def build_world() -> int:
    """Arrange the file system of a mount namespace that is ours.

    Returns our process id as the rest of the machine knows it, which cannot be found out later.
    """
    host_pid = int(Path("/proc/self").readlink().name)
    try:
        mount("none", "/", flags=MS_REC | MS_PRIVATE)  # from here on nothing reaches the machine
        mount("proc", "/proc", "proc")
        _cover(RUN, lambda: mount("tmpfs", RUN, "tmpfs", options="mode=755"))
        mount("none", RUN, flags=MS_SHARED)  # by this a pod's namespace appears on its node
    except OSError as error:
        raise HostError(
            f"cannot set up the cluster's file system ({error.strerror}): this is a container that"
            " may not mount, or the kernel refuses mounts in user namespaces; run it with sudo, or"
            " outside the container"
        ) from error
    for directory in (NETNS, NODES):
        directory.mkdir()
    return host_pid


def enter_node(place: NodePlace, links: Sequence[Link] = ()) -> Callable[[], None]:
    """Return what a forked process has to do to become one of the node's processes.

    Those of its links that have hardware look like ports of cards to it.
    """

    def enter() -> None:
        die_with_parent()
        netns = os.open(place.netns, os.O_RDONLY | os.O_CLOEXEC)
        setns(netns, CLONE_NEWNET)
        unshare(CLONE_NEWNS)
        mount("sysfs", "/sys", "sysfs")
        show_cards(links, place.directory / "sys")
        _cover(LIB, lambda: mount(str(place.lib), LIB, flags=MS_BIND))

    return enter


def _cover(directory: Path, lay: Callable[[], None], kept: Iterable[Path] | None = None) -> None:
    """Mount over a directory, and put back what is needed from below it."""
    with ExitStack() as stack:
        held = {}
        for path in _needed() if kept is None else kept:
            if path.is_relative_to(directory):
                held[path] = os.open(path, os.O_PATH | os.O_CLOEXEC)
                stack.callback(os.close, held[path])
        lay()
        for path, fd in held.items():
            path.mkdir(parents=True, exist_ok=True)
            mount(f"/proc/self/fd/{fd}", path, flags=MS_BIND | MS_REC)


def _needed() -> list[Path]:
    """Return the directories that this Python runs from."""
    paths = {Path(path).resolve() for path in (*sys.path, sys.prefix, sys.base_prefix) if path}
    return sorted(path for path in paths if path.is_dir())
