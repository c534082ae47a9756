"""One NRI connection on a socket: calls out, calls in, until either side ends it.

Promise: one tree of tasks, entered and left with the connection; each call in is answered once,
by its id, in whatever order the work is done; each call out ends with the answer or an error.
Limit: when the connection ends, calls in that are still being handled are cancelled, because their
answer can no longer be given; a handler has to keep work that must outlive the connection. A slow
reader at the other end holds nobody back: messages are small, and calls have a deadline.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Self, TypeVar

import structlog
from google.protobuf.message import DecodeError
from google.protobuf.message import Message as Proto

from netclaim.errors import NetclaimError
from netclaim.nri.errors import CallTimeoutError, ConnectionLostError, ProtocolError, StatusError
from netclaim.nri.wire import ttrpc
from netclaim.nri.wire.endpoint import Endpoint, Side
from netclaim.tasks import TaskScope

READ_BYTES = 64 * 1024  # the stream reader's own buffer

T = TypeVar("T")
RequestT = TypeVar("RequestT", bound=Proto)
ResponseT = TypeVar("ResponseT", bound=Proto)
Method = Callable[[ttrpc.Request, float | None], Awaitable[ttrpc.Response]]
"""Answers one request, given its deadline on the loop's clock (None if it has none). Never
raises."""
Methods = Mapping[str, Method]

log = structlog.get_logger()


def unary(
    request_type: type[RequestT], handler: Callable[[RequestT, float | None], Awaitable[Proto]]
) -> Method:
    """Make a method of typed messages; what the handler raises becomes the status."""

    async def method(request: ttrpc.Request, deadline_s: float | None) -> ttrpc.Response:
        try:
            message = request_type.FromString(request.payload)
        except DecodeError as error:
            text = f"{request.method}: the payload is not a {request_type.DESCRIPTOR.name}: {error}"
            return ttrpc.failure(request.stream_id, ttrpc.Code.INVALID_ARGUMENT, text)
        try:
            answer = await handler(message, deadline_s)
        except NetclaimError as error:
            return ttrpc.failure(request.stream_id, ttrpc.Code.UNKNOWN, str(error))
        except Exception as error:
            log.exception("nri.handler_failed", method=request.method)
            text = f"{type(error).__name__}: {error}"
            return ttrpc.failure(request.stream_id, ttrpc.Code.UNKNOWN, text)
        return ttrpc.Response(request.stream_id, answer.SerializeToString())

    return method


class Connection:
    """An open connection; use it as `async with`. Leaving the block closes it."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        side: Side,
        methods: Methods,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._endpoint = Endpoint(side)
        self._methods = methods
        self._tasks = TaskScope()
        self._pending: dict[int, asyncio.Future[ttrpc.Response]] = {}
        self._expected: set[asyncio.Future[Any]] = set()
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._answering = 0
        self._answered = asyncio.Event()
        self._fault: ProtocolError | None = None

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        self._tasks.start(self._read())
        return self

    async def __aexit__(self, *block_error: object) -> None:
        self.close()
        await self._tasks.__aexit__(*block_error)
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    def close(self) -> None:
        """End the connection now: calls out fail, calls in are cancelled. May be called twice."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._writer.transport.abort()  # close() would wait for a peer that has stopped reading
        for coming in self._expected:
            if not coming.done():
                coming.set_exception(self._lost())
        self._tasks.cancel()

    @property
    def closed(self) -> bool:
        return self._ended.is_set()

    async def wait_closed(self) -> None:
        """Wait until the connection has ended; raises ProtocolError if the peer broke the rules."""
        await self._ended.wait()
        if self._fault is not None:
            raise self._fault

    async def wait_answered(self) -> None:
        """Wait until each call in has its answer on the wire, or the connection has ended."""
        while self._answering and not self._ended.is_set():
            await self._answered.wait()

    async def call(
        self, method: str, request: Proto, response_type: type[ResponseT], *, timeout_s: float
    ) -> ResponseT:
        """Call the other side's service, which gets the timeout as well.

        Raises StatusError if it refuses, MessageTooBigError, ProtocolError, or what `expect` does.
        """
        self._check_open()
        stream_id, data = self._endpoint.request(method, request.SerializeToString(), timeout_s)
        answer: asyncio.Future[ttrpc.Response] = self._loop.create_future()
        self._pending[stream_id] = answer
        self._writer.write(data)  # in one piece, so that the frames of two messages never mix
        try:
            response = await self.expect(f"the answer to {method}", answer, timeout_s=timeout_s)
        finally:
            del self._pending[stream_id]
        if response.code != ttrpc.Code.OK:
            raise StatusError(response.code, response.text)
        try:
            return response_type.FromString(response.payload)
        except DecodeError as error:
            raise ProtocolError(f"{method} was answered with an unreadable message") from error

    async def expect(self, what: str, coming: asyncio.Future[T], *, timeout_s: float) -> T:
        """Wait for a result that only the other side can bring about.

        Raises CallTimeoutError, and ConnectionLostError as soon as it can no longer come.
        """
        self._check_open()
        self._expected.add(coming)
        try:
            async with asyncio.timeout(timeout_s):
                return await coming
        except TimeoutError as error:
            raise CallTimeoutError(what, timeout_s) from error
        finally:
            self._expected.discard(coming)

    def _check_open(self) -> None:
        if self._ended.is_set():
            raise self._lost()

    def _lost(self) -> ConnectionLostError:
        why = f": {self._fault}" if self._fault else ""
        return ConnectionLostError(f"the connection ended{why}")

    async def _read(self) -> None:
        """Read the connection until it ends. A peer that is gone is not an error."""
        try:
            while chunk := await self._reader.read(READ_BYTES):
                for event in self._endpoint.receive(chunk):
                    self._receive(event)
        except ProtocolError as error:
            self._fault = error
        except OSError as error:
            log.debug("nri.connection_failed", reason=str(error))
        finally:
            self.close()

    def _receive(self, event: ttrpc.Request | ttrpc.Response) -> None:
        if isinstance(event, ttrpc.Request):
            timeout_s = event.timeout_s
            deadline_s = None if timeout_s is None else self._loop.time() + timeout_s
            self._answering += 1
            self._tasks.start(self._answer(event, deadline_s)).add_done_callback(self._note_answer)
            return
        answer = self._pending.get(event.stream_id)  # None: the call was given up before this
        if answer is not None and not answer.done():
            answer.set_result(event)

    def _note_answer(self, _task: asyncio.Task[None]) -> None:
        self._answering -= 1
        self._answered.set()
        self._answered = asyncio.Event()

    async def _answer(self, request: ttrpc.Request, deadline_s: float | None) -> None:
        known = request.service == self._endpoint.side.serves.name
        method = self._methods.get(request.method) if known else None
        if method is None:
            text = f"no method {request.service}/{request.method} here"
            response = ttrpc.failure(request.stream_id, ttrpc.Code.UNIMPLEMENTED, text)
        else:
            response = await method(request, deadline_s)
        if not self._ended.is_set():
            self._writer.write(self._endpoint.respond(response))
