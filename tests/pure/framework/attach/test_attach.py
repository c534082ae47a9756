"""A pod gets all its devices or an error, and everything begun can be undone."""

import asyncio
import threading
from pathlib import Path

import pytest

from netclaim.errors import PeerError, RequestError
from netclaim.framework.attach.errors import AttachError, DetachError
from netclaim.framework.contract import NotBegunError
from netclaim.framework.journal.pod_plans import NotPreparedError, PodGoneError
from netclaim.framework.journal.store import Statement, Store
from tests.support.framework.parts import (
    UNREACHABLE,
    attachment_of,
    booking_of,
    claim_of,
    device_of,
    plan_of,
    pod_of,
    stage_in,
)

RED = claim_of("red")
TWO = claim_of("two", device_of("eth1"), device_of("eth2", request="second"))


async def test_attach(tmp_path: Path) -> None:
    """A pod's devices are attached and remembered with what the driver said of them."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(TWO)
        await stage.attach(pod_of())
        assert sorted(stage.driver.calls) == ["attach eth1", "attach eth2"]
        first, second = (lease.attachment for lease in stage.journal.leases.values())
        assert first == attachment_of(plan_of(TWO, TWO.devices[0]), pod_of())
        assert second.interface is not None
        assert stage.reports.touched == [("uid-two", {})]
        assert stage.claims.gets == []


async def test_attach_again(tmp_path: Path) -> None:
    """A second call finds everything there, also in another process."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        await stage.attach(pod_of())
        await stage.attach(pod_of())
        assert stage.driver.calls == ["attach eth1"]
    async with stage_in(tmp_path) as stage:
        await stage.attach(pod_of())
        assert stage.driver.calls == []


async def test_written_before_it_is_begun(tmp_path: Path) -> None:
    """When the driver is called, the journal already knows what would have to be undone."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        begun, go = stage.driver.hold("attach eth1")
        async with asyncio.TaskGroup() as group:
            group.create_task(stage.attach(pod_of()))
            await begun.wait()
            assert stage.states() == {"sandbox-1/eth1": "attaching"}
            go.set()
        assert stage.states() == {"sandbox-1/eth1": "attached"}


async def test_pods_of_others(tmp_path: Path) -> None:
    """A pod without a claim of ours costs nothing: no request, no driver, no write."""
    owned = claim_of("owned", pods=("pod-1",), owner="pod-1")
    async with stage_in(tmp_path) as stage:
        await stage.prepare(owned)
        await stage.attach(pod_of("pod-2", "sandbox-2"))
        await stage.attach(pod_of("pod-1", "sandbox-3", namespace="elsewhere"))
        assert (stage.claims.gets, stage.driver.calls, stage.states()) == ([], [], {})


FORGED = claim_of("forged", pods=("attacker",), owner="victim")


async def test_forged_owner(tmp_path: Path) -> None:
    """A claim that names another pod as its owner gives that pod nothing, and its own pod all."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(FORGED)
        await stage.attach(pod_of("victim", "s1"))
        assert stage.states() == {}
        await stage.attach(pod_of("attacker", "s2"))
        assert stage.states() == {"s2/eth1": "attached"}


async def test_forged_owner_in_the_journal(tmp_path: Path) -> None:
    """A row of an earlier driver that believed the claim's author is read without believing him."""
    row = booking_of(FORGED)
    assert row.owner_pod_uid == "victim"
    async with stage_in(tmp_path) as stage:
        await stage.journal.put_booking(row)
    async with stage_in(tmp_path, FORGED) as stage:
        await stage.attach(pod_of("victim", "s1"))
        await stage.attach(pod_of("attacker", "s2"))
        assert stage.states() == {"s2/eth1": "attached"}


async def test_forged_owner_of_a_claim_that_is_not_prepared(tmp_path: Path) -> None:
    """The pod whose claim it is does not start without; the pod that it names is not held up."""
    async with stage_in(tmp_path, FORGED) as stage:
        await stage.journal.put_booking(booking_of(FORGED, prepared=False))
        await stage.attach(pod_of("victim", "s1"))
        with pytest.raises(NotPreparedError):
            await stage.attach(pod_of("attacker", "s2"))


