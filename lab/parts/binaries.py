"""Where each program of the lab lies: compiled into the cache, ready-made, or Debian's.

`NETCLAIM_LAB_BIN=DIR` takes the programs from DIR (release binaries, say) instead of compiling
them; the CNI plugins may lie in DIR or in DIR/cni-plugins. What is missing is named at once.
"""

import os
import shutil
from functools import cached_property
from pathlib import Path

from lab.errors import UsageError
from lab.parts.build import build_part, fetch_part
from lab.parts.pins import Pins, load_pins
from lab.parts.releases import Release
from lab.progress import Progress

__all__ = ["CNI_PLUGINS", "Binaries"]

CNI_PLUGINS = "cni-plugins"  # a directory rather than a program
CLUSTER_PARTS = ("kubernetes", "containerd", "etcd", CNI_PLUGINS, "pause")
NODE_HIDES = ("/var/", "/run/")  # a node has its own; what lies there is out of its sight


class Binaries:
    """Finds programs by name, and builds them when they are wanted."""

    def __init__(self, progress: Progress, kubernetes: str = "") -> None:
        """`kubernetes` is one of the releases that are pinned; empty: the newest."""
        self._progress = progress
        self._pins: Pins = load_pins()
        ready_made = os.environ.get("NETCLAIM_LAB_BIN")
        self._ready_made = Path(ready_made).absolute() if ready_made else None
        newest, *older = self._pins.kubernetes
        if kubernetes and kubernetes not in (newest, *older):
            pinned = ", ".join([newest, *older[:-1]])
            raise UsageError(
                f"no Kubernetes {kubernetes!r} is pinned; choose {pinned} or {older[-1]}"
            )
        if kubernetes and ready_made:
            raise UsageError("NETCLAIM_LAB_BIN sets the Kubernetes version; unset it to choose one")
        self._kubernetes = "" if kubernetes == newest else kubernetes

    @property
    def kubernetes(self) -> str:
        """The older release that was chosen; empty: the newest."""
        return self._kubernetes

    @property
    def names(self) -> list[str]:
        """The names that `path` knows."""
        compiled = [name for part in self._pins.compiled.values() for name in part.binaries]
        return sorted({*compiled, *self._pins.debian, CNI_PLUGINS})

    @cached_property
    def release(self) -> Release:
        """Which Kubernetes these are."""
        part = self._pins.part_of("kube-apiserver", self._kubernetes)
        if self._ready_made or part is None:
            return Release.ask(self.path("kube-apiserver"))
        return Release.read(self._pins.compiled[part].version)

    def path(self, name: str) -> Path:
        """Return the program's path (for `cni-plugins` the directory), built now if need be."""
        part = CNI_PLUGINS if name == CNI_PLUGINS else self._pins.part_of(name, self._kubernetes)
        if part is None:
            return self._debian(name)
        if self._ready_made and part != "pause":  # pause is ours: no release holds it
            path = self._ready_made_path(self._ready_made, name)
            if not os.access(path, os.X_OK):
                raise UsageError(f"missing binary {path}: put it there or unset NETCLAIM_LAB_BIN")
            return path
        directory = build_part(self._pins, part, self._progress)
        return directory if name == CNI_PLUGINS else directory / name

    def build_all(self) -> None:
        """Have every part but the releases of Kubernetes that are built on demand."""
        for name in self.names:
            self.path(name)
        for part in self._pins.compiled:
            if part not in self._pins.on_demand:
                build_part(self._pins, part, self._progress)
        for part in self._pins.fetched:
            self.files(part)

    def files(self, part: str) -> Path:
        """Return the directory of a part that is only files, fetched now if need be."""
        return fetch_part(self._pins, part, self._progress)

    def require_cluster(self) -> None:
        """Have everything that a cluster needs, or say in one line what is missing."""
        if self._ready_made and (lacking := self._lacking(self._ready_made)):
            raise UsageError(
                f"missing binary in {self._ready_made}: {', '.join(lacking)};"
                " put it there or unset NETCLAIM_LAB_BIN"
            )
        for name in (*self._pins.debian, *self._of_cluster()):
            path = self.path(name)
            if str(path).startswith(NODE_HIDES):
                raise UsageError(
                    f"{path} is where a node cannot see it; move it out of /var and /run"
                    " (XDG_CACHE_HOME moves the cache)"
                )

    def _lacking(self, directory: Path) -> list[str]:
        wanted = [name for name in self._of_cluster() if self._pins.part_of(name) != "pause"]
        return [
            name
            for name in wanted
            if not os.access(self._ready_made_path(directory, name), os.X_OK)
        ]

    def _of_cluster(self) -> list[str]:
        return [name for part in CLUSTER_PARTS for name in self._pins.compiled[part].binaries]

    def _debian(self, name: str) -> Path:
        if name not in self._pins.debian:
            raise UsageError(f"unknown part {name!r}; the parts are {', '.join(self.names)}")
        found = shutil.which(name, path="/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
        if found is None:
            package = self._pins.debian[name]
            raise UsageError(f"missing binary {name}: install the Debian package {package}")
        return Path(found)

    def _ready_made_path(self, directory: Path, name: str) -> Path:
        nested = directory / CNI_PLUGINS
        plugins = nested if nested.is_dir() else directory
        if name == CNI_PLUGINS:
            return plugins
        return (plugins if self._pins.part_of(name) == CNI_PLUGINS else directory) / name
