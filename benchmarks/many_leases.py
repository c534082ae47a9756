"""Very many leases: what listing, watching and keeping them costs the controller.

The API server is the embedded one, in this process, and the controller a process of its own, as in
`controller`. It is started three times: beside a pool without leases, beside as many claims with a
link and an address, and beside these and their leases; the differences are what claims and leases
take. Then leases come and go. NETCLAIM_BENCH_LEASES=100000 has as many as a very large cluster.
"""

import asyncio
import os
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path

from benchmarks.controller import Controller, cluster, controller, create, said
from benchmarks.table import Row, percentile, print_table
from netclaim.local.api import Verbs, serve_api
from netclaim.model.api.own_kinds.address_pool import AddressLeaseSpec, LeaseHolder, lease_object
from netclaim.model.api.own_kinds.pod_network import API_VERSION
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.counted_pool import class_name_of, slice_pool_of
from netclaim.network import DRIVER_NAME
from netclaim.network.devices.pool_device import address_request
from netclaim.schema.kinds import ADDRESS_LEASE, ADDRESS_POOL, CLAIM, CLASS, POD_NETWORK, SLICE

__all__ = ["main"]

LEASES = int(os.environ.get("NETCLAIM_BENCH_LEASES", "5000"))
NODES = 5000  # the leases' nodes; a lease takes no less if there are fewer of them
POOL = "media"
RANGE = "10.0.0.0/8"
FIRST = IPv4Address("10.1.0.0")
BURST = 1000  # leases that come, and then go
CHANGES = 10  # of one lease
WRITTEN = "2026-11-19T20:00:00Z"
SWEEP_S = 15.0  # between the controller's looks at all leases


def node_of(number: int) -> str:
    """The node of a claim."""
    return f"node-{number % NODES}"


def claim(number: int) -> JsonObject:
    """A claim with a link and an address, as it is while its pod runs."""
    name, node = f"camera-{number:06d}-media", node_of(number)
    share = str(uuid.uuid4())
    link = {"request": "media-net", "driver": DRIVER_NAME, "pool": node, "device": "eth1"}
    counted = {"request": "address", "driver": DRIVER_NAME, "pool": slice_pool_of(POOL)}
    results = [{**link, "shareID": share}, {**counted, "device": POOL, "shareID": share}]
    condition = {"type": "Ready", "status": "True", "reason": "Attached", "message": ""}
    report = {
        **{key: link[key] for key in ("driver", "pool", "device")},
        "shareID": share,
        "conditions": [{**condition, "lastTransitionTime": WRITTEN}],
        "data": {"podNetwork": {"kind": "PodNetwork", "name": "media-net"}},
        "networkData": {"interfaceName": "net1", "ips": [f"{address(number)}/8"]},
    }
    pod = {"resource": "pods", "name": f"camera-{number:06d}", "uid": str(uuid.uuid4())}
    nic = {"name": "media-net", "exactly": {"deviceClassName": "media-net"}}
    requests = [nic, address_request(POOL, beside="media-net")]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": CLAIM.name,
        "metadata": stored(name, "default"),
        "spec": {"devices": {"requests": requests}},
        "status": {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [pod],
            "devices": [report],
        },
    }


def lease(number: int, holder: JsonObject) -> JsonObject:
    """The lease of a claim's address."""
    meta = holder["metadata"]
    share = holder["status"]["devices"][0]["shareID"]
    claimed = LeaseHolder(
        meta["namespace"], meta["name"], meta["uid"], "media-net", f"eth1/{share}"
    )
    spec = AddressLeaseSpec(
        POOL, address(number), DRIVER_NAME, node_of(number), claimed, renewed=str(uuid.uuid4())
    )
    made = lease_object(spec)
    return {**made, "metadata": {**stored(made["metadata"]["name"]), **made["metadata"]}}


