"""What a pod costs the network driver on a full node, and what many links cost to publish.

In namespaces of its own: pods come and go one after the other, each with a link of its own and a
claimed macvlan, first on an empty node, then beside 250 pods and 500 links. The ratio is what the
others cost it. All of it is processor time of this process, which is the driver without its
framework; the links and namespaces are made by others. The slices are also written, to the embedded
API server in a thread of its own, whose time is not counted.
"""

import asyncio
import subprocess
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import Future
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from benchmarks.own_node import build_node, ip, is_inside, run_inside
from benchmarks.table import Row, print_table
from netclaim.framework.kube_api import Api, KubeSlices
from netclaim.framework.process.driver_thread import own_loop
from netclaim.framework.publish.slices import Operation, Pool, plan_slices
from netclaim.kernel import Rtnl, find_link
from netclaim.kernel.requests.links import set_link
from netclaim.kube import Cluster, StoredSecrets, connect
from netclaim.local.api import Store, Verbs, serve_api
from netclaim.model import AllocatedDevice, Claim, Device, OpaqueConfig, PodSandbox
from netclaim.network.build import link_driver
from netclaim.network.driver import LinkDriver
from netclaim.network.settings import LinkSettings

__all__ = ["main"]

LIVES = 30
PODS = 250
LINKS = 500
DRIVER = "cni.dra.networking.x-k8s.io"
POD = "/run/netns/pod"
NETWORK = {
    "cniVersion": "1.0.0",
    "name": "bench",
    "plugins": [
        {
            "type": "macvlan",
            "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.50.0.0/16"}]]},
        }
    ],
}
PARAMETERS = {
    "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
    "kind": "CNI",
    "ifName": "net1",
    "config": NETWORK,
}


def batch(*lines: str) -> None:
    """Have `ip` do many things."""
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines).encode(), check=True)


def claim(number: int) -> Claim:
    """Return a claim of a share of eth1."""
    return Claim(
        uid=f"claim-{number}",
        namespace="default",
        name=f"claim-{number}",
        allocated=True,
        devices=(AllocatedDevice(request="nic", driver=DRIVER, pool="node", device="eth1"),),
        configs=(
            OpaqueConfig(
                source="FromClaim", driver=DRIVER, parameters=PARAMETERS, requests=("nic",)
            ),
        ),
    )


def start_own_link(name: str, netns: str) -> None:
    """Give a pod its own link, as the primary network does."""
    batch(
        f"link add {name} type veth peer name eth0 netns {netns}",
        f"link set {name} up",
        f"address add 10.244.0.1/32 dev {name}",
    )


async def life(driver: LinkDriver, number: int) -> float:
    """Return the processor time that a pod's life takes the driver."""
    pod = PodSandbox(
        id=f"sandbox{number}", uid=f"u{number}", namespace="default", name="pod", netns=POD
    )
    before = time.process_time()
    start_own_link("own", "pod")
    prepared = await driver.prepare(claim(number))
    attachment = await driver.attach(prepared.plans[0], pod)
    await driver.detach(attachment)
    await driver.unprepare(prepared)
    ip("link", "delete", "own")
    await asyncio.sleep(0.2)  # for what discovery makes of it
    return time.process_time() - before


async def lives(driver: LinkDriver, first: int) -> float:
    """Return the milliseconds of a pod's life, the mean of many."""
    await life(driver, first)
    return 1000 * sum([await life(driver, first + 1 + n) for n in range(LIVES)]) / LIVES


@asynccontextmanager
async def followed(driver: LinkDriver) -> AsyncIterator[asyncio.Queue[tuple[Device, ...]]]:
    """Follow the driver's devices meanwhile."""
    lists: asyncio.Queue[tuple[Device, ...]] = asyncio.Queue()

    async def follow() -> None:
        async with aclosing(driver.discover()) as found:
            async for devices in found:
                lists.put_nowait(devices)

    task = asyncio.create_task(follow())
    try:
        yield lists
    finally:
        task.cancel()
        await asyncio.wait([task])