async def test_owner_that_shares_its_claim(tmp_path: Path) -> None:
    """A claim that is reserved for its owner and another pod is looked up for further ones."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(claim_of("red", pods=("pod-1", "pod-2"), owner="pod-1"))
        stage.claims.claims["red"] = claim_of("red", pods=("pod-2", "pod-3"), owner="pod-1")
        await stage.attach(pod_of("pod-3", "s3"))
        assert stage.states() == {"s3/eth1": "attached"}


async def test_second_pod_of_a_shared_claim(tmp_path: Path) -> None:
    """A pod that came after prepare is found by reading the claim again, once."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        stage.claims.claims["red"] = claim_of("red", pods=("pod-1", "pod-2"))
        await stage.attach(pod_of("pod-2", "sandbox-2"))
        assert stage.claims.gets == ["red"]
        assert stage.states() == {"sandbox-2/eth1": "attached"}
        await stage.attach(pod_of("pod-2", "sandbox-2"))
        assert stage.claims.gets == ["red"]


async def test_unknown_pod_is_not_let_through_on_a_guess(tmp_path: Path) -> None:
    """When it cannot be known whether a shared claim is the pod's, that is an error."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        stage.pods.faults = [UNREACHABLE]
        with pytest.raises(PeerError, match="out of reach"):
            await stage.attach(pod_of("pod-2", "sandbox-2"))
        await stage.attach(pod_of("pod-2", "sandbox-2"))
        assert stage.driver.calls == []


async def test_a_pod_is_asked_about_once(tmp_path: Path) -> None:
    """However many claims its namespace has, and though the API server is out of reach later."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(*(claim_of(name, device_of(name)) for name in ("a", "b", "c")))
        stage.claims.gets.clear()
        await stage.attach(pod_of("pod-9", "sandbox-9"))
        stage.pods.faults = [UNREACHABLE]
        await stage.attach(pod_of("pod-9", "sandbox-10"))
        assert (stage.pods.gets, stage.claims.gets) == (["pod-9"], [])


async def test_pods_that_may_not_be_read(tmp_path: Path) -> None:
    """Without the right to read pods, the claims say whose they are."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        stage.pods.forbidden = True
        stage.claims.claims["red"] = claim_of("red", pods=("pod-1", "pod-2"))
        await stage.attach(pod_of("pod-9", "sandbox-9"))
        assert stage.driver.calls == []
        await stage.attach(pod_of("pod-2", "sandbox-2"))
        assert stage.driver.calls == ["attach eth1"]


async def test_a_pod_that_is_gone_is_asked_about_again(tmp_path: Path) -> None:
    """A pod that the API server does not have is refused, and that is not remembered."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        stage.pods.gone = {"pod-9"}
        for _ in range(2):
            with pytest.raises(PodGoneError, match="was deleted while it was starting"):
                await stage.attach(pod_of("pod-9", "sandbox-9"))
        assert stage.pods.gets == ["pod-9", "pod-9"]


async def test_pod_of_kubelets_own_disk_is_not_asked_about(tmp_path: Path) -> None:
    """A static pod, such as the API server's own, starts while the API server is away."""
    static = [
        pod_of("pod-9", "s8", annotations={"kubernetes.io/config.source": "file"}),
        pod_of("0123456789abcdef0123456789abcdef", "s9"),  # as the chained plugin knows it
    ]
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        stage.pods.faults = [UNREACHABLE, UNREACHABLE]
        for each in static:
            await stage.attach(each)
        assert stage.pods.gets == []


class TakenError(NotBegunError, RequestError):
    """What a driver says that has not done anything."""


async def test_refused_attach_is_not_undone(tmp_path: Path) -> None:
    """What the driver refused before it did anything is forgotten, without a detach."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(TWO)
        stage.driver.fail("attach eth2", TakenError("the name is taken"))
        with pytest.raises(AttachError, match="the name is taken"):
            await stage.attach(pod_of())
        await stage.sweep()
        assert stage.states() == {"sandbox-1/eth1": "attached"}
        assert "detach eth2" not in stage.driver.calls


async def test_claim_of_another_uid(tmp_path: Path) -> None:
    """A claim that was replaced does not make its pods users of the old one."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        newer = claim_of("red", pods=("pod-2",))
        stage.claims.claims["red"] = type(newer)(
            uid="uid-newer", namespace="default", name="red", reserved_for=newer.reserved_for
        )
        await stage.attach(pod_of("pod-2", "sandbox-2"))
        assert stage.driver.calls == []


