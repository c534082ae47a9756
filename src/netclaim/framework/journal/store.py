"""The journal's file: SQLite, in the calling thread.

Promise: a commit that returned survives SIGKILL, and if it was synced, a power cut. A power cut
takes no commit before one that was synced, and none without those after it. A commit is all or
nothing; a file of another schema, a damaged one or one in use is refused with a message that says
what to do.
Limit: rows are bytes here; the journal knows what they mean.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

from netclaim.errors import HostError, PeerError

SCHEMA_VERSION: Final = 1
SCHEMA: Final = f"""
BEGIN;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE bookings (claim_uid TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE leases (
    claim_uid TEXT, sandbox_id TEXT, pool TEXT, device TEXT, share_id TEXT, value BLOB NOT NULL,
    PRIMARY KEY (claim_uid, sandbox_id, pool, device, share_id)
) WITHOUT ROWID;
CREATE TABLE reports (claim_uid TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""
INSERT_META: Final = "INSERT OR REPLACE INTO meta VALUES (?, ?)"

# SQLite appends each commit to a log (WAL) before it returns. This says whether it also waits for
# the disk; if not, the system writes it some seconds later, or the next commit that waits does.
SYNC_EACH: Final = "PRAGMA synchronous = FULL"
SYNC_LATER: Final = "PRAGMA synchronous = NORMAL"

Statement: TypeAlias = tuple[str, tuple[Any, ...]]


class JournalError(HostError):
    """The journal cannot be read or written; the node's owner acts."""


class JournalBusyError(PeerError):
    """Another process of this driver holds the journal; it will end."""


class Store:
    """One open file. Everything must be called from the thread that made it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = _lock(path.with_suffix(".lock"))
        self._syncing = True  # at each commit, as SQLite was last set
        try:
            self._database = self._connect()
        except BaseException:
            os.close(self._lock)
            raise

    def commit(self, statements: Iterable[Statement], *, synced: bool = True) -> None:
        """Carry out statements in one transaction; `synced`: a power cut must not take it.

        A sync is most of what a commit costs, and it is one for all commits before it.
        """
        try:
            if synced != self._syncing:
                self._database.execute(SYNC_EACH if synced else SYNC_LATER)
                self._syncing = synced
            with self._database:
                for statement, values in statements:
                    self._database.execute(statement, values)
        except sqlite3.Error as error:
            raise JournalError(f"cannot write {self._path}: {error}") from error

    def rows(self, query: str) -> list[Any]:
        """The first column of a query's rows."""
        try:
            return [row[0] for row in self._database.execute(query)]
        except sqlite3.Error as error:
            raise JournalError(f"cannot read {self._path}: {error}") from error

    def close(self) -> None:
        """Close the file and let the next process have it."""
        self._database.close()
        os.close(self._lock)

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path)
        try:
            version = _set_up(database)
        except sqlite3.Error as error:
            database.close()
            raise JournalError(
                f"{self._path} cannot be opened: {error}; if it is damaged, drain the node, move "
                f"the file away and start the driver again"
            ) from error
        if version != SCHEMA_VERSION:
            database.close()
            raise JournalError(
                f"{self._path} has schema {version}, but this driver supports {SCHEMA_VERSION}; "
                f"run the version that wrote it, or drain the node and move the file away"
            )
        return database


def _set_up(database: sqlite3.Connection) -> int:
    """Make the tables if the file is new; returns the version of the tables."""
    database.execute("PRAGMA journal_mode = WAL")
    database.execute(SYNC_EACH)
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == 0:  # SQLite's value for a new file
        database.executescript(SCHEMA)
        return SCHEMA_VERSION
    return int(version)


def is_locked(path: Path) -> bool:
    """Whether another process has this journal open."""
    try:
        with locked(path):
            return False
    except JournalBusyError:
        return True


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep every process from this journal. Raises JournalBusyError if one has it open."""
    descriptor = _lock(path.with_suffix(".lock"))
    try:
        yield
    finally:
        os.close(descriptor)


def count_held(path: Path) -> int:
    """How many claims and attachments a journal lists that no process has open."""
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            counts = "SELECT (SELECT count(*) FROM bookings) + (SELECT count(*) FROM leases)"
            return int(database.execute(counts).fetchone()[0])
    except sqlite3.Error as error:
        raise JournalError(f"{path} cannot be read: {error}") from error


def _lock(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # plans may hold secrets
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise JournalError(f"cannot create {path}: {error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise JournalBusyError(f"another process of this driver holds {path}") from error
    if not _is_at(path, descriptor):  # removed before we had it: it locks nobody out
        os.close(descriptor)
        raise JournalBusyError(f"another process of this driver has just removed {path}")
    return descriptor


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
