"""The journal loses nothing that it answered for."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from netclaim.framework.journal.journal import open_journal
from netclaim.framework.journal.store import JournalBusyError, JournalError, Statement, Store
from netclaim.model.on_node.attachment import Interface
from tests.support.framework.parts import BOOT, booking_of, claim_of, lease_of, report_of


async def test_survives_reopening(tmp_path: Path) -> None:
    """What was written is there again, equal to what it was."""
    booking, lease = booking_of(claim_of()), lease_of("red", "s1")
    report = report_of(booking)
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        await journal.put_booking(booking)
        await journal.put_leases([lease])
        await journal.put_report(report)
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        assert journal.bookings == {"uid-red": booking}
        assert journal.leases_of_claim("uid-red") == (lease,)
        assert journal.leases_of_sandbox("s1") == (lease,)
        assert journal.reports == {"uid-red": report}


async def test_dropping(tmp_path: Path) -> None:
    """What is dropped is gone, also after reopening; dropping it again is nothing."""
    booking, lease = booking_of(claim_of()), lease_of("red", "s1")
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        await journal.put_booking(booking)
        await journal.put_leases([lease])
        await journal.put_report(report_of(booking))
        for _ in range(2):
            await journal.drop_booking("uid-red")
            await journal.drop_lease(lease.attachment.key)
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        assert (journal.bookings, journal.leases, journal.reports) == ({}, {}, {})


async def test_what_a_pod_lost_is_known_until_it_has_it_again(tmp_path: Path) -> None:
    """A restart keeps it; another attachment, the claim's end and a reboot end it."""
    path, lease = tmp_path / "journal.db", lease_of("red", "s1")
    key = lease.attachment.key
    had = {key: Interface("net1", "02:00:00:00:00:01", ("192.0.2.5/24",))}
    async with open_journal(path, BOOT) as journal:
        await journal.put_lost(had)
        assert journal.lost == {}  # of no claim
        await journal.put_booking(booking_of(claim_of()))
        await journal.put_lost(had)
        await journal.put_leases([lease_of("red", "s1", "attaching")])
    for _ in range(2):
        async with open_journal(path, BOOT) as journal:
            assert journal.lost == had
    async with open_journal(path, BOOT) as journal:
        await journal.put_leases([lease])
        assert journal.lost == {}
        await journal.put_lost(had)
    async with open_journal(path, BOOT) as journal:
        assert journal.lost == had
        await journal.drop_booking("uid-red")
        await journal.put_booking(booking_of(claim_of()))
        assert journal.lost == {}
        await journal.put_lost(had)
    for _ in range(2):
        async with open_journal(path, "another boot") as journal:
            assert journal.lost == {}


async def test_what_a_pod_lost_and_nobody_can_read_is_dropped(tmp_path: Path) -> None:
    """The driver starts nevertheless, with the rows that it can read."""
    path, lease = tmp_path / "journal.db", lease_of("red", "s1")
    had = {lease.attachment.key: Interface("net1", "02:00:00:00:00:01", ("192.0.2.5/24",))}
    async with open_journal(path, BOOT) as journal:
        await journal.put_booking(booking_of(claim_of()))
        await journal.put_lost(had)
    with closing(sqlite3.connect(path)) as file, file:
        file.executemany(
            "INSERT INTO meta VALUES (?, ?)", [("lost/of a later version", "{}"), ("lost/x", "[")]
        )
    async with open_journal(path, BOOT) as journal:
        assert journal.lost == had
    with closing(sqlite3.connect(path)) as file:
        rows = file.execute("SELECT count(*) FROM meta WHERE key GLOB 'lost/*'").fetchone()
    assert rows == (1,)


async def test_report_needs_its_claim(tmp_path: Path) -> None:
    """A report on a claim that has been dropped is not kept, even if both are under way at once."""
    booking = booking_of(claim_of())
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        await journal.put_booking(booking)
        await asyncio.gather(
            journal.drop_booking("uid-red"), journal.put_report(report_of(booking))
        )
        assert journal.reports == {}
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        assert journal.reports == {}


async def test_interrupted_attach_is_to_be_undone(tmp_path: Path) -> None:
    """An attach that a crash cut short is found as something to undo; a finished one stays."""
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        await journal.put_leases([lease_of("red", "s1", "attaching"), lease_of("red", "s2")])
    for _ in range(2):
        async with open_journal(tmp_path / "journal.db", BOOT) as journal:
            states = {le.attachment.pod.id: le.state for le in journal.leases.values()}
            assert states == {"s1": "detaching", "s2": "attached"}


