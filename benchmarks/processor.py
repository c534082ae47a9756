"""The driver's own processor time for a pod's life.

Boots a lab, and starts and ends Deployments whose pods have a macvlan, such whose pods have a whole
link, and plain ones. What the driver's process uses meanwhile, less what it uses while nothing
happens, is divided by the pods. The floor is what the bare netlink messages of a macvlan take, in a
process of their own in the same run. The minute without pods is that of all that the driver's pod
has: the driver, its keeper, and the probes that kubelet makes of it.
"""

import asyncio
import json
import os
import resource
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.bench_plugins import bare_messages, cpu_seconds
from benchmarks.cluster import NODE, bench_lab, demo_objects, start_resident, time_to_ready
from benchmarks.own_node import build_node, command_inside, is_inside
from benchmarks.table import Row, print_table
from benchmarks.whole_links import LINKS, add_links, with_whole_links
from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER, netclaim_driver
from lab.drivers.driver_set import DriverSet
from netclaim.keeper import program_path

__all__ = ["main"]

ROUNDS = int(os.environ.get("NETCLAIM_BENCH_ROUNDS", "5"))  # of each kind, in turn
PODS = LINKS
BARE = 200  # macvlans by bare messages
IDLE_S = 60
COMPONENT = f"{NODE}/driver-{DEFAULT_DRIVER}"
HEALTH = "/run/bench-health.sock"  # where the driver answers probes, on its node
PROBES = {"healthz": 20, "readyz": 5}  # by the chart, and once in how many seconds
CHILDREN = resource.RUSAGE_CHILDREN
SETTLED_S = 3.0  # for what the driver does about pods that are gone
TICKS = os.sysconf("SC_CLK_TCK")


def used_s(lab: Lab) -> float:
    """Return the processor time that the driver has used so far, in all threads."""
    process = lab.kept_process(COMPONENT)
    assert process is not None, "the driver runs"
    return _used_s(process.pid)


def keeper_s(lab: Lab) -> float:
    """Return what its keeper has used so far."""
    return _used_s(lab.state.load().components[COMPONENT].pid)


def _used_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def idle_share(lab: Lab) -> tuple[float, float]:
    """Return the shares of a core that the driver uses without pods, and its pod as a whole.

    The second one has the keeper and the probes, which are made here as often as by kubelet.
    """
    environment = {"NETCLAIM_HEALTH_SOCKET": f"{lab.root(NODE)}{HEALTH}"}
    driver_s, kept_s, probes = used_s(lab), keeper_s(lab), resource.getrusage(CHILDREN)
    for second in range(IDLE_S):
        for what, every_s in PROBES.items():
            if second % every_s == 0:
                probe = [str(program_path()), "--probe", what]
                subprocess.run(probe, env=environment, check=True, stdout=subprocess.DEVNULL)
        time.sleep(1)
    now = resource.getrusage(CHILDREN)
    probed_s = now.ru_utime + now.ru_stime - probes.ru_utime - probes.ru_stime
    own_s = used_s(lab) - driver_s
    return own_s / IDLE_S, (own_s + keeper_s(lab) - kept_s + probed_s) / IDLE_S


def life_ms(lab: Lab, deployment: dict[str, Any], idle: float) -> float:
    """Return the driver's milliseconds for a pod's life; `idle` is its share of a core without."""
    before, started = used_s(lab), time.monotonic()
    time_to_ready(lab, deployment)
    time.sleep(SETTLED_S)
    used = used_s(lab) - before - idle * (time.monotonic() - started)
    return 1000 * used / PODS


def bare_ms() -> float:
    """Return the processor time of a macvlan by netlink messages alone, in a node of its own."""
    done = subprocess.run(command_inside("processor"), check=True, stdout=subprocess.PIPE)
    return float(done.stdout)


async def make_bare() -> None:
    """Make macvlans by messages alone and print what each took."""
    build_node("pod0")
    await bare_messages(0)
    before = cpu_seconds()
    for _ in range(BARE):
        await bare_messages(0)
    print(1000 * (cpu_seconds() - before) / BARE)


def main() -> None:
    """Measure and print."""
    objects = demo_objects()
    whole = with_whole_links(objects)
    plain = json.loads(json.dumps(objects["Deployment"]).replace("demo-application", "plain"))
    del plain["spec"]["template"]["spec"]["resourceClaims"]
    kinds = {"macvlan": objects["Deployment"], "whole": whole["Deployment"], "plain": plain}
    taken: dict[str, list[float]] = {kind: [] for kind in kinds}
    with bench_lab() as lab:
        add_links(lab, NODE)
        DriverSet(lab).up(netclaim_driver(DEFAULT_DRIVER, f"--health-socket={HEALTH}"))
        kubectl = lab.kubectl()
        kubectl("label", "namespace", "default", "resource.kubernetes.io/admin-access=true")
        kubectl.apply(objects["DeviceClass"])
        kubectl.apply(*(each["ResourceClaimTemplate"] for each in (objects, whole)))
        start_resident(lab, plain["spec"]["template"]["spec"])
        for deployment in kinds.values():  # the first pods of a lab are slower
            time_to_ready(lab, deployment)
        idle, idle_pod = idle_share(lab)
        for _ in range(ROUNDS):
            for kind, deployment in kinds.items():
                taken[kind].append(life_ms(lab, deployment, idle))
    costs = {kind: statistics.median(each) for kind, each in taken.items()}
    bare = bare_ms()
    rows = [
        Row("a pod's life with a macvlan", f"{costs['macvlan']:.1f} ms", "at most 12 ms"),
        Row("a pod's life with a whole link", f"{costs['whole']:.1f} ms", "at most 15 ms"),
        Row("a plain pod's life", f"{costs['plain']:.1f} ms"),
        Row("a macvlan by bare messages, made and removed", f"{bare:.1f} ms"),
        Row("macvlan / bare messages", f"{costs['macvlan'] / bare:.1f}"),
        Row("a minute without pods, driver", f"{60_000 * idle:.0f} ms"),
        Row("the same with keeper and probes", f"{60_000 * idle_pod:.0f} ms", "below 100 ms"),
    ]
    print_table("the driver's processor time", rows)


if __name__ == "__main__":
    if is_inside():
        asyncio.run(make_bare())
    else:
        main()
