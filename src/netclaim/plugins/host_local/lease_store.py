"""The leases of one network, used by one task at a time.

Promise: works beside the reference program, and any number of processes, on one directory. Nobody
is handed an address that a lease file has. Waiting for the lock takes neither the event loop nor a
thread, and comes to an end.
Limit: a disk that does not answer holds up those who read it. What the files hold, `lease_files`
knows.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final, TypeVar

from netclaim.cni.errors import TRY_AGAIN
from netclaim.errors import HostError
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.host_local.lease_files import LOCK, Leases, OpenStore, open_store

T = TypeVar("T")

MANY: Final = 400  # entries; reading one takes 2.5 us: with more, a thread keeps the loop free
# As many as there are IPv4 addresses in a /16, while a node has 110 pods by default.
# A thread reads them in half a second.
ENTRIES_MAX: Final = 1 << 16
# The holder of the lock reads a directory, which takes milliseconds. One who has it for so long
# hangs, and the pod's start is too late in any case.
LOCK_S: Final = 10.0
PAUSE_S: Final = 0.0005  # before the lock is tried again; each time twice as long,
PAUSE_MAX_S: Final = 0.02  # up to this, for which a lock that was let go may stay unused


class LeaseStore:
    """A directory of leases; tasks that share a store take turns before processes do."""

    def __init__(
        self,
        directory: str,
        threads: Executor,
        *,
        lock_s: float = LOCK_S,
        entries_max: int = ENTRIES_MAX,
    ) -> None:
        """`threads` read the stores that would hold up the event loop."""
        self._directory = directory
        self._threads = threads
        self._lock_s = lock_s
        self._entries_max = entries_max
        self._turn = asyncio.Lock()
        self._users = 0  # tasks that have their turn, or wait for it

    async def transact(self, action: Callable[[Leases], T]) -> T:
        """Do something with the leases while nobody else does; makes the store if there is none.

        Cancelled in a thread: that works to its end, and holds the lock until then.
        """
        deadline = asyncio.get_running_loop().time() + self._lock_s
        self._users += 1
        try:
            await self._take_turn(deadline)
            try:
                return await self._locked(deadline, action)
            finally:
                self._turn.release()
        finally:
            self._users -= 1

    async def _locked(self, deadline: float, action: Callable[[Leases], T]) -> T:
        store = await self._open_locked(deadline)
        try:
            names = store.names(MANY)
            if names is not None:
                return action(store.read(names))
            return await self._in_thread(store, action)
        finally:
            store.close()

    async def _open_locked(self, deadline: float) -> OpenStore:
        """Open the store and have its lock; anew, where who had the lock removed the store."""
        while asyncio.get_running_loop().time() < deadline:
            store = open_store(self._directory)
            try:
                if not store.try_lock():
                    await self._wait_locked(store, deadline)
                if not store.is_forgotten():
                    return store
            except BaseException:
                store.close()
                raise
            store.close()
        raise self._busy()

    async def _take_turn(self, deadline: float) -> None:
        if self._users == 1:  # the common case: a timer would take longer than all of this
            await self._turn.acquire()
            return
        try:
            async with asyncio.timeout_at(deadline):
                await self._turn.acquire()
        except TimeoutError as error:
            raise self._busy() from error

    async def _wait_locked(self, store: OpenStore, deadline: float) -> None:
        """Take the lock that another process has, by trying again and again."""
        loop = asyncio.get_running_loop()
        pause_s = PAUSE_S
        while not store.try_lock():
            if loop.time() >= deadline:
                raise self._busy()
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_MAX_S)

    def _busy(self) -> PluginError:
        return PluginError(
            f"the lock of the leases, {self._directory}/{LOCK}, "
            f"was held by others for {self._lock_s:g} s",
            code=TRY_AGAIN,
        )

    async def _in_thread(self, store: OpenStore, action: Callable[[Leases], T]) -> T:
        """Have a thread do it, with a copy of the store that is closed when the work is over.

        So the lock does not open too early, nor stays shut for ever, should we be cancelled.
        """
        copy = store.copy()
        try:
            future = self._threads.submit(_read_and_do, copy, self._entries_max, action)
        except BaseException:
            copy.close()
            raise
        future.add_done_callback(lambda _: copy.close())  # also if it never begins
        return await asyncio.wrap_future(future)


def _read_and_do(store: OpenStore, entries_max: int, action: Callable[[Leases], T]) -> T:
    names = store.names(entries_max)
    if names is None:
        raise HostError(
            f"{store.path} has more than {entries_max} entries, which no store of leases has; "
            f"remove what does not belong there"
        )
    return action(store.read(names))
