"""Shares of a link are held to their bandwidth, both ways, and leave nothing behind."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from lab.traffic import TOLERANCE, fair_rate
from netclaim.kernel import Netns, Rtnl, find_link
from netclaim.kernel.state.link_limit import is_limited
from netclaim.model import Attachment, Plan
from netclaim.network.attach.bandwidth import TEND_S, BandwidthLimits, NotLimitedError
from netclaim.network.driver import LinkDriver
from netclaim.network.policy.levels import Level
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
    limits = BandwidthLimits("d", lambda: seconds[0])
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


def metrics(driver: LinkDriver) -> dict[str, float]:
    """What the driver counts, by name; all of it has one series here."""
    registry = CollectorRegistry()
    for each in driver.collectors():
        registry.register(each)
    lines = generate_latest(registry).decode().splitlines()
    return {line.partition("{")[0]: float(line.split()[-1]) for line in lines if line[0] != "#"}
