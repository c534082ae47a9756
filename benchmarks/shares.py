"""Shares of links, allocated by kube-scheduler and by netclaim: 1,000 over 100 nodes.

Boots a lab of one node and adds others that are only objects, each with a link of 10 Gbit/s for
32 attachments. A thousand pods, each with a claim for 100M, are there before the scheduler starts;
its rate is from the first to the last pod that has a node, API calls included, with the limit of
its API client (50 calls a second) out of the way. The same objects then go to netclaim's embedded
scheduler, whose API server is in the same process, and to the allocator alone. CPU seconds are
those of the process that decides; on a shared machine they are what to compare.

All of it is done again with claims that want an address beside the link, of a pool that has just
enough for all of them and is one device for all nodes.

NETCLAIM_BENCH_TAKEN=9000 has so many claims that have their share (and address) before, over as
many nodes as that takes: the last of 10,000 shares are allocated then. NETCLAIM_BENCH_ALLOCATING,
a number of kube-scheduler, embedded and allocator with commas between them, leaves the others out.
"""

import asyncio
import gc
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.table import Row, print_table
from lab.cluster import Lab
from lab.kubectl import Kubectl
from lab.nodes.processes import Processes
from lab.progress import Progress
from netclaim.allocator import Allocator, Claim, Holders, Node, Slice
from netclaim.kube import Client, connect, dra_resource, load_cluster
from netclaim.local.api import Store, Verbs
from netclaim.local.control.schedule import schedule
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.api.dra.device_json import device_json
from netclaim.model.pools.counted_pool import slice_pool_of
from netclaim.network.devices.pool_device import address_request, pool_class, pool_device
from netclaim.schema.kinds import CLAIM, CLASS, NAMESPACE, NODE, POD, SLICE

__all__ = ["main"]

