"""Read a driver's journal beside the driver, without its lock.

Promise: opens the file for reading only. Limit: rows of the moment, and sqlite3's own errors.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

__all__ = ["JournalCopy", "read_journal"]

WAIT_S: Final = 2.0  # for the driver's transaction, which takes milliseconds


class JournalCopy(NamedTuple):
    """What the journal held: its schema, and its rows as JSON objects."""

    schema: int
    bookings: tuple[dict[str, Any], ...]
    leases: tuple[dict[str, Any], ...]
    reports: tuple[dict[str, Any], ...]


def read_journal(path: Path) -> JournalCopy:
    """Read everything; a file that is damaged is a sqlite3.Error."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=WAIT_S)) as database:
        (schema,) = database.execute("PRAGMA user_version").fetchone()
        (fine,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if fine != "ok":
            raise sqlite3.DatabaseError(fine)
        tables = ("bookings", "leases", "reports")
        return JournalCopy(schema, *(_rows(database, table) for table in tables))


def _rows(database: sqlite3.Connection, table: str) -> tuple[dict[str, Any], ...]:
    found = database.execute(f"SELECT value FROM {table}")  # noqa: S608 - one of ours
    return tuple(msgspec.json.decode(value, type=dict[str, Any]) for (value,) in found)
