"""What can be done to a node and its cluster: each action is a value that says so and can be run.

Every action may be run twice. Actions that break something return at once; waiting for the mess to
settle is the burst's.
"""

import errno
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from faults.api import Api
from faults.manifests import NODE
from faults.site import Site
from lab.nodes.processes import CLOSET

__all__ = [
    "Action",
    "Crash",
    "CutCable",
    "DeletePods",
    "DeleteSlices",
    "EmptyDirectory",
    "FewFiles",
    "FillState",
    "FreeState",
    "Freeze",
    "Kill",
    "KillEach",
    "LoseJournal",
    "Mood",
    "Plug",
    "ReadOnly",
    "Reboot",
    "Remove",
    "RemoveNamespaces",
    "Rights",
    "Roll",
    "SetLink",
    "SmallState",
    "Spin",
    "Start",
    "StateAsBefore",
    "Stop",
    "Thaw",
    "Unplug",
    "Writable",
]

CRASH_POLL_S = 0.05  # far less than a driver needs to start
FILLER = "/var/lib/netclaim/filler"
SPINNERS = 6  # three for each of two processors: the scheduler gives the node a fourth of its time


class Action(Protocol):
    """Something that is done at a moment of a burst."""

    def run(self, site: Site, burst: str) -> None:
        """Do it; `burst` is the name of the burst that it happens to."""
        ...


@dataclass(frozen=True, slots=True)
class Kill:
    """End components by SIGKILL, all at once, and leave them dead.

    Of the driver it is the process, which its keeper starts again; `driver-pod` is both.
    """

    components: tuple[str, ...]

    def run(self, site: Site, burst: str) -> None:
        site.kill(self.components)


@dataclass(frozen=True, slots=True)
class Crash:
    """Kill the driver's process, and for some seconds each one that its keeper starts."""

    seconds: float

    def run(self, site: Site, burst: str) -> None:
        until_s = time.monotonic() + self.seconds
        while True:
            process = site.driver_process()
            if process is not None:
                process.kill()
            if time.monotonic() >= until_s:
                return
            time.sleep(CRASH_POLL_S)


@dataclass(frozen=True, slots=True)
class Start:
    """Start components that are dead, in this order."""

    components: tuple[str, ...]

    def run(self, site: Site, burst: str) -> None:
        for name in self.components:
            site.start(name)


@dataclass(frozen=True, slots=True)
class Stop:
    """Ask a component to end by SIGTERM, and wait until it has."""

    component: str

    def run(self, site: Site, burst: str) -> None:
        site.stop(self.component)


@dataclass(frozen=True, slots=True)
class Roll:
    """Replace the driver's process as a rolling update does: the next one starts first."""

    def run(self, site: Site, burst: str) -> None:
        site.roll_driver()


@dataclass(frozen=True, slots=True)
class Freeze:
    """Freeze components by SIGSTOP; of the driver, its process and not its keeper."""

    components: tuple[str, ...]

    def run(self, site: Site, burst: str) -> None:
        for name in self.components:
            process = site.driver_process() if name == "driver" else None
            if process is not None:
                process.send(signal.SIGSTOP)
            else:
                site.freeze(name)


@dataclass(frozen=True, slots=True)
class Thaw:
    """Let frozen components go on."""

    components: tuple[str, ...]

    def run(self, site: Site, burst: str) -> None:
        for name in self.components:
            site.thaw(name)


@dataclass(frozen=True, slots=True)
class KillEach:
    """End some of the node's processes of a program by SIGKILL: every `one_in`-th of them."""

    program: str
    one_in: int

    def run(self, site: Site, burst: str) -> None:
        inside = [pid for pid in site.pids(self.program) if pid != 1]
        for pid in inside[:: self.one_in]:
            site.run("kill", f"-{signal.SIGKILL.value}", str(pid))


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove files of the node."""

    pattern: str

    def run(self, site: Site, burst: str) -> None:
        root = site.path("/")
        for path in root.glob(self.pattern.lstrip("/")):
            path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class EmptyDirectory:
    """Remove everything below a directory of the node."""

    directory: str

    def run(self, site: Site, burst: str) -> None:
        for path in site.path(self.directory).glob("*"):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


@dataclass(frozen=True, slots=True)
class LoseJournal:
    """Remove the journal of a driver that is not running."""

    def run(self, site: Site, burst: str) -> None:
        for path in site.state_path().glob("journal.db*"):
            path.unlink()


@dataclass(frozen=True, slots=True)
class SmallState:
    """Give the driver, which is restarted for it, a state directory of a few MiB."""

    mebibytes: int

    def run(self, site: Site, burst: str) -> None:
        options = f"size={self.mebibytes}m"
        with site.without_driver():
            site.run("mount", "-t", "tmpfs", "-o", options, "tmpfs", "/var/lib/netclaim")


@dataclass(frozen=True, slots=True)
class StateAsBefore:
    """Give the driver, which is restarted for it, its old state directory back."""

    def run(self, site: Site, burst: str) -> None:
        with site.without_driver():
            site.run("umount", "/var/lib/netclaim")


@dataclass(frozen=True, slots=True)
class FillState:
    """Use up the space of the state directory."""

    def run(self, site: Site, burst: str) -> None:
        with site.path(FILLER).open("ab", buffering=0) as filler:
            for size in (1 << 16, 1):
                try:
                    while True:
                        filler.write(bytes(size))
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise


@dataclass(frozen=True, slots=True)
class FreeState:
    """Give the space back."""

    def run(self, site: Site, burst: str) -> None:
        site.path(FILLER).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """Make a directory of the node read-only, as a file system does after an error of its disk."""

    directory: str

    def run(self, site: Site, burst: str) -> None:
        site.run("mount", "--bind", self.directory, self.directory)
        site.run("mount", "-o", "remount,ro,bind", self.directory)


@dataclass(frozen=True, slots=True)
class Writable:
    """Make a directory writable again."""

    directory: str

    def run(self, site: Site, burst: str) -> None:
        site.run("umount", self.directory)


@dataclass(frozen=True, slots=True)
class Reboot:
    """Cut the node's power, and boot it again."""

    def run(self, site: Site, burst: str) -> None:
        site.lab.reboot(NODE)


