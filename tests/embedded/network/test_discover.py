"""Links of a real namespace become devices, and changes of them become lists."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from netclaim.errors import RequestError
from netclaim.kernel import Netns, Rtnl, find_link
from netclaim.kernel.requests.links import bridge, create_link, delete_link, set_link, veth
from netclaim.model import Device, Prepared
from netclaim.model.on_node.node import NodeFacts
from netclaim.network.devices.device import device_name
from netclaim.network.devices.expression import link_expression
from netclaim.network.driver import LinkDriver
from netclaim.network.links.node.node_links import NodeLinks
from netclaim.network.links.node.pod_namespaces import PodNamespaces
from netclaim.network.links.remembered.made_bridges import MadeBridges
from netclaim.network.settings import LinkSettings
from tests.support.kernel_support import fresh_netns, ip
from tests.support.network_support import (
    claim_for,
    driver_for,
    plan_for,
    pod_of,
    run_on,
)

pytestmark = pytest.mark.embedded

AT_FIRST = ["cni", "eth1", "eth1-peer", "eth2", "eth2-peer"]


@pytest.fixture
def driver(tmp_path: Path, cni_plugins: Path) -> LinkDriver:
    """The driver of that node."""
    return driver_for(tmp_path, cni_plugins)


def names(devices: tuple[Device, ...]) -> list[str]:
    """The devices' names, the links' sorted: a veth pair may have its ends either way round."""
    first, *links = [device.name for device in devices]
    return [first, *sorted(links)]


def by_name(device: Device) -> str:
    """For sorting."""
    return device.name


async def listed(driver: LinkDriver) -> tuple[Device, ...]:
    """The devices as they are now."""
    async with aclosing(driver.discover()) as lists:
        return await anext(lists)


async def index_of(rtnl: Rtnl, name: str) -> int:
    """The index of a link that must be there."""
    link = await find_link(rtnl, name)
    assert link is not None, name
    return link.index


def test_links_come_go_and_change_their_names(node: Netns, driver: LinkDriver) -> None:
    """Every change of the links is a list of all devices as they are then."""

    async def scenario() -> list[list[str]]:
        seen = []
        async with aclosing(driver.discover()) as lists:
            with Rtnl.open() as rtnl:
                seen.append(names(await anext(lists)))
                await rtnl.call(create_link("eth3", veth("eth4")))
                seen.append(names(await anext(lists)))
                await rtnl.call(set_link(await index_of(rtnl, "eth3"), name="uplink.7"))
                seen.append(names(await anext(lists)))
                await rtnl.call(delete_link(await index_of(rtnl, "eth4")))
                seen.append(names(await anext(lists)))
        return seen

    first, more, renamed, fewer = run_on(node, scenario)
    assert first == AT_FIRST
    assert more == [*AT_FIRST, "eth3", "eth4"]
    assert renamed == [*AT_FIRST, "eth4", device_name("uplink.7")]
    assert fewer == AT_FIRST


def test_a_burst_of_changes_is_one_list(node: Netns, driver: LinkDriver) -> None:
    """Twenty links that appear together are published together."""

    async def scenario() -> list[str]:
        async with aclosing(driver.discover()) as lists:
            await anext(lists)
            with Rtnl.open() as rtnl:
                await rtnl.batch([create_link(f"br{n}", bridge()) for n in range(20)])
            return names(await anext(lists))

    assert len(run_on(node, scenario)) == len(AT_FIRST) + 20


def test_what_nobody_can_see_is_no_change(node: Netns, driver: LinkDriver) -> None:
    """A link that is not offered comes and changes without a list; the next one has its reason."""

    async def scenario() -> tuple[tuple[Device, ...], tuple[Device, ...]]:
        async with aclosing(driver.discover()) as lists:
            before = await anext(lists)
            with Rtnl.open() as rtnl:
                await rtnl.call(create_link("docker0", bridge()))
                await rtnl.call(set_link(await index_of(rtnl, "docker0"), mtu=1400))
                await rtnl.call(create_link("eth3", bridge()))
            return before, await anext(lists)

    before, after = run_on(node, scenario)
    assert set(names(after)) - set(names(before)) == {"eth3"}


def test_settings_that_change_are_a_list(node: Netns, driver: LinkDriver, tmp_path: Path) -> None:
    """A filter that is set while the driver runs hides links at once, and shows them again."""
    own = f'device.attributes["{driver.name}"]'
    ip(node, "link", "add", "docker0", "type", "bridge")

    def settings(**chosen: str) -> LinkSettings:
        compiled: dict[str, Any] = {key: link_expression(text) for key, text in chosen.items()}
        return LinkSettings(state_dir=tmp_path, **compiled)

    async def scenario() -> list[list[str]]:
        seen = []
        async with aclosing(driver.discover()) as lists:
            seen.append(names(await anext(lists)))
            driver.change(settings(link_filter=f'{own}.name != "eth1"'))
            seen.append(names(await anext(lists)))
            driver.change(settings(show_links=f'{own}.name == "docker0"'))
            seen.append(names(await anext(lists)))
            driver.change(settings(link_filter='node.labels["zone"] == "a"'))
            seen.append(names(await anext(lists)))
            driver.learn_node(NodeFacts(name="n", labels={"zone": "a"}))
            seen.append(names(await anext(lists)))
        return seen

    first, hidden, shown, unlabelled, labelled = run_on(node, scenario)
    assert first == AT_FIRST
    assert hidden == [name for name in AT_FIRST if name != "eth1"]
    assert shown == sorted([*AT_FIRST, "docker0"])
    assert unlabelled == ["cni"]
    assert labelled == AT_FIRST


def test_a_hidden_link_cannot_be_named(node: Netns, driver: LinkDriver, tmp_path: Path) -> None:
    """A claim of the device that is no particular link gets neither a hidden nor a default one."""
    ip(node, "link", "set", "eth1", "up")
    ip(node, "route", "add", "default", "dev", "eth1")
    claim = claim_for({"type": "macvlan"}, device="cni")

    async def scenario() -> str:
        await driver.prepare(claim)
        hide = link_expression(f'device.attributes["{driver.name}"].name != "eth1"')
        driver.change(LinkSettings(state_dir=tmp_path, link_filter=hide))
        with pytest.raises(RequestError) as caught:
            await driver.prepare(claim)
        return str(caught.value)

    assert "the driver's link filter hides it" in run_on(node, scenario)


def test_a_link_into_a_pod_is_not_offered(node: Netns, tmp_path: Path, cni_plugins: Path) -> None:
    """The host's end of a pod's own link belongs to that pod."""
    with fresh_netns() as pod:
        ip(node, "link", "add", "veth7", "type", "veth", "peer", "name", "eth0", "netns",
           Path(pod.path).name)  # fmt: skip
        driver = driver_for(tmp_path, cni_plugins, pod_netns=(pod.path,))

        assert names(run_on(node, lambda: listed(driver))) == AT_FIRST


def test_the_generic_device_comes_first_and_can_be_shared(
    node: Netns, tmp_path: Path, cni_plugins: Path
) -> None:
    """It has every attribute that all links have, so that no selector fails on it."""
    with_it = driver_for(tmp_path, cni_plugins)
    without_it = driver_for(tmp_path, cni_plugins, generic_device=False)
    generic, *links = run_on(node, lambda: listed(with_it))
    without = run_on(node, lambda: listed(without_it))
    assert generic.name == "cni"
    assert generic.allow_multiple_allocations
    assert not generic.capacity
    assert tuple(links) == without
    for link in links:
        assert link.allow_multiple_allocations
        assert "attachments" in link.capacity
        assert link.attributes.keys() >= generic.attributes.keys()
        assert link.attributes["name"] != generic.attributes["name"]


def test_a_link_that_a_pod_took_stays_published(
    node: Netns, driver: LinkDriver, tmp_path: Path, cni_plugins: Path
) -> None:
    """A device does not disappear by being used, not even for a driver that was started since."""

    async def scenario(pod: Netns) -> tuple[tuple[Device, ...], tuple[Device, ...]]:
        before = await listed(driver)
        plan = await plan_for(driver, claim_for({"type": "host-device"}))
        await driver.attach(plan, pod_of(pod))
        return before, await listed(driver_for(tmp_path, cni_plugins))

    with fresh_netns() as pod:
        before, meanwhile = run_on(node, lambda: scenario(pod))
    assert sorted(before, key=by_name) == sorted(meanwhile, key=by_name)


def test_a_released_link_is_published_only_if_it_is_there(node: Netns, driver: LinkDriver) -> None:
    """With the claim, the memory of its device ends."""

    async def scenario() -> tuple[Device, ...]:
        claim = claim_for({"type": "host-device"})
        prepared = await driver.prepare(claim)
        await driver.unprepare(prepared)
        await driver.unprepare(Prepared(claim.ref))
        with Rtnl.open() as rtnl:
            await rtnl.call(delete_link(await index_of(rtnl, "eth1")))
        return await listed(driver)

    assert names(run_on(node, scenario)) == ["cni", "eth2", "eth2-peer"]


def test_those_who_ask_during_a_look_share_the_next_one(node: Netns) -> None:
    """What was there when somebody asked is seen, and a crowd does not look one by one."""
    looks = 0
    begun = asyncio.Event()

    def count() -> tuple[()]:
        nonlocal looks
        looks += 1
        begun.set()
        return ()

    async def crowd() -> None:
        links = NodeLinks(PodNamespaces(()), count, MadeBridges(Path("/nonexistent")))
        async with asyncio.TaskGroup() as group:
            first = group.create_task(links.snapshot())
            await begun.wait()
            ip(node, "link", "add", "late1", "type", "bridge")
            others = [group.create_task(links.snapshot()) for _ in range(20)]
        assert all("late1" in {link.name for link in each.result().links} for each in others)
        assert first.done()
        assert looks <= 3, "the first, perhaps one that had begun, and one for all"

    run_on(node, crowd)