def stored(name: str, namespace: str = "") -> JsonObject:
    """Metadata as the API server has it, with who wrote which field."""
    fields: JsonObject = {
        "f:spec": {f"f:{key}": {} for key in ("address", "claim", "driver", "nodeName")}
    }
    written = {
        "manager": "netclaim",
        "operation": "Update",
        "apiVersion": API_VERSION,
        "time": WRITTEN,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    where = {"namespace": namespace} if namespace else {}
    return {
        "name": name,
        **where,
        "uid": str(uuid.uuid4()),
        "creationTimestamp": WRITTEN,
        "generation": 1,
        "managedFields": [written],
    }


def address(number: int) -> str:
    """An address for each number."""
    return str(FIRST + number)


def with_pool() -> Verbs:
    """Return a server with a pool, and a network that has its addresses from it."""
    verbs = cluster()
    create(verbs, ADDRESS_POOL, POOL, spec={"ranges": [{"cidr": RANGE}]})
    ipam = {"type": "netclaim", "pool": POOL}
    spec = {"type": "macvlan", "parent": {"name": "eth1"}, "ifName": "net1", "ipam": ipam}
    create(verbs, POD_NETWORK, "media-net", spec=spec)
    return verbs


def status(verbs: Verbs) -> JsonObject:
    """What the controller says of the pool."""
    found: JsonObject = verbs.get(ADDRESS_POOL, POOL).get("status", {})
    return found


def is_counted(verbs: Verbs, used: int) -> bool:
    """Whether the pool's status has so many leases, and the scheduler a device for it."""
    there = verbs.store.get(SLICE, f"{class_name_of(POOL)}.{DRIVER_NAME}") is not None
    classed = verbs.store.get(CLASS, class_name_of(POOL)) is not None
    return there and classed and status(verbs).get("used") == used


class Start:
    """What a controller has used when it has counted everything."""

    def __init__(self, took_s: float, running: Controller) -> None:
        self.took_s = took_s
        self.cpu_s = running.cpu_s()
        self.mib = running.memory_mib()
        self.most_mib = running.most_memory_mib()

    def rows(self, what: str) -> Iterator[Row]:
        """Rows of the table."""
        yield Row(f"{what}: all is counted after", f"{self.took_s:.1f} s")
        yield Row("processor time of the controller for it", f"{self.cpu_s:.1f} s")
        yield Row(
            "its memory, and the most that it had", f"{self.mib:.0f}, {self.most_mib:.0f} MiB"
        )


async def measure(directory: Path) -> list[Row]:
    """Measure starts beside nothing, beside claims, and beside leases; then changes of leases."""
    verbs = with_pool()
    async with serve_api(verbs, "127.0.0.1") as url:
        async with controller(url, directory) as running:
            none = Start(await running.took(verbs, partial(is_counted, verbs, 0)), running)
        holders = [verbs.store.put(CLAIM, claim(number)) for number in range(LEASES)]
        clear_status(verbs)
        async with controller(url, directory) as running:
            claims = Start(await running.took(verbs, partial(is_counted, verbs, 0)), running)
        for number, holder in enumerate(holders):
            verbs.store.put(ADDRESS_LEASE, lease(number, holder))
        clear_status(verbs)
        async with controller(url, directory) as running:
            took_s = await running.took(verbs, partial(is_counted, verbs, LEASES))
            leases = Start(took_s, running)
            changed = [row async for row in changes(verbs, running)]
            used = await running.end()
    each = 1024 * (leases.mib - claims.mib) / LEASES
    of_claims = 1024 * (claims.mib - none.mib) / LEASES
    return [
        Row("nothing leased: memory of the controller", f"{none.mib:.0f} MiB"),
        *claims.rows(f"{LEASES} claims"),
        *leases.rows("the same with their leases"),
        Row("memory of a lease, and of a claim", f"{each:.1f}, {of_claims:.1f} KiB"),
        *changed,
        Row("API requests in all", said(used)),
    ]


def clear_status(verbs: Verbs) -> None:
    """Have the pool's status say nothing, so that the next controller has to write it."""
    verbs.store.put(ADDRESS_POOL, {**verbs.get(ADDRESS_POOL, POOL), "status": {}})


async def changes(verbs: Verbs, running: Controller) -> AsyncIterator[Row]:
    """Yield what sweeps, a burst and single leases cost."""
    cpu_s = running.cpu_s()
    await asyncio.sleep(SWEEP_S)
    yield Row("processor time for a look at all leases", f"{running.cpu_s() - cpu_s:.2f} s")
    cpu_s = running.cpu_s()
    burst = []
    for number in range(LEASES, LEASES + BURST):
        holder = verbs.store.put(CLAIM, claim(number))
        burst.append((holder, verbs.store.put(ADDRESS_LEASE, lease(number, holder))))
        await asyncio.sleep(0)
    come_s = await running.took(verbs, partial(is_counted, verbs, LEASES + BURST))
    for holder, leased in burst:
        verbs.store.remove(ADDRESS_LEASE, leased)
        verbs.store.remove(CLAIM, holder)
        await asyncio.sleep(0)
    go_s = await running.took(verbs, partial(is_counted, verbs, LEASES))
    each_ms = 1000 * (running.cpu_s() - cpu_s) / (2 * BURST)
    yield Row(f"{BURST} claims with leases come: counted after", f"{come_s:.1f} s")
    yield Row("they go: counted after", f"{go_s:.1f} s")
    yield Row("processor time for one that comes or goes", f"{each_ms:.2f} ms")
    waits = []
    for number in range(LEASES, LEASES + CHANGES):
        holder = verbs.store.put(CLAIM, claim(number))
        verbs.store.put(ADDRESS_LEASE, lease(number, holder))
        waits.append(await running.took(verbs, partial(is_counted, verbs, number + 1)))
    yield Row("one comes: counted after, median", f"{percentile(waits, 0.5):.1f} s")


def main() -> None:
    """Measure, and print the table."""
    with tempfile.TemporaryDirectory() as directory:
        rows = asyncio.run(measure(Path(directory)))
    print_table(f"{LEASES} leases", rows)
