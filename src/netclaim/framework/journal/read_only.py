"""Read a driver's journal from another process, while the driver goes on.

Promise: nothing is written, and the driver is not held up and need not run. A write that is under
way is seen either whole or not at all. Limit: states are those that were written last; the next
process of the driver may take them for others.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from netclaim.framework.journal.records import Booking, Lease, read_booking
from netclaim.framework.journal.store import SCHEMA_VERSION, JournalError


class Glimpse(msgspec.Struct, frozen=True):
    bookings: tuple[Booking, ...]
    leases: tuple[Lease, ...]


def peek(path: Path) -> Glimpse:
    """Read a journal. Raises JournalError."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version != SCHEMA_VERSION:
                raise JournalError(
                    f"{path} has schema {version}, but this version of netclaim reads"
                    f" {SCHEMA_VERSION}"
                )
            bookings = database.execute("SELECT value FROM bookings").fetchall()
            leases = database.execute("SELECT value FROM leases").fetchall()
        return Glimpse(
            tuple(read_booking(row[0]) for row in bookings),
            tuple(msgspec.json.decode(row[0], type=Lease) for row in leases),
        )
    except (sqlite3.Error, msgspec.DecodeError) as error:
        raise JournalError(f"cannot read {path}: {error}") from error
