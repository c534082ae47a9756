"""What it costs to take a whole link into a pod, and to restore it, beside pods without one.

Bursts of pods on the embedded machine, claimed and plain in turn: how long they take to start and
to end, and how much processor time the driver uses for each. Taking is what a claimed burst's start
costs above a plain one's, restoring the same of their ends. `python -m benchmarks.passthrough
--functions` does so with virtual functions: a card that has some is emulated, so it boots a guest
and takes minutes, and only its ratios say something.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.lives import NODE, SETTLED_S, are_running, claim_spec, driver_clock, make, topology
from benchmarks.table import Row, print_table
from lab.guest.machine import fetch_machine
from lab.guest.qemu import booted
from lab.progress import Progress
from netclaim.kernel import Netns, open_netns
from netclaim.kernel.host.netns import OWN_NETNS
from netclaim.local.cluster import EmbeddedCluster, embedded_cluster
from netclaim.local.machine import contained
from netclaim.local.topology import Link, Network, Topology
from netclaim.local.trial import quiet_logs
from netclaim.network import DRIVER_NAME
from netclaim.schema.kinds import CLAIM, CLASS, POD, TEMPLATE

__all__ = ["main"]

ROUNDS = int(os.environ.get("NETCLAIM_BENCH_ROUNDS", "7"))  # of each kind, in turn
GUEST_ROUNDS = 3  # emulated: everything takes ten times as long
FUNCTIONS = 3  # of each card, of seven that it could have
KINDS = ("plain", "whole")
START, END = "start", "end"
LIMIT_S = 300.0  # a burst takes a second or two, and ten times that in the guest
READY_S = 300.0  # a second or two, and far more in the guest
INSIDE = "--in-the-guest"
MODULES = ("9pnet_virtio", "9p", "igb", "igbvf", "veth", "bridge")
CLASS_NET = Path("/sys/class/net")


@dataclass(slots=True)
class Costs:
    """What the bursts of a kind of pod took, by their starts and ends."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {START: [], END: []})
    processor: dict[str, list[float]] = field(default_factory=lambda: {START: [], END: []})


async def burst(cluster: EmbeddedCluster, kind: str, pods: int, clock: int, costs: Costs) -> None:
    """Start pods and end them, and add what each took."""
    for phase, work in ((START, start), (END, end)):
        before, began = time.clock_gettime(clock), time.monotonic()
        async with asyncio.timeout(LIMIT_S):
            await work(cluster, kind, pods)
        costs.seconds[phase].append(time.monotonic() - began)
        await asyncio.sleep(SETTLED_S)  # for what the driver does when nobody waits for it
        costs.processor[phase].append(time.clock_gettime(clock) - before)


async def start(cluster: EmbeddedCluster, kind: str, pods: int) -> None:
    """Make pods, and wait until they run and their claims say what they got."""
    for number in range(pods):
        spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
        if kind != "plain":
            spec["resourceClaims"] = [{"name": "net", "resourceClaimTemplateName": kind}]
        make(cluster, POD, f"p{number}", spec)
    await cluster.store.wait_for(lambda: are_running(cluster))


async def end(cluster: EmbeddedCluster, _: str, pods: int) -> None:
    """Delete the pods, and wait until they and their claims are gone."""
    for number in range(pods):
        cluster.verbs.delete(POD, f"p{number}", "default")
    await cluster.store.wait_for(lambda: not list(cluster.store.list(POD)))
    await cluster.store.wait_for(lambda: not list(cluster.store.list(CLAIM)))


