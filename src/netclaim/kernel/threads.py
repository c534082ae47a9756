"""Have a thread do what would hold up the event loop, and not leave it half way.

Promise: when `to_the_end` returns or raises, the work is over; nothing of it happens later, behind
the back of whoever cleans up after a cancelled task.
Limit: so a task that is cancelled ends only when the work does, however long that takes: keep it to
milliseconds. Who must not wait for ever has to leave such a task behind, as `framework.own_loop`
does.
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["to_the_end"]

P = ParamSpec("P")
T = TypeVar("T")


async def to_the_end(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `work` in a worker thread."""
    future = asyncio.get_running_loop().run_in_executor(None, lambda: work(*args, **kwargs))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait({future})
        future.exception()  # taken note of: the caller wants no answer any more
        raise
