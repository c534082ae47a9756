"""A claim that kubelet releases while a pod has it, or is about to, does not cost it anything."""

import asyncio
import threading
from pathlib import Path

import pytest

from netclaim.framework.attach.errors import AttachError
from netclaim.framework.journal.pod_plans import NotPreparedError
from netclaim.framework.journal.store import Statement, Store
from tests.support.framework.node import RED, node_in
from tests.support.framework.parts import (
    UNREACHABLE,
    claim_of,
    device_of,
    pod_of,
)


async def test_claim_that_is_released_too_early(tmp_path: Path) -> None:
    """A claim released under a running pod is undone when the pod has ended, and not before."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        await node.stage.preparer.unprepare(RED.ref)
        await node.create(pod_of())
        assert node.stage.driver.calls == ["attach eth1"]
        await node.stop(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["attach eth1", "detach eth1", "unprepare red"]
        assert node.stage.journal.bookings == {}


async def test_claim_that_is_released_during_attach(tmp_path: Path) -> None:
    """The pod that is getting its interface keeps it."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        begun, go = node.stage.driver.hold("attach eth1")
        async with asyncio.TaskGroup() as group:
            group.create_task(node.run(pod_of()))
            await begun.wait()
            await node.stage.preparer.unprepare(RED.ref)
            go.set()
        await node.create(pod_of())
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


async def test_claim_that_is_released_during_an_attach_that_fails(tmp_path: Path) -> None:
    """Nobody has anything of it then: it is undone."""
    begun, go = asyncio.Event(), asyncio.Event()

    async def fail_later() -> None:
        begun.set()
        await go.wait()
        raise UNREACHABLE

    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.on["attach eth1"] = [fail_later]
        starting = asyncio.create_task(node.run(pod_of()))
        await begun.wait()
        await node.stage.preparer.unprepare(RED.ref)
        go.set()
        with pytest.raises(AttachError):
            await starting
        await node.repairer.wait_idle()
        assert node.stage.journal.bookings == {}


async def test_claim_that_is_released_while_its_pod_waits_for_its_turn(tmp_path: Path) -> None:
    """The pod does not start without: what was found for it is looked at again in its turn."""
    slow = [claim_of(f"c{n}", device_of(f"eth{n}"), pods=(f"pod-{n}",)) for n in range(2, 10)]
    own = claim_of("red", owner="pod-1")
    async with node_in(tmp_path) as node:
        await node.stage.prepare(own, *slow)
        held = [node.stage.driver.hold(f"attach {claim.devices[0].device}") for claim in slow]
        for number, (begun, _) in enumerate(held, start=2):
            await node.run(pod_of(f"pod-{number}", f"s{number}"), within_s=0.05)
            await begun.wait()
        request = node.reconciler.request(pod_of(), "chain", new=True)
        for _ in range(5):  # it comes to the places that the others have
            await asyncio.sleep(0)
        assert node.sandboxes.get(pod_of()).plans
        await node.stage.preparer.unprepare(own.ref)
        for _, go in held:
            go.set()
        with pytest.raises(NotPreparedError):
            await request.wait()


async def test_claim_that_is_released_before_the_sandbox(tmp_path: Path) -> None:
    """A pod whose claim kubelet released by mistake is looked up when its sandbox is made."""
    async with node_in(tmp_path) as node:
        await node.synchronize()
        await node.stage.prepare(RED)
        await node.stage.preparer.unprepare(RED.ref)
        await node.run(pod_of())
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}
        await node.stop(pod_of())  # kubelet has forgotten the claim
        await node.repairer.wait_idle()
        assert node.stage.journal.bookings == {}


