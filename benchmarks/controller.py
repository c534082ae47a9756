"""What the controller costs: templates in many namespaces, and Services with many endpoints.

The API server is the embedded one, in this process; the controller is a process of its own beside
it, whose memory and processor time are its own. Times include the server's, which answers some
hundred writes a second where a real one answers thousands: compare them within one run only. Sizes
can be set: NETCLAIM_BENCH_NETWORKS, _NAMESPACES, _ENDPOINTS.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.table import Row, percentile, print_table
from netclaim.local.api import Store, Verbs, serve_api
from netclaim.model.claims.claim import JsonObject
from netclaim.network import DRIVER_NAME
from netclaim.schema.kinds import (
    CLAIM,
    ENDPOINT_SLICE,
    NAMESPACE,
    NODE,
    POD,
    POD_NETWORK,
    SERVICE,
    SLICE,
    TEMPLATE,
)
from netclaim.schema.network_service import NETWORK, SELECTOR
from netclaim.tasks import race

__all__ = ["main"]

NETWORKS = int(os.environ.get("NETCLAIM_BENCH_NETWORKS", "20"))
NAMESPACES = int(os.environ.get("NETCLAIM_BENCH_NAMESPACES", "1000"))
ENDPOINTS = int(os.environ.get("NETCLAIM_BENCH_ENDPOINTS", "1000"))
NODES = 100  # that the networks are on
NEW = 50  # namespaces, one after the other
CHANGES = 50  # of one endpoint
REMEMBERED = 200_000  # changes that the server keeps for watches
SINCE = "2026-01-01T00:00:00Z"
MIB = 1024


class Controller:
    """The controller's process."""

    def __init__(self, process: asyncio.subprocess.Process, file: Path) -> None:
        self._process = process
        self._file = file

    def memory_mib(self) -> float:
        """How much memory it has now."""
        return self._memory_mib("VmRSS")

    def most_memory_mib(self) -> float:
        """How much it had when it had the most."""
        return self._memory_mib("VmHWM")

    def cpu_s(self) -> float:
        """How much processor time it has used so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _memory_mib(self, key: str) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if key in line).split()[1]) / MIB

    async def took(self, verbs: Verbs, fact: Callable[[], bool]) -> float:
        """Return the seconds until something holds."""
        before = time.perf_counter()
        await race(verbs.store.wait_for(fact), self._process.wait())
        if not fact():
            raise SystemExit(f"the controller ended with {self._process.returncode}")
        return time.perf_counter() - before

    async def end(self) -> JsonObject:
        """End it; returns what it has used."""
        self._process.terminate()
        await self._process.wait()
        used: JsonObject = json.loads(self._file.read_text())
        return used


@asynccontextmanager
async def controller(url: str, directory: Path) -> AsyncIterator[Controller]:
    """Run a controller."""
    file = directory / "used.json"
    line = [sys.executable, "-m", "benchmarks.controlled", url, str(file)]
    process = await asyncio.create_subprocess_exec(*line)
    try:
        yield Controller(process, file)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def create(verbs: Verbs, kind: Any, name: str, namespace: str = "", **more: Any) -> JsonObject:
    """Create an object; `labels` and `annotations` are metadata."""
    meta = {"name": name}
    meta |= {key: more.pop(key) for key in ("labels", "annotations") if key in more}
    head = {"apiVersion": kind.addresses[0].api_version, "kind": kind.name, "metadata": meta}
    return verbs.create(kind, {**head, **more}, manager="bench", namespace=namespace)


def cluster() -> Verbs:
    """Return a server with nodes that have a link, and networks on it."""
    verbs = Verbs(Store(remembered=REMEMBERED))
    create(verbs, NAMESPACE, "default")
    for number in range(NODES):
        name = f"node-{number}"
        create(verbs, NODE, name)
        device = {"name": "eth1", "attributes": {"name": {"string": "eth1"}}}
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER_NAME, "nodeName": name, "pool": pool, "devices": [device]}
        create(verbs, SLICE, f"{name}-slice", spec=spec)
    return verbs


def add_networks(verbs: Verbs, count: int) -> None:
    """Make networks that all namespaces may use."""
    for number in range(count):
        spec = {"type": "macvlan", "parent": {"name": "eth1"}, "ifName": "net1"}
        create(verbs, POD_NETWORK, f"net-{number}", spec=spec)


def count(verbs: Verbs, kind: Any) -> int:
    """How many objects there are, without sorting them."""
    return len(verbs.store._objects.get(kind.name, {}))


async def templates(directory: Path) -> list[Row]:
    """Measure networks in many namespaces, a new one, and another controller's start."""
    verbs = cluster()
    add_networks(verbs, NETWORKS)
    for number in range(NAMESPACES):
        create(verbs, NAMESPACE, f"ns-{number}")
    wanted = NETWORKS * (NAMESPACES + 1)
    size = f"{NETWORKS} networks, {NAMESPACES} namespaces"
    async with serve_api(verbs, "127.0.0.1") as url:
        async with controller(url, directory) as first:
            made_s = await first.took(verbs, partial(has_templates, verbs, wanted))
            waits = []
            for number in range(NEW):
                create(verbs, NAMESPACE, f"new-{number}")
                wanted += NETWORKS
                there = partial(has_templates, verbs, wanted)
                waits.append(await first.took(verbs, there))
                await asyncio.sleep(0.2)  # as namespaces come, not all at once
            memory = first.memory_mib()
            used = await first.end()
        network = verbs.get(POD_NETWORK, "net-0")
        async with controller(url, directory) as second:
            spec = {**network["spec"], "enabled": False}
            verbs.update(POD_NETWORK, {**network, "spec": spec}, manager="bench")
            ours = NAMESPACES + 1 + NEW
            again_s = await second.took(verbs, partial(has_templates, verbs, wanted - ours))
            again = second.memory_mib()
            reread = await second.end()
    return [
        Row(f"{size}: all templates made", f"{made_s:.1f} s"),
        Row("API requests for it", said(used)),
        Row("memory of the controller", f"{memory:.0f} MiB"),
        Row("its processor time", f"{used['cpu_s']:.1f} s"),
        Row("a new namespace has all templates, median", f"{1000 * percentile(waits, 0.5):.0f} ms"),
        Row("the same, p99", f"{1000 * percentile(waits, 0.99):.0f} ms", "at most 500 ms"),
        Row("another one starts, and takes a network away", f"{again_s:.1f} s"),
        Row("API requests for that", said(reread)),
        Row("its memory", f"{again:.0f} MiB"),
    ]