async def test_claim_not_prepared(tmp_path: Path) -> None:
    """A pod whose claim is not prepared yet is refused."""
    async with stage_in(tmp_path) as stage:
        await stage.journal.put_booking(booking_of(RED, prepared=False))
        with pytest.raises(NotPreparedError, match="default/red"):
            await stage.attach(pod_of())


async def test_failure(tmp_path: Path) -> None:
    """A failed device fails the pod with its own message; nothing of the pod is left."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(TWO)
        stage.driver.fail("attach eth2", RequestError("no addresses left"))
        with pytest.raises(AttachError, match="request second, device eth2: no addresses left"):
            await stage.attach(pod_of())
        assert stage.states() == {"sandbox-1/eth1": "attached", "sandbox-1/eth2": "attaching"}
        await stage.release(pod_of())
        assert stage.states() == {}
        half_done = {a.plan.device.device: a.interface is None for a in stage.driver.detached}
        assert half_done == {"eth1": False, "eth2": True}


async def test_failure_is_reported_of_each_device(tmp_path: Path) -> None:
    """The failed device is reported with its error, the others with that of the failed one."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(TWO)
        stage.driver.fail("attach eth2", RequestError("no addresses left"))
        with pytest.raises(AttachError):
            await stage.attach(pod_of())
        ((uid, failures),) = stage.reports.touched
        assert uid == "uid-two"
        assert failures[("node-1", "eth2", "")] == "no addresses left"
        assert failures[("node-1", "eth1", "")].startswith("rolled back: ")


async def test_every_failure_is_told(tmp_path: Path) -> None:
    """When several devices fail, the message has them all."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(TWO)
        stage.driver.fail("attach eth1", KeyError("a bug"))
        stage.driver.fail("attach eth2", RequestError("no addresses left"))
        with pytest.raises(AttachError, match=r"a bug.*no addresses left") as caught:
            await stage.attach(pod_of())
        assert len(caught.value.errors) == 2


async def test_retry_in_the_same_sandbox(tmp_path: Path) -> None:
    """Before a device is attached again what was begun is undone; what succeeded is left alone."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(TWO)
        stage.driver.fail("attach eth2", UNREACHABLE)
        with pytest.raises(AttachError):
            await stage.attach(pod_of())
        stage.driver.calls.clear()
        await stage.attach(pod_of())
        assert stage.driver.calls == ["detach eth2", "attach eth2"]


async def test_cut_off(tmp_path: Path) -> None:
    """An attach that is cancelled stays in the journal and is undone by a sweep."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        begun = stage.driver.hang("attach eth1")
        request = stage.reconciler.request(pod_of(), "chain")
        await begun.wait()
        await request.cancel()
        assert stage.states() == {"sandbox-1/eth1": "attaching"}
        assert "interrupted" in next(iter(stage.reports.touched[0][1].values()))
        await stage.sweep()
        assert stage.states() == {}
        assert stage.driver.calls == ["attach eth1", "detach eth1"]


async def test_cut_off_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is on its way to the disk when an attach is cancelled is there when that is over."""
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
            await asyncio.sleep(0)
            go.set()
        assert stage.states() == {"sandbox-1/eth1": "attaching"}
        await stage.sweep()
        assert (stage.states(), stage.driver.calls) == ({}, ["detach eth1"])


async def test_new_sandbox_of_a_pod(tmp_path: Path) -> None:
    """A pod has one sandbox: what an earlier one held is released before the new one attaches."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        await stage.attach(pod_of(sandbox="old"))
        await stage.attach(pod_of(sandbox="new"))
        assert stage.driver.calls == ["attach eth1", "detach eth1", "attach eth1"]
        assert stage.states() == {"new/eth1": "attached"}


async def test_old_lease_that_cannot_be_released(tmp_path: Path) -> None:
    """While an earlier sandbox's device cannot be released, the new one does not get it."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        await stage.attach(pod_of(sandbox="old"))
        stage.driver.fail("detach eth1", UNREACHABLE)
        with pytest.raises(DetachError):
            await stage.attach(pod_of(sandbox="new"))
        assert stage.states() == {"old/eth1": "detaching"}


