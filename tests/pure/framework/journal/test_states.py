"""Bookings and leases move as the tables say, and in no other way."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from netclaim.errors import NetclaimError, PeerError
from netclaim.framework.attach.errors import AttachError
from netclaim.framework.contract import LaterError, NotBegunError
from netclaim.framework.journal.journal import Journal, open_journal
from netclaim.framework.journal.read_only import peek
from netclaim.framework.journal.records import Booking, Lease
from netclaim.framework.journal.states import (
    BOOKING_MOVES,
    BOOKING_STATES,
    LEASE_MOVES,
    LEASE_STATES,
    BookingState,
    LeaseState,
    Move,
    MoveError,
)
from netclaim.framework.journal.store import Store
from netclaim.framework.prepare.limits import Limits
from netclaim.model.on_node.attachment import AttachmentKey
from netclaim.model.on_node.plan import Prepared
from tests.support.framework.parts import (
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

PAGE = Path(__file__).parents[4] / "docs" / "architecture.md"
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
        await journal.mark_complete()
        stage = Stage(journal, RED, limits=Limits())
        async with stage.reconciler:
            yield stage
        await journal.settle()
        worker.submit(store.close)


def moves(table: Iterable[Move[Any]]) -> set[tuple[Any, Any]]:
    """A table's moves, each as before and after."""
    return {(before, move.after) for move in table for before in move.before}


async def test_bookings_move_as_the_table_says(tmp_path: Path) -> None:
    """Every listed move of a booking happens, and no other."""
    seen: set[tuple[Any, Any]] = set()
    async with noting_stage(tmp_path) as stage:
        await plan_again(stage)
        await put_off(stage)
        await put_off_late(stage)
        await fail_to_adopt(stage)
        assert isinstance(stage.journal, NotingJournal)
        seen |= stage.journal.bookings_moved
    async with noting_stage(tmp_path, "boot-2") as stage:
        assert stage.journal.bookings["uid-red"].state == "lapsed"
        await owe(stage)
        await stage.preparer.prepare(RED.ref)
        await stage.attach(pod_of())
        await stage.preparer.unprepare(RED.ref)
        assert isinstance(stage.journal, NotingJournal)
        seen |= stage.journal.bookings_moved
    async with noting_stage(tmp_path, "boot-3") as stage:
        assert stage.journal.bookings["uid-red"].state == "ended"
        await stage.preparer.adopt(RED.ref, released=False)
        assert isinstance(stage.journal, NotingJournal)
        seen |= stage.journal.bookings_moved
    for boot_id in ("boot-4", "boot-5"):
        async with noting_stage(tmp_path, boot_id) as stage:
            assert stage.journal.bookings["uid-red"].state == "ended"
            if boot_id == "boot-4":
                await end_again(stage)
            else:
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
        await stage.attach(pod_of())
        await preparer.unprepare(RED.ref)
    claims["red"] = claim_of("red", pods=("pod-2",))
    await preparer.adopt(RED.ref, released=False)
    stage.end(pod_of())
    await preparer.release_ended(RED.ref)
    claims["red"] = RED
    await preparer.adopt(RED.ref, released=True)
    await preparer.release_ended(RED.ref)


async def put_off_late(stage: Stage) -> None:
    """Release a claim halfway, find a pod with it, and release it once more with the pod."""
    preparer = stage.preparer
    stage.gone.clear()
    await preparer.prepare(RED.ref)
    stage.driver.fail("unprepare red", PeerError("not now"))
    with pytest.raises(PeerError, match="not now"):
        await preparer.unprepare(RED.ref)
    had = attachment_of(plan_of(RED, device_of()), pod_of())
    for error in (None, PeerError("not now"), AwayError("away")):
        if error is not None:
            stage.driver.fail("prepare red", error)
            await asyncio.gather(preparer.prepare(RED.ref), return_exceptions=True)
        await stage.attacher.take_over(pod_of(), [had], unreported=[])
        await preparer.unprepare(RED.ref)
        await stage.release(pod_of())
        await preparer.release_ended(RED.ref)


