"""DELs that fail for what is left over, and GC that keeps away from ADDs."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from netclaim.cni import CniError
from netclaim.model import Living
from netclaim.network.cleanup.gate import NetworkGate
from netclaim.network.cleanup.leftovers import GIVE_UP_S, Leftovers
from netclaim.network.links.node.node_links import NodeLinks
from netclaim.network.links.node.pod_namespaces import PodNamespaces
from netclaim.network.links.remembered.lent import LentDevices
from netclaim.network.links.remembered.made_bridges import MadeBridges
from netclaim.network.plugin_files import PluginFiles
from netclaim.plugins.host_device.lent_links import LentLinks
from tests.support.cni_machine import ENDPOINT, Machine, network

NOBODY = Living(sandboxes=frozenset())


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now_s = 4_000_000_000.0  # later than any file of a test

    def __call__(self) -> float:
        """Seconds since 1970."""
        return self.now_s


def leftovers_of(machine: Machine, root: Path, now: Hand) -> Leftovers:
    """Leftovers of a chain of small plugins."""
    made = MadeBridges(root / "bridges")
    return Leftovers(
        chain=machine.chain,
        files=PluginFiles(root / "leases"),
        lent=LentDevices(root / "lent"),
        lent_links=LentLinks(root / "lent-links"),
        links=NodeLinks(PodNamespaces(()), tuple, made, trust_alias=False),
        threads=ThreadPoolExecutor(1),
        now=now,
    )


async def test_a_del_that_fails_is_given_up_after_an_hour(tmp_path: Path) -> None:
    """Until then each round tries it again; afterwards its result is forgotten."""
    machine, now = Machine(tmp_path), Hand()
    machine.install("a")
    gone = replace(ENDPOINT, netns=str(tmp_path / "gone"))
    await machine.chain.add(network("a"), gone)
    leftovers = leftovers_of(machine, tmp_path, now)
    machine.fail("a", "DEL")
    (found,) = await leftovers.find(NOBODY)
    for _ in range(3):
        with pytest.raises(CniError, match="a will not"):
            await leftovers.remove(found)
        now.now_s += GIVE_UP_S / 3 - 1
    assert await leftovers.find(NOBODY) == (found,)
    now.now_s += 60
    await leftovers.remove(found)
    assert await leftovers.find(NOBODY) == ()
    assert machine.calls().count("DEL a") == 4


async def test_a_del_that_works_at_last(tmp_path: Path) -> None:
    """A plugin that was mended undoes what it did, and the hour begins anew for the next one."""
    machine, now = Machine(tmp_path), Hand()
    machine.install("a")
    gone = replace(ENDPOINT, netns=str(tmp_path / "gone"))
    leftovers = leftovers_of(machine, tmp_path, now)
    for _ in range(2):
        await machine.chain.add(network("a"), gone)
        machine.fail("a", "DEL")
        (found,) = await leftovers.find(NOBODY)
        with pytest.raises(CniError):
            await leftovers.remove(found)
        machine.mend("a", "DEL")
        now.now_s += GIVE_UP_S + 1
        await leftovers.remove(found)
        assert await leftovers.find(NOBODY) == ()


async def test_a_young_result_is_left_alone(tmp_path: Path) -> None:
    """What was written within the last minute is not found."""
    machine, now = Machine(tmp_path), Hand()
    machine.install("a")
    await machine.chain.add(network("a"), replace(ENDPOINT, netns=str(tmp_path / "gone")))
    (path,) = (tmp_path / "cache" / "results").iterdir()
    leftovers = leftovers_of(machine, tmp_path, now)
    os.utime(path, (now.now_s - 59, now.now_s - 59))
    assert await leftovers.find(NOBODY) == ()
    os.utime(path, (now.now_s - 61, now.now_s - 61))
    assert len(await leftovers.find(NOBODY)) == 1


async def test_gc_keeps_away_from_adds() -> None:
    """GC is not let in while an ADD of the network runs; an ADD that comes meanwhile waits."""
    gate = NetworkGate()
    async with gate.using("a", ENDPOINT.key), gate.using("a", ENDPOINT.key):
        with gate.alone("a") as alone:
            assert not alone
        with gate.alone("b") as alone:
            assert alone
    begun = asyncio.Event()

    async def add() -> None:
        async with gate.using("a", ENDPOINT.key):
            begun.set()

    async with asyncio.TaskGroup() as group:
        with gate.alone("a") as alone:
            assert alone
            with gate.alone("a") as second:
                assert not second
            group.create_task(add())
            await asyncio.sleep(0)
            assert not begun.is_set()
        await begun.wait()
