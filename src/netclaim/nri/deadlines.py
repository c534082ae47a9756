"""Hooks against the runtime's clock.

A runtime that gets no answer in time closes the plugin and starts the pod without it; one that gets
an error fails the pod, which is then tried again. So a hook that is not finished is answered with
an error while there is still time for that.

Promise: the answer does not wait for a hook that was cut off to clean up after itself.
Limit: that clean-up may still run when the next call comes, on this connection or a later one. A
handler that blocks the event loop defeats all of this.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import structlog

from netclaim.nri.errors import HookTimeoutError
from netclaim.tasks import TaskScope

# Time kept for the answer to reach the runtime: a tenth, which on the usual 2 s is also the most.
# That is far more than a busy event loop takes (about 10 ms), and leaves the hook 1.8 s of 2 s.
ANSWER_SHARE = 0.1
ANSWER_MAX_S = 0.2

log = structlog.get_logger()


class HookRunner:
    """Runs hooks in tasks of their own."""

    def __init__(self, tasks: TaskScope) -> None:
        self._tasks = tasks

    async def run(
        self, name: str, budget_s: float, hook: Callable[[float], Awaitable[None]]
    ) -> None:
        """Run a hook, which gets its deadline on the loop's clock; raises what the hook raises.

        When `budget_s` is nearly used up the hook is cancelled and HookTimeoutError raised at once.
        It is cancelled as well when this call is.
        """
        hook_s = budget_s - min(budget_s * ANSWER_SHARE, ANSWER_MAX_S)
        if hook_s <= 0:
            raise HookTimeoutError(name, 0.0)  # a start that is undone at once helps nobody
        deadline_s = asyncio.get_running_loop().time() + hook_s
        task = self._tasks.start(_outcome(hook, deadline_s))
        try:
            done, _ = await asyncio.wait({task}, timeout=hook_s)
        finally:
            if not task.done():
                task.add_done_callback(partial(_log_late, name))
                task.cancel()
        if not done:
            raise HookTimeoutError(name, hook_s)
        error = task.result()
        if error is not None:
            raise error


async def _outcome(hook: Callable[[float], Awaitable[None]], deadline_s: float) -> Exception | None:
    """Return a hook's error as a value: raised in its task, it would end all other tasks."""
    try:
        await hook(deadline_s)
    except Exception as error:  # noqa: BLE001 - it is raised where the hook is answered
        return error
    return None


def _log_late(name: str, task: asyncio.Task[Exception | None]) -> None:
    """Log the error of a hook that was answered before; nothing else would report it."""
    error = None if task.cancelled() else task.result()
    if error is not None:
        log.warning("nri.hook_failed_late", hook=name, reason=str(error))
