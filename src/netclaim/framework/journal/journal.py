"""What must survive: the bookings, leases and reports of one driver, on disk and in memory.

Promise: a write is in the file when its call returns, and is seen by readers from then on; SIGKILL
at any instruction loses nothing that returned. A power cut takes at most the last writes, and of
those only reports and moves that the next boot needs nothing of (`states` lists them). Reading
never waits, since everything is held in memory too. A write goes on when its caller is cancelled,
and memory follows the file either way. Many pods at once cost little more than one (`commits`).
Limit: one process at a time; a second one is refused until the first has ended. That a report is
written goes to the file with the next write; after SIGKILL before that, it is written once more.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from netclaim.framework.journal.commits import Commits
from netclaim.framework.journal.lost import LostInterface, LostInterfaces, drops
from netclaim.framework.journal.records import (
    Booking,
    KnownNode,
    Lease,
    Report,
    read_booking,
    write_booking,
)
from netclaim.framework.journal.states import (
    BOOKING_MOVES,
    LEASE_MOVES,
    LeaseState,
    is_synced,
)
from netclaim.framework.journal.store import INSERT_META, JournalError, Statement, Store
from netclaim.framework.journal.table import booking_table, lease_table
from netclaim.model.on_node.attachment import AttachmentKey, Interface

INSERT_LEASE: Final = "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?)"
INSERT_REPORT: Final = (
    "INSERT OR REPLACE INTO reports"
    " SELECT ?, ? WHERE EXISTS (SELECT 1 FROM bookings WHERE claim_uid = ?)"
)
DELETE_LEASE: Final = (
    "DELETE FROM leases WHERE (claim_uid, sandbox_id, pool, device, share_id) = (?, ?, ?, ?, ?)"
)


class Journal:
    """The driver's memory. Made by `open_journal`."""

    def __init__(self, store: Store, worker: ThreadPoolExecutor) -> None:
        self._store = store
        self._commits = Commits(store, worker)
        self.booked: Final = booking_table()
        self.leased: Final = lease_table()
        self._lost: Final = LostInterfaces()
        self._reports: dict[str, Report] = {}
        self.complete = False  # whether all that runs on the node is in here; not so in a new file
        self.node: KnownNode | None = None  # as the API server last described it

    @property
    def bookings(self) -> Mapping[str, Booking]:
        """Claims that hold devices, by UID."""
        return self.booked.rows

    @property
    def leases(self) -> Mapping[AttachmentKey, Lease]:
        """The attachments that are still to be undone at some time."""
        return self.leased.rows

    @property
    def lost(self) -> Mapping[AttachmentKey, Interface]:
        """What running pods had by attachments that were lost, and do not have again."""
        return self._lost.had

    @property
    def reports(self) -> Mapping[str, Report]:
        """What claims' statuses say, by UID."""
        return MappingProxyType(self._reports)

    def leases_of_sandbox(self, sandbox_id: str) -> tuple[Lease, ...]:
        return self.leased.group("sandbox", sandbox_id)

    def leases_of_claim(self, claim_uid: str) -> tuple[Lease, ...]:
        return self.leased.group("claim", claim_uid)

    @property
    def half_done(self) -> tuple[Lease, ...]:
        """The leases that were begun, or are to be undone."""
        return self.leased.group("state", "attaching") + self.leased.group("state", "detaching")

    @property
    def released(self) -> tuple[Booking, ...]:
        """The bookings that kubelet has released, and that are still to be undone."""
        return self.booked.group("state", "ending") + self.booked.group("state", "ended")

    async def mark_complete(self) -> None:
        """Note that everything on the node is in the journal."""

        def remember() -> None:
            self.complete = True

        await self._commits.write([(INSERT_META, ("complete", "yes"))], remember)

    async def put_node(self, node: KnownNode) -> None:
        def remember() -> None:
            self.node = node

        row = ("node", msgspec.json.encode(node).decode())
        await self._commits.write([(INSERT_META, row)], remember)

    async def put_booking(self, booking: Booking) -> None:
        """Write a booking, in place of an earlier one of the claim."""
        uid = booking.claim.uid
        known = self.bookings.get(uid)
        before = known.state if known is not None else None
        await self._commits.write(
            [_booking_row(booking)],
            lambda: self.booked.put(uid, booking),
            synced=is_synced(BOOKING_MOVES, before, booking.state),
        )

    async def drop_booking(self, claim_uid: str) -> None:
        """Forget a claim, what was reported of it, and what its pods had."""
        lost = self._lost.of_claim(claim_uid)

        def forget() -> None:
            self.booked.drop(claim_uid)
            self._lost.drop(lost)
            self._reports.pop(claim_uid, None)
            self._commits.drop_carried(claim_uid)

        await self._commits.write(
            [
                ("DELETE FROM bookings WHERE claim_uid = ?", (claim_uid,)),
                ("DELETE FROM reports WHERE claim_uid = ?", (claim_uid,)),
                *drops(lost),
            ],
            forget,
        )

    async def put_leases(
        self, leases: Iterable[Lease], *, dropped: Iterable[AttachmentKey] = ()
    ) -> None:
        """Write leases and drop others, all of it or nothing.

        Of what is attached now, it does not count any more what the pod had before.
        """
        batch = {lease.attachment.key: lease for lease in leases}
        forgotten = tuple(dropped)
        there = [key for key, lease in batch.items() if lease.done and key in self.lost]

        def remember() -> None:
            for key, lease in batch.items():
                self.leased.put(key, lease)
            for key in forgotten:
                self.leased.drop(key)
            self._lost.drop(there)

        changed = [(DELETE_LEASE, _columns(key)) for key in forgotten]
        changed += [*_lease_rows(batch), *drops(there)]
        after = {key: lease.state for key, lease in batch.items()}
        synced = any(self._is_synced(key, after.get(key)) for key in (*batch, *forgotten))
        await self._commits.write(changed, remember, synced=synced)

    async def put_lost(self, had: Mapping[AttachmentKey, Interface]) -> None:
        """Write what pods had by attachments that are about to be undone.

        A power cut may take it, since it ends the pods as well.
        """
        lost = [LostInterface(*each) for each in had.items() if each[0][0] in self.bookings]
        if lost:
            rows = [each.row for each in lost]
            await self._commits.write(rows, lambda: self._lost.put(lost), synced=False)

    async def drop_lost(self, sandbox_id: str) -> None:
        """Forget what a sandbox had, which has ended."""
        keys = self._lost.of_sandbox(sandbox_id)
        if keys:
            await self._commits.write(drops(keys), lambda: self._lost.drop(keys), synced=False)

    async def drop_lease(self, key: AttachmentKey) -> None:
        await self.put_leases((), dropped=[key])

    def _is_synced(self, key: AttachmentKey, after: LeaseState | None) -> bool:
        known = self.leases.get(key)
        return is_synced(LEASE_MOVES, known.state if known is not None else None, after)

    async def put_report(self, report: Report) -> None:
        """Write what a claim's status says or will say, unless the claim was dropped.

        A power cut may take it; the status is then written again, with later times.
        """
        uid = report.claim.uid

        def remember() -> None:
            if uid in self.bookings:
                self._reports[uid] = report

        await self._commits.write([_report_row(report)], remember, synced=False)

    def carry_report(self, report: Report) -> None:
        """Remember at once what a claim's status says, and write that with the next write.

        Not if the claim was dropped. After SIGKILL in between, the same status is written again.
        """
        uid = report.claim.uid
        if uid in self.bookings:
            self._reports[uid] = report
            self._commits.carry(uid, _report_row(report))

    async def run(self) -> None:
        """Wait for a write that fails, and try another; raises JournalError while that fails too.

        A second call tries at once if the last write failed.
        """
        while True:
            await self._commits.wait_failed()
            await self._commits.write([(INSERT_META, ("written", "yes"))], lambda: None)

    async def settle(self) -> None:
        """Return when everything that was to be written is in the file, or has failed.

        A caller that is cancelled, even twice, does not cancel the writes: others wait for them.
        """
        await self._commits.settle()

    async def finish(self) -> None:
        """The same, with what no later write will carry."""
        await self._commits.finish()

    def load(self, boot_id: str) -> None:
        """Read everything, and take over what an earlier process or boot left half done."""
        store = self._store
        try:
            bookings = [read_booking(v) for v in store.rows("SELECT value FROM bookings")]
            leases = [_LEASE.decode(v) for v in store.rows("SELECT value FROM leases")]
            reports = [_REPORT.decode(v) for v in store.rows("SELECT value FROM reports")]
        except msgspec.DecodeError as error:
            raise JournalError(f"the journal has an entry that cannot be read: {error}") from error
        nodes = store.rows("SELECT value FROM meta WHERE key = 'node'")
        self.node = _NODE.decode(nodes[0]) if nodes else None
        boots = store.rows("SELECT value FROM meta WHERE key = 'boot_id'")
        rebooted = boots != [boot_id]
        known = () if rebooted else {booking.claim.uid for booking in bookings}
        self._lost.load(store, known)
        bookings = [booking.inherited(rebooted=rebooted) for booking in bookings]
        inherited = [lease.inherited(rebooted=rebooted) for lease in leases]
        for booking in bookings:
            self.booked.put(booking.claim.uid, booking)
        for lease in inherited:
            self.leased.put(lease.attachment.key, lease)
        self._reports = {report.claim.uid: report for report in reports}
        complete = store.rows("SELECT value FROM meta WHERE key = 'complete'")
        # A file from before there was this entry has seen all that runs; only a new one has not.
        self.complete = complete == ["yes"] or (not complete and bool(boots))
        remembered: list[Statement] = [
            (INSERT_META, ("boot_id", boot_id)),
            (INSERT_META, ("complete", "yes" if self.complete else "no")),
        ]
        store.commit([*map(_booking_row, bookings), *_lease_rows(self.leases), *remembered])


