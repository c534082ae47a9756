"""Leases of pools: how many a second, at what cost, beside host-local in the same run.

Three nodes lease for eight claims at a time each, as a driver prepares them, from an embedded API
server in a process of its own; with NETCLAIM_BENCH_KUBECONFIG from that cluster's, such as a lab's,
where the definitions of pools have to be. host-local leases for one node, in files, in process.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.table import Row, percentile, print_table
from netclaim.framework.kube_api import KubeObjects
from netclaim.kube import Answered, Client, Cluster, StoredSecrets, connect, load_cluster
from netclaim.local.api import Store, Verbs, serve_api
from netclaim.model import AllocatedDevice, Claim, OpaqueConfig, Plan, Prepared
from netclaim.model.api.own_kinds.pod_network import API_VERSION
from netclaim.model.claims.claim import JsonObject
from netclaim.network import DRIVER_NAME
from netclaim.network.plan.interface_plan import InterfacePlan
from netclaim.network.policy.levels import Level
from netclaim.network.pools.cluster import LEASES, POOLS, ClusterPools
from netclaim.network.pools.leases import Leases
from netclaim.network.pools.quota import Quota
from netclaim.network.request.parameters import read_claim
from tests.support.plugin_calls import call_of, host_local, server

__all__ = ["main"]

NODES = 3
AT_A_TIME = 8  # claims that a driver plans at a time
WIDE, NARROW = "10.64.0.0/20", "10.65.0.0/24"
COUNT = 600  # of the wide pool's 4,094; the narrow one is filled to its last address


def claim_of(node: str, number: int, pool: str) -> Claim:
    """A claim of a network whose addresses are a pool's."""
    plugin = {"type": "macvlan", "ipam": {"type": "netclaim", "pool": pool}}
    parameters = {
        "apiVersion": API_VERSION,
        "kind": "CNI",
        "ifName": "net1",
        "config": {"cniVersion": "1.0.0", "name": "n", "plugins": [plugin]},
    }
    device = AllocatedDevice("net", DRIVER_NAME, node, "eth1")
    config = OpaqueConfig("FromClass", DRIVER_NAME, parameters)
    uid = f"{pool}-{number}"
    return Claim(uid, "default", uid, True, ("net",), (device,), (config,))


class Node:
    """A node's driver, as far as it leases addresses."""

    def __init__(self, client: Client, name: str) -> None:
        self.name = name
        pools = ClusterPools(KubeObjects(client), time.monotonic, dict)
        self.leases = Leases(pools, Quota(pools))
        self.times: list[float] = []
        self.prepared: list[Prepared] = []

    async def lease(self, numbers: Sequence[int], pool: str) -> None:
        """Lease for so many claims, some at a time."""
        slots = asyncio.Semaphore(AT_A_TIME)

        async def one(number: int) -> None:
            claim = claim_of(self.name, number, pool)
            (request,) = read_claim(claim)
            interface = InterfacePlan("net1", request.network.to_dict())
            plan = Plan(claim.ref, request.device, network=interface.to_json())
            async with slots:
                begun_s = time.perf_counter()
                plan = await self.leases.take(claim, request, plan, Level.BASELINE)
                self.times.append(time.perf_counter() - begun_s)
            self.prepared.append(Prepared(claim.ref, (plan,)))

        await asyncio.gather(*map(one, numbers))

    async def give_back(self) -> None:
        """Give everything back, some at a time."""
        slots = asyncio.Semaphore(AT_A_TIME)

        async def one(prepared: Prepared) -> None:
            async with slots:
                await self.leases.give_back(prepared)

        await asyncio.gather(*map(one, self.prepared))
        self.prepared.clear()


@asynccontextmanager
async def cluster_of() -> AsyncIterator[Cluster]:
    """The cluster that is named, or an embedded API server in a process of its own."""
    if path := os.environ.get("NETCLAIM_BENCH_KUBECONFIG"):
        yield load_cluster(path)
        return
    served = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from benchmarks.leases import serve; serve()"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert served.stdout is not None
    try:
        url = (await served.stdout.readline()).decode().strip()
        yield Cluster(server=url, credentials=StoredSecrets())
    finally:
        served.terminate()
        await served.wait()


