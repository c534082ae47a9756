"""Several devices for one request, and several pods on one claim: real links, real namespaces."""

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from netclaim.framework.attach.errors import AttachError
from netclaim.framework.report.claim_status import compose, device_statuses
from netclaim.kernel import Netns
from netclaim.model import (
    AllocatedDevice,
    Attachment,
    Claim,
    JsonObject,
    Plan,
    PodSandbox,
    Prepared,
)
from netclaim.model.claims.claim import Consumer
from netclaim.network.driver import LinkDriver
from tests.support.framework.parts import ScriptedDriver, Stage, moved, stage_in
from tests.support.kernel_support import fresh_netns, ip, ip_json
from tests.support.network_parts import DRIVER, TYPED, claim_of, config_of, device_of
from tests.support.network_support import driver_for, host_local, leases, pod_of, run_on

pytestmark = pytest.mark.embedded

LINKS = tuple(f"eth{number}" for number in range(1, 9))
# Not in the order of the names: what counts is the order of the allocation's results.
GIVEN = ("eth5", "eth1", "eth8", "eth2", "eth7", "eth3", "eth6", "eth4")
NOW = datetime(2030, 1, 1, tzinfo=UTC)
SEVEN: dict[str, Any] = {
    "type": "host-local",
    "ranges": [[{"subnet": "10.10.1.0/24", "rangeStart": "10.10.1.2", "rangeEnd": "10.10.1.8"}]],
}


class WiredDriver(ScriptedDriver):
    """The network driver, with what a test scripts before its calls."""

    def __init__(self, real: LinkDriver) -> None:
        super().__init__()
        self.name = real.name
        self._real = real
        self._attached = 0
        self._changed = asyncio.Event()

    async def prepare(self, claim: Claim) -> Prepared:
        """As the network driver does it."""
        await self._call(f"prepare {claim.name}")
        return await self._real.prepare(claim)

    async def unprepare(self, prepared: Prepared) -> None:
        """As the network driver does it."""
        await self._real.unprepare(prepared)

    async def attach(self, plan: Plan, pod: PodSandbox) -> Attachment:
        """As the network driver does it."""
        await self._call(f"attach {plan.device.device}")
        attachment = await self._real.attach(plan, pod)
        self._attached += 1
        self._changed.set()
        return attachment

    async def wait_attached(self, count: int) -> None:
        """Return once so many calls of `attach` have succeeded."""
        while self._attached < count:
            self._changed.clear()
            await self._changed.wait()

    async def detach(self, attachment: Attachment) -> None:
        """As the network driver does it."""
        await self._real.detach(attachment)

    async def is_attached(self, attachment: Attachment) -> bool:
        """As the network driver sees it."""
        return await self._real.is_attached(attachment)


@pytest.fixture
def node() -> Iterator[Netns]:
    """A node with eight links."""
    with fresh_netns() as made:
        for link in LINKS:
            ip(made, "link", "add", link, "type", "veth", "peer", "name", f"{link}-peer")
            ip(made, "link", "set", link, "up")
        yield made


@pytest.fixture
def pods() -> Iterator[tuple[Netns, ...]]:
    """The namespaces of four sandboxes."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(fresh_netns()) for _ in range(4))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The driver's own directory."""
    return tmp_path / "state"


def wired(state: Path) -> WiredDriver:
    """The driver as a new process has it."""
    return WiredDriver(driver_for(state, state / "no-programs"))


def claim_on(
    devices: tuple[AllocatedDevice, ...],
    *pods: str,
    uid: str = "claim-1",
    ifname: str = "net%d",
    **plugin: Any,
) -> Claim:
    """A claim with devices for one request, reserved for pods."""
    written = {"type": "macvlan", "mode": "bridge", "ipam": host_local()} | plugin
    network = {"cniVersion": "1.0.0", "name": "a-network", "plugins": [written]}
    config = config_of(TYPED | {"ifName": ifname, "config": network}, "net")
    reserved = tuple(Consumer("pods", pod, f"uid-of-{pod}") for pod in pods)
    return moved(claim_of(config, devices=devices), uid=uid, name=uid, reserved_for=reserved)


def links_in(netns: Netns) -> dict[str, int]:
    """The links of a namespace beside its loopback, and the link that each is on."""
    found = ip_json(netns, "link", "show")
    return {link["ifname"]: link.get("link_index", 0) for link in found if link["ifname"] != "lo"}


