"""Shares of a link are held to their bandwidth, both ways, and leave nothing behind."""

import asyncio
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, aclosing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from structlog.testing import capture_logs

from lab.traffic import TOLERANCE, answer_times, fair_rate, loaded, rate
from netclaim.kernel import Netns, Rtnl, find_link
from netclaim.kernel.state.link_limit import is_limited, limit_link
from netclaim.model import Attachment, Interface, Plan
from netclaim.network.attach.bandwidth import TEND_S, BandwidthLimits, NotLimitedError
from netclaim.network.attach.reserved import ReservedBandwidth
from netclaim.network.driver import LinkDriver
from netclaim.network.plan.interface_plan import InterfacePlan
from netclaim.network.policy.levels import Level
from netclaim.network.settings.per_link import PerLink
from tests.support.kernel_support import fresh_netns, ip, ip_json
from tests.support.network_support import (
    claim_for,
    driver_for,
    name_of,
    plan_for,
    pod_of,
    run_on,
)

pytestmark = pytest.mark.embedded

BITS = 40_000_000  # low enough for a machine that is busy with other tests
OUTSIDE = {4: "10.30.0.1", 6: "2001:db8:30::1"}
INSIDE = {4: "10.30.0.2", 6: "2001:db8:30::2"}
IPAM = {
    "type": "static",
    "addresses": [
        {"address": f"{INSIDE[4]}/24", "gateway": OUTSIDE[4]},
        {"address": f"{INSIDE[6]}/64", "gateway": OUTSIDE[6]},
    ],
}
MACVLAN = {"type": "macvlan", "ipam": IPAM}
OTHER = {"type": "macvlan"}


@pytest.fixture
def outside(node: Netns) -> Iterator[Netns]:
    """What is at the other end of eth1's cable."""
    with fresh_netns() as made:
        ip(node, "link", "set", "eth1-peer", "netns", name_of(made))
        settle(made, "eth1-peer")
        yield made


@pytest.fixture
def driver(tmp_path: Path, cni_plugins: Path) -> LinkDriver:
    """The driver of that node."""
    return driver_for(tmp_path / "state", cni_plugins)


def settle(netns: Netns, link: str) -> None:
    """Give a link the addresses of what is outside, and switch it on."""
    ip(netns, "address", "add", f"{OUTSIDE[4]}/24", "dev", link)
    ip(netns, "address", "add", f"{OUTSIDE[6]}/64", "dev", link, "nodad")
    ip(netns, "link", "set", link, "up")


def with_bandwidth(plan: Plan, bits: int = BITS) -> Plan:
    """The plan of a share that consumes so much of its link."""
    assert plan.network is not None
    return msgspec.structs.replace(plan, network={**plan.network, "bandwidth": bits})


def attach(
    node: Netns,
    pod: Netns,
    driver: LinkDriver,
    plugin: dict[str, Any] = MACVLAN,
    *,
    ifname: str = "net1",
    device: str = "eth1",
    bits: int = BITS,
) -> Attachment:
    """Prepare and attach a share of a link."""

    async def work() -> Attachment:
        claim = claim_for(plugin, ifname=ifname, device=device, uid=f"claim-of-{ifname}")
        return await driver.attach(with_bandwidth(await plan_for(driver, claim), bits), pod_of(pod))

    return run_on(node, work)


def qdiscs(netns: Netns) -> list[tuple[str, str]]:
    """The queues in a namespace that somebody made, by link, as `tc` shows them."""
    command = ["tc", "-netns", name_of(netns), "-json", "qdisc", "show"]
    shown = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return sorted((q["dev"], q["kind"]) for q in shown if q["kind"] not in {"noqueue", "noop"})


def kinds(netns: Netns) -> set[str]:
    """The kinds of link in a namespace."""
    return {link.get("linkinfo", {}).get("info_kind", "") for link in ip_json(netns, "link")}


def limited(netns: Netns, ifname: str, bits: int = BITS) -> bool:
    """Whether an interface is limited both ways."""

    async def look() -> bool:
        with Rtnl.open() as rtnl:
            link = await find_link(rtnl, ifname)
            return link is not None and await is_limited(rtnl, link.index, bits, mtu=link.mtu)

    return run_on(netns, look)


