"""What has to be looked at: each key once, however often it was added.

Promise: keys of a lower rank come first. Of one rank, tenants take turns, one key each, if keys say
whose they are; keys of one tenant come in the order in which they were added. A key that is added
while it is being worked on comes again. A key whose work failed comes again after a pause that
grows; adding it meanwhile brings it at once. No I/O.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from netclaim.pauses import pause_after_s

FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 30.0

K = TypeVar("K")


class WorkQueue(Generic[K]):
    """Keys, by rank and tenant, in the order in which they were first added."""

    def __init__(
        self,
        rank: Callable[[K], int] = lambda _: 0,
        ranks: int = 1,
        tenant: Callable[[K], str] = lambda _: "",
    ) -> None:
        """`rank` says which of the ranks from 0 a key has, and `tenant` whose turn it is."""
        self._rank = rank
        self._tenant = tenant
        self._waiting: tuple[dict[str, dict[K, None]], ...] = tuple({} for _ in range(ranks))
        self._failures: dict[K, int] = {}
        self._later: dict[K, asyncio.TimerHandle] = {}
        self._some = asyncio.Event()

    def __len__(self) -> int:
        return sum(len(keys) for turns in self._waiting for keys in turns.values())

    def add(self, key: K) -> None:
        """Have a key looked at."""
        if (timer := self._later.pop(key, None)) is not None:
            timer.cancel()
        self._waiting[self._rank(key)].setdefault(self._tenant(key), {})[key] = None
        self._some.set()

    def add_later(self, key: K, delay_s: float) -> None:
        """Have a key looked at after a while, unless that comes earlier by itself."""
        waiting = self._waiting[self._rank(key)].get(self._tenant(key), {})
        if key not in waiting and key not in self._later:
            loop = asyncio.get_running_loop()
            self._later[key] = loop.call_later(delay_s, self.add, key)

    async def take(self) -> K:
        """Wait for a key, and remove it."""
        while not any(self._waiting):
            self._some.clear()
            await self._some.wait()
        turns = next(turns for turns in self._waiting if turns)
        tenant, keys = next(iter(turns.items()))
        key = next(iter(keys))
        del turns[tenant], keys[key]
        if keys:
            turns[tenant] = keys  # behind the others
        return key

    def drop(self, key: K) -> None:
        """Forget a key, which need not be looked at any more."""
        if (timer := self._later.pop(key, None)) is not None:
            timer.cancel()
        turns, tenant = self._waiting[self._rank(key)], self._tenant(key)
        keys = turns.get(tenant, {})
        keys.pop(key, None)
        if not keys:
            turns.pop(tenant, None)
        self._failures.pop(key, None)

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
