"""Hooks, repairs and a slow disk that meet at a bad moment leave nothing undone for ever."""

import asyncio
import threading
from pathlib import Path

import pytest

from netclaim.framework.attach import repair
from netclaim.framework.journal.store import Statement, Store
from netclaim.model import Attachment
from tests.pure.framework.attach.test_adopt import AwayError, reported
from tests.support.framework.node import RED, node_in
from tests.support.framework.parts import (
    UNREACHABLE,
    claim_of,
    device_of,
    pod_of,
    stage_in,
)


async def turns() -> None:
    """Turns of the event loop in which everything happens that nobody has to wait for."""
    for _ in range(1000):
        await asyncio.sleep(0)


async def test_cut_off_twice_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop and Remove both cancel an attach whose lease a slow disk is writing: it still writes."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        commit, writing, go = Store.commit, threading.Event(), threading.Event()

        def commit_late(self: Store, statements: list[Statement], *, synced: bool = True) -> None:
            writing.set()
            go.wait()
            commit(self, statements, synced=synced)

        monkeypatch.setattr(Store, "commit", commit_late)
        request = stage.reconciler.request(pod_of(), "chain")
        await asyncio.to_thread(writing.wait)
        async with asyncio.TaskGroup() as group:
            group.create_task(request.cancel())
            await turns()
            group.create_task(request.cancel())
            await turns()
            go.set()
        async with asyncio.timeout(5.0):
            await stage.sweep()
            await stage.preparer.unprepare(RED.ref)
        assert (stage.states(), stage.journal.bookings) == ({}, {})


async def test_repair_that_fails_after_its_turn_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attach may take longer than the background waits for it: its failure is seen."""
    monkeypatch.setattr(repair, "STEP_S", 0.05)
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        failing = asyncio.Event()

        async def fail() -> None:
            await failing.wait()
            raise UNREACHABLE

        node.stage.driver.on["attach eth1"] = [fail]
        await node.synchronize(pod_of())
        await asyncio.sleep(0.2)
        await turns()
        failing.set()
        async with asyncio.timeout(5.0):
            await node.repairer.wait_idle()
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}
        assert len(node.sandboxes) == 0


async def test_hooks_of_others_do_not_hurry_a_repair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Containers that start elsewhere on the node do not make a failed repair try again."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        paused = asyncio.Event()

        async def sleep(_: float) -> None:
            paused.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(node.stage.clock, "sleep", sleep)
        node.stage.driver.fail("attach eth1", UNREACHABLE, times=100)
        await node.synchronize(pod_of())
        await paused.wait()
        for number in range(5):
            await node.run(pod_of(f"plain-{number}", f"s{number}", namespace="other"))
            await node.create(pod_of(f"plain-{number}", f"s{number}", namespace="other"))
            await turns()
        assert node.stage.driver.calls == ["attach eth1"]


async def test_lost_journal_is_complete_once_all_that_runs_is_known(tmp_path: Path) -> None:
    """A pod that is looked up for its container is waited for; it keeps what it has."""
    async with node_in(tmp_path, complete=False) as node:
        stage = node.stage
        stage.claims.claims["red"] = reported(RED)
        stage.kubelet.claims = [RED.ref]
        asked, go = asyncio.Event(), asyncio.Event()

        async def answer_the_first_later() -> None:
            if not asked.is_set():
                asked.set()
                await go.wait()
                stage.pods.faults = [UNREACHABLE]

        stage.pods.before = answer_the_first_later
        await node.create(pod_of(), within_s=0.05)
        await asked.wait()
        await node.synchronize(pod_of(), pod_of("pod-2", "s2", namespace="other"))
        await asyncio.sleep(0.1)
        await turns()
        too_early = stage.journal.complete
        go.set()
        async with asyncio.timeout(5.0):
            await node.repairer.wait_idle()
        assert (too_early, stage.journal.complete) == (False, True)
        assert stage.states() == {"sandbox-1/eth1": "attached"}
        assert "attach eth1" not in stage.driver.calls


async def test_lost_interface_of_a_sandbox_that_is_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of what runs that comes while a pod is checked does not make it forgotten."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        asked, go = asyncio.Event(), asyncio.Event()

        async def is_attached(_: Attachment) -> bool:
            asked.set()
            await go.wait()
            return False

        monkeypatch.setattr(node.stage.driver, "is_attached", is_attached)
        node.sandboxes.note_offered({})
        await asked.wait()
        await node.synchronize()
        go.set()
        async with asyncio.timeout(5.0):
            await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["attach eth1", "detach eth1", "attach eth1"]


@pytest.mark.parametrize("error", [UNREACHABLE, AwayError("away")])
async def test_claim_that_a_pod_got_while_it_was_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A claim that cannot be planned again is released with the pod that got hold of it."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(claim_of("red", owner="pod-1"))
        commit, writing, go = Store.commit, threading.Event(), threading.Event()

        def commit_late(self: Store, statements: list[Statement], *, synced: bool = True) -> None:
            writing.set()
            go.wait()
            commit(self, statements, synced=synced)

        monkeypatch.setattr(Store, "commit", commit_late)
        async with asyncio.TaskGroup() as group:
            group.create_task(stage.preparer.unprepare(RED.ref))
            await asyncio.to_thread(writing.wait)
            group.create_task(stage.attach(pod_of()))
            await turns()
            go.set()
        assert stage.states() == {"sandbox-1/eth1": "attached"}
        stage.driver.fail("prepare red", error)
        await asyncio.gather(stage.preparer.prepare(RED.ref), return_exceptions=True)
        await stage.preparer.unprepare(RED.ref)
        assert stage.states() == {"sandbox-1/eth1": "attached"}
        await node.stop(pod_of())
        await node.repairer.wait_idle()
        assert (stage.states(), stage.journal.bookings) == ({}, {})


async def test_list_that_comes_during_an_attach(tmp_path: Path) -> None:
    """An attach that began before the runtime listed its pod may have looked too early."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        begun, go = node.stage.driver.hold("attach eth1")
        await node.run(pod_of(), within_s=0.05)
        await begun.wait()
        await node.stage.prepare(claim_of("blue", device_of("eth2")))
        await node.synchronize(pod_of())
        go.set()
        async with asyncio.timeout(5.0):
            await node.repairer.wait_idle()
        assert node.stage.states() == {"sandbox-1/eth1": "attached", "sandbox-1/eth2": "attached"}
