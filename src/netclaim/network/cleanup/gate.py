"""Keep CNI's GC and the ADDs of a network apart.

A plugin's GC removes whatever is not on the list that it is given; what an ADD has just begun is
not on it. Promise: ADDs of a network run side by side; GC is let in only while none runs, and those
that come meanwhile wait for it. Limit: by name, and within this driver.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class NetworkGate:
    """One gate for all networks of a driver."""

    def __init__(self) -> None:
        self._users: Counter[str] = Counter()
        self._closed: dict[str, asyncio.Event] = {}  # set when it is open again

    @asynccontextmanager
    async def using(self, network: str) -> AsyncIterator[None]:
        """Add to a network; waits while somebody has it alone."""
        while (closed := self._closed.get(network)) is not None:
            await closed.wait()
        self._users[network] += 1
        try:
            yield
        finally:
            self._users[network] -= 1
            if not self._users[network]:
                del self._users[network]

    @contextmanager
    def alone(self, network: str) -> Iterator[bool]:
        """Have a network alone, if nobody uses it; whether that is so."""
        if network in self._users or network in self._closed:
            yield False
            return
        self._closed[network] = asyncio.Event()
        try:
            yield True
        finally:
            self._closed.pop(network).set()
