"""How much is done at a time, for whom: places that namespaces take in turn.

Promise: of one key so many at a time, of all together so many, and when a place is free the key
whose turn it is gets it, however many others wait with another key. A key that holds no place gets
one even when all are taken: others' slow work makes nobody wait for ever. Limit: the bound for all
is thus exceeded by one for each further key.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["Places"]


class Places:
    """The places, and who waits for one."""

    def __init__(self, *, total: int, each: int) -> None:
        self._total = total
        self._each = each
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # by key; whose turn it is first

    @asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[None]:
        """Hold one of the key's places while the block runs; wait for it if need be."""
        await self._enter(key)
        try:
            yield
        finally:
            self._leave(key)

    async def _enter(self, key: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(turn)
        self._give()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._stop_waiting(key, turn)
            else:  # it was given the place at the very moment
                self._leave(key)
            raise

    def _leave(self, key: str) -> None:
        self._held[key] -= 1
        if not self._held[key]:
            del self._held[key]
        self._give()

    def _stop_waiting(self, key: str, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(key, deque())
        if turn in queue:
            queue.remove(turn)
        if not queue:
            self._waiting.pop(key, None)

    def _give(self) -> None:
        """Give places to those who wait, one to each key and then again."""
        while ready := [key for key in self._waiting if self._may_have(key)]:
            for key in ready:
                if self._may_have(key):
                    self._give_one(key)

    def _give_one(self, key: str) -> None:
        queue = self._waiting.pop(key)
        turn = queue.popleft()
        if queue:
            self._waiting[key] = queue  # behind the others
        if not turn.done():
            self._held[key] += 1
            turn.set_result(None)

    def _may_have(self, key: str) -> bool:
        held = self._held[key]
        return held == 0 or (held < self._each and self._held.total() < self._total)
