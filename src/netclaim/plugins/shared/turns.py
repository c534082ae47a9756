"""Calls for one network namespace take turns, by whichever path it was opened.

Two interfaces of a pod that look for something free, or missing, would find the same. Promise:
nobody waits for a call in another namespace. Limit: within this process, and for one plugin.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from netclaim.kernel import Netns
from netclaim.kernel.host.netns import NetnsId


class NamespaceTurns:
    """A lock for each namespace, for as long as somebody has it or waits for it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[NetnsId, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, netns: Netns) -> AsyncIterator[None]:
        """Have a namespace alone, which the caller keeps open meanwhile. Not reentrant."""
        lock = self._locks.get(netns.id)
        if lock is None:
            lock = self._locks[netns.id] = asyncio.Lock()
        async with lock:
            yield
