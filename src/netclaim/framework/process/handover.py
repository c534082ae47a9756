"""The seat: which of a driver's processes does the work, and how it passes to the next one.

The seat is the journal's lock. Its holder listens on a socket, on which a newer process asks for
the seat and says where it serves kubelet. The older process ends its work, closes the journal and
answers; from then on it only passes calls on. If the newer process dies, the older one takes the
seat again.

Promise: the seat is free when the answer comes. A process that does not answer is waited for, since
its lock ends with it. Limit: nothing here knows which process is newer; each asks once in its life.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import structlog

from netclaim.errors import HostError

log = structlog.get_logger()

SOCKET_MODE: Final = 0o600  # who may ask may stop the driver's work
ASK: Final = b"take "
YOURS: Final = b"yours\n"
LINE_MAX: Final = 4096  # a path
ANSWER_S: Final = 15.0  # twice what calls under way are given


class Seat:
    """The seat as the process that holds it offers it to the next one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._asked = asyncio.Event()
        self._free = asyncio.Event()
        self.successor: Path | None = None

    async def wait_asked(self) -> Path:
        """Wait until another process asks for the seat; returns where that one serves kubelet."""
        await self._asked.wait()
        assert self.successor is not None, "set before the event"
        return self.successor

    def give(self) -> None:
        """Answer the process that asked, now that the journal is closed."""
        self._free.set()

    @asynccontextmanager
    async def offered(self) -> AsyncIterator[None]:
        """Listen while the block runs; a process that asks is answered by `give`, or not at all."""
        private = self._path.with_name(f".{secrets.token_hex(3)}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            server = await asyncio.start_unix_server(self._serve, private)
            private.chmod(SOCKET_MODE)
            private.replace(self._path)  # in place of an older process's, which asks nobody
        except OSError as error:
            raise HostError(f"cannot listen on {self._path}: {error.strerror}") from error
        try:
            yield
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, ValueError):
                line = await reader.readline()
                if line.startswith(ASK) and len(line) <= LINE_MAX:
                    self.successor = Path(line[len(ASK) :].decode().strip())
                    log.info("seat.asked", successor=str(self.successor))
                    self._asked.set()
                    await self._free.wait()
                    writer.write(YOURS)
                    await writer.drain()
        finally:
            writer.close()


async def ask_for_seat(path: Path, successor: Path) -> bool:
    """Ask for the seat; returns whether it was given. `successor` is where we serve kubelet."""
    try:
        async with asyncio.timeout(ANSWER_S):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(ASK + bytes(successor) + b"\n")
                return await reader.readline() == YOURS
            finally:
                writer.close()
    except (OSError, TimeoutError) as error:
        log.warning("seat.not_given", error=str(error) or "no answer")
        return False
