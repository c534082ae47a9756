"""Bookings and leases move as the tables say, and in no other way."""

from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from netclaim.errors import NetclaimError, PeerError
from netclaim.framework.attach import AttachError
from netclaim.framework.contract import LaterError, NotBegunError
from netclaim.framework.journal import Journal, open_journal
from netclaim.framework.limits import Limits
from netclaim.framework.records import Booking, Lease
from netclaim.framework.states import (
    BOOKING_MOVES,
    BOOKING_STATES,
    LEASE_MOVES,
    LEASE_STATES,
    BookingState,
    LeaseState,
    Move,
)
from netclaim.framework.store import Store
from netclaim.model.attachment import AttachmentKey
from netclaim.model.plan import Prepared
from tests.pure.framework_parts import (
    BOOT,
    Stage,
    attachment_of,
    booking_of,
    claim_of,
    device_of,
    lease_of,
    plan_of,
    pod_of,
)

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
RED = claim_of("red", pods=("pod-1", "pod-2"))


class AwayError(LaterError, PeerError):
    """A link is not on the node."""


class UnbegunError(NotBegunError, PeerError):
    """Nothing was begun."""


class NotingJournal(Journal):
    """A journal that notes how the states of what it keeps change."""

    def __init__(self, store: Store, worker: ThreadPoolExecutor) -> None:
        super().__init__(store, worker)
        self.bookings_moved: set[tuple[Any, Any]] = set()
        self.leases_moved: set[tuple[Any, Any]] = set()

    async def put_booking(self, booking: Booking) -> None:
        """Noted."""
        before = self.bookings.get(booking.claim.uid)
        self.bookings_moved.add((before and before.state, booking.state))
        await super().put_booking(booking)

    async def drop_booking(self, claim_uid: str) -> None:
        """Noted."""
        self.bookings_moved.add((self.bookings[claim_uid].state, None))
        await super().drop_booking(claim_uid)

    async def put_leases(
        self, leases: Iterable[Lease], *, dropped: Iterable[AttachmentKey] = ()
    ) -> None:
        """Noted."""
        put, drop = list(leases), list(dropped)
        after: dict[AttachmentKey, Any] = {lease.attachment.key: lease.state for lease in put}
        for key, state in (after | dict.fromkeys(drop)).items():
            before = self.leases.get(key)
            self.leases_moved.add((before and before.state, state))
        await super().put_leases(put, dropped=drop)


@asynccontextmanager
async def noting_stage(directory: Path, boot_id: str = BOOT) -> AsyncIterator[Stage]:
    """A stage whose journal notes."""
    with ThreadPoolExecutor(max_workers=1) as worker:
        store = worker.submit(Store, directory / "journal.db").result()
        journal = NotingJournal(store, worker)
        worker.submit(journal.load, boot_id).result()
        yield Stage(journal, RED, limits=Limits())
        await journal.settle()
        worker.submit(store.close)


def moves(table: Iterable[Move[Any]]) -> set[tuple[Any, Any]]:
    """A table's moves, each as before and after."""
    return {(before, move.after) for move in table for before in move.before}


@pytest.mark.asyncio
async def test_bookings_move_as_the_table_says(tmp_path: Path) -> None:
    """Every listed move of a booking happens, and no other."""
    seen: set[tuple[Any, Any]] = set()
    async with noting_stage(tmp_path) as stage:
        await plan_again(stage)
        await put_off(stage)
        await fail_to_adopt(stage)
        assert isinstance(stage.journal, NotingJournal)
        seen |= stage.journal.bookings_moved
    async with noting_stage(tmp_path, "boot-2") as stage:
        assert stage.journal.bookings["uid-red"].state == "lapsed"
        await owe(stage)
        await stage.preparer.prepare(RED.ref)
        await stage.attacher.attach(pod_of())
        await stage.preparer.unprepare(RED.ref)
        assert isinstance(stage.journal, NotingJournal)
        seen |= stage.journal.bookings_moved
    async with noting_stage(tmp_path, "boot-3") as stage:
        assert stage.journal.bookings["uid-red"].state == "ending"
        stage.driver.fail("prepare red", AwayError("away"))
        await stage.preparer.prepare(RED.ref)
        assert isinstance(stage.journal, NotingJournal)
        seen |= stage.journal.bookings_moved
    assert seen == moves(BOOKING_MOVES)


async def plan_again(stage: Stage) -> None:
    """Book, plan, plan for other pods, lapse and drop; begin anew."""
    preparer, claims = stage.preparer, stage.claims.claims
    await preparer.prepare(RED.ref)
    claims["red"] = claim_of("red", pods=("pod-1",))
    await preparer.prepare(RED.ref)
    stage.driver.fail("unprepare red", PeerError("not now"))
    with pytest.raises(PeerError, match="not now"):
        await preparer.unprepare(RED.ref)
    await preparer.prepare(RED.ref)
    await preparer.unprepare(RED.ref)
    claims["red"] = RED


