"""How much is done for each of many: a burst at once, and then one more every so often. No I/O.

Promise: one who has used up what is due to it takes nothing from the others. Memory grows with
those who used something lately.
"""

import time
from collections.abc import Callable
from typing import Final

KNOWN_MAX: Final = 10_000  # who are remembered, before those are forgotten who have all of it again


class Budget:
    """What each key has left."""

    def __init__(
        self, burst: int, every_s: float, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst_s = (burst - 1) * every_s
        self._every_s = every_s
        self._now_s = now_s
        self._full_s: dict[str, float] = {}  # when a key has all of it again

    def take(self, key: str) -> bool:
        """Use one up; returns whether there was one."""
        now_s = self._now_s()
        full_s = max(self._full_s.get(key, now_s), now_s)
        if full_s - now_s > self._burst_s:
            return False
        if len(self._full_s) >= KNOWN_MAX:
            self._full_s = {one: at_s for one, at_s in self._full_s.items() if at_s > now_s}
        self._full_s[key] = full_s + self._every_s
        return True
