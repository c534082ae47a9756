"""What commands cost before and while they work: processor time beside `python -c pass`, memory.

Each command is a process of its own, and its best run counts: processor time does not depend on
what else the machine does, except through caches. Modules are compiled before, as in the image.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmarks.allocator import DRIVER, class_object, slice_object
from benchmarks.table import Row, print_table

__all__ = ["main"]

ROUNDS = 15
NODES, DEVICES = 400, 16  # 6,400 links
NETCLAIM = ("-m", "netclaim")
# A driver that is ready to connect, and has not begun to.
LOAD_DRIVER = "from netclaim.cli import _driver; assert _driver(['--node-name=node'])"
DOCUMENTS = 30_000
DOCUMENT = (
    "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings-{}\n  namespace: team\n"
)
MISSED = 1  # the exit code of `explain` for a claim that gets nothing
TRIALS = 3  # `try` takes a minute
TRIED = 200  # pods of `try`, on three nodes
DEMO = Path(__file__).parent.parent / "examples" / "manifests" / "kubecon-demo.yaml"


def cost(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    code: int = 0,
    rounds: int = ROUNDS,
) -> float:
    """Run Python with some arguments; returns the least processor time that it took, in seconds.

    That of processes which it started is counted too.
    """
    command = [sys.executable, *arguments]
    runs = [_run(command, environment, code) for _ in range(rounds + 1)]
    return min(run.ru_utime + run.ru_stime for run in runs[1:])  # the first one compiles modules


def memory(arguments: Sequence[str], environment: Mapping[str, str]) -> float:
    """Run Python with some arguments; returns the most memory that it had, in MB."""
    return _run([sys.executable, *arguments], environment, 0).ru_maxrss * 1024 / 1e6


def _run(
    command: Sequence[str], environment: Mapping[str, str], code: int
) -> resource.struct_rusage:
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode != code:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {said.decode()}")
    return used


def saved_cluster() -> dict[str, Any]:
    """Return a cluster as `kubectl get -o json` prints it, with a claim that gets no device."""
    api = {"apiVersion": "resource.k8s.io/v1"}
    kept = [slice_object(f"node-{index:04d}", DEVICES) for index in range(NODES)]
    selector = f'device.attributes["{DRIVER}"].mtu > 9000'
    exactly = {"deviceClassName": "net", "selectors": [{"cel": {"expression": selector}}]}
    claim = {
        "metadata": {"name": "claim", "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "nic", "exactly": exactly}]}},
    }
    items = [
        *({**api, "kind": "ResourceSlice", **one} for one in kept),
        {**api, "kind": "DeviceClass", **class_object()},
        {**api, "kind": "ResourceClaim", **claim},
    ]
    return {"apiVersion": "v1", "kind": "List", "items": items}


# As the cluster that `try` has by default, with an eth1 on every node: one has no room for all
# pods. Each is on a network of its own, since the nodes give out the same addresses.
TRY_NODES = ("kind-control-plane", "kind-worker", "kind-worker2")
TOPOLOGY = {
    "nodes": [*TRY_NODES],
    "networks": [
        {"name": "primary", "subnet": "172.18.0.0/24", "links": dict.fromkeys(TRY_NODES, "eth0")},
        *({"name": f"n{index}", "links": {node: "eth1"}} for index, node in enumerate(TRY_NODES)),
    ],
}


def tried_manifests() -> list[dict[str, Any]]:
    """Return the demo with many pods, which have addresses enough."""
    text = DEMO.read_text().replace("10.10.1.0/24", "10.10.0.0/16")
    objects = list(yaml.safe_load_all(text))
    for each in objects:
        if each["kind"] == "Deployment":
            each["spec"]["replicas"] = TRIED
            each["spec"]["template"]["spec"]["nodeSelector"] = {}
    return objects


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as directory:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": f"{directory}/compiled"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        dump = Path(directory) / "cluster.json"
        dump.write_text(json.dumps(saved_cluster(), indent=4))
        manifests = Path(directory) / "pods.yaml"
        manifests.write_text(yaml.safe_dump_all(tried_manifests()))
        topology = Path(directory) / "topology.yaml"
        topology.write_text(yaml.safe_dump(TOPOLOGY))
        tried = (*NETCLAIM, "try", f"--topology={topology}", "--timeout=300", str(manifests))
        python = cost(("-c", "pass"), environment)
        many = Path(directory) / "many.yaml"
        many.write_text("".join(DOCUMENT.format(number) for number in range(DOCUMENTS)))
        used = memory((*NETCLAIM, "check", "-f", str(many)), environment)
        explain = (*NETCLAIM, "explain", "--file", str(dump))
        measured = {
            "netclaim --version": (cost((*NETCLAIM, "--version"), environment), "below 150 ms"),
            "netclaim --help": (cost((*NETCLAIM, "--help"), environment), "below 150 ms"),
            "netclaim check --help": (
                cost((*NETCLAIM, "check", "--help"), environment),
                "below 150 ms",
            ),
            f"netclaim explain, {NODES * DEVICES:,} links": (
                cost(explain, environment, code=MISSED),
                "below 2,000 ms",
            ),
            "netclaim driver, until it connects": (
                cost(("-c", LOAD_DRIVER), environment),
                "below 1,000 ms",
            ),
            f"netclaim try, {TRIED} pods (best of {TRIALS})": (
                cost(tried, environment, rounds=TRIALS),
                "no more than before",
            ),
        }
    rows = [Row("python -c pass", f"{1000 * python:.0f} ms")]
    for what, (found, goal) in measured.items():
        value = f"{1000 * found:,.0f} ms, {found / python:.0f} times"
        rows.append(Row(what, value, goal))
    rows.append(Row(f"netclaim check, {DOCUMENTS:,} documents", f"{used:.0f} MB", "below 100 MB"))
    print_table(f"processor time, best of {ROUNDS}", rows)


if __name__ == "__main__":
    main()
