"""The cluster of a campaign with the driver as it is installed: the chart's pods from the image.

The controller runs as well, which has kubelet ask again when the cause of a failure is gone. A pod
that is killed is gone for the API server too, as its keeper is for the node: otherwise kubelet
would start its container again at once. The DaemonSet makes another one when it is to be started.
"""

import json
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from faults.manifests import NODE
from faults.site import ATTACHMENTS, SETTLED_S, Site, until
from lab.helm import CHART_NAMESPACE, Helm, load_driver_image
from lab.kubectl import Kubectl
from lab.nodes.linux import Process

__all__ = ["ChartSite"]

KEEPER = b"netclaim-keeper"
DAEMON_SET = "netclaim"
PODS = "--selector=app.kubernetes.io/name=netclaim"
AWAY = "netclaim.dev/faults-away"  # at a node that is to have no driver
ELSEWHERE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": AWAY, "operator": "DoesNotExist"}]}]
        }
    }
}


class ChartSite(Site):
    """One lab with the chart on it."""

    _uid = ""  # of the driver's pod on the node

    def run_driver(self) -> None:
        """Install the chart; `driver_options` are helm's."""
        self._uid = ""
        load_driver_image(self.lab)
        shared = (f"--set-string=settings.attachments={{{ATTACHMENTS}}}",) if self.shares else ()
        affinity = f"--set-json=affinity={json.dumps(ELSEWHERE)}"
        controller = "--set=controller.enabled=true"
        Helm(self.lab).install(affinity, controller, *shared, *self.driver_options)

    def is_hooked(self) -> bool:
        """Whether the driver's pod is Ready."""
        pod = self._driver_pod()
        conditions = pod["status"].get("conditions", ()) if pod is not None else ()
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    def driver_process(self) -> Process | None:
        """Return the driver's process on the node; None while its keeper has none."""
        keeper = self._keeper()
        return next(iter(keeper.children), None) if keeper is not None else None

    def kill(self, components: Sequence[str]) -> None:
        """End components by SIGKILL; of the driver's pod, the DaemonSet makes no other one yet."""
        if "driver-pod" in components:
            keeper = self._keeper()
            self._take_away("--force", "--grace-period=0")
            for process in (keeper, *(keeper.children if keeper is not None else ())):
                if process is not None:
                    process.kill()
        if "driver" in components and (driver := self.driver_process()) is not None:
            driver.kill()
        super().kill([name for name in components if not name.startswith("driver")])

    def start(self, component: str) -> None:
        """Start a component; a driver's process is started by its keeper, and that by kubelet."""
        if component == "driver-pod":
            self._kubectl("label", "node", NODE, f"{AWAY}-")
        elif component != "driver":
            super().start(component)

    def stop(self, component: str) -> None:
        """Ask a component to end; kubelet starts a driver's container again."""
        if component != "driver":
            super().stop(component)
        elif (keeper := self._keeper()) is not None:
            keeper.send(signal.SIGTERM)
            until(lambda: not keeper.alive, SETTLED_S, "the driver's end")

    def freeze(self, component: str) -> None:
        """Freeze a component; a driver that is being started again has nothing to freeze."""
        if component != "driver":
            super().freeze(component)

    def thaw(self, component: str) -> None:
        """Let a component go on."""
        if component != "driver":
            super().thaw(component)
        elif (driver := self.driver_process()) is not None:
            driver.send(signal.SIGCONT)

    def roll_driver(self) -> None:
        """Have the DaemonSet replace its pods, one node after the other."""
        self._kubectl("rollout", "restart", f"daemonset/{DAEMON_SET}")
        self._uid = ""
        limit = f"--timeout={SETTLED_S:.0f}s"
        self._kubectl("rollout", "status", f"daemonset/{DAEMON_SET}", limit)

    @contextmanager
    def without_driver(self) -> Iterator[None]:
        """Have no pod of the driver on the node while the block runs."""
        keeper = self._keeper()
        self._take_away()
        if keeper is not None:
            until(lambda: not keeper.alive, SETTLED_S, "the driver's end")
        yield
        self.start("driver-pod")
        self.settle()

    def grant_rights(self, *, granted: bool) -> None:
        """Take the driver's rights at the API server away, or give them back."""
        if granted:
            Helm(self.lab).upgrade("--reuse-values", "--force-conflicts")
        else:
            super().grant_rights(granted=False)

    @property
    def _kubectl(self) -> Kubectl:
        return self.lab.kubectl(CHART_NAMESPACE)

    def _take_away(self, *how: str) -> None:
        """Delete the node's pod of the driver, and have the DaemonSet make no other one."""
        self._kubectl("label", "node", NODE, f"{AWAY}=", "--overwrite")
        pod = self._driver_pod()
        if pod is not None:
            name = pod["metadata"]["name"]
            self._kubectl("delete", "pod", name, "--ignore-not-found", "--wait=false", *how)
        self._uid = ""

    def _keeper(self) -> Process | None:
        """Return the keeper of the node's driver; None while there is none."""
        if not self._uid:  # asked once: a burst replaces the pod only by our own hands
            pod = self._driver_pod()
            if pod is None:
                return None
            self._uid = pod["metadata"]["uid"]
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                program = (directory / "cmdline").read_bytes().partition(b"\0")[0]
                if program.endswith(KEEPER) and self._uid in (directory / "cgroup").read_text():
                    return Process.of(int(directory.name))
            except OSError:
                continue  # it has just ended
        return None

    def _driver_pod(self) -> dict[str, Any] | None:
        pods = self._kubectl.items("pods", PODS, f"--field-selector=spec.nodeName={NODE}")
        return next((pod for pod in pods if "deletionTimestamp" not in pod["metadata"]), None)