def check_rates(pod: Netns, outside: Netns, version: int = 4, protocol: str = "tcp") -> None:
    """Payload flows both ways at the limit, within a tenth."""
    ways = ((pod, outside, OUTSIDE[version]), (outside, pod, INSIDE[version]))
    for sender, receiver, address in ways:
        part = fair_rate(sender, receiver, address, expected=BITS, protocol=protocol)
        assert abs(part - 1) <= TOLERANCE


def test_a_macvlan_is_limited_both_ways(
    node: Netns, pod: Netns, outside: Netns, driver: LinkDriver
) -> None:
    """TCP and UDP get what was claimed, by both families; detach leaves no queue and no link."""
    attachment = attach(node, pod, driver)
    assert attachment.data["bandwidth"] == "40M"
    for version in (4, 6):
        for protocol in ("tcp", "udp"):
            check_rates(pod, outside, version, protocol)
    run_on(node, lambda: driver.detach(attachment))
    assert kinds(pod) == {""}
    assert qdiscs(pod) == []
    run_on(node, lambda: driver.detach(attachment))


def test_a_macvlan_by_a_program_is_limited(
    node: Netns, pod: Netns, outside: Netns, tmp_path: Path, cni_plugins: Path
) -> None:
    """The limit is the same no matter what makes the interface."""
    driver = driver_for(tmp_path / "state", cni_plugins, exec_plugins=frozenset({"macvlan"}))
    attachment = attach(node, pod, driver)
    check_rates(pod, outside)
    run_on(node, lambda: driver.detach(attachment))
    assert kinds(pod) == {""}


@pytest.mark.parametrize("plugin", ["ptp", "bridge"])
def test_pairs_are_limited(
    plugin: str, node: Netns, pod: Netns, tmp_path: Path, cni_plugins: Path
) -> None:
    """An interface whose other end is on the node is limited as one on a cable is."""
    trusting = {"policy": Level.PRIVILEGED, "policy_ceiling": Level.PRIVILEGED}
    driver = driver_for(tmp_path / "state", cni_plugins, **trusting)
    network: dict[str, Any] = {"type": plugin, "ipam": IPAM}
    ip(node, "link", "add", "br7", "type", "bridge")
    if plugin == "bridge":
        settle(node, "br7")
        network["bridge"] = "br7"
    attachment = attach(node, pod, driver, network, device="br7")
    check_rates(pod, node, 6 if plugin == "bridge" else 4)  # the other gateway is checked first
    run_on(node, lambda: driver.detach(attachment))
    assert kinds(pod) == {""}
    assert kinds(node) == {"", "veth", "bridge"}


def test_two_shares_in_one_pod(node: Netns, pod: Netns, outside: Netns, driver: LinkDriver) -> None:
    """Each has a limit of its own, and keeps it when the other goes."""
    first = attach(node, pod, driver)
    second = attach(node, pod, driver, OTHER, ifname="net2", bits=2 * BITS)
    assert limited(pod, "net1")
    assert limited(pod, "net2", 2 * BITS)
    run_on(node, lambda: driver.detach(second))
    assert limited(pod, "net1")
    check_rates(pod, outside)
    run_on(node, lambda: driver.detach(first))
    assert kinds(pod) == {""}


