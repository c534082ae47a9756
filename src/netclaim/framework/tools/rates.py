"""How often something may happen for each of many: token buckets by key.

Promise: a new key has a full bucket, and one that has filled up again is forgotten, so that memory
is bounded by what was taken lately. Limit: nothing waits here; what an empty bucket means is for
the caller to decide. No I/O.
"""

from dataclasses import dataclass
from typing import Final

from netclaim.framework.tools.clock import Clock

SWEPT_ABOVE: Final = 256  # keys; fewer than that cost less than looking for full ones


@dataclass(frozen=True, slots=True)
class Rate:
    """How much is allowed at once, and per second in the long run."""

    burst: float
    per_s: float


class Buckets:
    def __init__(self, rate: Rate, clock: Clock) -> None:
        self._rate = rate
        self._clock = clock
        self._levels: dict[str, tuple[float, float]] = {}  # level, and when it was that
        self._sweep_above = SWEPT_ABOVE

    def level(self, key: str) -> float:
        known = self._levels.get(key)
        if known is None:
            return self._rate.burst
        level, at_s = known
        gained = (self._clock.monotonic() - at_s) * self._rate.per_s
        return min(level + gained, self._rate.burst)

    def take(self, key: str, amount: float = 1.0) -> None:
        """Take an amount out, even if it is not there: up to one bucketful may be owed."""
        level = max(self.level(key) - amount, -self._rate.burst)
        self._levels[key] = (level, self._clock.monotonic())
        if len(self._levels) > self._sweep_above:
            self._forget_full()

    def wait_s(self, key: str, level: float) -> float:
        return max(0.0, (level - self.level(key)) / self._rate.per_s)

    def _forget_full(self) -> None:
        full = [key for key in self._levels if self.level(key) >= self._rate.burst]
        for key in full:
            del self._levels[key]
        self._sweep_above = max(SWEPT_ABOVE, 2 * len(self._levels))
