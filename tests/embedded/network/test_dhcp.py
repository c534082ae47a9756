"""Addresses by DHCP: the driver's client and a real server, over real links."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from netclaim.cni import CniError
from netclaim.kernel import Netns
from netclaim.kernel.host.syscalls import CLONE_NEWNET, setns
from netclaim.model import Attachment, Claim, Interface, Plan, PodSandbox
from netclaim.network.driver import LinkDriver
from netclaim.network.metrics.table import DHCP_RENEWALS
from netclaim.network.policy.levels import LABEL
from tests.support.dhcp_servers import ROUTER, serving, udhcpd
from tests.support.kernel_support import fresh_netns, ip, ip_json
from tests.support.killed import killed_at
from tests.support.network_support import claim_for, driver_for, plan_for, pod_of, run_on

pytestmark = pytest.mark.embedded

DHCP: dict[str, Any] = {"type": "dhcp"}
STEPS_AT_LEAST = 8  # of an attach: messages to the kernel and to the server, files


@pytest.fixture
def driver(tmp_path: Path, cni_plugins: Path) -> LinkDriver:
    """The driver of a node."""
    return driver_for(tmp_path / "state", cni_plugins)


def privileged(claim: Claim) -> Claim:
    """The claim of a namespace that may do everything."""
    return msgspec.structs.replace(claim, namespace_labels={LABEL: "privileged"})


@asynccontextmanager
async def discovering(driver: LinkDriver) -> AsyncIterator[None]:
    """The driver as it runs, inside the block."""

    async def discover() -> None:
        async for _ in driver.discover():
            pass

    task = asyncio.create_task(discover())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def renewals(driver: LinkDriver) -> dict[str, float]:
    """How often leases were renewed, and not renewed."""
    return {
        sample.labels["result"]: sample.value
        for collector in driver.collectors()
        for family in collector.collect()
        for sample in family.samples
        if sample.name == DHCP_RENEWALS.name
    }


def addresses(netns: Netns, link: str = "net1") -> list[str]:
    """The IPv4 addresses that a link has."""
    (found,) = ip_json(netns, "address", "show", link)
    return [
        f"{each['local']}/{each['prefixlen']}"
        for each in found["addr_info"]
        if each["family"] == "inet"
    ]


@pytest.mark.parametrize(
    "plugin",
    [
        {"type": "macvlan"},
        {"type": "host-device"},
        {"type": "bridge", "bridge": "br-dhcp"},
    ],
    ids=lambda plugin: plugin["type"],
)
def test_a_server_gives_a_pod_its_address(
    node: Netns, pod: Netns, driver: LinkDriver, tmp_path: Path, plugin: dict[str, Any]
) -> None:
    """The interface has the address and the routes that the server gives, and gives them back."""
    claim = privileged(claim_for(plugin | {"ipam": DHCP}))

    async def attach() -> Attachment:
        return await driver.attach(await plan_for(driver, claim), pod_of(pod))

    with udhcpd(node, "eth1-peer", tmp_path / "server") as server:
        if plugin["type"] == "bridge":
            ip(node, "link", "add", "br-dhcp", "type", "bridge")
            ip(node, "link", "set", "eth1", "master", "br-dhcp", "up")
        attachment = run_on(node, attach)
        assert attachment.interface is not None
        (address,) = addresses(pod)
        assert attachment.interface.ips == (address,)
        assert address.startswith("10.9.0.1")
        (route,) = ip_json(pod, "route", "show", "default")
        assert (route["gateway"], route["dev"]) == (ROUTER, "net1")
        assert [each.address for each in server.leases()] == [address.partition("/")[0]]
        run_on(node, lambda: driver.detach(attachment))
        assert server.wait_released()
        assert list(tmp_path.glob("state/plugins/dhcp/*")) == []
        run_on(node, lambda: driver.detach(attachment))


def test_a_lease_is_renewed(node: Netns, pod: Netns, driver: LinkDriver, tmp_path: Path) -> None:
    """It is as soon as the server wants it, by one process of the driver and by the next."""
    claim = claim_for({"type": "macvlan", "ipam": DHCP})
    later = driver_for(tmp_path / "state", tmp_path)

    with udhcpd(node, "eth1-peer", tmp_path / "server", renewal_s=1) as server:

        async def attach() -> Attachment:
            async with discovering(driver):
                attachment = await driver.attach(await plan_for(driver, claim), pod_of(pod))
                await asyncio.to_thread(server.wait_said, "sending ACK", 3)
                return attachment

        async def take_over(attachment: Attachment) -> bool:
            async with discovering(later):
                assert await later.is_attached(attachment)
                await later.mend(attachment)
                while renewals(later)["renewed"] < 2:  # noqa: ASYNC110 -- nobody announces it
                    await asyncio.sleep(0.05)
                return await later.is_attached(attachment)

        attachment = run_on(node, attach)
        assert run_on(node, lambda: take_over(attachment))
        assert attachment.interface is not None
        assert addresses(pod) == list(attachment.interface.ips)
        assert server.said.count("sending OFFER") == 1
        run_on(node, lambda: later.detach(attachment))


def test_a_lease_that_ends(node: Netns, pod: Netns, driver: LinkDriver, tmp_path: Path) -> None:
    """The pod counts as without its interface then, with the reason, and gets another one."""
    claim = claim_for({"type": "macvlan", "ipam": DHCP})
    doubted: asyncio.Queue[PodSandbox] = asyncio.Queue()
    driver.learn_doubts(doubted.put_nowait)

    async def attach() -> Attachment:
        return await driver.attach(await plan_for(driver, claim), pod_of(pod))

    async def lose(attachment: Attachment) -> str:
        async with discovering(driver):
            assert await doubted.get() == attachment.pod
        assert not await driver.is_attached(attachment)
        return driver.why_lost(attachment)

    async def again(attachment: Attachment) -> Attachment:
        await driver.detach(attachment)
        assert attachment.interface is not None
        return await driver.reattach(attachment.plan, attachment.pod, attachment.interface)

    with udhcpd(node, "eth1-peer", tmp_path / "server", lease_s=3) as server:
        attachment = run_on(node, attach)
        assert attachment.interface is not None
        server.stop()
        why = run_on(node, lambda: lose(attachment))
        assert why == "its DHCP lease has ended, and no server has renewed it"
        with serving(server.netns, tmp_path / "second", lease_s=3600):
            new = run_on(node, lambda: again(attachment))
            assert new.interface is not None
            assert new.interface.ips == attachment.interface.ips
            assert run_on(node, lambda: driver.is_attached(new))
            run_on(node, lambda: driver.detach(new))


def test_a_server_that_no_longer_has_the_address(
    node: Netns, pod: Netns, driver: LinkDriver, tmp_path: Path
) -> None:
    """An interface that is made again asks for what it had, and takes another one after a no."""
    claim = claim_for({"type": "macvlan", "ipam": DHCP})

    async def attach_twice() -> tuple[Attachment, Attachment]:
        plan = await plan_for(driver, claim)
        first = await driver.attach(plan, pod_of(pod))
        await driver.detach(first)
        had = Interface("net1", ips=("10.9.0.99/24",))
        return first, await driver.reattach(plan, pod_of(pod), had)

    with udhcpd(node, "eth1-peer", tmp_path / "server") as server:
        first, again = run_on(node, attach_twice)
        assert first.interface is not None
        assert again.interface is not None
        assert again.interface.ips != ("10.9.0.99/24",)
        assert server.said.count("sending OFFER") == 2
        run_on(node, lambda: driver.detach(again))


def test_a_server_may_not_give_what_is_the_nodes(
    node: Netns, pod: Netns, driver: LinkDriver, tmp_path: Path
) -> None:
    """No matter who wrote the network; the pod has nothing, and the reason is said."""
    claim = privileged(claim_for({"type": "macvlan", "ipam": DHCP}))
    ip(node, "address", "add", "10.9.0.10/32", "dev", "eth1")
    ip(node, "link", "set", "eth1", "arp", "off")  # else the server finds the address in use

    async def attach() -> None:
        await driver.attach(await plan_for(driver, claim), pod_of(pod))

    with udhcpd(node, "eth1-peer", tmp_path / "server", last="10.9.0.10") as server:
        with pytest.raises(CniError) as caught:
            run_on(node, attach)
        assert "sending ACK" not in server.said
    assert str(caught.value) == (
        "CNI plugin macvlan ADD: no address for net1 by DHCP: the server 10.9.0.1 gave "
        "10.9.0.10/24: 10.9.0.10 is the node's own address on the link 'eth1'; choose another"
    )
    assert [link["ifname"] for link in ip_json(pod, "link")] == ["lo"]
    assert list(tmp_path.glob("state/plugins/dhcp/*")) == []


def test_a_pod_keeps_its_address_in_its_next_sandbox(
    node: Netns, driver: LinkDriver, tmp_path: Path
) -> None:
    """It is the same client, by its MAC as well, which is all that this server goes by."""
    claim = claim_for({"type": "macvlan", "ipam": DHCP})

    async def attach(sandbox: PodSandbox) -> Interface | None:
        attachment = await driver.attach(await plan_for(driver, claim), sandbox)
        await driver.detach(attachment)
        return attachment.interface

    with udhcpd(node, "eth1-peer", tmp_path / "server"):
        found = []
        for pod_name, sandbox in (("a", "s1"), ("b", "s2"), ("a", "s3")):
            with fresh_netns() as pod:
                found.append(run_on(node, partial(attach, pod_of(pod, pod_name, sandbox))))
    assert found[0] is not None
    assert found[2] == found[0]
    assert found[1] != found[0]


def attach_here(start: Callable[[], LinkDriver], node: Netns, plan: Plan, pod: PodSandbox) -> None:
    """Attach by the only thread of a process, which stays in the node."""
    setns(node.fd, CLONE_NEWNET)
    asyncio.run(start().attach(plan, pod))


def test_a_driver_that_is_killed_at_any_step_leaves_nothing(
    node: Netns, pod: Netns, tmp_path: Path, cni_plugins: Path
) -> None:
    """The next one's detach removes the interface and the record; the server's lease ends later."""
    start = partial(driver_for, tmp_path / "state", cni_plugins)
    claim = claim_for({"type": "macvlan", "ipam": DHCP})
    step = 0
    with udhcpd(node, "eth1-peer", tmp_path / "server"):
        plan = run_on(node, lambda: plan_for(start(), claim))
        while killed_at(step, partial(attach_here, start, node, plan, pod_of(pod))):
            run_on(node, partial(start().detach, Attachment(plan=plan, pod=pod_of(pod))))
            assert [link["ifname"] for link in ip_json(pod, "link")] == ["lo"], step
            assert list(tmp_path.glob("state/plugins/dhcp/*")) == [], step
            step += 1
    assert step > STEPS_AT_LEAST
