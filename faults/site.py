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
from lab.drivers.driver import DEFAULT_DRIVER, grant, is_ready, netclaim_driver
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl
from lab.nodes.linux import Process
from netclaim.network.policy.levels import LABEL

__all__ = ["COMPONENTS", "DRIVER", "POLL_S", "NotSettledError", "Site", "site", "until"]

TOPOLOGY = Path(__file__).with_name("topology.yaml")
NAMESPACE = "faults"
ADMIN_ACCESS = "resource.kubernetes.io/admin-access"  # what a namespace needs for it, from 1.34 on
FAILED_PREPARE = "FailedPrepareDynamicResources"
# What kubelet itself reports when it asks for a claim before the API server knows that its node may
# read it; it asks again a minute later. It happens with every driver.
NOT_YET_ALLOWED = "no relationship found between node"
BINDING = "netclaim-driver"  # of the driver's account to its role, in deploy/ and in the chart
KUBELET_HEALTH = "0100007F:2808 00000000:0000 0A"  # it listens on 127.0.0.1:10248
ATTACHMENTS = 1024  # more than any burst has
POLL_S = 0.2
SETTLED_S = 120.0  # for kubelet and the runtime to have the driver, on a busy machine
DRIVER = f"{NODE}/driver-{DEFAULT_DRIVER}"
COMPONENTS = {
    "driver": DRIVER,
    "driver-pod": DRIVER,
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
        self.run_driver()
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
        self.settle()

    def settle(self) -> None:
        """Wait until kubelet and the runtime have the driver; a burst begins after that.

        A fault's last act may be to start the driver. One that is killed before it has handed its
        sockets to its keeper has callers refused, whatever the next burst is about.
        """
        until(self.is_hooked, SETTLED_S, "the driver's readiness")

    def run_driver(self) -> None:
        """Run the driver on each node."""
        shared = (f"--attachments={ATTACHMENTS}",) if self.shares else ()
        self.drivers.up(netclaim_driver(DEFAULT_DRIVER, *shared, *self.driver_options))

    def driver_process(self) -> Process | None:
        """Return the driver's process on the node; None while its keeper has none."""
        return self.lab.kept_process(DRIVER)

    def kill(self, components: Sequence[str]) -> None:
        """End components by SIGKILL, all at once; all but the driver's process stay dead."""
        running = self.lab.state.load().components
        for name in components:  # first all of them, then wait for each
            process = running[self.lab.component(COMPONENTS[name]).full_name]
            for each in process.children if name == "driver" else [process]:
                each.kill()
        for name in components:
            if name != "driver":
                self.lab.kill(COMPONENTS[name])

    def start(self, component: str) -> None:
        """Start a component if it is dead.

        Kubelet ends if the runtime is not yet there to be called, and systemd starts it again.
        """
        self._start(component)
        if component == "kubelet":
            until(self._has_kubelet, SETTLED_S, "kubelet")

    def _start(self, component: str) -> None:
        known = self.lab.component(COMPONENTS[component]).full_name
        if not self.lab.state.load().components[known].alive:
            self.lab.restart(COMPONENTS[component])

    def _has_kubelet(self) -> bool:
        self._start("kubelet")
        return KUBELET_HEALTH in self.path("/proc/1/net/tcp").read_text()

    def stop(self, component: str) -> None:
        """Ask a component to end by SIGTERM, and wait until it has."""
        self.lab.stop(COMPONENTS[component])

    def freeze(self, component: str) -> None:
        """Freeze a component by SIGSTOP."""
        self.lab.pause(COMPONENTS[component])

    def thaw(self, component: str) -> None:
        """Let a frozen component go on."""
        self.lab.resume(COMPONENTS[component])

    def roll_driver(self) -> None:
        """Replace the driver's process as a rolling update does: the next one starts first."""
        self.drivers.roll(DEFAULT_DRIVER, NODE)

    @contextmanager
    def without_driver(self) -> Iterator[None]:
        """Have no driver on the node while the block runs, and a settled one afterwards."""
        self.stop("driver")
        yield
        self.start("driver")
        self.settle()

    def grant_rights(self, *, granted: bool) -> None:
        """Take the driver's rights at the API server away, or give them back."""
        if granted:
            grant(self.lab.kubectl(), [DEFAULT_DRIVER])  # they name their own namespace
        else:
            self.kubectl("delete", "clusterrolebinding", BINDING)

    def down(self) -> None:
        """Remove the cluster. A second call does nothing."""
        self.lab.down()

    def reset(self) -> None:
        """Replace this cluster by a new one."""
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

    def failed_prepares(self, burst: str) -> set[str]:
        """Return kubelet's events about a burst's claims that the driver did not prepare.

        Kubelet pauses then.
        """
        events = [
            each
            for each in self.api.items("events")
            if each["reason"] == FAILED_PREPARE
            and each["involvedObject"]["name"].startswith(f"{burst}-")
        ]
        return {each["message"] for each in events if NOT_YET_ALLOWED not in each["message"]}

    def path(self, inside: str) -> Path:
        """Return a path of the node, as it is seen from outside."""
        return self.lab.root(NODE) / inside.lstrip("/")

    @property
    def journal(self) -> Path:
        """The driver's journal, as the node sees it."""
        return Path(f"/var/lib/netclaim/{DEFAULT_DRIVER}/journal.db")

    def state_path(self) -> Path:
        """Return where the driver keeps its journal, as it is seen from outside."""
        return self.path(str(self.journal.parent))

    def run(self, *command: str) -> str:
        """Return what a command prints inside the node."""
        done = subprocess.run(
            self.lab.enter_command(NODE, command), capture_output=True, text=True, check=True
        )
        return done.stdout

    def is_hooked(self) -> bool:
        """Whether kubelet and the runtime have the driver."""
        running = self.lab.state.load()
        return is_ready(running.inits[NODE], running.drivers[DEFAULT_DRIVER])

    def namespaces(self) -> frozenset[str]:
        """Return the names of the node's network namespaces: one for each sandbox."""
        return frozenset(path.name for path in self.path("/run/netns").iterdir())

    def pids(self, program: str) -> list[int]:
        """Return the node's processes of a program, by pids inside the node, oldest first."""
        return sorted(p for p, text in self.processes().items() if text.startswith(program))

    def processes(self) -> dict[int, str]:
        """Return program (without directory) and arguments of the node's processes, by pid."""
        found = {}
        for entry in self.path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):  # gone meanwhile
                    words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    program = words[0].rpartition("/")[2]
                    found[int(entry.name)] = " ".join([program, *words[1:]]).strip()
        return found


@contextmanager
def site(
    lab: Lab, driver_options: Sequence[str], kind: Callable[[Lab, Sequence[str]], Site] = Site
) -> Iterator[Site]:
    """Provide a site that is gone afterwards, however the block ends."""
    made = kind(lab, driver_options)
    try:
        made.reset()  # a campaign that was killed may have left one
        yield made
    finally:
        made.down()
