"""Tasks that live as long as a block of code, and work that something else may end.

Promise: when a TaskScope is left, its tasks have ended; they are cancelled, not waited out. What
the block raises comes out as it is, not inside an exception group. `race` leaves nothing behind
either. Limit: a task that raises ends its scope with an exception group, as in any TaskGroup; the
tasks there are written not to.
"""

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, Self, TypeVar

T = TypeVar("T")


class TaskScope:
    """A TaskGroup for background work; use it as `async with`."""

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._running: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *_block_error: object) -> None:
        self.cancel()
        await self._group.__aexit__(None, None, None)  # without the error: it goes on by itself

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something beside the block."""
        task = self._group.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel(self) -> None:
        """Cancel all that runs; a further call cancels once more what has not ended yet."""
        for task in self._running:
            task.cancel()


async def race(work: Awaitable[T], *others: Awaitable[object]) -> T | None:
    """The outcome of the work; None if one of the others ends before. The rest is cancelled."""
    doing = asyncio.ensure_future(work)
    tasks: list[asyncio.Future[Any]] = [doing, *map(asyncio.ensure_future, others)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return doing.result() if doing.done() else None
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
