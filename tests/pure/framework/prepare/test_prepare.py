"""Claims are prepared once, released wholly, and never given what another claim holds."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from netclaim.errors import PeerError, RequestError
from netclaim.framework.journal.pod_plans import NotPreparedError
from netclaim.framework.journal.store import JournalError
from netclaim.framework.prepare.booker import DeviceBusyError
from netclaim.framework.prepare.holders import Holders
from netclaim.framework.prepare.preparer import OF_A_NAMESPACE, PLANNED_AT_A_TIME, DriverError
from netclaim.model import AllocatedDevice, Claim, Prepared, PreparedDevice
from netclaim.model.claims.claim import OpaqueConfig
from netclaim.model.claims.unreadable import stand_in
from tests.support.framework.parts import (
    UNREACHABLE,
    ScriptedDriver,
    booking_of,
    claim_of,
    device_of,
    moved,
    pod_of,
    stage_in,
)

RED = claim_of("red")
BLUE = claim_of("blue", pods=("pod-2",))
OTHERS = AllocatedDevice(request="gpu", driver="gpu.example.com", pool="node-1", device="gpu-0")


async def test_prepare(tmp_path: Path) -> None:
    """The answer names each device with its base request, pool and share."""
    claim = claim_of("red", device_of("eth1", request="nic/fast", share_id="s1"))
    async with stage_in(tmp_path, claim) as stage:
        answer = await stage.preparer.prepare(claim.ref)
        assert answer.devices == (
            PreparedDevice(
                request_names=("nic",), pool_name="node-1", device_name="eth1", share_id="s1"
            ),
        )
        assert stage.journal.bookings["uid-red"].prepared is not None


async def test_plan_is_written_before_the_answer(tmp_path: Path) -> None:
    """A plan that cannot be written down is no success."""

    def break_the_journal() -> None:
        with closing(sqlite3.connect(tmp_path / "journal.db")) as database:
            database.execute("DROP TABLE bookings")

    async with stage_in(tmp_path, RED) as stage:
        stage.driver.on["prepare red"] = [break_the_journal]
        with pytest.raises(JournalError):
            await stage.preparer.prepare(RED.ref)
        assert stage.journal.bookings["uid-red"].prepared is None


async def test_again_returns_the_saved_plan(tmp_path: Path) -> None:
    """A second call gives the same answer without the driver, also in another process."""
    async with stage_in(tmp_path, RED) as stage:
        first = await stage.preparer.prepare(RED.ref)
        assert await stage.preparer.prepare(RED.ref) == first
        assert stage.driver.calls == ["prepare red"]
    async with stage_in(tmp_path, RED) as stage:
        assert await stage.preparer.prepare(RED.ref) == first
        assert stage.driver.calls == []
        assert stage.files.written == {"uid-red"}


async def test_again_learns_of_new_pods(tmp_path: Path) -> None:
    """Pods that the claim was reserved for since are known after a second call."""
    async with stage_in(tmp_path, RED) as stage:
        await stage.preparer.prepare(RED.ref)
        stage.claims.claims["red"] = claim_of("red", pods=("pod-1", "pod-9"))
        await stage.preparer.prepare(RED.ref)
        assert stage.journal.bookings["uid-red"].pods == {"pod-1", "pod-9"}


async def test_again_forgets_pods_that_are_done(tmp_path: Path) -> None:
    """Pods that the claim is no longer reserved for are forgotten: the list does not grow."""
    async with stage_in(tmp_path, RED) as stage:
        await stage.preparer.prepare(RED.ref)
        stage.claims.claims["red"] = claim_of("red", pods=("pod-9",))
        await stage.preparer.prepare(RED.ref)
        assert stage.journal.bookings["uid-red"].pods == {"pod-9"}


async def test_reboot_prepares_anew(tmp_path: Path) -> None:
    """After a reboot the driver is called again: what it did to the node is gone."""
    async with stage_in(tmp_path, RED) as stage:
        await stage.preparer.prepare(RED.ref)
    async with stage_in(tmp_path, RED, boot_id="boot-2") as stage:
        await stage.preparer.prepare(RED.ref)
        await stage.preparer.prepare(RED.ref)
        assert stage.driver.calls == ["prepare red"]


async def test_calls_for_one_claim_wait_for_each_other(tmp_path: Path) -> None:
    """Two calls at once for one claim call the driver once; another claim does not wait."""
    async with stage_in(tmp_path, RED, claim_of("blue", device_of("eth2"))) as stage:
        begun, go = stage.driver.hold("prepare red")
        async with asyncio.TaskGroup() as group:
            group.create_task(stage.preparer.prepare(RED.ref))
            group.create_task(stage.preparer.prepare(RED.ref))
            await begun.wait()
            await stage.preparer.prepare(stage.claims.claims["blue"].ref)
            go.set()
        assert stage.driver.calls == ["prepare red", "prepare blue"]


async def test_a_namespace_is_planned_for_by_twos(tmp_path: Path) -> None:
    """Of forty slow claims of one tenant two are planned at a time.

    Each of eight others has its turn at once, though with the last ones all places are taken.
    """
    reds = [claim_of(f"red{n}", device_of(f"red{n}"), pods=(f"r{n}",)) for n in range(40)]
    others = [
        claim_of(f"blue{n}", device_of(f"blue{n}"), namespace=f"other{n}", pods=(f"b{n}",))
        for n in range(PLANNED_AT_A_TIME)
    ]
    async with stage_in(tmp_path, *reds, *others) as stage:
        held = {each.name: stage.driver.hold(f"prepare {each.name}") for each in (*reds, *others)}
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            for claim in reds:
                group.create_task(stage.preparer.prepare(claim.ref))
            begun = [held[each.name][0] for each in reds]
            await asyncio.gather(*(each.wait() for each in begun[:OF_A_NAMESPACE]))
            for claim in others:
                group.create_task(stage.preparer.prepare(claim.ref))
            await asyncio.gather(*(held[each.name][0].wait() for each in others))
            assert [each.is_set() for each in begun].count(True) == OF_A_NAMESPACE
            for _, go in held.values():
                go.set()
        assert sorted(stage.driver.calls) == sorted(f"prepare {name}" for name in held)


async def test_waits_for_the_runtimes_hooks(tmp_path: Path) -> None:
    """While a starting pod would not be noticed, no claim is prepared for one."""
    async with stage_in(tmp_path, RED) as stage:
        stage.hooked.clear()
        async with asyncio.TaskGroup() as group:
            group.create_task(stage.preparer.prepare(RED.ref))
            await asyncio.sleep(0)
            assert stage.claims.gets == []
            stage.hooked.set()
        assert stage.driver.calls == ["prepare red"]


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (None, "no longer exists"),
        (moved(RED, uid="uid-other"), "was replaced"),
        (moved(RED, devices=()), "no device of net.example.com"),
        (moved(RED, devices=(OTHERS,)), "no device of net.example.com"),
    ],
)
async def test_claims_that_cannot_be(tmp_path: Path, claim: Claim | None, message: str) -> None:
    """A claim that is gone, replaced or not ours is refused before the driver hears of it."""
    async with stage_in(tmp_path) as stage:
        if claim is not None:
            stage.claims.claims["red"] = claim
        with pytest.raises(RequestError, match=message):
            await stage.preparer.prepare(RED.ref)
        assert stage.driver.calls == []
        assert stage.journal.bookings == {}


async def test_failed_prepare_can_be_released(tmp_path: Path) -> None:
    """What a failed prepare left behind is undone by unprepare, without plans."""
    async with stage_in(tmp_path, RED) as stage:
        stage.driver.fail("prepare red", RequestError("no such mode"))
        with pytest.raises(RequestError):
            await stage.preparer.prepare(RED.ref)
        stage.preparer.report_failure(RED.ref, "no such mode", None)
        assert stage.reports.touched == [("uid-red", {("node-1", "eth1", ""): "no such mode"})]
    async with stage_in(tmp_path) as stage:
        await stage.preparer.unprepare(RED.ref)
        assert [prepared.plans for prepared in stage.driver.unprepared] == [()]
        assert stage.journal.bookings == {}


class Forgetful(ScriptedDriver):
    """Plans only the first device."""

    async def prepare(self, claim: Claim) -> Prepared:
        """Too little."""
        return await super().prepare(moved(claim, devices=claim.devices[:1]))


async def test_driver_must_plan_every_device(tmp_path: Path) -> None:
    """A driver that leaves out a device is found out, and nothing is saved."""
    claim = claim_of("red", device_of("eth1"), device_of("eth2"))
    async with stage_in(tmp_path, claim, driver=Forgetful()) as stage:
        with pytest.raises(DriverError):
            await stage.preparer.prepare(claim.ref)
        assert stage.journal.bookings["uid-red"].prepared is None


async def test_unprepare(tmp_path: Path) -> None:
    """Releasing detaches first, works without the claim object, and leaves nothing."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        await stage.attach(pod_of())
        stage.claims.claims.clear()
        stage.driver.calls.clear()
        stage.end(pod_of())
        await stage.preparer.unprepare(RED.ref)
        assert stage.driver.calls == ["detach eth1", "unprepare red"]
        assert (stage.journal.bookings, stage.journal.leases) == ({}, {})
        assert stage.files.written == set()
        assert stage.reports.touched[-1] == ("uid-red", {})
        await stage.preparer.unprepare(RED.ref)
        assert stage.driver.calls == ["detach eth1", "unprepare red"]


