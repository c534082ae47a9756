"""The control groups of a lab: one directory in every hierarchy, with one for each node below it.

Works on version 1 (one hierarchy a controller), on version 2 and on the mix of both. Only ever
touches directories below the lab's own.
"""

import contextlib
import errno
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["is_version_2", "make", "remaining", "remove"]

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS_V2 = ("cpuset", "cpu", "io", "memory", "pids")
EMPTY_S = 10  # for the last processes to leave a group; milliseconds, unless the machine is busy


def is_version_2() -> bool:
    """Whether the machine has the unified hierarchy alone."""
    return (ROOT / "cgroup.controllers").exists()


def _hierarchies() -> list[Path]:
    if is_version_2():
        return [ROOT]
    return [p for p in ROOT.iterdir() if p.is_dir() and not p.is_symlink()]


def make(lab: str, node: str) -> str:
    """Make the node's group everywhere; returns its path as kubelet wants it."""
    path = f"{lab}/{node}"
    for hierarchy in _hierarchies():
        directory = hierarchy / path
        directory.mkdir(parents=True, exist_ok=True)
        if (hierarchy / "cpuset.cpus").exists():  # version 1: a new cpuset starts empty
            for group in (directory.parent, directory):
                for name in ("cpuset.cpus", "cpuset.mems"):
                    (group / name).write_text((hierarchy / name).read_text())
        if is_version_2():
            for group in (hierarchy, directory.parent, directory):
                _delegate(group)
    return f"/{path}"


def _delegate(group: Path) -> None:
    for controller in CONTROLLERS_V2:
        with contextlib.suppress(OSError):  # a controller the machine lacks
            (group / "cgroup.subtree_control").write_text(f"+{controller}")


def remaining(lab: str) -> list[Path]:
    """Return what is there of the lab's groups."""
    return [top for hierarchy in _hierarchies() if (top := hierarchy / lab).is_dir()]


def remove(lab: str, node: str = "") -> None:
    """Remove the groups of a node, or of the whole lab; their processes must be gone."""
    for top in remaining(lab):
        for directory in _deepest_first(top / node):
            _remove_empty(directory)


def _remove_empty(directory: Path) -> None:
    """Remove a group; a process that has ended is in it until the kernel has buried it."""
    deadline = time.monotonic() + EMPTY_S
    while True:
        try:
            directory.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _deepest_first(directory: Path) -> Iterator[Path]:
    if directory.is_dir():
        for child in directory.iterdir():
            if child.is_dir():
                yield from _deepest_first(child)
        yield directory
