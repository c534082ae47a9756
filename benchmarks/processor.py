"""The driver's own processor time for a pod's life.

Boots a lab, and starts and ends Deployments whose pods have a macvlan, such whose pods have a whole
link, and plain ones. What the driver's process uses meanwhile, less what it uses while nothing
happens, is divided by the pods. The floor is what the bare netlink messages of a macvlan take, in a
process of their own in the same run.
"""

import asyncio
import json
import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.bench_plugins import bare_messages, cpu_seconds
from benchmarks.cluster import NODE, bench_lab, demo_objects, start_resident, time_to_ready
from benchmarks.own_node import build_node, command_inside, is_inside
from benchmarks.table import Row, print_table
from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER, netclaim_driver
from lab.drivers.driver_set import DriverSet
from lab.nodes.linux import inside_network

__all__ = ["main"]

ROUNDS = int(os.environ.get("NETCLAIM_BENCH_ROUNDS", "5"))  # of each kind, in turn
PODS = 15
BARE = 200  # macvlans by bare messages
OTHER = "kind-control-plane"  # another node
IDLE_S = 60.0
SETTLED_S = 3.0  # for what the driver does about pods that are gone
TICKS = os.sysconf("SC_CLK_TCK")


def used_s(lab: Lab) -> float:
    """Return the processor time that the driver has used so far, in all threads."""
    process = lab.kept_process(f"{NODE}/driver-{DEFAULT_DRIVER}")
    assert process is not None, "the driver runs"
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def with_whole_links(objects: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the demo with a whole link for each pod in place of a macvlan."""
    copy: dict[str, dict[str, Any]] = json.loads(
        json.dumps(objects)
        .replace("macvlan-eth1-attachment", "whole-link")
        .replace("demo-application", "whole")
    )
    devices = copy["ResourceClaimTemplate"]["spec"]["spec"]["devices"]
    expression = f'device.attributes["{DEFAULT_DRIVER}"].name.startsWith("whole")'
    request = devices["requests"][0]
    request["selectors"] = [{"cel": {"expression": expression}}]
    del request["adminAccess"]
    request["capacity"] = {"requests": {"attachments": "2"}}  # the link alone
    network = {"cniVersion": "1.0.0", "name": "whole", "plugins": [{"type": "host-device"}]}
    devices["config"][0]["opaque"]["parameters"]["config"] = network
    return copy


def add_links(lab: Lab) -> None:
    """Give the node a link for each pod, whose other ends are on another node, as on a switch."""
    inits = lab.state.load().inits
    links, ends = ([f"{name}{number}" for number in range(PODS)] for name in ("whole", "end"))
    with inside_network(inits[NODE]):
        for link, end in zip(links, ends, strict=True):
            pair = (link, "type", "veth", "peer", "name", end, "netns", str(inits[OTHER].pid))
            subprocess.run(["ip", "link", "add", *pair], check=True)
            subprocess.run(["ip", "link", "set", link, "up"], check=True)
    with inside_network(inits[OTHER]):
        for end in ends:
            subprocess.run(["ip", "link", "set", end, "up"], check=True)


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
        add_links(lab)
        DriverSet(lab).up(netclaim_driver(DEFAULT_DRIVER))
        kubectl = lab.kubectl()
        kubectl("label", "namespace", "default", "resource.kubernetes.io/admin-access=true")
        kubectl.apply(objects["DeviceClass"])
        kubectl.apply(*(each["ResourceClaimTemplate"] for each in (objects, whole)))
        start_resident(lab, plain["spec"]["template"]["spec"])
        for deployment in kinds.values():  # the first pods of a lab are slower
            time_to_ready(lab, deployment)
        before = used_s(lab)
        time.sleep(IDLE_S)
        idle = (used_s(lab) - before) / IDLE_S
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
        Row("a minute without pods", f"{60_000 * idle:.0f} ms", "below 100 ms with the probes"),
    ]
    print_table("the driver's processor time", rows)


if __name__ == "__main__":
    if is_inside():
        asyncio.run(make_bare())
    else:
        main()
