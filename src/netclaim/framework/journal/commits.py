"""Group commit: writes of many callers go to the file together, in a thread of its own.

Promise: a write is in the file when its call returns, in the order in which it was asked for. It
goes on when its caller is cancelled, and memory follows the file either way. Writes that come while
the file is busy wait for it together, and are synced together if one of them has to be. What is
only carried goes with the next write, before it, and is kept if that fails. After a write that
failed, as on a full disk, others are tried until one succeeds.
Limit: callers see to it that two of them do not write the same row at the same time.
"""

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

from netclaim.framework.journal.store import Statement, Store


@dataclass(frozen=True, slots=True)
class _Write:
    """What one caller wants written, how memory follows, and the future that the caller awaits."""

    statements: Sequence[Statement]
    remember: Callable[[], object]
    synced: bool
    done: asyncio.Future[None]


class Commits:
    """All writes to one store."""

    def __init__(self, store: Store, worker: Executor) -> None:
        """`worker` is the thread that made the store."""
        self._store = store
        self._worker = worker
        self._carried: dict[Hashable, Statement] = {}
        self._waiting: list[_Write] = []
        self._committing: asyncio.Future[None] | None = None  # done when nothing waits any more
        self._failed = asyncio.Event()  # and not succeeded since

    async def write(
        self,
        statements: Sequence[Statement],
        remember: Callable[[], object],
        *,
        synced: bool = True,
    ) -> None:
        """Write; then have memory follow. `synced`: a power cut must not take it.

        Raises JournalError, with memory as it was.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Write(statements, remember, synced, done))
        self._begin()
        await done

    def carry(self, key: Hashable, statement: Statement) -> None:
        """Write this with the next write, in place of what was carried for the key."""
        self._carried[key] = statement

    def drop_carried(self, key: Hashable) -> None:
        self._carried.pop(key, None)

    async def wait_failed(self) -> None:
        """Return if the last write failed, or as soon as one does."""
        await self._failed.wait()

    async def settle(self) -> None:
        """Return when everything that was to be written is in the file, or has failed.

        A caller that is cancelled, even twice, does not cancel the writes: others wait for them.
        """
        committing, cut_off = self._committing, None
        while committing is not None and not committing.done():
            try:
                await asyncio.wait([committing])
            except asyncio.CancelledError as error:
                cut_off = error
        if cut_off is not None:
            raise cut_off

    async def finish(self) -> None:
        """Write what no later write will carry. Raises nothing if that fails."""
        await self.settle()
        if self._carried:
            self._begin()
            await self.settle()

    def _begin(self) -> None:
        """Commit all that waits, after what else is wanted in this turn of the loop."""
        if self._committing is None:
            loop = asyncio.get_running_loop()
            self._committing = loop.create_future()
            loop.call_soon(self._commit)

    def _commit(self) -> None:
        """Have the worker commit all that waits. A task would do nothing but wait for it."""
        writes, self._waiting = self._waiting, []
        carried, self._carried = self._carried, {}
        lines = [line for write in writes for line in write.statements]
        synced = any(write.synced for write in writes)
        commit = partial(self._store.commit, [*carried.values(), *lines], synced=synced)
        try:
            committing = asyncio.get_running_loop().run_in_executor(self._worker, commit)
        except RuntimeError as error:  # the journal is closed
            self._conclude(writes, carried, error)
        else:
            committing.add_done_callback(
                lambda committed: self._conclude(writes, carried, committed.exception())
            )

    def _conclude(
        self,
        writes: Sequence[_Write],
        carried: Mapping[Hashable, Statement],
        fault: BaseException | None,
    ) -> None:
        """Have memory follow, and all who wait go on; then commit what has come since."""
        if fault is None:
            self._failed.clear()
        else:
            self._failed.set()
            self._carried = {**carried, **self._carried}
        for write in writes:
            if fault is None:
                write.remember()
            if write.done.done():
                continue  # its caller was cancelled
            if fault is None:
                write.done.set_result(None)
            else:
                write.done.set_exception(fault)
        if self._waiting:
            self._commit()
        elif self._committing is not None:
            self._committing.set_result(None)
            self._committing = None
