"""What a chain asks of plugins without changing anything, and who may answer."""

from pathlib import Path

import pytest

from netclaim.cni import (
    CniCall,
    CniError,
    CniErrorKind,
    Command,
    PluginsByType,
    Result,
)
from tests.support.cni_machine import ENDPOINT, Machine, made_by, network


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with the plugins a, b and c."""
    machine = Machine(tmp_path)
    machine.install("a", "b", "c")
    return machine


async def test_check_goes_forward_with_the_saved_result(machine: Machine) -> None:
    """Every plugin is told the network's result; the first that disagrees is raised."""
    await machine.chain.add(network("a", "b", "c"), ENDPOINT)
    machine.calls()
    assert await machine.chain.check(network("a", "b", "c"), ENDPOINT)
    assert machine.calls() == ["CHECK a", "CHECK b", "CHECK c"]
    assert machine.told("a", "CHECK")["prevResult"] == made_by("c").to_dict("1.0.0")
    machine.fail("b", "CHECK")
    with pytest.raises(CniError):
        await machine.chain.check(network("a", "b", "c"), ENDPOINT)
    assert machine.calls() == ["CHECK a", "CHECK b"]


async def test_check_is_left_out_where_it_must_be(machine: Machine) -> None:
    """A list can forbid CHECK, and before 0.4.0 there is none."""
    assert not await machine.chain.check(network("a", disableCheck=True), ENDPOINT)
    assert not await machine.chain.check(network("a", version="0.3.1"), ENDPOINT)
    assert machine.calls() == []


async def test_status_raises_the_first_plugin_that_is_not_ready(machine: Machine) -> None:
    """Code 50 or 51 says that an ADD would not work now."""
    await machine.chain.status(network("a", "b", version="1.1.0"))
    assert machine.calls() == ["STATUS a", "STATUS b"]
    machine.fail("a", "STATUS", code=50)
    with pytest.raises(CniError) as caught:
        await machine.chain.status(network("a", "b", version="1.1.0"))
    assert caught.value.kind is CniErrorKind.NOT_READY
    assert machine.calls() == ["STATUS a"]


async def test_before_1_1_0_status_asks_nobody(machine: Machine) -> None:
    """STATUS came with 1.1.0."""
    await machine.chain.status(network("a"))
    assert machine.calls() == []


class InProcess:
    """A plugin that is code of ours: it answers each ADD with what it was told."""

    def __init__(self) -> None:
        self.calls: list[CniCall] = []

    async def run(self, call: CniCall) -> Result | None:
        """Answer with a result."""
        self.calls.append(call)
        return made_by("ours") if call.command is Command.ADD else None


async def test_a_chain_may_mix_programs_and_our_own_code(machine: Machine) -> None:
    """The type decides who serves a plugin; results and errors pass between them."""
    ours = InProcess()
    chain = machine.chain_of(PluginsByType({"b": ours}, otherwise=machine.exec))
    assert await chain.add(network("a", "b", "c"), ENDPOINT) == made_by("c")
    await chain.delete(network("a", "b", "c"), ENDPOINT)
    assert machine.calls() == ["ADD a", "ADD c", "DEL c", "DEL a"]
    assert [call.command for call in ours.calls] == ["ADD", "DEL"]
    assert ours.calls[0].previous == made_by("a")
    assert machine.told("c", "ADD")["prevResult"] == made_by("ours").to_dict("1.0.0")