def ips_in(netns: Netns) -> dict[str, list[str]]:
    """The IPv4 addresses of each link."""
    return {
        link["ifname"]: [
            f"{each['local']}/{each['prefixlen']}"
            for each in link["addr_info"]
            if each["family"] == "inet"
        ]
        for link in ip_json(netns, "address", "show")
        if link["ifname"] != "lo"
    }


def status_of(stage: Stage, claim: Claim) -> JsonObject:
    """What the claim's status says of its first device."""
    booking = stage.journal.bookings[claim.uid]
    report = compose(booking, stage.journal.leases_of_claim(claim.uid), {}, None, NOW)
    return device_statuses(report, "NetworkInterface")[0]


async def refused(stage: Stage, pod: PodSandbox, why: str) -> None:
    """Attach, which fails, and roll back as the runtime's hooks do; nothing is left to undo."""
    with pytest.raises(AttachError, match=why):
        await stage.attach(pod)
    await stage.release(pod)
    assert stage.journal.leases == {}


def test_eight_links_for_one_request(
    node: Netns, pods: tuple[Netns, ...], state: Path, tmp_path: Path
) -> None:
    """Each device is an interface with its own address, numbered as they were allocated."""
    pod = pod_of(pods[0])
    claim = claim_on(tuple(device_of("net", each) for each in GIVEN), pod.name)

    async def attach() -> None:
        async with stage_in(tmp_path, claim, driver=wired(state)) as stage:
            await stage.preparer.prepare(claim.ref)
            await stage.attach(pod)

    async def again_and_release() -> None:
        async with stage_in(tmp_path, claim, driver=wired(state)) as stage:
            await stage.preparer.prepare(claim.ref)
            await stage.attach(pod)
            assert stage.driver.calls == []
            await stage.release(pod)
            await stage.preparer.unprepare(claim.ref)
            assert (stage.journal.leases, stage.journal.bookings) == ({}, {})

    run_on(node, attach)
    indices = {link["ifname"]: link["ifindex"] for link in ip_json(node, "link", "show")}
    assert links_in(pods[0]) == {f"net{n}": indices[link] for n, link in enumerate(GIVEN)}
    seen = ips_in(pods[0])
    assert {len(each) for each in seen.values()} == {1}
    assert len({ip for each in seen.values() for ip in each}) == 8
    run_on(node, again_and_release)
    assert links_in(pods[0]) == {}
    assert leases(state) == []


def test_one_that_fails_undoes_the_others(
    node: Netns, pods: tuple[Netns, ...], state: Path, tmp_path: Path
) -> None:
    """Eight links and seven addresses: the pod gets nothing, and others have what it gave back."""
    greedy = claim_on(tuple(device_of("net", each) for each in GIVEN), "a", ipam=SEVEN)
    # Once as many as there are addresses: none is still reserved.
    admin = tuple(msgspec.structs.replace(d, admin_access=True) for d in greedy.devices[:7])
    modest = claim_on(admin, "b", uid="claim-2", ipam=SEVEN)
    first, second = (pod_of(ns, name, name) for ns, name in zip(pods[:2], "ab", strict=True))

    async def scenario() -> None:
        async with stage_in(tmp_path, greedy, modest, driver=wired(state)) as stage:
            await stage.preparer.prepare(greedy.ref)
            await refused(stage, first, "no IP addresses available")
            assert links_in(pods[0]) == {}
            assert leases(state) == []
            await stage.preparer.prepare(modest.ref)
            await stage.attach(second)
            assert links_in(pods[1]).keys() == {f"net{number}" for number in range(7)}
            assert len(leases(state)) == 7

    run_on(node, scenario)


def test_links_that_left_the_node_come_back_together(
    node: Netns, pods: tuple[Netns, ...], state: Path, tmp_path: Path
) -> None:
    """A name that the pod has already keeps eight whole links from leaving the node."""
    ip(pods[0], "link", "add", "net5", "type", "veth", "peer", "name", "other")
    claim = claim_on(
        tuple(device_of("net", each) for each in GIVEN), "a", type="host-device", mode=None
    )
    pod = pod_of(pods[0], "a")

    async def scenario() -> None:
        async with stage_in(tmp_path, claim, driver=wired(state)) as stage:
            await stage.preparer.prepare(claim.ref)
            await refused(stage, pod, "already has an interface named 'net5'")

    run_on(node, scenario)
    assert links_in(pods[0]).keys() == {"net5", "other"}
    there = {link["ifname"]: link["flags"] for link in ip_json(node, "link", "show")}
    assert all("UP" in there[link] for link in LINKS)
    assert leases(state) == []