async def test_unprepare_of_the_unknown(tmp_path: Path) -> None:
    """A claim that was never prepared is released without the driver."""
    async with stage_in(tmp_path) as stage:
        await stage.preparer.unprepare(RED.ref)
        assert stage.driver.calls == []


@pytest.mark.parametrize("call", ["detach eth1", "unprepare red"])
async def test_failed_release_keeps_the_claim(tmp_path: Path, call: str) -> None:
    """While something cannot be undone the claim is kept, and a later call goes on."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        await stage.attach(pod_of())
        stage.end(pod_of())
        stage.driver.fail(call, UNREACHABLE)
        with pytest.raises(PeerError):
            await stage.preparer.unprepare(RED.ref)
        assert "uid-red" in stage.journal.bookings
        await stage.preparer.unprepare(RED.ref)
        assert stage.journal.bookings == {}


async def test_release_that_was_begun_is_no_preparation(tmp_path: Path) -> None:
    """A claim whose release failed halfway is prepared by the driver again before it is used."""
    own = claim_of("red", owner="pod-1")  # others would be looked up, and prepared for the pod
    async with stage_in(tmp_path) as stage:
        await stage.prepare(own)
        stage.driver.fail("unprepare red", UNREACHABLE)
        with pytest.raises(PeerError):
            await stage.preparer.unprepare(RED.ref)
        with pytest.raises(NotPreparedError):
            await stage.attach(pod_of())
        await stage.preparer.prepare(RED.ref)
        assert stage.driver.calls == ["unprepare red", "prepare red"]
        await stage.attach(pod_of())


async def test_device_in_use(tmp_path: Path) -> None:
    """A device that another claim holds is refused for now, and given once it is free."""
    async with stage_in(tmp_path, RED, BLUE) as stage:
        await stage.preparer.prepare(RED.ref)
        with pytest.raises(DeviceBusyError, match="default/red"):
            await stage.preparer.prepare(BLUE.ref)
        await stage.preparer.unprepare(RED.ref)
        await stage.preparer.prepare(BLUE.ref)
        assert stage.driver.calls == ["prepare red", "unprepare red", "prepare blue"]


async def test_race_for_a_device(tmp_path: Path) -> None:
    """Of two claims that want one device at the same time, one gets it."""
    async with stage_in(tmp_path, RED, BLUE) as stage:
        outcomes = await asyncio.gather(
            stage.preparer.prepare(RED.ref),
            stage.preparer.prepare(BLUE.ref),
            return_exceptions=True,
        )
        assert [isinstance(o, DeviceBusyError) for o in outcomes].count(True) == 1
        assert len(stage.driver.calls) == 1


@pytest.mark.parametrize(
    "left",
    [
        None,
        moved(RED, uid="uid-newer"),
        moved(RED, allocated=False, devices=()),
        moved(RED, devices=(device_of("eth8"),)),
    ],
    ids=["gone", "replaced", "deallocated", "allocated anew"],
)
async def test_forgotten_claim_is_released(tmp_path: Path, left: Claim | None) -> None:
    """A device held by a claim that kubelet will never release is freed when it is needed."""
    async with stage_in(tmp_path, BLUE) as stage:
        await stage.prepare(RED)
        del stage.claims.claims["red"]
        if left is not None:
            stage.claims.claims["red"] = left
        await stage.preparer.prepare(BLUE.ref)
        assert stage.driver.calls == ["unprepare red", "prepare blue"]


@pytest.mark.parametrize(
    ("refused", "other"),
    [
        ({"share_id": "a"}, {"share_id": "b"}),
        ({}, {"admin_access": True}),
    ],
    ids=["another share", "admin access"],
)
async def test_refused_claim_holds_nobody_up(
    tmp_path: Path, refused: dict[str, Any], other: dict[str, Any]
) -> None:
    """A claim that can never be prepared does not keep others from the link they share with it."""
    never = claim_of("never", device_of(**refused))
    blue = claim_of("blue", device_of(**other))
    async with stage_in(tmp_path, never, blue) as stage:
        stage.driver.fail("prepare never", RequestError("unknown key"), times=9)
        for _ in range(2):
            with pytest.raises(RequestError):
                await stage.preparer.prepare(never.ref)
            await stage.preparer.prepare(blue.ref)
            await stage.preparer.unprepare(blue.ref)


async def test_claim_prepared_anew_is_not_stale(tmp_path: Path) -> None:
    """What was judged to be forgotten, and is prepared anew meanwhile, is left alone."""
    async with stage_in(tmp_path, RED) as stage:
        await stage.prepare(RED)
        before = stage.journal.bookings[RED.uid]
        stage.claims.claims["red"] = moved(RED, devices=(device_of("eth8"),))
        await stage.preparer.prepare(RED.ref)
        await stage.preparer.unprepare(RED.ref, only=before)
        assert stage.journal.bookings[RED.uid].devices == (device_of("eth8"),)


async def test_refused_claim_gives_its_link_back_at_once(tmp_path: Path) -> None:
    """A link that a refused claim had alone is the next claim's, before kubelet releases it."""
    async with stage_in(tmp_path, RED, BLUE) as stage:
        stage.driver.fail("prepare red", RequestError("unknown key"))
        with pytest.raises(RequestError):
            await stage.preparer.prepare(RED.ref)
        stage.claims.claims["red"] = moved(RED, allocated=False, devices=())
        await stage.preparer.prepare(BLUE.ref)
        assert list(stage.journal.bookings) == [BLUE.uid]
        assert stage.driver.calls == ["prepare red", "unprepare red", "prepare blue"]