async def fail_to_adopt(stage: Stage) -> None:
    """Drop a claim that could not be planned; leave one that is ready for the next boot."""
    stage.driver.fail("prepare red", PeerError("not now"))
    with pytest.raises(PeerError, match="not now"):
        await stage.preparer.adopt(RED.ref, released=False)
    await stage.preparer.prepare(RED.ref)


async def end_again(stage: Stage) -> None:
    """Have a claim back whose release was put off before the reboot, and put it off again."""
    await stage.preparer.prepare(RED.ref)
    await stage.attach(pod_of())
    await stage.preparer.unprepare(RED.ref)


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
                await stage.attach(pod_of())
        with pytest.raises(NetclaimError, match="not now"):
            await stage.release(pod_of())
        await stage.attach(pod_of())
        await stage.release(pod_of())
        had = attachment_of(plan_of(RED, device_of()), pod_of())
        await attacher.take_over(pod_of(), [had], unreported=[])
        driver.lost.add("eth1")
        assert await attacher.give_up_lost(pod_of())
        await stage.sweep()
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
async def test_bookings_after_a_crash(tmp_path: Path, state: BookingState, boot_id: str) -> None:
    """What the next process takes a booking for is what the table says."""
    bare = booking_of(RED, prepared=False)
    ready = bare.planned(RED, Prepared(RED.ref), released=False)
    booking = {
        "booked": bare,
        "owed": bare.owing(),
        "ready": ready,
        "ending": ready.put_off(),
        "ended": ready.put_off().lapsed(),
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
            synced = "yes" if move.synced else "no"
            row = f"| {move.name} | {before} | {move.after or 'none'} | {move.by} | {synced} |"
            assert row in text


def test_a_move_that_is_not_listed_raises() -> None:
    """Neither a booking nor a lease can be moved in a way that the tables do not have."""
    with pytest.raises(MoveError, match="'put off' is not possible in the state 'ending'"):
        booking_of(RED).put_off().put_off()
    with pytest.raises(MoveError, match="'drop' is not possible in the state 'ready'"):
        booking_of(RED).dropped()
    with pytest.raises(MoveError, match="'owe' is not possible in the state 'ready'"):
        booking_of(RED).owing()
    attached = lease_of("red", "s1")
    for move in (attached.dropped, attached.taken_back):
        with pytest.raises(MoveError, match="in the state 'attached'"):
            move()
    with pytest.raises(MoveError, match="'attach' is not possible in the state 'detaching'"):
        attached.undone().attached(attached.attachment)


OLD_ROWS: list[tuple[dict[str, bool], bool, BookingState]] = [
    ({}, False, "booked"),
    ({"owed": True}, False, "owed"),
    ({"owed": True}, True, "owed"),
    ({"ready": True}, True, "ready"),
    ({"ready": True, "ending": True}, True, "ending"),
    ({"ending": True}, True, "ended"),
    ({}, True, "lapsed"),
]


@pytest.mark.parametrize(("booleans", "prepared", "state"), OLD_ROWS)
async def test_rows_of_an_earlier_driver(
    tmp_path: Path, booleans: dict[str, bool], prepared: bool, state: BookingState
) -> None:
    """A row with booleans in place of a state is read, and what is written has them still."""
    booking = msgspec.structs.replace(booking_of(RED, prepared=prepared), state="booked")
    row = msgspec.to_builtins(booking) | booleans
    assert "state" not in row
    path = tmp_path / "journal.db"
    async with open_journal(path, BOOT):
        pass
    with closing(sqlite3.connect(path)) as database, database:
        values = (RED.uid, msgspec.json.encode(row))
        database.execute("INSERT INTO bookings VALUES (?, ?)", values)
    async with open_journal(path, BOOT) as journal:
        expected = msgspec.structs.replace(booking, state=state)
        assert journal.bookings == {RED.uid: expected}
        assert peek(path).bookings == (expected,)
    with closing(sqlite3.connect(path)) as database:
        ((written,),) = database.execute("SELECT value FROM bookings")
    again = msgspec.json.decode(written)
    assert {key: again[key] for key in ("ready", "ending", "owed") if key in again} == booleans