def said(used: JsonObject) -> str:
    """The requests by their verbs."""
    requests = sorted(used["requests"].items())
    return ", ".join(f"{number} {verb}" for verb, number in requests)


async def endpoints(directory: Path) -> list[Row]:
    """Measure a Service with many endpoints: its start, one change, and all at once."""
    verbs = cluster()
    add_networks(verbs, 1)
    annotations = {NETWORK: "net-0", SELECTOR: "app=web"}
    spec = {"clusterIP": "None", "ports": [{"port": 80}]}
    create(verbs, SERVICE, "web", "default", annotations=annotations, spec=spec)
    pods = [pod(verbs, number) for number in range(ENDPOINTS)]
    async with serve_api(verbs, "127.0.0.1") as url, controller(url, directory) as running:
        await running.took(verbs, partial(has_templates, verbs, 1))
        writes = Writes(verbs)
        for number, each in enumerate(pods):
            attach(verbs, each, number)
            await asyncio.sleep(0)
        burst_s = await running.took(verbs, lambda: published(verbs) == ENDPOINTS)
        burst = writes.since_last()
        waits = []
        for number in range(CHANGES):
            attach(verbs, pods[number], ENDPOINTS + number)
            wanted = address(ENDPOINTS + number)
            waits.append(await running.took(verbs, partial(is_published, verbs, wanted)))
        changed = writes.since_last()
        memory = running.memory_mib()
        used = await running.end()
    return [
        Row(f"{ENDPOINTS} pods attached at once: all are endpoints after", f"{burst_s:.1f} s"),
        Row("writes of slices for it", str(burst)),
        Row("one of them changes: median", f"{1000 * percentile(waits, 0.5):.0f} ms"),
        Row("the same, p99", f"{1000 * percentile(waits, 0.99):.0f} ms", "at most 1000 ms"),
        Row("writes of slices for a change", f"{changed / CHANGES:.2f}", "1"),
        Row("memory of the controller", f"{memory:.0f} MiB"),
        Row("API requests in all", said(used)),
    ]


class Writes:
    """Counts the changes of slices."""

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs
        self._seen = verbs.store.revision

    def since_last(self) -> int:
        """How many there were since the last time."""
        changes = self._verbs.store.since(self._seen)
        self._seen = self._verbs.store.revision
        return sum(each.kind is ENDPOINT_SLICE for each in changes)


def pod(verbs: Verbs, number: int) -> JsonObject:
    """A ready pod."""
    node = f"node-{number % NODES}"
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}
    made = create(verbs, POD, f"p{number}", "default", labels={"app": "web"}, spec=spec)
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    claim = {"devices": {"requests": [{"name": "n", "exactly": {"deviceClassName": "net-0"}}]}}
    create(verbs, CLAIM, f"p{number}", "default", spec=claim)
    return verbs.set_status(POD, made, status, manager="bench")


def attach(verbs: Verbs, pod: JsonObject, number: int) -> None:
    """Report a pod's interface, with an address."""
    meta = pod["metadata"]
    device = {"driver": DRIVER_NAME, "pool": pod["spec"]["nodeName"], "device": "eth1"}
    condition = {"type": "Ready", "status": "True", "reason": "R", "message": ""}
    status = {
        "allocation": {"devices": {"results": [{"request": "n", **device}]}},
        "reservedFor": [{"resource": "pods", "name": meta["name"], "uid": meta["uid"]}],
        "devices": [
            {
                **device,
                "conditions": [{**condition, "lastTransitionTime": SINCE}],
                "data": {"podNetwork": {"kind": "PodNetwork", "name": "net-0"}},
                "networkData": {"interfaceName": "net1", "ips": [f"{address(number)}/16"]},
            }
        ],
    }
    live = verbs.get(CLAIM, meta["name"], "default")
    verbs.set_status(CLAIM, live, status, manager="bench")


def address(number: int) -> str:
    """An address for each number."""
    return f"10.50.{number // 250}.{1 + number % 250}"


def is_published(verbs: Verbs, wanted: str) -> bool:
    """Whether an address is an endpoint."""
    found = verbs.store.list(ENDPOINT_SLICE)
    return any(each["addresses"][0] == wanted for one in found for each in one["endpoints"])


def has_templates(verbs: Verbs, wanted: int) -> bool:
    """Whether so many templates are there."""
    return count(verbs, TEMPLATE) == wanted


def published(verbs: Verbs) -> int:
    """How many endpoints there are."""
    return sum(len(one["endpoints"]) for one in verbs.store.list(ENDPOINT_SLICE))


def main() -> None:
    """Measure, and print the tables."""
    with tempfile.TemporaryDirectory() as directory:
        rows = asyncio.run(endpoints(Path(directory)))
        print_table("Services of networks", rows)
        rows = asyncio.run(templates(Path(directory)))
        print_table("Networks and namespaces", rows)
