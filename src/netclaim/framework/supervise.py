"""Trying again, in one place: a call until it succeeds, a part for as long as the driver lives.

`Standing` keeps what is wrong with the parts, for whoever asks whether the driver is ready.

Promise: delays grow from `first_s` to `max_s` and are spread at random, so that a cluster's nodes
do not call a recovering API server in step. Limit: only errors that time may heal are retried
(PeerError and broken connections; for a part also what the machine lacks for now, and whatever else
its caller says); anything else is a bug or a user's mistake and goes to the caller.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog

from netclaim.errors import HostError, NetclaimError, PeerError
from netclaim.framework.clock import Clock
from netclaim.framework.metric_table import Retried
from netclaim.framework.metrics import Metrics

__all__ = ["PASSING", "STARTING", "TRANSIENT", "Backoff", "Standing", "retry", "supervise"]

log = structlog.get_logger()

T = TypeVar("T")

TRANSIENT: Final = (PeerError, ConnectionError, TimeoutError)
# What does not end the process when a part fails of it.
PASSING: Final = (NetclaimError, OSError, TimeoutError)
STEADY_S: Final = 5.0  # a part that fails again does so at once; one that runs for so long is well


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait between attempts."""

    first_s: float = 0.5
    max_s: float = 30.0
    factor: float = 2.0
    spread: float = 0.5  # up to half longer than said, as kubelet spreads its own retries

    def delays(self, clock: Clock) -> Iterator[float]:
        """Yield one delay for each failed attempt, without end."""
        delay_s = self.first_s
        while True:
            yield delay_s * (1 + self.spread * clock.jitter())
            delay_s = min(delay_s * self.factor, self.max_s)


# Another process of the driver gives its journal back within its grace period of 20 s.
STARTING: Final = Backoff(first_s=0.2, max_s=2.0)


async def retry(
    name: Retried,
    call: Callable[[], Awaitable[T]],
    *,
    backoff: Backoff,
    clock: Clock,
    metrics: Metrics,
    retried: tuple[type[Exception], ...] = TRANSIENT,
) -> T:
    """Call until it succeeds. Ends early only by another error, or by being cancelled."""
    for delay_s in backoff.delays(clock):
        try:
            return await call()
        except retried as error:
            log.warning("retry", what=name, error=str(error), delay_s=round(delay_s, 2))
            metrics.note_retry(name)
        await clock.sleep(delay_s)
    raise AssertionError("delays never end")


@dataclass(slots=True)
class _Fault:
    """Why a part failed last, and since when it runs again, if it does."""

    text: str
    started_s: float | None = None


class Standing:
    """What is wrong with parts that are supervised."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._faults: dict[str, _Fault] = {}

    def failed(self, part: str, text: str) -> None:
        """Note that a part does not run, or does not get anything done."""
        self._faults[part] = _Fault(text)

    def started(self, part: str) -> None:
        """Note that a part was started again; it is to be seen whether that helps."""
        if part in self._faults:
            self._faults[part].started_s = self._clock.monotonic()

    def well(self, part: str) -> None:
        """Note that a part works. Again: the same."""
        self._faults.pop(part, None)

    def text(self) -> str:
        """What is wrong, in words; empty: nothing."""
        return "; ".join(f"{part}: {fault.text}" for part, fault in self._current().items())

    def count(self) -> int:
        """How many parts something is wrong with."""
        return len(self._current())

    def _current(self) -> dict[str, _Fault]:
        now_s = self._clock.monotonic()
        steady = [
            part
            for part, fault in self._faults.items()
            if fault.started_s is not None and now_s - fault.started_s > STEADY_S
        ]
        for part in steady:
            self.well(part)
        return self._faults


async def supervise(
    name: str,
    part: Callable[[], Awaitable[None]],
    *,
    backoff: Backoff,
    clock: Clock,
    metrics: Metrics,
    retried: tuple[type[Exception], ...] = (*TRANSIENT, HostError, OSError),
    standing: Standing | None = None,
) -> None:
    """Run a long-lived part, and start it again whenever it fails; return when it returns.

    A part that ran for longer than the longest delay counts as healthy: its next failure is
    answered with the shortest one. A part that is made of tasks fails of all that they fail of.
    """
    standing = standing or Standing(clock)
    while True:
        for delay_s in backoff.delays(clock):
            started_s = clock.monotonic()
            standing.started(name)
            try:
                await part()
            except Exception as error:
                if not _is_all(error, retried):
                    raise
                text = "; ".join(map(str, _leaves(error)))
                log.warning("supervise.failed", part=name, error=text)
                standing.failed(name, text)
                metrics.note_part_failure(name)
            else:
                return
            await clock.sleep(delay_s)
            if clock.monotonic() - started_s > backoff.max_s + delay_s:
                break


def _is_all(error: Exception, kinds: tuple[type[Exception], ...]) -> bool:
    """Whether an error is of these kinds, and nothing that failed beside it is another."""
    return all(isinstance(leaf, kinds) for leaf in _leaves(error))


def _leaves(error: Exception) -> list[Exception]:
    if isinstance(error, ExceptionGroup):
        return [leaf for member in error.exceptions for leaf in _leaves(member)]
    return [error]
