"""Kubelet's drivers: found by their sockets in a directory, registered, dropped when they leave.

Promise: a driver can be called as soon as it is `registered`; one whose socket is gone cannot.
Limit: the directory is polled, while the real kubelet is notified of changes.
"""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import structlog

from netclaim.errors import PeerError
from netclaim.kubelet import DraClient, register

LOOK_S: Final = 0.05  # a driver takes a second to start, so a twentieth of that goes unnoticed
AGAIN_S: Final = 0.5  # kubelet's first pause after a registration that failed

log = structlog.get_logger()


class NotRegisteredError(PeerError):
    """A claim has a device of a driver that is not registered."""

    def __init__(self, driver: str) -> None:
        super().__init__(f"DRA driver {driver} is not registered")
        self.driver = driver


class Drivers:
    """The drivers that have registered with one kubelet."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._clients: dict[str, DraClient] = {}
        self._changed = asyncio.Condition()

    def client(self, driver: str) -> DraClient:
        """Return the client of a driver."""
        if driver not in self._clients:
            raise NotRegisteredError(driver)
        return self._clients[driver]

    def is_registered(self, driver: str) -> bool:
        """Whether a driver can be called."""
        return driver in self._clients

    async def wait_registered(self, driver: str) -> None:
        """Return once a driver can be called."""
        async with self._changed:
            await self._changed.wait_for(lambda: driver in self._clients)

    async def run(self) -> None:
        """Watch the directory until cancelled."""
        async with asyncio.TaskGroup() as group:
            attended: dict[Path, asyncio.Task[None]] = {}
            while True:
                there = {path for path in self._directory.iterdir() if path.is_socket()}
                for path in attended.keys() - there:
                    attended.pop(path).cancel()
                for path in there - attended.keys():
                    attended[path] = group.create_task(self._attend(path))
                await asyncio.sleep(LOOK_S)

    async def _attend(self, socket: Path) -> None:
        """Serve one driver, from its registration until its socket is gone."""
        async with AsyncExitStack() as stack:
            while True:
                try:
                    driver = await register(socket)
                    break
                except PeerError as error:
                    log.warning("kubelet.registration_failed", socket=str(socket), error=str(error))
                    await asyncio.sleep(AGAIN_S)
            client = await stack.enter_async_context(DraClient(driver))
            await self._set(driver.name, client)
            try:
                await asyncio.Event().wait()  # until cancelled
            finally:
                if self._clients.get(driver.name) is client:
                    del self._clients[driver.name]

    async def _set(self, name: str, client: DraClient) -> None:
        async with self._changed:
            self._clients[name] = client
            self._changed.notify_all()