SHARES = 1000
TAKEN = int(os.environ.get("NETCLAIM_BENCH_TAKEN", "0"))
NODES = max(100, (TAKEN + SHARES) // 20)  # 32 shares fit on each
DRIVER = "bench.example.com"
API = "resource.k8s.io/v1"
SCHEDULER = "kube-scheduler"
NO_LIMIT = ("--kube-api-qps=10000", "--kube-api-burst=10000")
LIMIT_S = 600
POOL = "media"
WHO = {
    "kube-scheduler": "kube-scheduler, API server and etcd beside it",
    "embedded": "netclaim's embedded scheduler, API included",
    "allocator": "netclaim's allocator alone, every node tried",
}
CHOSEN = os.environ.get("NETCLAIM_BENCH_ALLOCATING", ",".join(WHO)).split(",")
WRITES = 32  # requests at a time, to make what is taken
TOPOLOGY = """\
nodes: [solo]
networks:
- {name: primary, subnet: 172.18.0.0/24, links: {solo: eth0}}
"""


class Rate(NamedTuple):
    """How long a thousand shares took: by the clock, and on a processor."""

    wall_s: float
    cpu_s: float

    def row(self, what: str) -> Row:
        """Return a row of the table."""
        per_s, per_cpu = SHARES / self.wall_s, SHARES / self.cpu_s
        return Row(what, f"{per_s:.0f} a second, {per_cpu:.0f} a CPU second")


def named(kind: str, name: str, version: str = API, **fields: Any) -> dict[str, Any]:
    """Return an object."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def node(index: int) -> dict[str, Any]:
    """Return a node that is only an object."""
    return named("Node", f"fake-{index:03d}", "v1")


def node_slice(index: int) -> dict[str, Any]:
    """Return the slice of a node: one link that can be shared."""
    name = f"fake-{index:03d}"
    bandwidth = {"default": "300M", "validRange": {"min": "1M", "step": "1M"}}
    capacity = {
        "attachments": {
            "value": "32",
            "requestPolicy": {"default": "1", "validValues": ["1", "32"]},
        },
        "bandwidth": {"value": "10G", "requestPolicy": bandwidth},
    }
    attributes = {"name": {"string": "eth1"}, "kind": {"string": "ethernet"}}
    device = {
        "name": "eth1",
        "attributes": attributes,
        "capacity": capacity,
        "allowMultipleAllocations": True,
    }
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": [device]}
    return named("ResourceSlice", f"{name}-{DRIVER}", spec=spec)


def device_class() -> dict[str, Any]:
    """Return the class."""
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    return named("DeviceClass", "bench", spec={"selectors": selectors})


def pool_objects() -> list[dict[str, Any]]:
    """Return the pool's class and slice, as netclaim's controller makes them."""
    counted = {"name": slice_pool_of(POOL), "generation": 1, "resourceSliceCount": 1}
    device = device_json(pool_device(POOL, TAKEN + SHARES))
    spec = {"driver": DRIVER, "allNodes": True, "pool": counted, "devices": [device]}
    return [pool_class(POOL, DRIVER), named("ResourceSlice", "addresses", spec=spec)]


def claim(index: int, *, counted: bool) -> dict[str, Any]:
    """Return a claim for a share, and for an address if these are `counted`."""
    expression = f'device.attributes["{DRIVER}"].name == "eth1"'
    exactly = {
        "deviceClassName": "bench",
        "selectors": [{"cel": {"expression": expression}}],
        "capacity": {"requests": {"bandwidth": "100M"}},
    }
    requests = [{"name": "nic", "exactly": exactly}]
    if counted:
        requests.append(address_request(POOL, beside="nic"))
    spec = {"devices": {"requests": requests}}
    return named("ResourceClaim", f"share-{index:04d}", spec=spec)


def offered(*, counted: bool) -> list[dict[str, Any]]:
    """Return all slices."""
    links = [node_slice(index) for index in range(NODES)]
    return links + (pool_objects()[1:] if counted else [])


def classes(*, counted: bool) -> list[dict[str, Any]]:
    """Return all classes."""
    return [device_class(), *(pool_objects()[:1] if counted else [])]


def taken(*, counted: bool) -> list[dict[str, Any]]:
    """Return the claims that have their shares already, one node after the other."""
    nodes = [Node.read(node(index)) for index in range(NODES)]
    holders = Holders()
    allocator = Allocator(
        list(map(Slice.read, offered(counted=counted))),
        list(map(DeviceClass.read, classes(counted=counted))),
        holders,
    )
    made = []
    for index in range(SHARES, SHARES + TAKEN):
        written = claim(index, counted=counted)
        wanted, where = Claim.read(written), nodes[index % NODES]
        (allocation,) = allocator.decide([wanted], [where]).placements[where.name].allocations()
        holders.hold(wanted, allocation.result)
        made.append({**written, "status": {"allocation": allocation.object}})
    return made


async def create_taken(kubeconfig: str, claims: list[dict[str, Any]]) -> None:
    """Write claims with their shares, some at a time."""
    slots = asyncio.Semaphore(WRITES)
    resource = dra_resource("ResourceClaim", "v1")

    async def one(client: Client, found: dict[str, Any]) -> None:
        async with slots:
            meta = {**found["metadata"], "namespace": "default"}
            bare = {key: found[key] for key in ("apiVersion", "kind", "spec")}
            made = await client.create(resource, {**bare, "metadata": meta})
            await client.update(resource, {**made, "status": found["status"]}, subresource="status")

    async with connect(load_cluster(kubeconfig)) as client:
        await asyncio.gather(*(one(client, each) for each in claims))


def pod(index: int) -> dict[str, Any]:
    """Return the pod that uses it; nothing keeps these nodes ready, so it tolerates everything."""
    used = [{"name": "net", "resourceClaimName": f"share-{index:04d}"}]
    spec = {
        "containers": [{"name": "main", "image": "none"}],
        "resourceClaims": used,
        "tolerations": [{"operator": "Exists"}],
    }
    return named("Pod", f"pod-{index:04d}", "v1", spec=spec)


@contextmanager
def lab() -> Iterator[Lab]:
    """Provide a lab of one node, gone afterwards."""
    with tempfile.TemporaryDirectory() as directory:
        topology = Path(directory) / "one.yaml"
        topology.write_text(TOPOLOGY)
        made = Lab("bench-shares", Progress())
        made.up(topology, port=0)
        try:
            yield made
        finally:
            made.down()


def kube_scheduler(*, counted: bool) -> Rate:
    """Let the real scheduler do it."""
    with lab() as made:
        kubectl = made.kubectl()
        made.stop(SCHEDULER)

        def create(objects: list[dict[str, Any]]) -> None:
            text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
            kubectl("create", "--filename=-", "--validate=false", stdin=text)

        create([node(index) for index in range(NODES)])
        enough = {"cpu": "1000", "memory": "1Ti", "pods": "10000"}
        ready = {"allocatable": enough, "conditions": [{"type": "Ready", "status": "True"}]}
        status = [{**node(index), "status": ready} for index in range(NODES)]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": status})
        kubectl("apply", "--server-side", "--subresource=status", "--filename=-", stdin=text)
        create([*classes(counted=counted), *offered(counted=counted)])
        asyncio.run(create_taken(str(made.state.kubeconfig), taken(counted=counted)))
        create([claim(index, counted=counted) for index in range(SHARES)])
        create([pod(index) for index in range(SHARES)])
        component = made.component(SCHEDULER)
        unlimited = replace(component, command=(*component.command, *NO_LIMIT))
        with made.state.alone():
            process = Processes(made.state).start(unlimited)
        wait_bound(kubectl)
        return Rate(seconds_of_binding(kubectl), cpu_seconds(process.pid))


def wait_bound(kubectl: Kubectl) -> None:
    """Return when every pod has a node."""
    limit = time.monotonic() + LIMIT_S
    while left := kubectl("get", "pods", "--field-selector=spec.nodeName=", "--output=name"):
        if time.monotonic() > limit:
            raise SystemExit(f"{len(left.split())} of {SHARES} pods have no node")
        time.sleep(1)  # each look costs the API server something


def seconds_of_binding(kubectl: Kubectl) -> float:
    """Return the time from the first pod that was given a node to the last, by their events."""
    events = kubectl.items("events", "--field-selector=reason=Scheduled")
    times = sorted(datetime.fromisoformat(one["eventTime"]) for one in events)
    return (times[-1] - times[0]).total_seconds()


def cpu_seconds(pid: int) -> float:
    """Return what a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def embedded_scheduler(*, counted: bool) -> Rate:
    """Let netclaim's embedded scheduler do it, with every write through its API."""
    verbs = Verbs(Store())
    verbs.create(NAMESPACE, named("Namespace", "default", "v1"), manager="bench")
    kinds = (
        (CLASS, classes(counted=counted)),
        (NODE, [node(index) for index in range(NODES)]),
        (SLICE, offered(counted=counted)),
        (CLAIM, [claim(index, counted=counted) for index in range(SHARES)]),
        (POD, [{**pod(index)} for index in range(SHARES)]),
    )
    for kind, objects in kinds:
        for one in objects:
            verbs.create(kind, one, manager="bench")
    for one in taken(counted=counted):
        made = verbs.create(CLAIM, {**one, "status": {}}, manager="bench")
        verbs.set_status(CLAIM, made, one["status"], manager="bench")
    gc.collect()
    began, cpu = time.monotonic(), time.process_time()
    schedule(verbs)
    rate = Rate(time.monotonic() - began, time.process_time() - cpu)
    waiting = sum(not one["spec"].get("nodeName") for one in verbs.list(POD))
    if waiting:
        raise SystemExit(f"{waiting} of {SHARES} pods have no node")
    return rate


def allocator_alone(*, counted: bool) -> Rate:
    """Ask the allocator for every node that fits, and take the one with the fewest pods."""
    nodes = [Node.read(node(index)) for index in range(NODES)]
    claims = [Claim.read(claim(index, counted=counted)) for index in range(SHARES)]
    holders = Holders(map(Claim.read, taken(counted=counted)))
    allocator = Allocator(
        list(map(Slice.read, offered(counted=counted))),
        list(map(DeviceClass.read, classes(counted=counted))),
        holders,
    )
    load = dict.fromkeys((one.name for one in nodes), 0)
    gc.collect()
    began, cpu = time.monotonic(), time.process_time()
    for wanted in claims:
        placements = allocator.decide([wanted], nodes).placements
        chosen = min(placements, key=lambda name: load[name])
        load[chosen] += 1
        (allocation,) = placements[chosen].allocations()
        holders.hold(wanted, allocation.result)
    return Rate(time.monotonic() - began, time.process_time() - cpu)


def main() -> None:
    """Measure and print."""
    measured = {
        "kube-scheduler": kube_scheduler,
        "embedded": embedded_scheduler,
        "allocator": allocator_alone,
    }
    rows: list[Row] = []
    bare, counted = (
        {who: measured[who](counted=with_address) for who in CHOSEN}
        for with_address in (False, True)
    )
    rows += [rate.row(WHO[who]) for who, rate in bare.items()]
    rows += [rate.row(f"{WHO[who]}, with an address") for who, rate in counted.items()]
    if {"kube-scheduler", "embedded"} <= bare.keys():
        theirs, ours = bare["kube-scheduler"], bare["embedded"]
        rows += [
            Row("embedded / kube-scheduler, by the clock", f"{theirs.wall_s / ours.wall_s:.1f}"),
            Row("embedded / kube-scheduler, by CPU", f"{theirs.cpu_s / ours.cpu_s:.1f}"),
        ]
    for who, rate in counted.items():
        ratio = rate.cpu_s / bare[who].cpu_s
        rows.append(Row(f"CPU of {WHO[who]}: with an address / without", f"{ratio:.2f}"))
    print_table(f"{SHARES} shares over {NODES} nodes, beside {TAKEN}", rows)


if __name__ == "__main__":
    main()