async def put_off(stage: Stage) -> None:
    """Release a claim under its pod, have it back, and release it with the pod."""
    preparer, claims = stage.preparer, stage.claims.claims
    for _ in range(2):
        await preparer.prepare(RED.ref)  # the second time while it is ending
        await stage.attacher.attach(pod_of())
        await preparer.unprepare(RED.ref)
    claims["red"] = claim_of("red", pods=("pod-2",))
    await preparer.adopt(RED.ref, ending=False)
    stage.end(pod_of())
    await preparer.release_ended(RED.ref)
    claims["red"] = RED
    await preparer.adopt(RED.ref, ending=True)
    await preparer.release_ended(RED.ref)


async def fail_to_adopt(stage: Stage) -> None:
    """Drop a claim that could not be planned; leave one that is ready for the next boot."""
    stage.driver.fail("prepare red", PeerError("not now"))
    with pytest.raises(PeerError, match="not now"):
        await stage.preparer.adopt(RED.ref, ending=False)
    await stage.preparer.prepare(RED.ref)


async def owe(stage: Stage) -> None:
    """Owe a claim that was ready before the reboot and one that is new; settle, and drop one."""
    preparer = stage.preparer
    for _ in range(2):
        stage.driver.fail("prepare red", AwayError("away"))
        await preparer.prepare(RED.ref)
        await preparer.settle(RED.ref)
        await preparer.unprepare(RED.ref)
    stage.driver.fail("prepare red", AwayError("away"))
    await preparer.prepare(RED.ref)
    await preparer.unprepare(RED.ref)


@pytest.mark.asyncio
async def test_leases_move_as_the_table_says(tmp_path: Path) -> None:
    """Every listed move of a lease happens, and no other."""
    async with noting_stage(tmp_path) as stage:
        await stage.prepare(RED)
        attacher, driver = stage.attacher, stage.driver
        driver.fail("attach eth1", UnbegunError("not begun"))
        driver.fail("attach eth1", PeerError("broken"))
        driver.fail("detach eth1", PeerError("not now"))
        for _ in range(2):
            with pytest.raises(AttachError):
                await attacher.attach(pod_of())
        with pytest.raises(NetclaimError, match="not now"):
            await attacher.release_sandbox(pod_of())
        await attacher.attach(pod_of())
        await attacher.release_sandbox(pod_of())
        had = attachment_of(plan_of(RED, device_of()), pod_of())
        await attacher.take_over(pod_of(), [had], unreported=[])
        driver.lost.add("eth1")
        assert await attacher.give_up_lost(pod_of())
        await attacher.finish(pod_of())
        assert stage.states() == {}
        assert isinstance(stage.journal, NotingJournal)
        assert stage.journal.leases_moved == moves(LEASE_MOVES)


def test_every_state_is_in_the_tables() -> None:
    """Each state is explained, can be reached and can be left."""
    for names, states, table in (
        (get_args(BookingState), BOOKING_STATES, BOOKING_MOVES),
        (get_args(LeaseState), LEASE_STATES, LEASE_MOVES),
    ):
        assert tuple(states) == names
        found = moves(table)
        assert {after for _, after in found} == {*names, None}
        assert {before for before, _ in found} == {*names, None}


@pytest.mark.parametrize("state", get_args(BookingState))
@pytest.mark.parametrize("boot_id", [BOOT, "boot-2"])
@pytest.mark.asyncio
async def test_bookings_after_a_crash(tmp_path: Path, state: BookingState, boot_id: str) -> None:
    """What the next process takes a booking for is what the table says."""
    bare = msgspec.structs.replace(booking_of(RED), prepared=None, ready=False)
    ready = bare.planned(RED, Prepared(RED.ref), ending=False)
    booking = {
        "booked": bare,
        "owed": bare.owing(),
        "ready": ready,
        "ending": ready.put_off(),
        "lapsed": ready.lapsed(),
    }[state]
    assert booking.state == state
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        await journal.put_booking(booking)
    async with open_journal(tmp_path / "journal.db", boot_id) as journal:
        row = BOOKING_STATES[state]
        now = journal.bookings["uid-red"].state
        assert now == (row.after_crash if boot_id == BOOT else row.after_reboot)


@pytest.mark.parametrize("state", get_args(LeaseState))
@pytest.mark.parametrize("boot_id", [BOOT, "boot-2"])
@pytest.mark.asyncio
async def test_leases_after_a_crash(tmp_path: Path, state: LeaseState, boot_id: str) -> None:
    """What the next process takes a lease for is what the table says."""
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        await journal.put_leases([lease_of("red", "sandbox-1", state)])
    async with open_journal(tmp_path / "journal.db", boot_id) as journal:
        row = LEASE_STATES[state]
        (lease,) = journal.leases.values()
        assert lease.state == (row.after_crash if boot_id == BOOT else row.after_reboot)
        assert (lease.attachment.pod.netns is None) == (boot_id != BOOT)


def test_the_page_shows_the_tables() -> None:
    """docs/architecture.md has a row for each state and each move, in the table's words."""
    text = PAGE.read_text()
    for states in (BOOKING_STATES, LEASE_STATES):
        for name, state in states.items():
            row = f"| `{name}` | {state.meaning} | {state.after_crash} | {state.after_reboot} |"
            assert row in text
    for table in (BOOKING_MOVES, LEASE_MOVES):
        for move in table:
            before = ", ".join(each or "none" for each in move.before)
            assert f"| {move.name} | {before} | {move.after or 'none'} | {move.by} |" in text
