"""One gRPC server on one unix socket, with an orderly end.

Promise: when `serving` is left, the path is removed, new calls are answered UNAVAILABLE, calls in
flight are cancelled, every connection is closed and no handler runs any more. To let the calls
finish, drain the gate first. A process that fails leaves its path and its callers to the next one,
if a keeper holds them. Only this module knows grpclib's internals.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

import structlog
from google.protobuf.message import DecodeError
from grpclib.const import Handler, Status
from grpclib.exceptions import GRPCError
from grpclib.protocol import H2Protocol
from grpclib.server import Server, Stream

from netclaim.keeper import NO_KEEPER, Keeper, KeptSocket
from netclaim.kubelet.sockets import listen

log = structlog.get_logger()

Call = Callable[[Stream[Any, Any]], Awaitable[None]]
Request = TypeVar("Request")


class GrpcService(Protocol):
    """What grpclib needs of a service: its handlers by their path, `/package.Service/Method`."""

    def __mapping__(self) -> Mapping[str, Handler]: ...


async def receive(stream: Stream[Request, Any]) -> Request:
    """Return the one message of a unary request; anything else is refused."""
    try:
        request = await stream.recv_message()
    except DecodeError as error:
        raise GRPCError(Status.INVALID_ARGUMENT, "the request is unreadable") from error
    if request is None:
        raise GRPCError(Status.INVALID_ARGUMENT, "the request ended without a message")
    return request


@asynccontextmanager
async def serving(
    path: Path,
    services: Sequence[GrpcService],
    *,
    keeper: Keeper = NO_KEEPER,
    name: str = "",
) -> AsyncIterator["CallGate"]:
    """Serve on `path`: it listens when this is entered, and is gone when this is left.

    A keeper holds the socket under `name`, and relays it, so that its calls outlive this process.
    """
    gate = CallGate(services)
    server = _ConnectionKeepingServer([gate])
    kept = keeper.listen(name, path, listen)
    failed = True
    try:
        async with _accepting(server, kept):
            yield gate
        failed = False
    finally:
        kept.end(failed=failed)
        if failed and keeper.has_next_life:
            server.cut()  # before any call can be answered that it was cancelled
        gate.shut()
        server.close()
        kept.bound.listener.close()
        server.hang_up()
        await gate.wait_idle()


@asynccontextmanager
async def _accepting(server: "_ConnectionKeepingServer", kept: KeptSocket) -> AsyncIterator[None]:
    if not kept.keeper.present:
        await server.start(sock=kept.bound.listener)
        yield
        return

    async def take_each(connections: AsyncIterator[socket.socket]) -> None:
        async for connection in connections:
            await server.take(connection)

    kept.bound.listener.close()  # the keeper accepts
    with kept.keeper.relayed(kept.name) as connections:
        async with asyncio.TaskGroup() as group:
            taking = group.create_task(take_each(connections))
            yield
            taking.cancel()


class CallGate:
    """Counts the calls in flight before the services, and refuses new ones once it is shut."""

    def __init__(self, services: Sequence[GrpcService]) -> None:
        self._services = services
        self._shut = False
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def shut(self) -> None:
        """Answer every new call with UNAVAILABLE from now on."""
        self._shut = True

    async def drain(self, grace_s: float) -> None:
        """Shut the gate, and give the calls in flight `grace_s` to end."""
        self.shut()
        try:
            async with asyncio.timeout(grace_s):
                await self.wait_idle()
        except TimeoutError:
            log.warning("kubelet.calls_cut", calls=self._in_flight, grace_s=grace_s)

    async def wait_idle(self) -> None:
        await self._idle.wait()

    def __mapping__(self) -> Mapping[str, Handler]:
        return {
            path: handler._replace(func=self._through(handler.func))
            for service in self._services
            for path, handler in service.__mapping__().items()
        }

    def _through(self, call: Call) -> Call:
        async def counted(stream: Stream[Any, Any]) -> None:
            if self._shut:
                raise GRPCError(Status.UNAVAILABLE, "the driver is stopping")
            self._in_flight += 1
            self._idle.clear()
            try:
                await call(stream)
                # Sent here and not by grpclib afterwards: a call is over when it is answered.
                await stream.send_trailing_metadata()
            finally:
                self._in_flight -= 1
                if not self._in_flight:
                    self._idle.set()

        return counted


class _ConnectionKeepingServer(Server):
    """Remembers its connections: grpclib's own close() cancels calls but leaves them open."""

    def __init__(self, services: Sequence[GrpcService]) -> None:
        super().__init__(services)
        self._connections: WeakSet[H2Protocol] = WeakSet()

    def _protocol_factory(self) -> H2Protocol:
        connection = super()._protocol_factory()
        self._connections.add(connection)
        return connection

    async def take(self, connection: socket.socket) -> None:
        """Serve a connection that somebody else accepted."""
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(self._protocol_factory, connection)

    def close(self) -> None:
        """Cancel all calls, and accept no more."""
        if self._server is not None:
            super().close()
        for handler in self._handlers:
            handler.close()

    def cut(self) -> None:
        """End every connection at once: nothing is sent from now on."""
        for connection in set(self._connections):
            if hasattr(connection, "processor"):
                connection.processor.connection._transport.abort()

    def hang_up(self) -> None:
        for connection in set(self._connections):
            # A connection that is accepted but not yet made has none; its calls meet a shut gate.
            if hasattr(connection, "processor"):
                connection.processor.close("the driver stopped")