async def change_one(lists: asyncio.Queue[tuple[Device, ...]]) -> float:
    """Return the milliseconds that one changed link takes, up to the slice to be written."""
    while not lists.empty():
        lists.get_nowait()
    with Rtnl.open() as rtnl:
        link = await find_link(rtnl, "many7")
        assert link is not None, "it was made"
        before = time.process_time()
        await rtnl.call(set_link(link.index, mtu=link.mtu - 1))
    devices = await lists.get()
    taken = time.process_time() - before
    assert len(devices) > LINKS
    return 1000 * taken


def plan(devices: tuple[Device, ...]) -> tuple[Operation, ...]:
    """Return how to write the slices of all devices."""
    return plan_slices(Pool(DRIVER, "node", "uid"), devices, (), accepted={})


def list_slices(devices: tuple[Device, ...]) -> float:
    """Return the milliseconds that it takes to work out the slices of all devices."""
    before = time.process_time()
    assert plan(devices)
    return 1000 * (time.process_time() - before)


async def publish(devices: tuple[Device, ...], url: str) -> float:
    """Return the milliseconds that this thread needs to work out the slices and to write them."""
    async with connect(Cluster(url, StoredSecrets())) as client:
        api = Api(client)
        await api()  # the version is known for long
        slices = KubeSlices(api, DRIVER, "node")
        before = time.thread_time()
        for operation in plan(devices):
            await slices.write(operation)
        return 1000 * (time.thread_time() - before)


@asynccontextmanager
async def api_server() -> AsyncIterator[str]:
    """Serve the embedded API in a thread; yields its URL."""

    async def serving() -> None:
        async with serve_api(Verbs(Store()), "127.0.0.1") as url:
            started.set_result(url)
            await asyncio.to_thread(ended.wait)

    started: Future[str] = Future()
    ended = threading.Event()
    async with own_loop("api") as server:
        serves = asyncio.create_task(server.call("api", serving))
        try:
            yield await asyncio.wrap_future(started)
        finally:
            ended.set()
            await serves


async def measure() -> None:
    """Measure and print."""
    build_node("pod")
    with tempfile.TemporaryDirectory() as directory:
        settings = LinkSettings(
            state_dir=Path(directory), lease_dir=Path(directory), pod_netns=("/run/netns/*",)
        )
        driver = link_driver(settings)
        async with followed(driver) as lists:
            await lists.get()
            empty = await lives(driver, 0)
            for number in range(PODS):
                ip("netns", "add", f"other{number}")
                start_own_link(f"own{number}", f"other{number}")
            beside_pods = await lives(driver, 1000)
            pairs = range(LINKS // 2)
            batch(*(f"link add many{n} type veth peer name end{n}" for n in pairs))
            while len(devices := await lists.get()) < LINKS:
                pass
            full = await lives(driver, 2000)
            changed = min([await change_one(lists) for _ in range(5)])
            listed = list_slices(devices)
            async with api_server() as url:
                published = await publish(devices, url)
    rows = [
        Row("a pod's life on an empty node", f"{empty:.1f} ms"),
        Row(f"the same beside {PODS} pods", f"{beside_pods:.1f} ms"),
        Row(f"beside {PODS} pods / alone", f"{beside_pods / empty:.2f}", "at most 1.2"),
        Row(f"and {LINKS} links / alone", f"{full / empty:.2f}", "at most 1.2"),
        Row(f"one changed link of {LINKS}", f"{changed:.1f} ms"),
        Row(f"slices of {LINKS} devices", f"{listed:.0f} ms"),
        Row("the same, written to the API", f"{published:.0f} ms", "below 1 s"),
    ]
    print_table("on a full node", rows)


def main() -> None:
    """Enter namespaces of our own, then measure."""
    if is_inside():
        asyncio.run(measure())
        return
    run_inside("growth")


if __name__ == "__main__":
    main()