def test_pods_of_one_claim_divide_its_bandwidth(
    node: Netns, pod: Netns, driver: LinkDriver, tmp_path: Path, cni_plugins: Path
) -> None:
    """Each has an equal part while they run, also by a driver that was restarted meanwhile."""
    with fresh_netns() as other:

        async def attach_both() -> list[Attachment]:
            plan = with_bandwidth(await plan_for(driver, claim_for(OTHER)))
            pods = (pod_of(pod), pod_of(other, "demo-b", "6c8d1957"))
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(driver.attach(plan, each)) for each in pods]
            return [task.result() for task in tasks]

        first, second = run_on(node, attach_both)
        assert limited(pod, "net1", BITS // 2)
        assert limited(other, "net1", BITS // 2)
        assert metrics(driver)["netclaim_link_limits_bits_per_second"] == BITS

        later = driver_for(tmp_path / "state", cni_plugins)
        for each in (first, second):
            run_on(node, partial(later.mend, each))
        assert limited(pod, "net1", BITS // 2)
        run_on(node, lambda: later.detach(second))
        assert limited(pod, "net1", BITS)
        assert metrics(later)["netclaim_limits_restored_total"] == 0


def test_a_link_that_is_not_limited_has_no_queue(
    node: Netns, pod: Netns, driver: LinkDriver
) -> None:
    """Nothing is made, and nothing shown, for an interface that may use all there is."""
    attachment = attach(node, pod, driver, bits=0)
    assert "bandwidth" not in attachment.data
    assert qdiscs(pod) == []
    assert kinds(pod) == {"", "macvlan"}


def test_a_sandbox_begins_anew(node: Netns, pod: Netns, driver: LinkDriver) -> None:
    """The same share can be attached again after detach, in this namespace or another."""
    for _ in range(3):
        attachment = attach(node, pod, driver)
        assert limited(pod, "net1")
        run_on(node, lambda: driver.detach(attachment))  # noqa: B023 (called at once)
        assert kinds(pod) == {""}
    with fresh_netns() as another:
        attach(node, another, driver)
        assert limited(another, "net1")


def test_another_process_undoes_it(
    node: Netns, pod: Netns, driver: LinkDriver, tmp_path: Path, cni_plugins: Path
) -> None:
    """A driver that was restarted learns of a limit when it is asked, and removes all of it."""
    attachment = attach(node, pod, driver)
    later = driver_for(tmp_path / "state", cni_plugins)
    run_on(node, lambda: later.mend(attachment))
    assert metrics(later)["netclaim_link_limits_bits_per_second"] == BITS
    assert metrics(later)["netclaim_limits_restored_total"] == 0
    run_on(node, lambda: later.detach(attachment))
    assert kinds(pod) == {""}
    assert qdiscs(pod) == []


def test_an_interface_that_cannot_be_limited_is_not_attached(
    node: Netns, pod: Netns, driver: LinkDriver
) -> None:
    """The error says what failed; detach, which follows, leaves nothing, nor does a new process."""
    # The two have the indices 2 and 3, the interface has 4, and what would be beside it this name.
    ip(pod, "link", "add", "limit4", "type", "veth", "peer", "name", "limit3")
    made = with_bandwidth(run_on(node, lambda: plan_for(driver, claim_for(MACVLAN))))
    with pytest.raises(NotLimitedError, match="cannot limit the bandwidth of net1: create ifb"):
        run_on(node, lambda: driver.attach(made, pod_of(pod)))
    run_on(node, lambda: driver.detach(Attachment(made, pod_of(pod))))
    assert kinds(pod) == {"", "veth"}
    assert qdiscs(pod) == []
    assert "netclaim_link_attachments" not in metrics(driver)


@pytest.mark.parametrize(
    "lifted",
    [
        "tc qdisc delete dev net1 root",
        "tc qdisc replace dev net1 root handle 7: pfifo",
        "tc qdisc delete dev net1 ingress",
        "tc filter delete dev net1 ingress",
        "ip link delete LIMIT",
        "tc qdisc change dev LIMIT root tbf rate 9gbit burst 9mb latency 9ms",
    ],
)
def test_a_limit_that_a_pod_lifts_comes_back(
    lifted: str, node: Netns, pod: Netns, driver: LinkDriver
) -> None:
    """Mending the interface puts it back, and counts that; no second time does."""
    attachment = attach(node, pod, driver)
    beside = next(each["ifname"] for each in ip_json(pod, "link") if "limit" in each["ifname"])
    program, *arguments = lifted.replace("LIMIT", beside).split()
    subprocess.run([program, "-n", name_of(pod), *arguments], check=True)
    assert not limited(pod, "net1")
    for _ in range(2):
        run_on(node, lambda: driver.mend(attachment))
        assert limited(pod, "net1")
        assert metrics(driver)["netclaim_limits_restored_total"] == 1
    run_on(node, lambda: driver.detach(attachment))
    assert kinds(pod) == {""}


def test_limits_are_looked_at_now_and_then(node: Netns, pod: Netns, driver: LinkDriver) -> None:
    """All that are known, also those of a renamed interface, but not at every opportunity."""
    attachment = attach(node, pod, driver)
    seconds = [1000.0]
    reserved = ReservedBandwidth("d", lambda _: 0, lambda: True)
    limits = BandwidthLimits("d", lambda: seconds[0], reserved)
    limits.note(attachment)
    run_on(node, limits.tend)
    ip(pod, "link", "set", "net1", "name", "mine")
    subprocess.run(["tc", "-n", name_of(pod), "qdisc", "delete", "dev", "mine", "root"], check=True)
    run_on(node, limits.tend)
    assert not limited(pod, "mine")
    seconds[0] += TEND_S
    run_on(node, limits.tend)
    assert limited(pod, "mine")


def test_shares_are_counted_by_link(node: Netns, pod: Netns, driver: LinkDriver) -> None:
    """As many as there are, and the bandwidth they have together; a new process learns of them."""
    attachment = attach(node, pod, driver)
    attach(node, pod, driver, OTHER, ifname="net2", bits=2 * BITS)
    assert metrics(driver)["netclaim_link_attachments"] == 2
    assert metrics(driver)["netclaim_link_limits_bits_per_second"] == 3 * BITS
    run_on(node, lambda: driver.detach(attachment))
    assert metrics(driver)["netclaim_link_limits_bits_per_second"] == 2 * BITS


NEIGHBOUR = {
    "type": "macvlan",
    "ipam": {"type": "static", "addresses": [{"address": "10.30.0.3/24"}]},
}
LINK_BITS, ASKED = 200_000_000, 120_000_000  # of which a neighbour would leave a half or less


@pytest.fixture
def narrow(
    node: Netns, outside: Netns, tmp_path: Path, cni_plugins: Path
) -> Callable[..., LinkDriver]:
    """Make a driver for eth1 as a link of 200M, whose cable carries a tenth more."""

    async def limit() -> None:
        with Rtnl.open() as rtnl:
            link = await find_link(rtnl, "eth1-peer")
            assert link is not None
            await limit_link(rtnl, link.index, LINK_BITS * 11 // 10, mtu=link.mtu)

    def made(**settings: Any) -> LinkDriver:
        links = PerLink((("", LINK_BITS),))
        driver = driver_for(tmp_path / "state", cni_plugins, link_bandwidth=links, **settings)

        async def discover() -> None:
            async with aclosing(driver.discover()) as lists:
                await anext(lists)

        run_on(node, discover)
        return driver

    run_on(outside, limit)
    return made


@contextmanager
def flooded(sender: Netns, receiver: Netns) -> Iterator[None]:
    """Connections that each send all they can."""
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(loaded(sender, receiver, OUTSIDE[4]))
        yield


def attach_two(node: Netns, pod: Netns, other: Netns, driver: LinkDriver) -> tuple[Attachment, ...]:
    """A pod that asked for bandwidth, beside one that asked for none."""
    neighbour = pod_of(other, "demo-b", "6c8d1957")

    async def work() -> tuple[Attachment, ...]:
        plan = await plan_for(driver, claim_for(NEIGHBOUR, ifname="net2", uid="neighbour"))
        return (await driver.attach(with_bandwidth(plan, 0), neighbour),)

    return (attach(node, pod, driver, bits=ASKED), *run_on(node, work))


def test_what_was_asked_for_is_kept(
    node: Netns, pod: Netns, outside: Netns, narrow: Callable[..., LinkDriver]
) -> None:
    """A neighbour that asked for nothing fills the link, and takes nothing of it."""
    with fresh_netns() as other:
        attachments = attach_two(node, pod, other, driver := narrow())
        assert qdiscs(node) == [("eth1", "htb")]
        with flooded(other, outside):
            kept = fair_rate(pod, outside, OUTSIDE[4], expected=ASKED)
            rest = rate(other, outside, OUTSIDE[4], expected=LINK_BITS)
        assert abs(kept - 1) <= TOLERANCE
        assert rest > 0
        for each in attachments:
            run_on(node, partial(driver.detach, each))
        assert qdiscs(node) == []


def test_nothing_is_kept_if_the_nodes_owner_says_so(
    node: Netns, pod: Netns, outside: Netns, narrow: Callable[..., LinkDriver]
) -> None:
    """Without a queue on the link, a neighbour that fills it takes from what was asked for."""
    with fresh_netns() as other:
        attach_two(node, pod, other, narrow(protect_bandwidth=False))
        assert qdiscs(node) == []
        with flooded(other, outside):
            had = rate(pod, outside, OUTSIDE[4], expected=ASKED)
        assert had < (1 - TOLERANCE) * ASKED


def test_a_queue_of_somebody_else_stays(
    node: Netns, pod: Netns, outside: Netns, narrow: Callable[..., LinkDriver]
) -> None:
    """The interface is attached and limited all the same, and the log says what is missing."""
    tc = ["tc", "-n", name_of(node), "qdisc", "replace", "dev", "eth1", "root", "handle", "7:"]
    subprocess.run([*tc, "pfifo"], check=True)
    with capture_logs() as logs:
        attachment = attach(node, pod, driver := narrow())
    assert [each["link"] for each in logs if each["event"] == "attach.not_reserved"] == ["eth1"]
    run_on(node, partial(driver.detach, attachment))
    assert qdiscs(node) == [("eth1", "pfifo")]


def test_what_is_kept_comes_back(
    node: Netns, pod: Netns, narrow: Callable[..., LinkDriver]
) -> None:
    """A queue that was removed is there after the next look, and one left over is gone."""
    attachment = attach(node, pod, first := narrow())
    limits = BandwidthLimits(
        "d", lambda: 1000.0, ReservedBandwidth(first.name, lambda _: LINK_BITS, lambda: True)
    )
    limits.note(attachment)
    run_on(node, limits.tend)
    assert qdiscs(node) == [("eth1", "htb")]
    subprocess.run(
        ["tc", "-n", name_of(node), "qdisc", "delete", "dev", "eth1", "root"], check=True
    )
    run_on(node, limits.reserved.tend)
    assert qdiscs(node) == [("eth1", "htb")]
    later = ReservedBandwidth(first.name, lambda _: LINK_BITS, lambda: True)
    run_on(node, later.tend)
    assert qdiscs(node) == [("eth1", "htb")]  # whose interfaces may not be known yet
    run_on(node, later.tend)
    assert qdiscs(node) == []


def test_classes_of_links_that_share_their_address(
    node: Netns, pod: Netns, outside: Netns, driver: LinkDriver
) -> None:
    """An interface with the link's own MAC is known by its addresses, of both families."""
    attached = attach(node, pod, driver, bits=0)
    (mac,) = (each["address"] for each in ip_json(node, "link") if each["ifname"] == "eth1")
    interface = Interface("net1", mac, (f"{INSIDE[4]}/24", f"{INSIDE[6]}/64"))
    plan = InterfacePlan("net1", {"type": "ipvlan"}, link="eth1", bandwidth=BITS)
    reserved = ReservedBandwidth(driver.name, lambda _: LINK_BITS, lambda: True)
    reserved.note(msgspec.structs.replace(attached, interface=interface), plan)
    run_on(node, partial(reserved.settle, "eth1"))
    for address in OUTSIDE.values():
        before = sent_first(node)
        assert answer_times(pod, outside, address, count=3)
        assert sent_first(node) >= before + 3


def sent_first(node: Netns) -> int:
    """How many packets have left eth1 in the class of those who asked for bandwidth."""
    command = ["tc", "-n", name_of(node), "-s", "class", "show", "dev", "eth1"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (packets,) = re.findall(r"class htb \w+:10 .*\n Sent \d+ bytes (\d+) pkt", shown)
    return int(packets)


def metrics(driver: LinkDriver) -> dict[str, float]:
    """What the driver counts, by name; all of it has one series here."""
    registry = CollectorRegistry()
    for each in driver.collectors():
        registry.register(each)
    lines = generate_latest(registry).decode().splitlines()
    return {line.partition("{")[0]: float(line.split()[-1]) for line in lines if line[0] != "#"}
