"""How much is done at a time: places that keys, such as namespaces, take in turn.

Promise: the places of one key are limited, and so are those of all keys together. A place that
becomes free goes to the key whose turn it is, however many wait with another key. A key that holds
no place gets one even when all are taken, so that slow work of others makes nobody wait for ever.
Limit: the bound for all keys is thus exceeded by one for each further key.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Places:
    def __init__(self, *, total: int, each: int) -> None:
        self._total = total
        self._each = each
        self._held: Counter[str] = Counter()
        self._in_all = 0  # held
        # By key, whose turn it is first; dicts without values, of which one is removed at once.
        self._waiting: dict[str, dict[asyncio.Future[None], None]] = {}

    @asynccontextmanager
    async def hold(self, key: str) -> AsyncIterator[None]:
        """Hold one of the key's places while the block runs; wait for it if necessary."""
        await self._enter(key)
        try:
            yield
        finally:
            self._leave(key)

    async def _enter(self, key: str) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, {})[turn] = None
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
        self._in_all -= 1
        if not self._held[key]:
            del self._held[key]
        self._give()

    def _stop_waiting(self, key: str, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(key, {})
        queue.pop(turn, None)
        if not queue:
            self._waiting.pop(key, None)

    def _give(self) -> None:
        """Give free places to those who wait, one to each key in turn."""
        while ready := [key for key in self._waiting if self._may_have(key)]:
            for key in ready:
                if self._may_have(key):
                    self._give_one(key)

    def _give_one(self, key: str) -> None:
        queue = self._waiting.pop(key)
        turn = next(iter(queue))
        del queue[turn]
        if queue:
            self._waiting[key] = queue  # behind the others
        if not turn.done():
            self._held[key] += 1
            self._in_all += 1
            turn.set_result(None)

    def _may_have(self, key: str) -> bool:
        held = self._held[key]
        return held == 0 or (held < self._each and self._in_all < self._total)
