"""What the driver adds to executed plugins: the same ADD by hand and through the driver, in turn.

Runs in network and mount namespaces of its own, which end with it.
"""

import asyncio
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.own_node import build_node, is_inside, run_inside
from benchmarks.table import Row, percentile, print_table
from lab.parts.binaries import CNI_PLUGINS, Binaries
from lab.progress import Progress
from netclaim.model import AllocatedDevice, Plan, PodSandbox
from netclaim.model.on_node.prepared import ClaimRef
from netclaim.network.build import link_driver
from netclaim.network.plan.interface_plan import InterfacePlan
from netclaim.network.policy.levels import Level
from netclaim.network.settings import LinkSettings

__all__ = ["main"]

ROUNDS = 60


def conflist(store: str) -> dict[str, object]:
    """Return a macvlan on eth1 with addresses of a large range."""
    ipam = {"type": "host-local", "dataDir": store, "ranges": [[{"subnet": "10.50.0.0/16"}]]}
    plugin = {"type": "macvlan", "master": "eth1", "mode": "bridge", "ipam": ipam}
    return {"cniVersion": "1.0.0", "name": "bench", "plugins": [plugin]}


def by_hand(command: str, plugins: Path, config: dict[str, object], pod: PodSandbox) -> float:
    """Return the seconds for the plugin alone, as a runtime would execute it."""
    (plugin,) = config["plugins"]  # type: ignore[misc]
    stdin = json.dumps({"cniVersion": "1.0.0", "name": "bench", **plugin})  # type: ignore[has-type]
    environment = {
        **os.environ,
        "CNI_COMMAND": command,
        "CNI_CONTAINERID": pod.id,
        "CNI_NETNS": pod.netns or "",
        "CNI_IFNAME": "net1",
        "CNI_PATH": str(plugins),
    }
    started = time.perf_counter()
    subprocess.run(
        [str(plugins / "macvlan")], input=stdin.encode(), env=environment, check=True,
        capture_output=True,
    )  # fmt: skip
    return time.perf_counter() - started


async def measure() -> None:
    """Measure both ways in turn, and print."""
    plugins = Binaries(Progress()).path(CNI_PLUGINS)
    build_node("pod")
    with tempfile.TemporaryDirectory() as directory:
        config = conflist(f"{directory}/store")
        settings = LinkSettings(
            state_dir=Path(directory),
            lease_dir=Path(directory),
            cni_path=(str(plugins),),
            policy=Level.PRIVILEGED,  # it names its own dataDir
        )
        driver = link_driver(settings, in_process={})
        device = AllocatedDevice(request="nic", driver=driver.name, pool="node", device="eth1")
        network = InterfacePlan(if_name="net1", config=config, link="eth1").to_json()
        plan = Plan(claim=ClaimRef("uid", "default", "bench"), device=device, network=network)
        taken: dict[str, list[float]] = {"hand": [], "driver": []}
        for number in range(ROUNDS):
            pod = PodSandbox(
                id=f"pod{number}", uid=f"u{number}", namespace="default", name="pod",
                netns="/run/netns/pod",
            )  # fmt: skip
            taken["hand"].append(by_hand("ADD", plugins, config, pod))
            by_hand("DEL", plugins, config, pod)
            started = time.perf_counter()
            attachment = await driver.attach(plan, pod)
            taken["driver"].append(time.perf_counter() - started)
            await driver.detach(attachment)
    hand, driven = (percentile(taken[kind], 0.5) for kind in ("hand", "driver"))
    rows = [
        Row(f"ADD of macvlan by hand, p50 / p99 of {ROUNDS}", _both(taken["hand"])),
        Row(f"attach through the driver, p50 / p99 of {ROUNDS}", _both(taken["driver"])),
        Row("driver / by hand, p50", f"{driven / hand:.2f}", "below 1.2"),
    ]
    print_table("attach by exec", rows)


def _both(values: list[float]) -> str:
    return f"{1000 * percentile(values, 0.5):.1f} / {1000 * percentile(values, 0.99):.1f} ms"


def main() -> None:
    """Enter namespaces of our own, then measure."""
    if is_inside():
        asyncio.run(measure())
        return
    run_inside("attach_exec")


if __name__ == "__main__":
    main()
