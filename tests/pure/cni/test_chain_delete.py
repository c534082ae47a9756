"""Detaching by a chain of plugins, one endpoint at a time or all that are stale."""

from dataclasses import replace
from pathlib import Path

import pytest

from netclaim.cni import (
    AttachmentKey,
    CniError,
    CniGroupError,
)
from tests.support.cni_machine import ENDPOINT, NETNS, Machine, made_by, network


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with the plugins a, b and c."""
    machine = Machine(tmp_path)
    machine.install("a", "b", "c")
    return machine


async def test_delete_goes_backward_with_the_saved_result(machine: Machine) -> None:
    """Every plugin is told the network's result; again, there is none to tell."""
    await machine.chain.add(network("a", "b"), ENDPOINT)
    machine.calls()
    await machine.chain.delete(network("a", "b"), ENDPOINT)
    assert machine.calls() == ["DEL b", "DEL a"]
    for name in ("a", "b"):
        assert machine.told(name, "DEL")["prevResult"] == made_by("b").to_dict("1.0.0")
    await machine.chain.delete(network("a", "b"), ENDPOINT)
    assert machine.calls() == ["DEL b", "DEL a"]
    assert "prevResult" not in machine.told("a", "DEL")


async def test_before_0_4_0_delete_tells_no_result(machine: Machine) -> None:
    """The result on DEL came with 0.4.0."""
    await machine.chain.add(network("a", version="0.3.1"), ENDPOINT)
    await machine.chain.delete(network("a", version="0.3.1"), ENDPOINT)
    assert "prevResult" not in machine.told("a", "DEL")
    assert list(machine.cache.entries()) == []


async def test_delete_goes_on_after_a_failure_and_keeps_the_result(machine: Machine) -> None:
    """One plugin that fails keeps no other from undoing; the next DEL is told the same result."""
    await machine.chain.add(network("a", "b"), ENDPOINT)
    machine.fail("b", "DEL")
    machine.calls()
    with pytest.raises(CniError):
        await machine.chain.delete(network("a", "b"), ENDPOINT)
    assert machine.calls() == ["DEL b", "DEL a"]
    machine.mend("b", "DEL")
    await machine.chain.delete(network("a", "b"), ENDPOINT)
    assert machine.told("a", "DEL")["prevResult"] == made_by("b").to_dict("1.0.0")


async def test_delete_raises_every_failure(machine: Machine) -> None:
    """Who has to act hears of all that is left."""
    await machine.chain.add(network("a", "b"), ENDPOINT)
    for plugin in ("a", "b"):
        machine.fail(plugin, "DEL")
    with pytest.raises(CniGroupError) as caught:
        await machine.chain.delete(network("a", "b"), ENDPOINT)
    assert [getattr(each, "plugin", "") for each in caught.value.exceptions] == ["b", "a"]


@pytest.mark.parametrize("code", [1, 3])
async def test_some_errors_are_as_good_as_deleted(machine: Machine, code: int) -> None:
    """An unknown container, or a version that ADD cannot have been done in: nothing to clean up."""
    machine.fail("b", "DEL", code=code)
    await machine.chain.delete(network("a", "b"), ENDPOINT)
    assert machine.calls() == ["DEL b", "DEL a"]


async def test_a_namespace_that_is_gone_is_told_as_empty(machine: Machine) -> None:
    """DEL passes no path that leads nowhere."""
    await machine.chain.delete(network("a"), replace(ENDPOINT, netns="/nonexistent"))
    assert machine.env("a", "DEL")["CNI_NETNS"] == ""


async def test_a_namespace_that_cannot_be_looked_at_is_passed_on(
    machine: Machine, tmp_path: Path
) -> None:
    """DEL does not leave in a pod what it only could not see."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    await machine.chain.delete(network("a"), replace(ENDPOINT, netns=str(loop)))
    assert machine.env("a", "DEL")["CNI_NETNS"] == str(loop)


@pytest.mark.parametrize(("netns", "also"), [(NETNS, []), ("/nonexistent", ["DEL ipam"])])
async def test_host_devices_address_is_released_without_its_namespace(
    machine: Machine, netns: str, also: list[str]
) -> None:
    """host-device forgets its address management when the namespace is gone; the chain does not."""
    machine.install("host-device", "ipam")
    device = {"type": "host-device", "device": "eth1", "ipam": {"type": "ipam", "k": 1}}
    await machine.chain.delete(network(device), replace(ENDPOINT, netns=netns))
    assert machine.calls() == ["DEL host-device", *also]
    if also:
        assert machine.told("ipam", "DEL") == machine.told("host-device", "DEL")


@pytest.mark.parametrize(("netns", "first"), [(NETNS, ["DEL sbr"]), ("/nonexistent", [])])
async def test_sbr_is_not_called_without_its_namespace(
    machine: Machine, netns: str, first: list[str]
) -> None:
    """Its DEL would fail, and with it that of every plugin before it."""
    machine.install("sbr")
    await machine.chain.delete(network("a", "sbr"), replace(ENDPOINT, netns=netns))
    assert machine.calls() == [*first, "DEL a"]


async def test_gc_deletes_what_is_not_valid_and_tells_the_plugins(machine: Machine) -> None:
    """Stale attachments of this network get the DEL that their cache entry describes."""
    ours, other = network("a", "b", version="1.1.0"), network("c")
    other = replace(other, name="other")
    stale = replace(ENDPOINT, container_id="stale", args=(("K", "v"),))
    for where, endpoint in ((ours, ENDPOINT), (ours, stale), (other, stale)):
        await machine.chain.add(where, endpoint)
    machine.calls()
    await machine.chain.gc(ours, {ENDPOINT.key})
    assert machine.calls() == ["DEL b", "DEL a", "GC a", "GC b"]
    assert machine.env("a", "DEL")["CNI_CONTAINERID"] == "stale"
    assert machine.env("a", "DEL")["CNI_ARGS"] == "K=v"
    told = machine.told("a", "GC")
    valid = [{"containerID": "c0ffee", "ifname": "net1"}]
    assert told["cni.dev/valid-attachments"] == told["cni.dev/attachments"] == valid
    left = [(entry.network_name, entry.container_id) for entry in machine.cache.entries()]
    assert left == [("net", "c0ffee"), ("other", "stale")]


async def test_gc_goes_on_after_failures_and_raises_all(machine: Machine) -> None:
    """One plugin that fails keeps neither another attachment nor another plugin from GC."""
    ours = network("a", "b", version="1.1.0")
    for container_id in ("one", "two"):
        await machine.chain.add(ours, replace(ENDPOINT, container_id=container_id))
    machine.fail("a", "DEL")
    machine.fail("a", "GC")
    machine.calls()
    with pytest.raises(CniGroupError) as caught:
        await machine.chain.gc(ours, set[AttachmentKey]())
    assert machine.calls() == ["DEL b", "DEL a", "DEL b", "DEL a", "GC a", "GC b"]
    assert len(caught.value.exceptions) == 3


async def test_gc_is_left_out_where_it_must_be(machine: Machine) -> None:
    """A list can forbid GC; before 1.1.0 the stale are deleted and no plugin is told."""
    await machine.chain.add(network("a"), ENDPOINT)
    machine.calls()
    await machine.chain.gc(network("a", version="1.1.0", disableGC=True), [])
    assert machine.calls() == []
    await machine.chain.gc(network("a"), [])
    assert machine.calls() == ["DEL a"]
