"""Notice when an event loop is blocked, and log where it hangs.

A thread asks each loop four times a second to call back, and measures how long it takes. More than
a second is reported while it lasts (`loop.stalled`, with the stack of the loop's
thread) and when it is over (`loop.recovered`, with how long it took).

Promise: a stall of a second is seen, whatever its cause, even if it ends by itself; the thread
ends with the block. The lag of every round is in `netclaim_loop_lag_seconds`, a histogram: a
gauge's highest value would be lost between two scrapes, or depend on who else scrapes.
Limit: a stall shorter than the pause between two rounds may fall in between. Code that keeps all of
Python's threads from running is reported only afterwards.
"""

import asyncio
import contextvars
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import structlog

from netclaim.framework.telemetry.metrics import Loop, Metrics
from netclaim.framework.tools.clock import Clock

log = structlog.get_logger()

MAIN: Final = "main"  # the loop that answers kubelet, the runtime and probes
EVERY_S: Final = 0.25  # a round of two loops takes 0.4 ms of a processor
STALLED_S: Final = 1.0  # half of what the runtime waits for an answer, as it ships
UNREADY_S: Final = 15.0  # after a stall; a probe looks every ten seconds by default
# A loop of hooks that hangs for so long will not come back: no holder of the kernel's lock takes a
# minute, and kubelet has given up on what was asked for.
HUNG_S: Final = 60.0
FRAMES_MAX: Final = 20  # of a stack, the innermost; a hook is some ten calls deep


@dataclass(slots=True)
class _Round:
    """One call that a loop was asked for."""

    asked_s: float = field(default_factory=time.monotonic)
    answered_s: float | None = None  # written by the loop's thread, once
    reported: bool = False

    def answer(self) -> None:
        self.answered_s = time.monotonic()

    def lag_s(self) -> float:
        until_s = time.monotonic() if self.answered_s is None else self.answered_s
        return until_s - self.asked_s


@dataclass(slots=True)
class Watched:
    """A loop, the thread that it runs in, and what the watching thread has seen of it."""

    name: Loop
    loop: asyncio.AbstractEventLoop
    thread_id: int
    round: _Round | None = None
    late_s: float = 0.0  # of the last stall
    seen_s: float = float("-inf")  # when that was, by the clock that was handed in


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
            under_way = watched.round
            if under_way is not None and under_way.lag_s() > self._hung_s:
                return f"the event loop {watched.name!r} has been blocked for {self._hung_s:g} s"
        return ""

    def look(self) -> None:
        """Begin a round, or see how far it is. Only the watching thread calls this."""
        for watched in self._loops:
            if watched.round is not None:
                self._see(watched, watched.round)
            if watched.round is None:
                watched.round = _Round()
                with suppress(RuntimeError):  # the loop has ended, and so will we
                    watched.loop.call_soon_threadsafe(watched.round.answer)

    def _see(self, watched: Watched, begun: _Round) -> None:
        over = begun.answered_s is not None
        lag_s = begun.lag_s()
        if lag_s > STALLED_S:
            watched.late_s, watched.seen_s = lag_s, self._clock.monotonic()
            if not begun.reported:
                begun.reported = True
                self._metrics.note_stall(watched.name)
                if not over:
                    stack = _stack(watched.thread_id)
                    log.error("loop.stalled", loop=watched.name, for_s=round(lag_s, 2), stack=stack)
        if over:
            watched.round = None
            self._metrics.note_lag(watched.name, lag_s)
            if begun.reported:
                log.warning("loop.recovered", loop=watched.name, after_s=round(lag_s, 2))

    def _text(self, watched: Watched) -> str:
        ago_s = self._clock.monotonic() - watched.seen_s
        if ago_s > UNREADY_S:
            return ""
        return (
            f"the event loop {watched.name!r} was blocked for {watched.late_s:.1f} s, "
            f"{ago_s:.0f} s ago"
        )


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
    try:
        yield watchdog
    finally:
        over.set()
        await asyncio.to_thread(thread.join)