async def test_allocated_anew(tmp_path: Path) -> None:
    """A claim that comes back with other devices is released and prepared from the start."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        stage.claims.claims["red"] = claim_of("red", device_of("eth7"))
        await stage.preparer.prepare(RED.ref)
        assert stage.driver.calls == ["unprepare red", "prepare red"]


@pytest.mark.parametrize(
    ("held", "wanted", "excluded"),
    [
        ({}, {}, True),
        ({"admin_access": True}, {}, False),
        ({}, {"admin_access": True}, False),
        ({"share_id": "a"}, {"share_id": "b"}, False),
        ({"share_id": "a"}, {"share_id": "a"}, True),
        ({"share_id": "a"}, {}, True),
        ({}, {"share_id": "a"}, True),
    ],
)
def test_who_excludes_whom(held: dict[str, Any], wanted: dict[str, Any], excluded: bool) -> None:
    """Shares of a device and admin access live side by side; everything else excludes."""
    booking = booking_of(claim_of("red", device_of(**held)))
    claim = claim_of("blue", device_of(**wanted))
    holders = Holders(ScriptedDriver().holds)
    holders.note(None, booking)
    assert (holders.blocking(claim) == booking.claim) == excluded
    assert holders.blocking(claim_of("blue", device_of("eth9"))) is None
    assert holders.blocking(claim_of("red")) is None
    holders.note(booking, None)
    assert holders.blocking(claim) is None


class Gatekeeper(ScriptedDriver):
    """A driver that serves only namespaces with a label."""

    reads_namespace = True

    async def prepare(self, claim: Claim) -> Prepared:
        """Plan, or refuse."""
        if claim.namespace_labels.get("team") != "media":
            raise RequestError("the namespace may not use it")
        return await super().prepare(claim)


async def test_nothing_is_refused_for_labels_of_a_moment_ago(tmp_path: Path) -> None:
    """A label that an admin has just corrected counts at once; others are read when they are."""
    async with stage_in(tmp_path, RED, driver=Gatekeeper()) as stage:
        stage.namespaces.by_name[RED.namespace] = {"team": "media"}
        stage.namespaces.stale[RED.namespace] = {}
        await stage.preparer.prepare(RED.ref)
        assert stage.journal.bookings["uid-red"].is_planned
    async with stage_in(tmp_path, BLUE, driver=Gatekeeper()) as stage:
        with pytest.raises(RequestError, match="may not use it"):
            await stage.preparer.prepare(BLUE.ref)


async def test_parameters_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    """The driver does not see them, and the claim says what is wrong."""
    config = OpaqueConfig("FromClaim", RED.devices[0].driver, stand_in("it is not UTF-8"))
    claim = msgspec.structs.replace(RED, configs=(config,))
    async with stage_in(tmp_path, claim) as stage:
        with pytest.raises(RequestError, match="it is not UTF-8") as refusal:
            await stage.preparer.prepare(claim.ref)
        assert stage.driver.calls == []
        stage.preparer.report_failure(claim.ref, str(refusal.value), None, refused=True)
        assert stage.reports.touched == [("uid-red", {("node-1", "eth1", ""): str(refusal.value)})]