async def test_reboot(tmp_path: Path) -> None:
    """After a reboot every lease is to be undone, without its namespace, and no plan holds."""
    async with open_journal(tmp_path / "journal.db", "boot-1") as journal:
        await journal.put_booking(booking_of(claim_of()))
        await journal.put_leases([lease_of("red", "s1")])
    for _ in range(2):
        async with open_journal(tmp_path / "journal.db", "boot-2") as journal:
            (lease,) = journal.leases.values()
            assert lease.state == "detaching"
            assert lease.attachment.pod.netns is None
            assert journal.bookings["uid-red"].state == "lapsed"
            assert journal.bookings["uid-red"].prepared is not None


async def test_only_a_new_journal_is_incomplete(tmp_path: Path) -> None:
    """Until it is said to be complete; one from before there was this mark has seen it all."""
    path = tmp_path / "journal.db"
    for _ in range(2):
        async with open_journal(path, BOOT) as journal:
            assert not journal.complete
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM meta WHERE key = 'complete'")
    database.close()
    async with open_journal(path, BOOT) as journal:
        assert journal.complete
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = 'no' WHERE key = 'complete'")
    database.close()
    async with open_journal(path, BOOT) as journal:
        await journal.mark_complete()
    async with open_journal(path, BOOT) as journal:
        assert journal.complete


async def test_write_outlives_its_caller(tmp_path: Path) -> None:
    """A write whose caller is cancelled is finished, on disk and in memory."""
    booking = booking_of(claim_of())
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        writing = asyncio.ensure_future(journal.put_booking(booking))
        await asyncio.sleep(0)  # the write is handed to its thread
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await journal.drop_booking("uid-other")  # a later write, so the first is done
        assert journal.bookings == {"uid-red": booking}
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        assert journal.bookings == {"uid-red": booking}


async def test_writes_of_a_burst_share_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes that come while the disk is busy go to it together, in their order."""
    commits: list[int] = []
    commit = Store.commit

    def counted(self: Store, statements: list[Statement], *, synced: bool = True) -> None:
        commits.append(len(statements))
        commit(self, statements, synced=synced)

    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        monkeypatch.setattr(Store, "commit", counted)
        leases = [lease_of("red", f"s{number}") for number in range(10)]
        await asyncio.gather(
            *(journal.put_leases([lease]) for lease in leases),
            *(journal.drop_lease(lease.attachment.key) for lease in leases[1:]),
        )
        assert commits == [19]
        assert tuple(journal.leases.values()) == (leases[0],)
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        assert tuple(journal.leases.values()) == (leases[0],)


async def test_closing_waits_for_writes(tmp_path: Path) -> None:
    """A write that nobody waits for any more is on the disk when the journal has closed."""
    booking = booking_of(claim_of())
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        writing = asyncio.ensure_future(journal.put_booking(booking))
        await asyncio.sleep(0)
        writing.cancel()
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        assert journal.bookings == {"uid-red": booking}


async def test_closed_journal_refuses_writes(tmp_path: Path) -> None:
    """A write that comes too late raises, and its caller does not wait for ever."""
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        pass
    with pytest.raises(RuntimeError, match="after shutdown"):
        await journal.put_booking(booking_of(claim_of()))
    assert journal.bookings == {}


async def test_one_process_at_a_time(tmp_path: Path) -> None:
    """A journal in use is refused, and free again when its user has ended."""
    async with open_journal(tmp_path / "journal.db", BOOT):
        with pytest.raises(JournalBusyError):
            async with open_journal(tmp_path / "journal.db", BOOT):
                pass
    async with open_journal(tmp_path / "journal.db", BOOT):
        pass


async def test_failed_write(tmp_path: Path) -> None:
    """A write that fails raises and leaves memory as the disk is."""
    async with open_journal(tmp_path / "journal.db", BOOT) as journal:
        with sqlite3.connect(tmp_path / "journal.db") as other:
            other.execute("DROP TABLE bookings")
        other.close()
        with pytest.raises(JournalError, match="cannot write"):
            await journal.put_booking(booking_of(claim_of()))
        assert journal.bookings == {}


async def test_files_of_others(tmp_path: Path) -> None:
    """A damaged file, and one of another schema, are refused and left as they are."""
    damaged = tmp_path / "journal.db"
    damaged.write_bytes(b"no database at all" * 100)
    with pytest.raises(JournalError, match="cannot be opened"):
        async with open_journal(damaged, BOOT):
            pass
    assert damaged.read_bytes().startswith(b"no database")
    newer = tmp_path / "newer" / "journal.db"
    newer.parent.mkdir()
    with sqlite3.connect(newer) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(JournalError, match="schema 99"):
        async with open_journal(newer, BOOT):
            pass


async def test_state_directory_that_cannot_be(tmp_path: Path) -> None:
    """A state directory that cannot be made is told by its path."""
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="file"):
        async with open_journal(tmp_path / "file" / "journal.db", BOOT):
            pass