def serve() -> None:
    """Serve an API until SIGTERM; print where."""

    async def run() -> None:
        async with serve_api(Verbs(Store()), "127.0.0.1") as url:
            print(url, flush=True)
            await asyncio.Event().wait()

    asyncio.run(run())


async def measure(cluster: Cluster, pool: str, cidr: str, count: int) -> None:
    """Lease from a new pool on all nodes at a time, and give everything back."""
    requests: Counter[str] = Counter()

    def observe(answered: Answered) -> None:
        requests[answered.verb] += 1

    async with connect(cluster, observe) as client:
        await _add_pool(client, pool, cidr)
        requests.clear()
        nodes = [Node(client, f"n{number}") for number in range(NODES)]
        begun_s = time.perf_counter()
        await asyncio.gather(
            *(node.lease(range(n, count, NODES), pool) for n, node in enumerate(nodes))
        )
        took_s = time.perf_counter() - begun_s
        asked = dict(requests)
        begun_s = time.perf_counter()
        await asyncio.gather(*(node.give_back() for node in nodes))
        back_s = time.perf_counter() - begun_s
        left = await KubeObjects(client).find(LEASES, "")
        assert not [each for each in left if each["spec"]["pool"] == pool]
        await client.delete(POOLS, pool)
    times = [each for node in nodes for each in node.times]
    shown = ", ".join(f"{verb} {number / count:.2f}" for verb, number in sorted(asked.items()))
    print_table(
        f"{count} leases of {cidr} on {NODES} nodes",
        [
            Row("leases a second", f"{count / took_s:.0f}", "at least 100"),
            Row("given back, a second", f"{count / back_s:.0f}", "at least 100"),
            Row("one lease, p50 / p99", _ms(times)),
            Row("requests for a lease", shown, "one, and none to list"),
        ],
    )


async def _add_pool(client: Client, pool: str, cidr: str) -> None:
    body: JsonObject = {
        "apiVersion": API_VERSION,
        "kind": "AddressPool",
        "metadata": {"name": pool},
        "spec": {"ranges": [{"cidr": cidr}]},
    }
    made = await client.create(POOLS, body)
    ready = {"type": "Ready", "status": "True"}
    status = {"observedGeneration": made["metadata"]["generation"], "conditions": [ready]}
    await client.patch(POOLS, pool, {"status": status}, subresource="status")


async def measure_host_local() -> None:
    """The same number of leases by host-local, for one node."""
    plugins = server("host-local")
    with tempfile.TemporaryDirectory() as directory:
        config = host_local(Path(directory), [{"subnet": WIDE}])
        slots = asyncio.Semaphore(AT_A_TIME)
        times: list[float] = []

        async def one(number: int) -> None:
            async with slots:
                begun_s = time.perf_counter()
                await plugins.run(call_of("ADD", config, container_id=f"c{number}"))
                times.append(time.perf_counter() - begun_s)

        begun_s = time.perf_counter()
        await asyncio.gather(*map(one, range(COUNT)))
        took_s = time.perf_counter() - begun_s
    print_table(
        f"{COUNT} leases of host-local, one node, in process",
        [
            Row("leases a second", f"{COUNT / took_s:.0f}"),
            Row("one lease, p50 / p99", _ms(times)),
        ],
    )


def _ms(values: Sequence[float]) -> str:
    return f"{1000 * percentile(values, 0.5):.1f} / {1000 * percentile(values, 0.99):.1f} ms"


async def _measure_all() -> None:
    async with cluster_of() as cluster:
        await measure(cluster, "bench-wide", WIDE, COUNT)
        await measure(cluster, "bench-narrow", NARROW, 254)
    await measure_host_local()


def main() -> None:
    """Measure both."""
    asyncio.run(_measure_all())
