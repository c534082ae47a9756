"""Run in a thread what would hold up the event loop, and wait until it has ended.

Promise: when `to_the_end` returns or raises, the work is over; nothing of it happens later, while
somebody already cleans up after a cancelled task.
Limit: a cancelled task therefore ends only when the work does, however long that takes, so keep it
to milliseconds. A caller that must not wait for ever has to leave such a task behind, as
`framework.process.driver_thread` does.
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def to_the_end(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    future = asyncio.get_running_loop().run_in_executor(None, lambda: work(*args, **kwargs))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait({future})
        future.exception()  # marks the error as seen; the caller wants no answer any more
        raise
