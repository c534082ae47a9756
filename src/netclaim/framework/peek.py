"""A look into a driver's journal from another process, while the driver goes on.

Promise: only reads; the driver is not held up and needs not run. What is being written at the
moment is seen as before or as after. Limit: rows say what was written last, so that a state may be
one that the next process would take for another.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from netclaim.framework.records import Booking, Lease
from netclaim.framework.store import SCHEMA_VERSION, JournalError

__all__ = ["Glimpse", "peek"]


class Glimpse(msgspec.Struct, frozen=True):
    """What a journal holds."""

    bookings: tuple[Booking, ...]
    leases: tuple[Lease, ...]


def peek(path: Path) -> Glimpse:
    """Read a journal; JournalError if that is impossible."""
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
            tuple(msgspec.json.decode(row[0], type=Booking) for row in bookings),
            tuple(msgspec.json.decode(row[0], type=Lease) for row in leases),
        )
    except (sqlite3.Error, msgspec.DecodeError) as error:
        raise JournalError(f"cannot read {path}: {error}") from error
