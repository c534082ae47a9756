"""One gRPC server on one unix socket, with an orderly end.

Promise: when `serving` is left, the path is removed, new calls are answered UNAVAILABLE, calls in
flight are cancelled, every connection is closed and no handler runs any more. Who wants the calls
to finish drains the gate first. Of grpclib's insides only this module knows.
"""

import asyncio
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

from netclaim.kubelet.sockets import listen

__all__ = ["CallGate", "GrpcService", "receive", "serving"]

log = structlog.get_logger()

Call = Callable[[Stream[Any, Any]], Awaitable[None]]
Request = TypeVar("Request")


class GrpcService(Protocol):
    """What grpclib asks of a service: its handlers by their path, `/package.Service/Method`."""

    def __mapping__(self) -> Mapping[str, Handler]: ...


async def receive(stream: Stream[Request, Any]) -> Request:
    """The one message of a unary request; whatever else comes is refused as such."""
    try:
        request = await stream.recv_message()
    except DecodeError as error:
        raise GRPCError(Status.INVALID_ARGUMENT, "the request is unreadable") from error
    if request is None:
        raise GRPCError(Status.INVALID_ARGUMENT, "the request ended without a message")
    return request


@asynccontextmanager
async def serving(path: Path, services: Sequence[GrpcService]) -> AsyncIterator["CallGate"]:
    """Serve on `path`: listening when entered, wholly gone when left."""
    gate = CallGate(services)
    server = _ConnectionKeepingServer([gate])
    bound = listen(path)
    try:
        await server.start(sock=bound.listener)
    except BaseException:
        bound.unlink()
        bound.listener.close()
        raise
    try:
        yield gate
    finally:
        bound.unlink()
        gate.shut()
        server.close()
        server.hang_up()
        await gate.wait_idle()


class CallGate:
    """Stands before the services: counts the calls in flight, and turns new ones away once shut."""

    def __init__(self, services: Sequence[GrpcService]) -> None:
        self._services = services
        self._shut = False
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def shut(self) -> None:
        """Answer every new call with UNAVAILABLE from now on. Again: nothing."""
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
        """Wait until no call is in flight."""
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

    def hang_up(self) -> None:
        for connection in set(self._connections):
            # One that is accepted but not yet made has none; its calls will meet a shut gate.
            if hasattr(connection, "processor"):
                connection.processor.close("the driver stopped")