@dataclass(frozen=True, slots=True)
class Unplug:
    """Pull a link out of the node."""

    link: str

    def run(self, site: Site, burst: str) -> None:
        site.lab.unplug(NODE, self.link)


@dataclass(frozen=True, slots=True)
class Plug:
    """Put a link into the node."""

    link: str
    network: str

    def run(self, site: Site, burst: str) -> None:
        site.lab.plug(NODE, self.link, self.network)


@dataclass(frozen=True, slots=True)
class SetLink:
    """Switch a link of the node on or off."""

    link: str
    state: str

    def run(self, site: Site, burst: str) -> None:
        site.run("ip", "link", "set", self.link, self.state)


@dataclass(frozen=True, slots=True)
class CutCable:
    """Switch the far end of the node's uplink: the link stays, and nothing comes through it."""

    state: str

    def run(self, site: Site, burst: str) -> None:
        closet = site.lab.state.load().inits[CLOSET]
        port = "primary.1"  # of the second node of the topology on its first network
        command = ["nsenter", "-t", str(closet.pid), "-n", "ip", "link", "set", port, self.state]
        subprocess.run(command, check=True, capture_output=True)


@dataclass(frozen=True, slots=True)
class RemoveNamespaces:
    """Remove the names of some pods' network namespaces: every `one_in`-th; the pods run on."""

    one_in: int

    def run(self, site: Site, burst: str) -> None:
        for name in sorted(site.namespaces())[:: self.one_in]:
            # A plain pod may end meanwhile, and its namespace with it.
            remove = 'umount "$1" && rm "$1" || test ! -e "$1"'
            site.run("sh", "-c", remove, "remove", f"/run/netns/{name}")


@dataclass(frozen=True, slots=True)
class DeletePods:
    """Delete every `one_in`-th pod of the burst, with its node's consent or without."""

    one_in: int
    force: bool = False

    def run(self, site: Site, burst: str) -> None:
        api: Api = site.api
        for pod in api.items("pods", f"faults-burst={burst}")[:: self.one_in]:
            api.delete("pods", pod["metadata"]["name"], force=self.force)


@dataclass(frozen=True, slots=True)
class DeleteSlices:
    """Delete what the driver published."""

    def run(self, site: Site, burst: str) -> None:
        site.kubectl("delete", "resourceslices", "--all")


@dataclass(frozen=True, slots=True)
class Rights:
    """Take the driver's rights at the API server away, or give them back."""

    granted: bool

    def run(self, site: Site, burst: str) -> None:
        site.grant_rights(granted=self.granted)


@dataclass(frozen=True, slots=True)
class Mood:
    """Have the plugin `moody` do this before each ADD; nothing: be the plugin that it wraps."""

    script: str

    def run(self, site: Site, burst: str) -> None:
        mood = site.path("/run/mood")
        if self.script:
            fresh = site.path("/run/mood.new")
            fresh.write_text(self.script)
            fresh.replace(mood)
        else:
            mood.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class FewFiles:
    """Let the driver open no file more than it has, or as many as it could before."""

    limited: bool

    def run(self, site: Site, burst: str) -> None:
        process = site.driver_process()
        assert process is not None, "the driver runs"
        pid = process.pid
        count = len(list(Path(f"/proc/{pid}/fd").iterdir())) if self.limited else 1024
        subprocess.run(["prlimit", f"--pid={pid}", f"--nofile={count}:"], check=True)


@dataclass(frozen=True, slots=True)
class Spin:
    """Leave little processor time to the cluster for some seconds."""

    seconds: int

    def run(self, site: Site, burst: str) -> None:
        command = ["timeout", str(self.seconds), "sh", "-c", "while :; do :; done"]
        environment = {**os.environ, "NETCLAIM_LAB": site.lab.state.name}  # found by `down`
        for _ in range(SPINNERS):
            subprocess.Popen(command, env=environment, start_new_session=True)
