"""What a lab keeps on disk: its directory, its processes, and the lock for one command at a time.

Everything is below one directory for each lab. `run.json` is replaced whole at each change; if a
command is killed before it wrote a process down, the mark in the process's environment finds it.
"""

import contextlib
import errno
import re
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from lab.errors import UsageError
from lab.nodes.linux import Process

__all__ = ["DEFAULT_NAME", "DriverRecord", "LabState", "Running"]

DEFAULT_NAME = "lab"
HOME = Path("/var/lib/netclaim-lab")
LOCK_WAIT_S = 3.0  # a child of a killed command holds it until its exec
LAB_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?")  # goes into paths of control groups


class DriverRecord(msgspec.Struct, frozen=True):
    """A driver that every node runs; its port is for health and metrics."""

    name: str
    command: tuple[str, ...]
    port: int = 0

    @property
    def component(self) -> str:
        """The name of its process on each node."""
        return f"driver-{self.name}"


class Running(msgspec.Struct):
    """What runs: process 1 of each node, every component by its full name, and the API's port."""

    kubernetes: str = ""  # an older release than the newest
    port: int = 0
    drivers: dict[str, DriverRecord] = {}
    inits: dict[str, Process] = {}
    components: dict[str, Process] = {}
    up: bool = False  # set when the boot was seen through


class LabState:
    """The directory of one lab."""

    def __init__(self, name: str) -> None:
        if not LAB_NAME.fullmatch(name):
            raise UsageError(f"{name!r} is not a name for a lab; use up to 20 of a-z, 0-9 and -")
        self.name = name
        self.directory = HOME / name
        self.pki = self.directory / "pki"
        self.kubeconfig = self.directory / "kubeconfig"
        self.images = self.directory / "images.tar"
        self.topology = self.directory / "topology.yaml"
        self.cgroup = f"netclaim-{name}"

    def disk(self, node: str) -> Path:
        """Return what stays of a node when it reboots."""
        return self.directory / "nodes" / node

    def log(self, component: str) -> Path:
        """Return a component's log."""
        return self.directory / "logs" / f"{component.replace('/', '@')}.log"

    @property
    def exists(self) -> bool:
        """Whether anything of the lab is on disk."""
        return self.directory.is_dir()

    def load(self) -> Running:
        """Read what runs, as last written down."""
        try:
            return msgspec.json.decode((self.directory / "run.json").read_bytes(), type=Running)
        except FileNotFoundError:
            return Running()

    def save(self, running: Running) -> None:
        """Write down what runs."""
        fresh = self.directory / "run.json.new"
        fresh.write_bytes(msgspec.json.encode(running))
        fresh.replace(self.directory / "run.json")

    def remove(self) -> None:
        """Remove the lab's directory, and the common one if this was the last lab."""
        if self.exists:
            shutil.rmtree(self.directory)
        with contextlib.suppress(OSError):  # other labs, or never made
            HOME.rmdir()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let no other command change this lab meanwhile.

        The lock is a name in the abstract socket space: it ends with its holder and leaves no file.
        """
        with socket.socket(socket.AF_UNIX) as lock:
            deadline = time.monotonic() + LOCK_WAIT_S
            while not self._lock(lock):
                if time.monotonic() > deadline:
                    raise UsageError(
                        f"another command is changing the lab {self.name!r}; wait for it to end"
                    )
                time.sleep(0.05)
            yield

    def _lock(self, lock: socket.socket) -> bool:
        try:
            lock.bind(f"\0netclaim-lab-{self.name}")
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            return False
        return True