def test_a_driver_that_ends_between_two_of_them(
    node: Netns, pods: tuple[Netns, ...], state: Path, tmp_path: Path
) -> None:
    """What a process did before it ended is undone by the next, and then all are attached."""
    pod = pod_of(pods[0], "a")
    claim = claim_on(tuple(device_of("net", each) for each in GIVEN), "a")

    async def end_halfway() -> None:
        driver = wired(state)
        async with stage_in(tmp_path, claim, driver=driver) as stage:
            await stage.preparer.prepare(claim.ref)
            begun = [stage.driver.hang(f"attach {link}") for link in GIVEN[4:]]
            request = stage.reconciler.request(pod, "chain")
            for each in begun:
                await each.wait()
            await driver.wait_attached(4)
            assert len(links_in(pods[0])) == 4
            await request.cancel()

    async def go_on() -> None:
        async with stage_in(tmp_path, claim, driver=wired(state)) as stage:
            assert len(stage.sandboxes.unsettled()) == 1
            await stage.sweep()
            assert links_in(pods[0]) == {}
            assert leases(state) == []
            await stage.attach(pod)

    run_on(node, end_halfway)
    run_on(node, go_on)
    assert links_in(pods[0]).keys() == {f"net{number}" for number in range(8)}


def test_shares_of_one_link_in_one_pod(
    node: Netns, pods: tuple[Netns, ...], state: Path, tmp_path: Path
) -> None:
    """Shares of one link are interfaces of their own on it."""
    pod = pod_of(pods[0], "a")
    shares = tuple(AllocatedDevice("net", DRIVER, "kind-worker", "eth1", one) for one in "xyz")
    claim = claim_on(shares, "a")

    async def scenario() -> None:
        async with stage_in(tmp_path, claim, driver=wired(state)) as stage:
            await stage.preparer.prepare(claim.ref)
            await stage.attach(pod)
            assert len(set(links_in(pods[0]).values())) == 1
            assert links_in(pods[0]).keys() == {"net0", "net1", "net2"}
            booking = stage.journal.bookings[claim.uid]
            report = compose(booking, stage.journal.leases_of_claim(claim.uid), {}, None, NOW)
            entries = device_statuses(report, "NetworkInterface")
            shown = {each["shareID"]: each["networkData"]["interfaceName"] for each in entries}
            assert shown == {"x": "net0", "y": "net1", "z": "net2"}
            await stage.preparer.unprepare(claim.ref)
            await stage.release(pod)
            assert links_in(pods[0]) == {}

    run_on(node, scenario)


@pytest.mark.parametrize("order", list(itertools.permutations("abc")), ids="".join)
def test_pods_of_a_shared_claim_end_in_any_order(
    order: tuple[str, ...], node: Netns, pods: tuple[Netns, ...], state: Path, tmp_path: Path
) -> None:
    """Each keeps its own interface while others come back and end; the last one cleans up."""
    claim = claim_on((device_of("net", "eth1"),), "a", "b", "c", ifname="net1")
    boxes = {name: pod_of(ns, name, name) for ns, name in zip(pods[:3], "abc", strict=True)}
    again = pod_of(pods[3], "b", "b-again")

    def ips_of(box: PodSandbox) -> list[str]:
        (found,) = [ips_in(ns)["net1"] for ns in pods if ns.path == box.netns]
        return found

    async def begin() -> None:
        async with stage_in(tmp_path, claim, driver=wired(state)) as stage:
            await stage.preparer.prepare(claim.ref)
            for box in boxes.values():
                await stage.attach(box)
            shown = status_of(stage, claim)
            assert [pod["name"] for pod in shown["data"]["pods"]] == ["a", "b", "c"]

    async def end() -> None:
        async with stage_in(tmp_path, claim, driver=wired(state)) as stage:
            await stage.attach(again)  # the sandbox is made anew
            assert links_in(pods[1]) == {}
            left = boxes | {"b": again}
            for name in order:
                shown = status_of(stage, claim)
                listed = shown["data"].get("pods", [{"name": name} | shown["networkData"]])
                assert {pod["name"]: pod["ips"] for pod in listed} == {
                    each.name: ips_of(each) for each in left.values()
                }
                await stage.release(left.pop(name))
                assert len(leases(state)) == len(left)
            await stage.preparer.unprepare(claim.ref)
            assert (stage.journal.leases, stage.journal.bookings) == ({}, {})

    run_on(node, begin)
    run_on(node, end)
    assert all(links_in(each) == {} for each in pods)
