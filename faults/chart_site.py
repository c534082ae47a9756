"""The cluster of a campaign with the driver as it is installed: the chart's pods from the image."""

from pathlib import Path
from typing import Any

from faults.manifests import NODE
from faults.site import ATTACHMENTS, Site
from lab.helm import CHART_NAMESPACE, Helm, load_driver_image
from lab.nodes.linux import Process

__all__ = ["ChartSite"]

KEEPER = b"netclaim-keeper"


class ChartSite(Site):
    """One lab with the chart on it."""

    _uid = ""  # of the driver's pod on the node

    def run_driver(self) -> None:
        """Install the chart; `driver_options` are helm's."""
        self._uid = ""
        load_driver_image(self.lab)
        shared = (f"--set-string=settings.attachments={{{ATTACHMENTS}}}",) if self.shares else ()
        Helm(self.lab).install(*shared, *self.driver_options)

    def is_hooked(self) -> bool:
        """Whether the driver's pod is Ready."""
        pod = self._driver_pod()
        conditions = pod["status"]["conditions"]
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    def driver_process(self) -> Process | None:
        """Return the driver's process on the node; None while its keeper has none."""
        if not self._uid:  # asked once: a burst does not replace the pod
            self._uid = self._driver_pod()["metadata"]["uid"]
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                program = (directory / "cmdline").read_bytes().partition(b"\0")[0]
                if program.endswith(KEEPER) and self._uid in (directory / "cgroup").read_text():
                    keeper = Process.of(int(directory.name))
                    return next(iter(keeper.children), None) if keeper else None
            except OSError:
                continue  # it has just ended
        return None

    def _driver_pod(self) -> dict[str, Any]:
        kubectl = self.lab.kubectl(CHART_NAMESPACE)
        pods = kubectl.items("pods", f"--field-selector=spec.nodeName={NODE}")
        return next(pod for pod in pods if "deletionTimestamp" not in pod["metadata"])
