"""Keep CNI's GC and the ADDs of a network apart.

A plugin's GC removes whatever is not on the list that it is given; what an ADD has just begun is
not on it. Promise: ADDs of a network run side by side; GC is let in only while none runs, and those
that come meanwhile wait for it. What ends while a list is made and used is noted for it. Limit: by
name, and within this driver.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TypeAlias

from netclaim.cni import AttachmentKey

Noted: TypeAlias = defaultdict[str, set[AttachmentKey]]  # by the network's name


class NetworkGate:
    """One gate for all networks of a driver."""

    def __init__(self) -> None:
        self._users: Counter[str] = Counter()
        self._closed: dict[str, asyncio.Event] = {}  # set when it is open again
        self._notes: list[Noted] = []

    @asynccontextmanager
    async def using(self, network: str, key: AttachmentKey) -> AsyncIterator[None]:
        """Add to a network; waits while somebody has it alone."""
        while (closed := self._closed.get(network)) is not None:
            await closed.wait()
        self._users[network] += 1
        try:
            yield
        finally:
            for noted in self._notes:
                noted[network].add(key)
            self._users[network] -= 1
            if not self._users[network]:
                del self._users[network]

    @contextmanager
    def noting(self) -> Iterator[Mapping[str, set[AttachmentKey]]]:
        """Note what was added to which network, from now on until the block ends.

        Includes an ADD that began before and ends in the block; one that has not ended keeps
        everybody from having its network alone.
        """
        noted: Noted = defaultdict(set)
        self._notes.append(noted)
        try:
            yield noted
        finally:
            self._notes = [each for each in self._notes if each is not noted]

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
