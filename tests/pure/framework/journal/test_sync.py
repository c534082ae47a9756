"""How often a pod waits for the disk, and what a power cut takes."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from netclaim.framework.journal.journal import Journal, open_journal
from netclaim.framework.journal.records import Report
from netclaim.framework.journal.states import (
    BOOKING_MOVES,
    BOOKING_STATES,
    LEASE_MOVES,
    LEASE_STATES,
    Move,
    State,
)
from netclaim.framework.journal.store import JournalError, Statement, Store
from tests.pure.framework.report.test_report import RED, Bench, attach, bench_in
from tests.support.framework.parts import BOOT, booking_of, claim_of, lease_of, pod_of, report_of


class Disk:
    """A journal's file, of which a power cut leaves what was synced, and perhaps more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.commits = 0
        self.syncs = 0
        self._durable = 0  # bytes of the log

    def note(self, *, synced: bool) -> None:
        """A commit is done."""
        self.commits += 1
        self.syncs += synced
        if synced:
            self._durable = self._log.stat().st_size

    def after_power_cuts(self, directory: Path) -> Iterator[Path]:
        """The file as several power cuts at this moment would leave it."""
        log = self._log.read_bytes()
        for size in {self._durable, (self._durable + len(log)) // 2, len(log)}:
            directory.mkdir(exist_ok=True)
            copy = directory / f"{size}.db"
            copy.write_bytes(self.path.read_bytes())
            copy.with_name(f"{copy.name}-wal").write_bytes(log[:size])
            yield copy

    @property
    def _log(self) -> Path:
        return self.path.with_name(f"{self.path.name}-wal")


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    """The file of the test's journal, which notes each commit."""
    noted, commit = Disk(tmp_path / "journal.db"), Store.commit

    def commit_and_note(self: Store, statements: list[Statement], *, synced: bool = True) -> None:
        commit(self, statements, synced=synced)
        if self._path == noted.path:
            noted.note(synced=synced)

    monkeypatch.setattr(Store, "commit", commit_and_note)
    return noted


async def start(bench: Bench) -> None:
    """Start a pod: its claim is prepared, attached and reported."""
    await attach(bench)
    assert await bench.ready() == "True"


async def end(bench: Bench) -> None:
    """End that pod."""
    await bench.stage.release(pod_of())
    await bench.stage.preparer.unprepare(RED.ref)


async def test_syncs_of_a_pod(tmp_path: Path, disk: Disk) -> None:
    """A pod's start waits for the disk twice: for its plan, and before it gets anything.

    Its end does so once, before kubelet hears that the claim is released.
    """
    async with bench_in(tmp_path) as bench:
        syncs, commits = disk.syncs, disk.commits
        await start(bench)
        assert (disk.syncs - syncs, disk.commits - commits) == (2, 5)
        await end(bench)
        assert (disk.syncs - syncs, disk.commits - commits) == (3, 9)


@asynccontextmanager
async def booted(path: Path) -> AsyncIterator[Journal]:
    """The journal as the next boot reads it."""
    async with open_journal(path, "boot-2") as journal:
        yield journal


async def test_power_cuts(tmp_path: Path, disk: Disk) -> None:
    """After a power cut nothing is missing that somebody has heard of, or that is to be undone."""
    async with bench_in(tmp_path) as bench:
        await bench.stage.prepare(RED)
        for copy in disk.after_power_cuts(tmp_path / "prepared"):
            async with booted(copy) as journal:
                assert journal.bookings["uid-red"].state == "lapsed"
                assert journal.bookings["uid-red"].prepared is not None
        await start(bench)
        for copy in disk.after_power_cuts(tmp_path / "attached"):
            async with booted(copy) as journal:
                assert [lease.state for lease in journal.leases.values()] == ["detaching"]
        await bench.stage.release(pod_of())
        for copy in disk.after_power_cuts(tmp_path / "detached"):
            async with booted(copy) as journal:  # undone once more, or gone
                assert {lease.state for lease in journal.leases.values()} <= {"detaching"}
                assert journal.bookings["uid-red"].state == "lapsed"
        await bench.stage.preparer.unprepare(RED.ref)
        for copy in disk.after_power_cuts(tmp_path / "released"):
            async with booted(copy) as journal:
                assert (journal.bookings, journal.leases, journal.reports) == ({}, {}, {})


async def test_power_cut_while_a_release_is_put_off(tmp_path: Path, disk: Disk) -> None:
    """A claim that kubelet released under a running pod is still known as released."""
    async with bench_in(tmp_path) as bench:
        await start(bench)
        await bench.stage.preparer.unprepare(RED.ref)
        for copy in disk.after_power_cuts(tmp_path / "cut"):
            async with booted(copy) as journal:
                assert journal.bookings["uid-red"].state == "ended"


@pytest.mark.parametrize(
    ("moves", "states"), [(BOOKING_MOVES, BOOKING_STATES), (LEASE_MOVES, LEASE_STATES)]
)
def test_moves_that_a_power_cut_may_take(
    moves: tuple[Move[Any], ...], states: dict[str, State[Any]]
) -> None:
    """The next boot takes the row for the same, or the step is repeated then."""
    unsynced = [move for move in moves if not move.synced]
    repeated = {("book", None, "booked"), ("drop", "detaching", None)}
    for move in unsynced:
        for before in move.before:
            if (move.name, before, move.after) not in repeated:
                assert before is not None
                assert move.after is not None
                assert states[before].after_reboot == states[move.after].after_reboot


def stored(path: Path) -> list[bool]:
    """Of which reports the file says that they are written."""
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT value FROM reports")
        return [b'"written":true' in row for (row,) in rows]


async def test_written_report_goes_with_the_next_write(tmp_path: Path, disk: Disk) -> None:
    """It is known at once, costs no commit, and is in the file after the next one."""
    booking = booking_of(claim_of())
    report = report_of(booking)
    async with open_journal(disk.path, BOOT) as journal:
        await journal.put_booking(booking)
        await journal.put_report(report)
        commits = disk.commits
        journal.carry_report(as_written(report))
        assert journal.reports == {"uid-red": as_written(report)}
        assert (disk.commits, stored(disk.path)) == (commits, [False])
        await journal.put_leases([lease_of("red", "s1")])
        assert (disk.commits, stored(disk.path)) == (commits + 1, [True])


async def test_written_report_is_not_lost_at_the_end(tmp_path: Path) -> None:
    """A journal that is closed writes what nothing has carried."""
    booking = booking_of(claim_of())
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        await journal.put_booking(booking)
        journal.carry_report(as_written(report_of(booking)))
    assert stored(tmp_path / "journal.db") == [True]


async def test_written_report_of_a_claim_that_is_dropped(tmp_path: Path) -> None:
    """It goes with the claim, and does not come back with the next claim of that UID."""
    booking = booking_of(claim_of())
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        await journal.put_booking(booking)
        journal.carry_report(as_written(report_of(booking)))
        await journal.drop_booking("uid-red")
        journal.carry_report(as_written(report_of(booking)))
        await journal.put_booking(booking)
        assert journal.reports == {}
    assert stored(tmp_path / "journal.db") == []


async def test_written_report_outlives_a_failed_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that fails leaves it for the next one."""
    booking = booking_of(claim_of())

    def fail(self: Store, statements: list[Statement], *, synced: bool = True) -> None:
        raise JournalError("no space")

    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        await journal.put_booking(booking)
        journal.carry_report(as_written(report_of(booking)))
        with monkeypatch.context() as full:
            full.setattr(Store, "commit", fail)
            with pytest.raises(JournalError, match="no space"):
                await journal.put_leases([lease_of("red", "s1")])
        await journal.put_leases([lease_of("red", "s1")])
        assert stored(tmp_path / "journal.db") == [True]


def as_written(report: Report) -> Report:
    """The report, once the claim's status says so."""
    return Report(report.claim, report.devices, written=True)
