"""Retry calls until they succeed, and restart parts for as long as the driver lives.

`Standing` records what is wrong with the parts, which decides whether the driver is ready.

Promise: delays grow from `first_s` to `max_s` and are spread at random, so that a cluster's nodes
do not call a recovering API server in step. Limit: only errors that time may heal are retried
(PeerError and broken connections; for a part also what the machine lacks for now, and what else its
caller names); anything else is a bug or a user's mistake and goes to the caller.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

import structlog

from netclaim.errors import HostError, NetclaimError, PeerError
from netclaim.framework.tools.clock import Clock

log = structlog.get_logger()

T = TypeVar("T")
Retried: TypeAlias = Literal[
    "publish", "preflight", "prepare", "unprepare", "detach", "report", "journal", "node"
]

TRANSIENT: Final = (PeerError, ConnectionError, TimeoutError)
# Errors of a part that do not end the process.
PASSING: Final = (NetclaimError, OSError, TimeoutError)
SPREAD: Final = 0.5  # up to half longer than said, as kubelet spreads its own retries
STEADY_S: Final = 5.0  # a part that fails again does so at once; one that runs for so long is well


class Failures(Protocol):
    """Counts failed attempts."""

    def note_retry(self, what: Retried) -> None: ...

    def note_part_failure(self, part: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait between attempts: each time twice as long, up to `max_s`."""

    first_s: float = 0.5
    max_s: float = 30.0

    def delays(self, clock: Clock) -> Iterator[float]:
        delay_s = self.first_s
        while True:
            yield delay_s * (1 + SPREAD * clock.jitter())
            delay_s = min(delay_s * 2, self.max_s)


USUAL: Final = Backoff()
# Another process of the driver gives its journal back within its grace period of 20 s.
STARTING: Final = Backoff(first_s=0.2, max_s=2.0)


async def retry(
    name: Retried,
    call: Callable[[], Awaitable[T]],
    *,
    clock: Clock,
    metrics: Failures,
    backoff: Backoff = USUAL,
    retried: tuple[type[Exception], ...] = TRANSIENT,
) -> T:
    """Call until it succeeds. Another error, or being cancelled, ends it early."""
    for delay_s in backoff.delays(clock):
        try:
            return await call()
        except retried as error:
            log.warning("retry", what=name, error=str(error), delay_s=round(delay_s, 2))
            metrics.note_retry(name)
        await clock.sleep(delay_s)
    raise AssertionError("delays never end")


@dataclass(frozen=True, slots=True)
class _Fault:
    """Why a part failed last, and when it was started again, if it was."""

    text: str
    started_s: float | None = None


class Standing:
    """What is wrong with supervised parts."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._faults: dict[str, _Fault] = {}

    def failed(self, part: str, text: str) -> None:
        """Note that a part does not run, or gets nothing done."""
        self._faults[part] = _Fault(text)

    def started(self, part: str) -> None:
        """Note that a part was started again; time will show whether that helps."""
        if part in self._current():
            self._faults[part] = _Fault(self._faults[part].text, self._clock.monotonic())
        else:
            self.well(part)

    def well(self, part: str) -> None:
        self._faults.pop(part, None)

    def text(self) -> str:
        """What is wrong, in words; empty if nothing is."""
        return "; ".join(f"{part}: {fault.text}" for part, fault in self._current().items())

    def count(self) -> int:
        return len(self._current())

    def _current(self) -> dict[str, _Fault]:
        since_s = self._clock.monotonic() - STEADY_S
        return {
            part: fault
            for part, fault in self._faults.items()
            if fault.started_s is None or fault.started_s >= since_s
        }


async def supervise(
    name: str,
    part: Callable[[], Awaitable[None]],
    *,
    clock: Clock,
    metrics: Failures,
    backoff: Backoff = USUAL,
    retried: tuple[type[Exception], ...] = (*TRANSIENT, HostError, OSError),
    standing: Standing | None = None,
) -> None:
    """Run a long-lived part, and start it again whenever it fails; return when it returns.

    A part that ran for longer than the longest delay counts as healthy: its next failure is
    answered with the shortest delay. Of a part that is made of tasks, all errors count.
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
    """Whether an error, and everything in its group, is of these kinds."""
    return all(isinstance(leaf, kinds) for leaf in _leaves(error))


def _leaves(error: Exception) -> list[Exception]:
    if isinstance(error, ExceptionGroup):
        return [leaf for member in error.exceptions for leaf in _leaves(member)]
    return [error]
