"""What netclaim-attach costs a pod that claims nothing: one start of it, beside other programs.

The runtime starts it once when a pod starts and once when it ends.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.table import Row, percentile, print_table
from lab.parts.binaries import CNI_PLUGINS, Binaries
from lab.progress import Progress
from netclaim.chained import PlanFiles, program_path

__all__ = ["main"]

ROUNDS = 300


def seconds(command: Sequence[str], environment: Mapping[str, str], stdin: bytes) -> float:
    """Return the time of one start, from before the fork to the program's end."""
    started = time.perf_counter()
    subprocess.run(command, env=environment, input=stdin, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def main() -> None:
    """Start each in turn, and print."""
    program = str(program_path())
    portmap = str(Binaries(Progress()).path(CNI_PLUGINS) / "portmap")
    variables = {**os.environ, "CNI_CONTAINERID": "c1", "CNI_NETNS": "/", "CNI_IFNAME": "eth0"}
    with tempfile.TemporaryDirectory() as directory:
        plans = PlanFiles(Path(directory) / "plans")
        config = {"cniVersion": "1.0.0", "name": "n", "type": "netclaim-attach", "driver": "d"}
        config |= {"socket": f"{directory}/s", "plans": str(plans.root), "kubeletState": "/k"}
        stdin = json.dumps({**config, "prevResult": {"cniVersion": "1.0.0"}}).encode()
        arguments = "K8S_POD_NAMESPACE=default;K8S_POD_UID=139cdb46-f989-4f17-9561-ca10cfb509a6"
        starts: dict[str, tuple[list[str], dict[str, str], bytes]] = {
            "true": (["busybox", "true"], variables, b""),
            "VERSION": ([program], {**variables, "CNI_COMMAND": "VERSION"}, b""),
            "ADD": ([program], {**variables, "CNI_COMMAND": "ADD", "CNI_ARGS": arguments}, stdin),
            "portmap": ([portmap], {**variables, "CNI_COMMAND": "VERSION"}, b"{}"),
        }
        taken: dict[str, list[float]] = {name: [] for name in starts}
        for _ in range(ROUNDS):
            for name, start in starts.items():
                taken[name].append(seconds(*start))
    p50 = {name: percentile(values, 0.5) for name, values in taken.items()}

    def times(name: str) -> str:
        return f"{1000 * p50[name]:.2f} ms"

    rows = [
        Row(f"start of a static busybox true, p50 of {ROUNDS}", times("true")),
        Row("netclaim-attach VERSION", times("VERSION")),
        Row("netclaim-attach ADD of a pod that claims nothing", times("ADD")),
        Row("a plugin of the CNI project's (portmap VERSION, Go)", times("portmap")),
        Row("netclaim-attach VERSION / true", f"{p50['VERSION'] / p50['true']:.2f}", "below 1.5"),
        Row("netclaim-attach ADD / true", f"{p50['ADD'] / p50['true']:.2f}", "below 2"),
        Row("size of the program", f"{Path(program).stat().st_size / 1024:.0f} KiB"),
    ]
    print_table("start of netclaim-attach", rows)


if __name__ == "__main__":
    main()
