"""The two ways in which the runtime calls the driver, beside a driver that does nothing.

Boots a lab and runs Deployments of 15, 60 and 100 pods in turn: with claims of the idle driver and
with claims of ours. First with the driver called by NRI alone, then by the chained plugin alone,
and for the smallest by both. The ratio is what attaching costs beyond what any claim costs. The
memory is what the driver has resident with all pods attached, and what of that is theirs.
"""

import json
import os
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import idle_driver
from benchmarks.cluster import (
    bench_lab,
    demo_objects,
    idle_objects,
    resident_mib,
    start_resident,
    time_to_ready,
    wait_quiet,
)
from benchmarks.table import Row, print_table
from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER, netclaim_driver, program_driver
from lab.drivers.driver_set import DriverSet

__all__ = ["main"]

CALLERS = {"nri": "NRI", "cni": "the chained plugin", "both": "both"}
SIZES = (15, 60, 100)
# Of each kind and size. NETCLAIM_BENCH_ROUNDS changes it: a busy machine needs more.
ROUNDS = int(os.environ.get("NETCLAIM_BENCH_ROUNDS", "5"))


def sized(deployment: Mapping[str, Any], replicas: int) -> dict[str, Any]:
    """Return the same Deployment with this many pods."""
    copy: dict[str, Any] = json.loads(json.dumps(deployment))
    copy["spec"]["replicas"] = replicas
    return copy


def attached_mib(lab: Lab, deployment: dict[str, Any]) -> tuple[float, float]:
    """Return the driver's memory before any pod is attached, and with all of them."""
    before = resident_mib(lab)
    kubectl, name = lab.kubectl(), deployment["metadata"]["name"]
    replicas: int = deployment["spec"]["replicas"]
    kubectl.apply(deployment)
    kubectl.wait(f"deployment/{name}", f"jsonpath={{.status.availableReplicas}}={replicas}")
    attached = resident_mib(lab)
    kubectl("delete", "deployment", name)
    kubectl("wait", "pod", f"--selector=app={name}", "--for=delete", "--timeout=180s")
    wait_quiet(lab)
    return before, attached


def compare(lab: Lab, caller: str, ours: dict[str, Any], idle: dict[str, Any]) -> list[Row]:
    """Return the rows of the table for one way of being called."""
    rows = []
    for size in SIZES if caller != "both" else SIZES[:1]:
        kinds = {"idle": sized(idle, size), "ours": sized(ours, size)}
        for deployment in kinds.values():  # the first of a size are slower
            time_to_ready(lab, deployment)
        taken: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(ROUNDS):
            for kind, deployment in kinds.items():
                taken[kind].append(time_to_ready(lab, deployment))
        pairs = zip(taken["ours"], taken["idle"], strict=True)
        ratio = statistics.median(mine / theirs for mine, theirs in pairs)
        what = f"{size} pods, called by {CALLERS[caller]}"
        seconds = statistics.median(taken["ours"])
        rows.append(Row(f"{what}: Ready", f"{seconds:.2f} s"))
        rows.append(Row(f"{what}: netclaim / idle driver", f"{ratio:.2f}", "at most 1.05"))
    most = SIZES[-1]
    before, attached = attached_mib(lab, sized(ours, most))
    by, each = CALLERS[caller], 1024 * (attached - before) / most
    rows.append(Row(f"memory with {most} pods, by {by}", f"{attached:.0f} MiB", "at most 64 MiB"))
    rows.append(Row(f"memory for each attached pod, by {by}", f"{each:.0f} KiB"))
    return rows


def main() -> None:
    """Measure and print."""
    objects = demo_objects()
    idle = idle_objects(objects)
    plain = json.loads(json.dumps(objects["Deployment"]).replace("demo-application", "plain"))
    del plain["spec"]["template"]["spec"]["resourceClaims"]
    rows: list[Row] = []
    with bench_lab() as lab:
        drivers = DriverSet(lab)
        drivers.up(program_driver(idle_driver.NAME, Path(idle_driver.__file__)))
        kubectl = lab.kubectl()
        kubectl("label", "namespace", "default", "resource.kubernetes.io/admin-access=true")
        for kind in ("DeviceClass", "ResourceClaimTemplate"):
            kubectl.apply(objects[kind], idle[kind])
        started = False
        for caller in CALLERS:
            drivers.up(netclaim_driver(DEFAULT_DRIVER, f"--runtime-hook={caller}"))
            if not started:
                start_resident(lab, plain["spec"]["template"]["spec"])
                started = True
            rows += compare(lab, caller, objects["Deployment"], idle["Deployment"])
            drivers.down(DEFAULT_DRIVER)
            time.sleep(2.5)  # kubelet looks at its plugins once a second, twice for one it knows
    print_table("called in two ways", rows)


if __name__ == "__main__":
    main()
