"""Notice when an event loop is blocked, and log where it hangs.

Each loop calls the watchdog's function twice a second, which notes how late it was; a thread looks
whether one is overdue. More than a second is reported while it lasts (`loop.stalled`, with the
stack of the loop's thread) and when it is over (`loop.recovered`, with how long it took).

Promise: a stall of a second is seen, whatever its cause, even if it ends by itself; thread and
calls end with the block. How late each call was is in `netclaim_loop_lag_seconds`, a histogram: a
gauge's highest value would be lost between two scrapes, or depend on who else scrapes.
Limit: a shorter stall may fall between two calls. Code that keeps all of Python's threads from
running is reported only afterwards.
"""

import asyncio
import contextvars
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import structlog

from netclaim.framework.telemetry.metrics import Loop, Metrics
from netclaim.framework.tools.clock import Clock

log = structlog.get_logger()

MAIN: Final = "main"  # the loop that answers kubelet, the runtime and probes
EVERY_S: Final = 0.5  # two loops and the thread take 8 ms of a processor in a minute
STALLED_S: Final = 1.0  # half of what the runtime waits for an answer, as it ships
UNREADY_S: Final = 15.0  # after a stall; a probe looks every ten seconds by default
# A loop of hooks that hangs for so long will not come back: no holder of the kernel's lock takes a
# minute, and kubelet has given up on what was asked for.
HUNG_S: Final = 60.0
FRAMES_MAX: Final = 20  # of a stack, the innermost; a hook is some ten calls deep


@dataclass(slots=True)
class Watched:
    """A loop, the thread that it runs in, and what has been seen of it."""

    name: Loop
    loop: asyncio.AbstractEventLoop
    thread_id: int
    due_s: float = float("inf")  # when it should call next; written by the loop's thread
    stalled: bool = False  # and reported
    late_s: float = 0.0  # of the last stall
    seen_s: float = float("-inf")  # when that was, by the clock that was handed in
    timer: asyncio.TimerHandle | None = None

    def lag_s(self) -> float:
        """How late it is, or was before it was due again."""
        return max(0.0, time.monotonic() - self.due_s)


def this_loop() -> Watched:
    """The loop that calls this."""
    return Watched(MAIN, asyncio.get_running_loop(), threading.get_ident())


class Watchdog:
    """Says how the loops are. Made by `watching`."""

    def __init__(
        self, loops: Iterable[Watched], metrics: Metrics, clock: Clock, *, hung_s: float
    ) -> None:
        self._metrics = metrics
        self._clock = clock
        self._hung_s = hung_s
        self._loops = tuple(loops)

    def late(self) -> str:
        """Which loops were late in the last seconds, in words; empty if none was."""
        return "; ".join(filter(None, map(self._text, self._loops)))

    def hung(self) -> str:
        """Why the process should be restarted, in words; empty if there is no reason."""
        for watched in self._loops:
            if watched.lag_s() > self._hung_s:
                return f"the event loop {watched.name!r} has been blocked for {self._hung_s:g} s"
        return ""

    def begin(self) -> None:
        """Have each loop call, again and again."""
        for watched in self._loops:
            watched.due_s = time.monotonic()
            watched.loop.call_soon_threadsafe(self._call, watched)

    def end(self) -> None:
        """Have none call any more."""
        for watched in self._loops:
            with suppress(RuntimeError):  # the loop has ended
                watched.loop.call_soon_threadsafe(_cancel, watched)

    def look(self) -> None:
        """See whether a loop is overdue. Only the watching thread calls this."""
        for watched in self._loops:
            lag_s = watched.lag_s()
            if lag_s > STALLED_S and not watched.stalled:
                self._note_stall(watched, lag_s)
                stack = _stack(watched.thread_id)
                log.error("loop.stalled", loop=watched.name, for_s=round(lag_s, 2), stack=stack)

    def _call(self, watched: Watched) -> None:
        """Note how late a loop is. Only the loop calls this."""
        lag_s = watched.lag_s()
        self._metrics.note_lag(watched.name, lag_s)
        if lag_s > STALLED_S and not watched.stalled:  # the watching thread could not run either
            self._note_stall(watched, lag_s)
        watched.due_s = time.monotonic() + EVERY_S
        watched.timer = watched.loop.call_later(EVERY_S, self._call, watched)
        if watched.stalled:
            watched.late_s, watched.seen_s = lag_s, self._clock.monotonic()
            watched.stalled = False
            log.warning("loop.recovered", loop=watched.name, after_s=round(lag_s, 2))

    def _note_stall(self, watched: Watched, lag_s: float) -> None:
        watched.stalled = True
        watched.late_s, watched.seen_s = lag_s, self._clock.monotonic()
        self._metrics.note_stall(watched.name)

    def _text(self, watched: Watched) -> str:
        ago_s = self._clock.monotonic() - watched.seen_s
        if ago_s > UNREADY_S:
            return ""
        return (
            f"the event loop {watched.name!r} was blocked for {watched.late_s:.1f} s, "
            f"{ago_s:.0f} s ago"
        )


def _cancel(watched: Watched) -> None:
    if watched.timer is not None:
        watched.timer.cancel()


def _stack(thread_id: int) -> str:
    frame = sys._current_frames().get(thread_id)
    if frame is None:
        return ""
    return "".join(traceback.format_stack(frame)[-FRAMES_MAX:])


@asynccontextmanager
async def watching(
    loops: Iterable[Watched], metrics: Metrics, clock: Clock, *, hung_s: float = HUNG_S
) -> AsyncIterator[Watchdog]:
    watchdog = Watchdog(loops, metrics, clock, hung_s=hung_s)
    over = threading.Event()

    def watch() -> None:
        while not over.wait(EVERY_S):
            watchdog.look()

    # A thread begins without the fields that our log lines carry.
    run = contextvars.copy_context().run
    thread = threading.Thread(target=run, args=(watch,), name="watchdog", daemon=True)
    thread.start()
    watchdog.begin()
    try:
        yield watchdog
    finally:
        watchdog.end()
        over.set()
        await asyncio.to_thread(thread.join)
