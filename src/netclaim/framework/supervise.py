"""Trying again, in one place: a call until it succeeds, a part for as long as the driver lives.

Promise: delays grow from `first_s` to `max_s` and are spread at random, so that a cluster's nodes
do not call a recovering API server in step. Limit: only errors that time may heal are retried
(PeerError and broken connections; for a part also what the machine lacks for now); anything else is
a bug or a user's mistake and goes to the caller.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog

from netclaim.errors import HostError, PeerError
from netclaim.framework.clock import Clock

__all__ = ["TRANSIENT", "Backoff", "retry", "supervise"]

log = structlog.get_logger()

T = TypeVar("T")

TRANSIENT: Final = (PeerError, ConnectionError, TimeoutError)


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


async def retry(
    name: str,
    call: Callable[[], Awaitable[T]],
    *,
    backoff: Backoff,
    clock: Clock,
    retried: tuple[type[Exception], ...] = TRANSIENT,
) -> T:
    """Call until it succeeds. Ends early only by another error, or by being cancelled."""
    for delay_s in backoff.delays(clock):
        try:
            return await call()
        except retried as error:
            log.warning("retry", what=name, error=str(error), delay_s=round(delay_s, 2))
        await clock.sleep(delay_s)
    raise AssertionError("delays never end")


async def supervise(
    name: str, part: Callable[[], Awaitable[None]], *, backoff: Backoff, clock: Clock
) -> None:
    """Run a long-lived part, and start it again whenever it fails; return when it returns.

    A part that ran for longer than the longest delay counts as healthy: its next failure is
    answered with the shortest one.
    """
    while True:
        for delay_s in backoff.delays(clock):
            started_s = clock.monotonic()
            try:
                await part()
            except (*TRANSIENT, HostError, OSError) as error:
                log.warning("supervise.failed", part=name, error=str(error))
            else:
                return
            await clock.sleep(delay_s)
            if clock.monotonic() - started_s > backoff.max_s + delay_s:
                break
