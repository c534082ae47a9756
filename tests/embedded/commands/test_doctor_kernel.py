"""What the doctor tries in the kernel, it tries in a namespace of its own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from netclaim.doctor.finding import Check, Finding, Outcome
from netclaim.doctor.node import kernel, system
from netclaim.doctor.node.sight import NodeSight
from netclaim.framework.settings.fields import Settings
from netclaim.kernel import Rtnl, current_netns_id, list_links, new_netns
from netclaim.kernel.requests.links import create_link, macvlan, veth


@pytest.fixture
def sight(tmp_path: Path) -> NodeSight:
    """A node without anything but its kernel."""
    settings = Settings(node_name="n", runtime_socket=tmp_path / "cri.sock")
    return NodeSight(settings, "d.example.com", tmp_path, (tmp_path,))


@pytest.fixture
def no_descriptor_left() -> Iterator[None]:
    """As many files are open afterwards as before."""
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208 - numbers, not paths
    yield
    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


async def look(check: Check[NodeSight], sight: NodeSight) -> Finding:
    """What a check finds."""
    return await check.look(sight)


async def test_new_namespace() -> None:
    """A new namespace is another one, has a loopback link alone, and nobody was moved there."""
    home = current_netns_id()
    with new_netns() as netns:
        assert netns.id != home
        with Rtnl.open(netns) as rtnl:
            assert [link.name for link in await list_links(rtnl)] == ["lo"]
    assert current_netns_id() == home


async def test_link_kinds(sight: NodeSight, no_descriptor_left: None) -> None:
    """What the kernel can make is not missing; the node's own links are as they were."""
    with Rtnl.open() as rtnl:
        before = {link.name for link in await list_links(rtnl)}
        finding = await look(kernel.link_kinds, sight)
        after = {link.name for link in await list_links(rtnl)}
    assert after == before
    assert "modprobe" in finding.remedy or finding.outcome is Outcome.OK
    with new_netns() as netns, Rtnl.open(netns) as rtnl:  # these two every test machine has
        await rtnl.call(create_link("a", veth("b")))
        (parent,) = [link for link in await list_links(rtnl) if link.name == "a"]
        await rtnl.call(create_link("m", macvlan(), parent_index=parent.index))
    named = finding.found.partition(";")[0].removeprefix("the kernel has no ")
    assert finding.outcome is Outcome.OK or not {"veth", "macvlan"} & set(named.split(", "))


async def test_the_rest_of_the_kernel(sight: NodeSight, no_descriptor_left: None) -> None:
    """Packet rules, privileges and limits are as a test that is root has them."""
    for check in (
        kernel.packet_rules,
        kernel.privileges,
        system.limits,
        kernel.link_limits,
    ):
        finding = await look(check, sight)
        assert finding.outcome is Outcome.OK, f"{check.id}: {finding.found}"
    assert (await look(system.clock, sight)).outcome in (Outcome.OK, Outcome.WARNING)