async def test_reboot(tmp_path: Path) -> None:
    """After a reboot the old lease is released, without a namespace, before the new attach."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        await stage.attach(pod_of(sandbox="old"))
    async with stage_in(tmp_path, boot_id="boot-2") as stage:
        with pytest.raises(NotPreparedError):
            await stage.attach(pod_of(sandbox="new"))
        await stage.prepare(RED)
        await stage.attach(pod_of(sandbox="new"))
        assert stage.driver.calls == ["detach eth1", "attach eth1"]
        (released,) = stage.driver.detached
        assert released.pod.netns is None
        assert released.interface is not None


async def test_namespace_that_is_gone(tmp_path: Path) -> None:
    """A driver that detaches is told when the namespace no longer exists."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        await stage.attach(pod_of())
        stage.gone.add("/run/netns/sandbox-1")
        await stage.release(pod_of())
        assert [attachment.pod.netns for attachment in stage.driver.detached] == [None]


async def test_release_again(tmp_path: Path) -> None:
    """Releasing what is released, or was never known, calls nobody."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        await stage.attach(pod_of())
        for _ in range(2):
            await stage.release(pod_of())
            await stage.attacher.release_claim("uid-red")
            await stage.sweep()
        assert stage.driver.calls == ["attach eth1", "detach eth1"]


async def test_failed_detach_keeps_its_lease(tmp_path: Path) -> None:
    """What could not be undone is kept and undone later; the others are not held up."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(TWO)
        await stage.attach(pod_of())
        stage.driver.fail("detach eth1", UNREACHABLE, times=2)
        for _ in range(2):
            with pytest.raises(DetachError, match="out of reach"):
                await stage.release(pod_of())
            assert stage.states() == {"sandbox-1/eth1": "detaching"}
        assert b'netclaim_pending_detaches{driver="net.example.com"} 1.0' in (
            stage.metrics.exposition()
        )
        await stage.sweep()
        assert stage.states() == {}


async def test_release_of_one_pod_is_told_to_the_claim(tmp_path: Path) -> None:
    """When one of several pods on a claim goes, the claim's report is made anew."""
    both = claim_of("red", pods=("pod-1", "pod-2"))
    async with stage_in(tmp_path) as stage:
        await stage.prepare(both)
        await stage.attach(pod_of("pod-1", "s1"))
        await stage.attach(pod_of("pod-2", "s2"))
        await stage.release(pod_of("pod-1", "s1"))
        assert stage.reports.looked_at == ["uid-red"]
        await stage.release(pod_of("pod-2", "s2"))
        assert stage.reports.looked_at == ["uid-red"]


async def test_calls_for_one_sandbox_do_not_overlap(tmp_path: Path) -> None:
    """A release waits for the attach of the same sandbox, and then undoes it."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        begun, go = stage.driver.hold("attach eth1")
        async with asyncio.TaskGroup() as group:
            group.create_task(stage.attach(pod_of()))
            await begun.wait()
            releasing = group.create_task(stage.attacher.release_claim("uid-red"))
            await asyncio.sleep(0)
            assert not releasing.done()
            go.set()
        assert stage.driver.calls == ["attach eth1", "detach eth1"]
        assert stage.states() == {}


async def test_check(tmp_path: Path) -> None:
    """A check says what is not as it was, in the driver's words, and changes nothing."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(TWO)
        with pytest.raises(AttachError, match=r"lacks its interface on eth1; .* on eth2"):
            await stage.attacher.check(pod_of())
        await stage.attach(pod_of())
        await stage.attacher.check(pod_of())
        stage.driver.lost.add("eth2")
        for _ in range(2):
            with pytest.raises(AttachError, match=r"^the pod lacks its interface on eth2$"):
                await stage.attacher.check(pod_of())
        assert set(stage.states().values()) == {"attached"}


async def test_what_a_sandbox_lost_is_forgotten_at_its_end(tmp_path: Path) -> None:
    """Also if nothing is attached in it by then; its claim stays prepared."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        await stage.attach(pod_of())
        stage.driver.lost.add("eth1")
        await stage.attacher.give_up_lost(pod_of())
        await stage.attacher.finish(pod_of())
        assert [key[1] for key in stage.journal.lost] == ["sandbox-1"]
        await stage.release(pod_of())
        assert stage.journal.lost == {}
        assert list(stage.journal.bookings) == ["uid-red"]