async def measure(
    machine_of: Topology, names: Sequence[str], rounds: int, machine: Netns | None
) -> dict[str, Costs]:
    """Measure bursts of as many pods as there are links."""
    costs = {kind: Costs() for kind in KINDS}
    lent = embedded_cluster(machine_of, [DRIVER_NAME], machine=machine, start_s=READY_S)
    async with lent as cluster:
        expression = f'device.driver == "{DRIVER_NAME}"'
        make(cluster, CLASS, "net", {"selectors": [{"cel": {"expression": expression}}]})
        make(cluster, TEMPLATE, "whole", {"spec": claims_of(names)})
        clock = driver_clock()
        for kind in KINDS:  # the first pods are slower
            await burst(cluster, kind, len(names), clock, Costs())
        for _ in range(rounds):
            for kind in KINDS:
                await burst(cluster, kind, len(names), clock, costs[kind])
    return costs


def claims_of(names: Sequence[str]) -> dict[str, Any]:
    """Return a claim for any of the links, alone."""
    spec = claim_spec("whole")
    listed = ", ".join(f'"{name}"' for name in names)
    expression = f'device.attributes["{DRIVER_NAME}"].name in [{listed}]'
    spec["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": expression}}]
    return spec


def show(title: str, costs: dict[str, Costs], pods: int) -> None:
    """Print the ratios, and what they are made of."""

    def typical(kind: str, what: str, phase: str) -> float:
        found: dict[str, list[float]] = getattr(costs[kind], what)
        return 1000 * statistics.median(found[phase]) / pods

    rows = []
    for what, text in (("seconds", "until a burst is done"), ("processor", "of the driver")):
        taken = {}
        for phase in (START, END):
            plain, whole = (typical(kind, what, phase) for kind in KINDS)
            taken[phase] = whole - plain
            shown = f"{whole:.1f} / {plain:.1f} ms = {whole / plain:.2f}"
            rows.append(Row(f"a pod's {phase}, claimed / plain, {text}", shown))
        both = f"{taken[END]:.1f} / {taken[START]:.1f} ms = {taken[END] / taken[START]:.2f}"
        rows.append(Row(f"restoring / taking, {text}", both, "at most 1"))
    print_table(title, rows)


def measure_links() -> int:
    """Measure plain links of the embedded machine."""
    quiet_logs()
    nodes = topology()
    names = [link.name for link in nodes.networks[-1].links]
    costs = asyncio.run(measure(nodes, names, ROUNDS, None))
    show("whole links on the embedded machine", costs, len(names))
    return 0


def measure_functions() -> int:
    """Boot a guest that has cards, and measure their functions there."""
    machine = fetch_machine(MODULES, Progress())
    command = [sys.executable, "-m", "benchmarks.passthrough", INSIDE]
    with (
        tempfile.TemporaryDirectory() as scratch,
        booted(
            machine.kernel,
            command,
            directory=Path(__file__).parents[1],
            scratch=Path(scratch),
            hardware=machine.hardware,
        ) as guest,
    ):
        lines = list(guest.lines)
    print("\n".join(lines))
    return 0 if lines else 1


def in_the_guest() -> int:
    """Make functions of all cards, and measure them on a node that has them."""
    numbers = sorted(CLASS_NET.glob("*/device/sriov_numvfs"))
    for number in numbers:
        number.write_text(f"{FUNCTIONS}\n")
    cards = [number.parent.parent for number in numbers]
    for card in cards:  # their functions have a carrier while they are up
        subprocess.run(["ip", "link", "set", card.name, "up"], check=True)
    names = sorted(path.name for card in cards for path in card.glob("device/virtfn*/net/*"))
    links = tuple(Link(NODE, name, of_machine=True) for name in names)
    nodes = Topology((NODE,), (topology().networks[0], Network("functions", links)))
    with open_netns(OWN_NETNS) as machine:

        def run() -> int:
            quiet_logs()
            costs = asyncio.run(measure(nodes, names, GUEST_ROUNDS, machine))
            show("virtual functions in a guest", costs, len(names))
            return 0

        return contained(run)


def main() -> None:
    """Measure links, or functions."""
    if INSIDE in sys.argv:
        code = in_the_guest()
    elif "--functions" in sys.argv:
        code = measure_functions()
    else:
        code = contained(measure_links)
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