@asynccontextmanager
async def open_journal(path: Path, boot_id: str) -> AsyncIterator[Journal]:
    """Open the journal, making it if it is not there; close it after the last write.

    Raises JournalBusyError while another process has it.
    """
    loop = asyncio.get_running_loop()
    # One thread: SQLite's calls stay in order, and none of them holds up the loop.
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="journal") as worker:
        store = await loop.run_in_executor(worker, Store, path)
        try:
            journal = Journal(store, worker)
            await loop.run_in_executor(worker, journal.load, boot_id)
            try:
                yield journal
            finally:
                await journal.finish()
        finally:
            worker.submit(store.close)


_LEASE = msgspec.json.Decoder(Lease)
_REPORT = msgspec.json.Decoder(Report)
_NODE = msgspec.json.Decoder(KnownNode)


def _booking_row(booking: Booking) -> Statement:
    row = (booking.claim.uid, write_booking(booking))
    return ("INSERT OR REPLACE INTO bookings VALUES (?, ?)", row)


def _report_row(report: Report) -> Statement:
    uid = report.claim.uid
    return (INSERT_REPORT, (uid, msgspec.json.encode(report), uid))


def _columns(key: AttachmentKey) -> tuple[str, str, str, str, str]:
    claim_uid, sandbox_id, device = key
    return (claim_uid, sandbox_id, *device)


def _lease_rows(leases: Mapping[AttachmentKey, Lease]) -> list[Statement]:
    return [
        (INSERT_LEASE, (*_columns(key), msgspec.json.encode(lease)))
        for key, lease in leases.items()
    ]
