"""The lab as the campaign uses it: its own cluster with the driver, and the one node that is hurt.

`reset` makes a new one when a fault has left a mess that does not go away by itself. Actions run in
the main thread only, as the lab wants it; looking may be done by any thread.
"""

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from faults.api import Api
from faults.manifests import NODE, STARTS_DIR, device_class
from lab.cluster import Lab
from lab.driver_set import DriverSet
from lab.drivers import DEFAULT_DRIVER, is_ready, netclaim_driver
from lab.kubectl import Kubectl
from netclaim.network.policy import LABEL

__all__ = ["COMPONENTS", "DRIVER", "POLL_S", "NotSettledError", "Site", "site", "until"]

TOPOLOGY = Path(__file__).with_name("topology.yaml")
NAMESPACE = "faults"
ADMIN_ACCESS = "resource.kubernetes.io/admin-access"  # what a namespace needs for it, from 1.34 on
POLL_S = 0.2
DRIVER = f"{NODE}/driver-{DEFAULT_DRIVER}"
COMPONENTS = {
    "driver": DRIVER,
    "containerd": f"{NODE}/containerd",
    "kubelet": f"{NODE}/kubelet",
    "apiserver": "kube-apiserver",
    "etcd": "etcd",
    "scheduler": "kube-scheduler",
    "controller-manager": "kube-controller-manager",
}
# Does what its file says before it becomes the real plugin; without the file, nothing.
MOODY_PLUGIN = """#!/bin/sh
if [ "$CNI_COMMAND" = ADD ] && [ -e /run/mood ]; then . /run/mood; fi
exec /opt/cni/bin/macvlan
"""


class NotSettledError(Exception):
    """Something that was waited for did not come about."""


def until(what: Callable[[], bool], limit_s: float, text: str) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + limit_s
    while not what():
        if time.monotonic() > deadline:
            raise NotSettledError(f"{text}: not within {limit_s:g} s")
        time.sleep(POLL_S)


class Site:
    """One lab with the driver on it."""

    def __init__(self, lab: Lab, driver_options: Sequence[str]) -> None:
        self.lab = lab
        self.driver_options = tuple(driver_options)
        self.drivers = DriverSet(lab)
        self._api: Api | None = None

    def up(self) -> None:
        """Boot, run the driver, and make what all bursts use."""
        self.lab.up(TOPOLOGY, port=0)
        self._api = Api(self.lab, NAMESPACE)
        shared = ("--attachments=1024",) if self.shares else ()  # more than any burst has
        self.drivers.up(netclaim_driver(DEFAULT_DRIVER, *shared, *self.driver_options))
        kubectl = self.kubectl
        kubectl("create", "namespace", NAMESPACE)
        # privileged: claims may name the plugin whose mood some faults change
        labels = (f"{LABEL}=privileged", *(() if self.shares else (f"{ADMIN_ACCESS}=true",)))
        kubectl("label", "namespace", NAMESPACE, *labels)
        kubectl("wait", "serviceaccount/default", "--for=create", "--timeout=180s")
        kubectl.apply(device_class())
        self.path(STARTS_DIR).mkdir(parents=True)
        moody = self.path("/opt/cni/bin/moody")
        moody.write_text(MOODY_PLUGIN)
        moody.chmod(0o755)
        until(self.is_hooked, 60, "the driver's readiness")

    def down(self) -> None:
        """Take the cluster away. Again: nothing."""
        self.lab.down()

    def reset(self) -> None:
        """A new cluster in place of this one."""
        self.down()
        self.up()

    @property
    def api(self) -> Api:
        """The API server, in the bursts' namespace."""
        if self._api is None:
            raise RuntimeError("the site is not up")
        return self._api

    @property
    def shares(self) -> bool:
        """Whether the bursts' pods have shares of the links; else they need admin access."""
        return self.lab.binaries.release.shares_devices

    @property
    def kubectl(self) -> Kubectl:
        """Kubectl, in the bursts' namespace."""
        return self.lab.kubectl(NAMESPACE)

    def path(self, inside: str) -> Path:
        """A path of the node, as it is seen from outside."""
        return self.lab.root(NODE) / inside.lstrip("/")

    @property
    def journal(self) -> Path:
        """The driver's journal, as the node sees it."""
        return Path(f"/var/lib/netclaim/{DEFAULT_DRIVER}/journal.db")

    def state_path(self) -> Path:
        """Where the driver keeps its journal, as it is seen from outside."""
        return self.path(str(self.journal.parent))

    def run(self, *command: str) -> str:
        """What a command prints inside the node."""
        done = subprocess.run(
            self.lab.enter_command(NODE, command), capture_output=True, text=True, check=True
        )
        return done.stdout

    def is_hooked(self) -> bool:
        """Whether kubelet and the runtime have the driver."""
        running = self.lab.state.load()
        return is_ready(running.inits[NODE], running.drivers[DEFAULT_DRIVER])

    def namespaces(self) -> frozenset[str]:
        """The names of the node's network namespaces: one for each sandbox."""
        return frozenset(path.name for path in self.path("/run/netns").iterdir())

    def pids(self, program: str) -> list[int]:
        """The node's processes of a program, by pids inside the node, oldest first."""
        return sorted(p for p, text in self.processes().items() if text.startswith(program))

    def processes(self) -> dict[int, str]:
        """The node's processes by pids inside it: program, without directory, and arguments."""
        found = {}
        for entry in self.path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):  # gone meanwhile
                    words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    program = words[0].rpartition("/")[2]
                    found[int(entry.name)] = " ".join([program, *words[1:]]).strip()
        return found

    def driver_log(self) -> Path:
        """The driver's log on the node."""
        return self.lab.state.log(DRIVER)


@contextmanager
def site(lab: Lab, driver_options: Sequence[str]) -> Iterator[Site]:
    """A site that is gone afterwards, however the block ends."""
    made = Site(lab, driver_options)
    try:
        made.reset()  # a campaign that was killed may have left one
        yield made
    finally:
        made.down()
