"""The server on a socket of this machine, until it is stopped.

The socket is opened first, and by itself: a command that enters the network of an embedded cluster
keeps a socket of the network where the browser is. Promise: it listens on a loopback address only.
"""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from aiohttp import web

from netclaim.errors import HostError, RequestError
from netclaim.tasks import TaskScope
from netclaim.ui.access import new_token
from netclaim.ui.engine import Engine
from netclaim.ui.server import Handler, application
from netclaim.ui.sources import Show
from netclaim.ui.view import Question

HOST: Final = "127.0.0.1"
BACKLOG: Final = 64
# Streams never end by themselves, so they are cut when the server stops.
SHUTDOWN_S: Final = 0.1


class Source(Protocol):
    """Where objects come from."""

    async def run(self, show: Show) -> None:
        """Show everything at each change; may return if nothing will change."""

    async def events(self, kind: str, namespace: str, name: str) -> list[dict[str, Any]]:
        """Return the events about an object."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that runs: its address, and whether somebody has looked at it."""

    url: str
    seen: asyncio.Event


def listening(port: int) -> socket.socket:
    """Return a socket that listens on the loopback address; port 0 takes a free one."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((HOST, port))
        opened.listen(BACKLOG)
    except OSError as error:
        opened.close()
        if error.errno == errno.EADDRINUSE:
            raise RequestError(
                f"port {port} is in use; choose another", path=("--port",)
            ) from error
        raise HostError(f"cannot listen on {HOST}:{port}: {error.strerror}") from error
    return opened


@asynccontextmanager
async def serving(
    question: Question, lent: AbstractAsyncContextManager[Source], on: socket.socket
) -> AsyncIterator[Serving]:
    """Serve a source on a socket as long as this is lent; the socket is closed then."""
    engine, token = Engine(question), new_token()
    async with lent as source:
        handler = Handler(engine, source, token)
        runner = web.AppRunner(
            application(handler),
            handler_cancellation=True,
            access_log=None,
            shutdown_timeout=SHUTDOWN_S,
        )
        await runner.setup()
        try:
            await web.SockSite(runner, on).start()
            async with TaskScope() as tasks:
                tasks.start(engine.run())
                tasks.start(source.run(engine.see))
                await engine.next(0)  # what cannot be read is reported before the address is
                port = on.getsockname()[1]
                yield Serving(f"http://{HOST}:{port}/{token}/", handler.seen)
        finally:
            await runner.cleanup()
