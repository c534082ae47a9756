"""What has to be looked at: each key once, however often it was added.

Promise: a key that is added while it is being worked on comes again. A key whose work failed comes
again after a pause that grows; adding it meanwhile brings it at once. No I/O.
"""

import asyncio
from typing import Final, Generic, TypeVar

from netclaim.pauses import pause_after_s

FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 30.0

K = TypeVar("K")


class WorkQueue(Generic[K]):
    """Keys in the order in which they were first added."""

    def __init__(self) -> None:
        self._waiting: dict[K, None] = {}
        self._failures: dict[K, int] = {}
        self._later: dict[K, asyncio.TimerHandle] = {}
        self._some = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: K) -> None:
        """Have a key looked at."""
        if (timer := self._later.pop(key, None)) is not None:
            timer.cancel()
        self._waiting[key] = None
        self._some.set()

    def add_later(self, key: K, delay_s: float) -> None:
        """Have a key looked at after a while, unless that comes earlier by itself."""
        if key not in self._waiting and key not in self._later:
            loop = asyncio.get_running_loop()
            self._later[key] = loop.call_later(delay_s, self.add, key)

    async def take(self) -> K:
        """Wait for a key, and remove it."""
        while not self._waiting:
            self._some.clear()
            await self._some.wait()
        key = next(iter(self._waiting))
        del self._waiting[key]
        return key

    def done(self, key: K) -> None:
        """Forget how often a key has failed."""
        self._failures.pop(key, None)

    def failed(self, key: K) -> float:
        """Have a key looked at again after a pause; returns its seconds."""
        count = self._failures[key] = self._failures.get(key, 0) + 1
        pause_s = pause_after_s(count, first_s=FIRST_PAUSE_S, longest_s=LONGEST_PAUSE_S)
        self.add_later(key, pause_s)
        return pause_s

    def close(self) -> None:
        """Cancel what would come later."""
        for timer in self._later.values():
            timer.cancel()
        self._later.clear()