async def test_pods_are_not_looked_up_for_ever(tmp_path: Path) -> None:
    """Nor for the release of a claim that is one pod's own."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(claim_of("own", owner="pod-1"))
        await node.stage.preparer.unprepare(claim_of("own").ref)
        await node.run(pod_of("pod-2", "s2"))
        assert node.stage.pods.gets == []
        await node.stage.prepare(RED)
        await node.stage.preparer.unprepare(RED.ref)
        await node.run(pod_of("pod-3", "s3"))
        assert node.stage.pods.gets == ["pod-3"]
        await node.stage.clock.sleep(121)
        await node.run(pod_of("pod-4", "s4"))
        assert node.stage.pods.gets == ["pod-3"]


async def test_planned_claims_are_not_read_again(tmp_path: Path) -> None:
    """A pod that is looked up after a release is asked for once, and its planned claim not at all.

    Also where others share claims in its namespace.
    """
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.stage.preparer.unprepare(RED.ref)
        await node.stage.prepare(
            claim_of("green", device_of("eth3"), pods=("pod-3",)),
            claim_of("blue", device_of("eth2"), pods=("pod-2",)),
        )
        await node.run(pod_of("pod-2", "s2"))
        assert (node.stage.pods.gets, node.stage.claims.gets) == (["pod-2"], [])
        assert node.stage.states() == {"s2/eth2": "attached"}


async def test_release_that_has_just_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod whose claim is still planned, but is being released, has it planned again."""
    async with node_in(tmp_path) as node:
        await node.synchronize()
        await node.stage.prepare(RED)
        commit, writing, go = Store.commit, threading.Event(), threading.Event()

        def commit_late(self: Store, statements: list[Statement], *, synced: bool = True) -> None:
            writing.set()
            go.wait()
            commit(self, statements, synced=synced)

        monkeypatch.setattr(Store, "commit", commit_late)
        async with asyncio.TaskGroup() as group:
            group.create_task(node.stage.preparer.unprepare(RED.ref))
            await asyncio.to_thread(writing.wait)
            assert node.stage.journal.bookings["uid-red"].is_planned
            starting = group.create_task(node.run(pod_of()))
            for _ in range(100):  # it comes to the claim that is being released
                await asyncio.sleep(0)
            assert not starting.done()
            go.set()
        assert node.stage.driver.calls == ["unprepare red", "prepare red", "attach eth1"]
        assert node.stage.journal.bookings["uid-red"].is_planned


async def test_forged_owner_does_not_hide_a_release(tmp_path: Path) -> None:
    """A claim is one pod's own if it is reserved for that one; else its pods are looked up."""
    forged = claim_of("red", owner="pod-7")
    async with node_in(tmp_path) as node:
        await node.synchronize()
        await node.stage.prepare(forged)
        await node.stage.preparer.unprepare(forged.ref)
        await node.run(pod_of())
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


async def test_claim_prepared_again_while_its_release_is_due(tmp_path: Path) -> None:
    """The repairer undoes only what is still to be undone when its turn comes."""
    red, blue = claim_of("red"), claim_of("blue", device_of("eth2"))
    async with node_in(tmp_path) as node:
        await node.stage.prepare(red, blue)
        await node.run(pod_of())
        for claim in (red, blue):
            await node.stage.preparer.unprepare(claim.ref)
        begun, go = node.stage.driver.hold("unprepare red")
        await node.stop(pod_of())
        await begun.wait()
        await node.stage.preparer.prepare(blue.ref)
        go.set()
        await node.repairer.wait_idle()
        assert list(node.stage.journal.bookings) == ["uid-blue"]


async def test_adoption_does_not_forget_a_release(tmp_path: Path) -> None:
    """A claim released too early is undone with its pod, also on a journal that may lack some."""
    async with node_in(tmp_path, complete=False) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        await node.stage.preparer.unprepare(RED.ref)
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        await node.stop(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.journal.bookings == {}


async def test_claim_released_too_early_has_two_pods(tmp_path: Path) -> None:
    """It is undone with the last of its pods."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(claim_of("red", pods=("pod-1", "pod-2")))
        pods = pod_of("pod-1", "s1"), pod_of("pod-2", "s2")
        for pod in pods:
            await node.run(pod)
        await node.stage.preparer.unprepare(RED.ref)
        await node.stop(pods[0])
        await node.repairer.wait_idle()
        assert node.stage.states() == {"s2/eth1": "attached"}
        await node.stop(pods[1])
        await node.repairer.wait_idle()
        assert node.stage.driver.calls[-1] == "unprepare red"


async def test_claim_released_too_early_is_prepared_again(tmp_path: Path) -> None:
    """Prepared again, it is kubelet's to release."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        await node.stage.preparer.unprepare(RED.ref)
        await node.stage.preparer.prepare(RED.ref)
        await node.stop(pod_of())
        await node.repairer.wait_idle()
        assert "uid-red" in node.stage.journal.bookings


async def test_claim_released_too_early_and_a_driver_that_was_away(tmp_path: Path) -> None:
    """A restart remembers what is to be undone; the pod ended meanwhile."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        await node.stage.preparer.unprepare(RED.ref)
    async with node_in(tmp_path) as node:
        node.stage.end(pod_of())
        await node.synchronize()
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["detach eth1", "unprepare red"]
        assert node.stage.journal.bookings == {}
