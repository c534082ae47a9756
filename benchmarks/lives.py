"""The driver's own processor time for a pod's life, without a lab.

On the embedded machine: the real driver in a process of its own, with its framework, its journal
and its node's namespaces. Kubelet, the runtime and the API server are in another process, so that
nothing of theirs is counted. Pods come and go in bursts as on the lab (`processor`), and the
kernel's clock of the driver's process says what they took. The same code twice differs by a tenth
on a busy machine; compare changes by runs of both in turn, PYTHONPATH says of which tree.
Limit: the runtime calls by NRI alone, and the API server is asked without TLS.
"""

import asyncio
import os
import statistics
import time
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from benchmarks.table import Row, print_table
from netclaim.local.cluster import EmbeddedCluster, embedded_cluster
from netclaim.local.machine import contained
from netclaim.local.topology import Link, Network, Topology
from netclaim.local.trial import quiet_logs
from netclaim.network import DRIVER_NAME
from netclaim.schema.kinds import CLAIM, CLASS, POD, TEMPLATE

__all__ = ["main"]

ROUNDS = int(os.environ.get("NETCLAIM_BENCH_ROUNDS", "7"))  # of each kind, in turn
PODS = 15
NODE = "node"
SETTLED_S = 1.5  # for what the driver does about pods that are gone
IDLE_S = 20.0
LIMIT_S = 120.0  # a burst takes a second or two
CPU_CLOCK = 2  # the kernel's number for what a process has been running, in nanoseconds
KINDS = ("macvlan", "whole", "plain")


def topology() -> Topology:
    """Return a node with a link to share, and a whole one for each pod."""
    primary = Network("primary", (Link(NODE, "eth0"),), (ip_network("172.18.0.0/24"),))
    shared = Network("shared", (Link(NODE, "eth1"),))
    wholes = Network("wholes", tuple(Link(NODE, f"whole{number}") for number in range(PODS)))
    return Topology((NODE,), (primary, shared, wholes))


def claim_spec(kind: str) -> dict[str, Any]:
    """Return a claim for a macvlan, or for a whole link."""
    if kind == "macvlan":
        ipam = {"type": "host-local", "ranges": [[{"subnet": "10.10.1.0/24"}]]}
        plugin: dict[str, Any] = {"type": "macvlan", "mode": "bridge", "ipam": ipam}
        name, asked = '== "eth1"', {"adminAccess": True}
    else:
        plugin = {"type": "host-device"}
        name, asked = '.startsWith("whole")', {}
    selector = f'device.attributes["{DRIVER_NAME}"].name{name}'
    exactly = {"deviceClassName": "net", "selectors": [{"cel": {"expression": selector}}], **asked}
    if kind == "whole":
        exactly["capacity"] = {"requests": {"attachments": "2"}}  # the link alone
    config = {"cniVersion": "1.0.0", "name": kind, "plugins": [plugin]}
    opaque = {"driver": DRIVER_NAME, "parameters": {"interface": "net1", "config": config}}
    requests = [{"name": "nic", "exactly": exactly}]
    return {"devices": {"requests": requests, "config": [{"requests": ["nic"], "opaque": opaque}]}}


def make(cluster: EmbeddedCluster, kind: Any, name: str, spec: dict[str, Any]) -> None:
    """Make an object."""
    head = {"apiVersion": kind.addresses[0].api_version, "kind": kind.name}
    body = {**head, "metadata": {"name": name}, "spec": spec}
    cluster.verbs.create(kind, body, manager="bench", namespace="default")


def driver_clock() -> int:
    """Return the clock of what the driver's process uses, in all its threads."""
    wanted = f"--node-name={NODE}".encode()
    (pid,) = (
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if wanted in path.read_bytes().split(b"\0")
    )
    return (~pid << 3) | CPU_CLOCK


def are_running(cluster: EmbeddedCluster) -> bool:
    """Whether all pods run, and their claims say what they got."""
    pods = list(cluster.store.list(POD))
    running = all(pod.get("status", {}).get("phase") == "Running" for pod in pods)
    claims = cluster.store.list(CLAIM)
    return running and all(claim.get("status", {}).get("devices") for claim in claims)


async def life_ms(cluster: EmbeddedCluster, kind: str, clock: int) -> float:
    """Return the driver's milliseconds for a pod's life."""
    before = time.clock_gettime(clock)
    async with asyncio.timeout(LIMIT_S):
        await come_and_go(cluster, kind)
    await asyncio.sleep(SETTLED_S)
    return 1000 * (time.clock_gettime(clock) - before) / PODS


async def come_and_go(cluster: EmbeddedCluster, kind: str) -> None:
    """Start a burst of pods, and end it once they have everything."""
    for number in range(PODS):
        spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
        if kind != "plain":
            spec["resourceClaims"] = [{"name": "net", "resourceClaimTemplateName": kind}]
        make(cluster, POD, f"p{number}", spec)
    await cluster.store.wait_for(lambda: are_running(cluster))
    for number in range(PODS):
        cluster.verbs.delete(POD, f"p{number}", "default")
    await cluster.store.wait_for(lambda: not list(cluster.store.list(POD)))
    await cluster.store.wait_for(lambda: not list(cluster.store.list(CLAIM)))


async def measure() -> int:
    """Measure and print."""
    quiet_logs()
    taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
    async with embedded_cluster(topology(), [DRIVER_NAME]) as cluster:
        expression = f'device.driver == "{DRIVER_NAME}"'
        make(cluster, CLASS, "net", {"selectors": [{"cel": {"expression": expression}}]})
        for kind in ("macvlan", "whole"):
            make(cluster, TEMPLATE, kind, {"spec": claim_spec(kind)})
        clock = driver_clock()
        for kind in KINDS:  # the first pods are slower
            await life_ms(cluster, kind, clock)
        for _ in range(ROUNDS):
            for kind in KINDS:
                taken[kind].append(await life_ms(cluster, kind, clock))
        before = time.clock_gettime(clock)
        await asyncio.sleep(IDLE_S)
        idle = (time.clock_gettime(clock) - before) * 60 / IDLE_S
    texts = {"macvlan": "with a macvlan", "whole": "with a whole link", "plain": "plain"}
    rows = []
    for kind, values in taken.items():
        shown = f"{statistics.median(values):.1f} ms, least {min(values):.1f}"
        rows.append(Row(f"a pod's life, {texts[kind]}", shown))
    rows.append(Row("a minute without pods", f"{1000 * idle:.0f} ms"))
    print_table("the driver's processor time on the embedded machine", rows)
    return 0


def main() -> None:
    """Enter namespaces of our own, then measure."""
    if code := contained(lambda: asyncio.run(measure())):
        raise SystemExit(code)


if __name__ == "__main__":
    main()
