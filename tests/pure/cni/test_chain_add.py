"""Attaching by a chain of plugins, and undoing what failed."""

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from netclaim.cni import (
    CniDeadlineError,
    CniError,
    CniErrorKind,
    CniGroupError,
    PluginMissingError,
)
from netclaim.errors import HostError, PeerError
from tests.support.cni_machine import ENDPOINT, NETNS, SOON_S, Machine, made_by, network


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with the plugins a, b and c."""
    machine = Machine(tmp_path)
    machine.install("a", "b", "c")
    return machine


async def test_add_goes_forward_and_hands_results_on(machine: Machine) -> None:
    """Each plugin is told the result of the one before it; the last one's is the network's."""
    result = await machine.chain.add(network("a", "b", "c"), ENDPOINT)
    assert machine.calls() == ["ADD a", "ADD b", "ADD c"]
    assert "prevResult" not in machine.told("a", "ADD")
    assert machine.told("b", "ADD")["prevResult"] == made_by("a").to_dict("1.0.0")
    assert machine.told("c", "ADD")["prevResult"] == made_by("b").to_dict("1.0.0")
    assert machine.env("c", "ADD")["CNI_NETNS"] == NETNS
    assert result == made_by("c")


async def test_prev_result_is_in_the_networks_version(machine: Machine) -> None:
    """A plugin that answers in another version does not confuse the next."""
    await machine.chain.add(network("a", "b", version="0.3.1"), ENDPOINT)
    assert machine.told("b", "ADD")["prevResult"] == made_by("a").to_dict("0.3.1")


async def test_capability_arguments_reach_those_that_want_them(machine: Machine) -> None:
    """ADD and DEL of a plugin get the same runtimeConfig."""
    wanting = {"type": "b", "capabilities": {"mac": True}}
    endpoint = replace(ENDPOINT, capability_args={"mac": "02:00:00:00:00:01"})
    await machine.chain.add(network("a", wanting), endpoint)
    await machine.chain.delete(network("a", wanting), endpoint)
    for command in ("ADD", "DEL"):
        assert "runtimeConfig" not in machine.told("a", command)
        assert machine.told("b", command)["runtimeConfig"] == {"mac": "02:00:00:00:00:01"}


async def test_add_again_returns_the_saved_result(machine: Machine) -> None:
    """The second ADD of an endpoint calls no plugin; with another configuration it does."""
    first = await machine.chain.add(network("a", "b"), ENDPOINT)
    machine.calls()
    assert await machine.chain.add(network("a", "b"), ENDPOINT) == first
    assert machine.calls() == []
    await machine.chain.add(network("a", "c"), ENDPOINT)
    assert machine.calls() == ["ADD a", "ADD c"]


async def test_an_add_that_fails_is_undone_and_the_plugins_error_raised(machine: Machine) -> None:
    """DEL follows at once, in reverse, through every plugin that had begun."""
    machine.fail("b", "ADD", code=11)
    with pytest.raises(CniError) as caught:
        await machine.chain.add(network("a", "b", "c"), ENDPOINT)
    assert caught.value.msg == "b will not"
    assert caught.value.kind is CniErrorKind.TRY_AGAIN
    assert machine.calls() == ["ADD a", "ADD b", "DEL b", "DEL a"]
    assert list(machine.cache.entries()) == []


async def test_a_plugin_that_is_missing_has_nothing_to_undo(machine: Machine) -> None:
    """Those before it are undone; that DEL does not fail for want of the same program."""
    with pytest.raises(PluginMissingError):
        await machine.chain.add(network("a", "nowhere", "c"), ENDPOINT)
    assert machine.calls() == ["ADD a", "DEL a"]


async def test_an_add_that_prints_garbage_is_undone(machine: Machine) -> None:
    """A result that cannot be read is a failure of its plugin."""
    machine.answer("b", "ADD", [])
    with pytest.raises(CniError, match="CNI plugin b ADD: printed no valid result: not an object"):
        await machine.chain.add(network("a", "b"), ENDPOINT)
    assert machine.calls() == ["ADD a", "ADD b", "DEL b", "DEL a"]


async def test_an_add_whose_result_cannot_be_kept_is_undone(
    machine: Machine, tmp_path: Path
) -> None:
    """Without its result an attachment could not be taken down properly."""
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(HostError):
        await machine.chain.add(network("a", "b"), ENDPOINT)
    assert machine.calls() == ["ADD a", "ADD b", "DEL b", "DEL a"]


async def test_neither_failure_is_lost_when_the_undoing_fails_too(machine: Machine) -> None:
    """The group holds both errors, is a PeerError, and its text starts with the reason."""
    machine.fail("b", "ADD")
    machine.fail("a", "DEL")
    with pytest.raises(CniGroupError) as caught:
        await machine.chain.add(network("a", "b"), ENDPOINT)
    commands = [
        (error.plugin, error.command)
        for error in caught.value.exceptions
        if isinstance(error, CniError)
    ]
    assert commands == [("b", "ADD"), ("a", "DEL")]
    assert isinstance(caught.value, PeerError)
    assert str(caught.value).startswith("CNI plugin b ADD: b will not; the DEL after it failed too")


async def test_an_add_that_takes_too_long_is_stopped_and_undone(machine: Machine) -> None:
    """`add_s` is for all plugins together; what had begun is undone."""
    machine.hang("b", "ADD")
    with pytest.raises(CniDeadlineError):
        await machine.chain.add(network("a", "b", "c"), ENDPOINT, add_s=SOON_S, undo_s=60)
    assert machine.calls() == ["ADD a", "ADD b", "DEL b", "DEL a"]


async def test_an_undoing_that_takes_too_long_is_stopped_and_told(machine: Machine) -> None:
    """`undo_s` bounds the DEL, whose failure then stands beside the first."""
    machine.fail("a", "ADD")
    machine.hang("a", "DEL")
    with pytest.raises(CniGroupError) as caught:
        await machine.chain.add(network("a"), ENDPOINT, undo_s=0.1)  # it may hang from its start
    reason, undoing = caught.value.exceptions
    assert isinstance(reason, CniError)
    assert reason.msg == "a will not"
    assert isinstance(undoing, CniDeadlineError)


async def test_a_cancelled_add_undoes_nothing(machine: Machine, tmp_path: Path) -> None:
    """The DEL is up to the caller that cancelled, and it works."""
    machine.hang("b", "ADD")
    calls = tmp_path / "bin" / "calls"
    os.mkfifo(calls)  # so that the test waits for a call instead of looking for it
    async with asyncio.TaskGroup() as group:
        task = group.create_task(machine.chain.add(network("a", "b"), ENDPOINT))
        for expected in ("ADD a\n", "ADD b\n"):
            assert await asyncio.to_thread(calls.read_text) == expected
        task.cancel()
    calls.unlink()
    assert machine.calls() == []
    await machine.chain.delete(network("a", "b"), ENDPOINT)
    assert machine.calls() == ["DEL b", "DEL a"]
