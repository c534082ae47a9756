"""What it costs to hold shares to their bandwidth: attaching, sending, waiting, and neighbours.

    python -m benchmarks.bandwidth

A macvlan with a limit beside one without, in turn, through the driver and its own plugins. What the
queues themselves cost is seen with a limit that is never reached. Runs in namespaces of its own,
which end with it.
"""

import asyncio
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.attach_exec import conflist
from benchmarks.own_node import build_node, ip, is_inside, run_inside
from benchmarks.table import Row, percentile, print_table
from lab.traffic import answer_times, loaded, rate
from netclaim.kernel import Netns, open_netns
from netclaim.model import AllocatedDevice, Attachment, Plan, PodSandbox
from netclaim.model.on_node.prepared import ClaimRef
from netclaim.network.build import link_driver
from netclaim.network.driver import LinkDriver
from netclaim.network.plan.interface_plan import InterfacePlan
from netclaim.network.policy.levels import Level
from netclaim.network.settings import LinkSettings

__all__ = ["main"]

ROUNDS = 60
TRAFFIC_ROUNDS = 3
ANSWERS = 200
CLAIMED = 300_000_000
NEVER_REACHED = 400_000_000_000
FAST = 4_000_000_000  # makes a stretch of traffic long enough where nothing is limited
OUTSIDE = "10.50.255.1"


def driver_in(directory: str) -> LinkDriver:
    """Return the driver with its own plugins."""
    settings = LinkSettings(
        state_dir=Path(directory),
        lease_dir=Path(directory),
        policy=Level.PRIVILEGED,  # the network names its own dataDir
    )
    return link_driver(settings)


def plan_of(driver: LinkDriver, store: str, bits: int) -> Plan:
    """Return a share of eth1."""
    device = AllocatedDevice(request="nic", driver=driver.name, pool="node", device="eth1")
    interface = InterfacePlan(if_name="net1", config=conflist(store), link="eth1", bandwidth=bits)
    claim = ClaimRef(f"uid-{bits}", "default", "bench")
    return Plan(claim=claim, device=device, network=interface.to_json())


def pod_of(number: int, netns: str = "pod") -> PodSandbox:
    """Return a sandbox with a namespace that exists."""
    path = f"/run/netns/{netns}"
    return PodSandbox(
        id=f"pod{number}", uid=f"u{number}", namespace="default", name="pod", netns=path
    )


async def time_attach(driver: LinkDriver, store: str) -> list[Row]:
    """Attach and detach with and without a limit, in turn."""
    taken: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    for number in range(ROUNDS):
        for bits in (0, CLAIMED):
            plan, pod = plan_of(driver, store, bits), pod_of(number)
            begun = time.perf_counter()
            attachment = await driver.attach(plan, pod)
            attached = time.perf_counter()
            await driver.detach(attachment)
            detached = time.perf_counter()
            taken["attach", bits].append(attached - begun)
            taken["detach", bits].append(detached - attached)
    rows = []
    for verb, goal in (("attach", "at most 1.3"), ("detach", "")):
        free, held = (percentile(taken[verb, bits], 0.5) for bits in (0, CLAIMED))
        rows += [
            Row(f"{verb} without a limit, p50", f"{1000 * free:.2f} ms"),
            Row(f"{verb} with a limit, p50", f"{1000 * held:.2f} ms"),
            Row(f"{verb} with / without", f"{held / free:.2f}", goal),
        ]
    return rows


@contextmanager
def outside() -> Iterator[Netns]:
    """Provide the other end of eth1's cable, in a namespace of its own."""
    ip("netns", "add", "outside")
    ip("link", "set", "peer1", "netns", "outside")
    ip("-n", "outside", "address", "add", f"{OUTSIDE}/16", "dev", "peer1")
    ip("-n", "outside", "link", "set", "peer1", "up")
    with open_netns("/run/netns/outside") as opened:
        yield opened


def address_of(attachment: Attachment) -> str:
    """Return the first address, without its prefix."""
    assert attachment.interface is not None
    return attachment.interface.ips[0].partition("/")[0]


@dataclass(frozen=True, slots=True)
class Site:
    """Pods on eth1 by their limit, with their addresses: none, never reached, a real one."""

    far: Netns
    pods: dict[int, tuple[Netns, str]]

    def sent(self, bits: int) -> float:
        """Return the rate at which a pod sends."""
        netns, _ = self.pods[bits]
        return rate(netns, self.far, OUTSIDE, expected=_expected(bits))

    def received(self, bits: int) -> float:
        """Return the rate at which a pod receives."""
        netns, address = self.pods[bits]
        return rate(self.far, netns, address, expected=_expected(bits))

    def answered(self, bits: int) -> float:
        """Return the median of the seconds that an answer to a pod takes."""
        netns, _ = self.pods[bits]
        return statistics.median(answer_times(netns, self.far, OUTSIDE, count=ANSWERS))

    def load(self, bits: int) -> AbstractContextManager[None]:
        """Let a pod send all it can while the block runs."""
        netns, _ = self.pods[bits]
        return loaded(netns, self.far, OUTSIDE)


def _expected(bits: int) -> int:
    return CLAIMED if bits == CLAIMED else FAST


def time_traffic(site: Site) -> list[Row]:
    """Send, receive and ask with and without limits, in turn; medians."""
    measured: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    for _ in range(TRAFFIC_ROUNDS):
        for bits in site.pods:
            measured["sent", bits].append(site.sent(bits))
            measured["received", bits].append(site.received(bits))
            measured["idle", bits].append(site.answered(bits))
            with site.load(bits):
                measured["busy", bits].append(site.answered(bits))
        with site.load(CLAIMED):
            measured["beside", 0].append(site.answered(0))
    middle = {key: statistics.median(values) for key, values in measured.items()}
    rows = []
    for way in ("sent", "received"):
        free = middle[way, 0]
        rows += [
            Row(f"{way} without a limit", f"{free / 1e9:.2f} Gbit/s"),
            Row(f"{way} far below a limit / without", f"{middle[way, NEVER_REACHED] / free:.2f}"),
            Row(f"{way} with 300M / 300M", f"{middle[way, CLAIMED] / CLAIMED:.3f}", "0.90 to 1.10"),
        ]
    for what, bits, when in (
        ("an answer without a limit", 0, "idle"),
        ("an answer with 300M", CLAIMED, "idle"),
        ("an answer without a limit, while it sends all it can", 0, "busy"),
        ("an answer with 300M, while it sends all it can", CLAIMED, "busy"),
        ("an answer without a limit, while 300M beside it send", 0, "beside"),
    ):
        rows.append(Row(what, f"{1000 * middle[when, bits]:.2f} ms"))
    return rows


async def measure() -> None:
    """Measure, and print."""
    build_node("pod")
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        driver, store = driver_in(directory), f"{directory}/store"
        rows = await time_attach(driver, store)
        far = stack.enter_context(outside())
        pods = {}
        for number, bits in enumerate((0, NEVER_REACHED, CLAIMED)):
            ip("netns", "add", f"pod{number}")
            pod = pod_of(number, f"pod{number}")
            attachment = await driver.attach(plan_of(driver, store, bits), pod)
            netns = stack.enter_context(open_netns(f"/run/netns/pod{number}"))
            pods[bits] = (netns, address_of(attachment))
        rows += time_traffic(Site(far, pods))
    print_table("shares held to their bandwidth (macvlan)", rows)


def main() -> None:
    """Enter namespaces of our own, then measure."""
    if is_inside():
        asyncio.run(measure())
        return
    run_inside("bandwidth")


if __name__ == "__main__":
    main()
