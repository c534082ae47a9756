"""The driver from netclaim's image, as a privileged pod on one node, and how fast it starts.

The least that shows the image at work: it may do more on its node than the driver needs, and
changes nothing there that stays but its state directory. The chart's DaemonSet is for real use.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lab.cluster import Lab
from lab.drivers.driver import ACCOUNT, NAMESPACE, grant
from lab.errors import BootError
from lab.images.driver_image import DRIVER_IMAGE, build_driver_image
from lab.kubectl import Kubectl

__all__ = ["DriverStart", "driver_pod"]

POD = "image-driver"
PORT = 9700  # on the node's loopback address; far from those of the lab's own drivers
MOUNTS = ("/var/lib/kubelet", "/var/lib/netclaim", "/var/lib/cni", "/run")


@dataclass(frozen=True, slots=True)
class DriverStart:
    """How a driver started: seconds from its process to kubelet's registration, and of CPU."""

    registered_s: float
    cpu_s: float


@contextmanager
def driver_pod(lab: Lab, node: str, driver: str) -> Iterator[DriverStart]:
    """Build and load the image, and run its driver on a node while the block lasts."""
    image = build_driver_image(lab.progress)
    with image.path.open("rb") as content:
        lab.load_image(content, [node])
    admin, own = lab.kubectl(), lab.kubectl(NAMESPACE)
    grant(admin, [*lab.state.load().drivers, driver])
    try:
        with lab.progress.step(f"driver {driver} as a pod on {node}"):
            own.apply(_manifest(node, driver))
            own.wait(f"pod/{POD}", "condition=Ready")
        yield _start(own)
    finally:
        own("delete", "pod", POD, "--ignore-not-found", "--wait=true")
        admin("delete", "resourceslices", f"--field-selector=spec.driver={driver}")


def _manifest(node: str, driver: str) -> dict[str, Any]:
    options = ["--driver-name", driver, "--runtime-hook=nri", f"--http-address=127.0.0.1:{PORT}"]
    names = [path.strip("/").replace("/", "-") for path in MOUNTS]
    container = {
        "name": "driver",
        "image": DRIVER_IMAGE,
        "imagePullPolicy": "Never",
        "args": ["driver", f"--node-name={node}", *options],
        "securityContext": {"privileged": True, "runAsUser": 0, "readOnlyRootFilesystem": True},
        "readinessProbe": {
            "httpGet": {"host": "127.0.0.1", "port": PORT, "path": "/readyz"},
            "periodSeconds": 1,
        },
        "volumeMounts": [
            {"name": name, "mountPath": path, "mountPropagation": "HostToContainer"}
            for name, path in zip(names, MOUNTS, strict=True)
        ],
    }
    volumes = [
        {"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}}
        for name, path in zip(names, MOUNTS, strict=True)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": POD},
        "spec": {
            "nodeName": node,
            "hostNetwork": True,
            "serviceAccountName": ACCOUNT,
            "containers": [container],
            "volumes": volumes,
        },
    }


def _start(kubectl: Kubectl) -> DriverStart:
    events = map(json.loads, kubectl("logs", POD).splitlines())
    registered = next(e["timestamp"] for e in events if e["event"] == "kubelet.registered")
    started, cpu_s = _process(kubectl.get("pod", POD)["metadata"]["uid"])
    return DriverStart(datetime.fromisoformat(registered).timestamp() - started, cpu_s)


def _process(pod_uid: str) -> tuple[float, float]:
    """When the driver's process of a pod started, and the CPU time that it has used."""
    tick = os.sysconf("SC_CLK_TCK")
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
            inside = pod_uid in (directory / "cgroup").read_text()
            stat = (directory / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if inside and b"driver" in words:
            user, system, start = (int(stat[at]) / tick for at in (11, 12, 19))  # proc(5), from 3
            booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
            return booted + start, user + system
    raise BootError(f"the pod {pod_uid} has no driver's process")
