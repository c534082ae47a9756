"""The socket on which netclaim-attach asks the driver.

Promise: two instances can hand over on one path: the newer one's socket takes the path in one step,
and the older one removes only what is still its own. A call that comes while we leave is answered
`again`, even if it was not accepted yet. Calls overlap. An ADD whose caller went away goes on,
since the runtime will ask for it again; a WAIT ends with its caller. With a keeper, calls that come
after a process failed wait for the next one.
Limit: only the transport is here; the handler decides the answers.
"""

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Self, TypeAlias

import structlog

from netclaim.chained.protocol import (
    AGAIN,
    Answer,
    Command,
    MalformedRequestError,
    Refusal,
    Request,
    RequestDecoder,
    encode_answer,
)
from netclaim.errors import HostError, NetclaimError
from netclaim.keeper import NO_KEEPER, Keeper
from netclaim.unix_socket import BoundSocket, inode_of, refuse_long_path

log = structlog.get_logger()

Handler: TypeAlias = Callable[[Request], Awaitable[Answer]]

SOCKET_MODE: Final = 0o600  # the runtime is root; nobody else speaks for it
DIRECTORY_MODE: Final = 0o755
BACKLOG: Final = 256  # as many pods as a node may start at once; above it, the program tries again
SEND_REQUEST_S: Final = 10.0  # the program has its whole request before it connects
ACCEPT_PAUSE_S: Final = 0.1  # when there are no file descriptors left


class AttachServer:
    """Serves while its `async with` block runs. Each instance serves once."""

    def __init__(
        self, path: Path, handle: Handler, *, grace_s: float, keeper: Keeper = NO_KEEPER
    ) -> None:
        """`grace_s` is how long calls may go on after the block is left."""
        self._path = path
        self._keeper = keeper
        self._handle = handle
        self._grace_s = grace_s
        self._group = asyncio.TaskGroup()
        self._calls: set[asyncio.Task[None]] = set()
        self._leaving = False

    async def __aenter__(self) -> Self:
        """Listen; when this returns, the program can connect."""
        self._kept = self._keeper.listen("attach", self._path, _listen)
        self._bound = self._kept.bound
        self._bound.listener.setblocking(False)
        await self._group.__aenter__()
        self._accepting = self._group.create_task(self._accept())
        return self

    async def __aexit__(self, *error: object) -> None:
        failed = error[0] is not None and self._keeper.has_next_life
        try:
            await self.drain(0 if failed else self._grace_s)
        finally:
            self._accepting.cancel()
            await asyncio.wait({self._accepting})
            if not failed:  # or else they wait for the next process
                self._bound.unlink()
                self._send_on_the_unaccepted()
            self._kept.end(failed=failed)
            self._bound.listener.close()
            for call in self._calls:
                call.cancel()
            await self._group.__aexit__(None, None, None)  # the block's own error goes on by itself

    async def drain(self, grace_s: float) -> None:
        """Answer `again` from now on; calls under way have `grace_s` to end."""
        self._leaving = True
        if self._calls:
            _, cut = await asyncio.wait(self._calls, timeout=grace_s)
            if cut:
                log.warning("chained.calls_cut", calls=len(cut), grace_s=grace_s)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._bound.listener)
            except OSError as error:
                log.warning("chained.accept_failed", error=error.strerror)
                await asyncio.sleep(ACCEPT_PAUSE_S)
                continue
            call = self._group.create_task(self._serve(connection))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)

    def _send_on_the_unaccepted(self) -> None:
        """Answer callers in the backlog, who would take a closed socket for a driver that died."""
        while True:
            try:
                connection, _ = self._bound.listener.accept()
            except OSError:
                return
            with connection:
                connection.setblocking(False)
                try:
                    connection.send(encode_answer(AGAIN))
                except OSError:
                    continue  # it went away already

    async def _serve(self, connection: socket.socket) -> None:
        with connection:  # its transport closes it as well, once there is one
            reader, writer = await asyncio.open_unix_connection(sock=connection)
            answer = await self._answer_or_nothing(reader)
            if answer is not None:
                writer.write(encode_answer(answer))
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer_or_nothing(self, reader: asyncio.StreamReader) -> Answer | None:
        try:
            return await self._answer(reader)
        except asyncio.CancelledError:
            return AGAIN  # only our own end cancels this; the next instance knows the answer
        except MalformedRequestError as error:
            log.warning("chained.malformed", error=str(error))
            return Refusal(f"the driver cannot read the request: {error}")
        except (ConnectionError, TimeoutError):
            return None  # the caller went away, or never sent its request

    async def _answer(self, reader: asyncio.StreamReader) -> Answer:
        async with asyncio.timeout(SEND_REQUEST_S):
            request = await _read(reader)
        if self._leaving:
            return AGAIN
        if request.command is Command.WAIT:
            return await self._until_gone(reader, request)
        return await self._call(request)

    async def _until_gone(self, reader: asyncio.StreamReader, request: Request) -> Answer:
        async with asyncio.TaskGroup() as group:
            call = group.create_task(self._call(request))
            gone = group.create_task(_read_end(reader))
            await asyncio.wait({call, gone}, return_when=asyncio.FIRST_COMPLETED)
            for task in (call, gone):
                task.cancel()
        if call.cancelled():
            raise ConnectionResetError  # nobody is left to answer
        return call.result()

    async def _call(self, request: Request) -> Answer:
        try:
            return await self._handle(request)
        except NetclaimError as error:
            return Refusal(str(error))
        except Exception:  # a fault of one call must not end the others
            log.exception("chained.call_failed", command=request.command)
            return Refusal("the driver failed to handle this call; see its log")


async def _read(reader: asyncio.StreamReader) -> Request:
    decoder = RequestDecoder()
    while chunk := await reader.read(65536):
        request = decoder.feed(chunk)
        if request is not None:
            return request
    raise ConnectionResetError


async def _read_end(reader: asyncio.StreamReader) -> None:
    """Return when the caller has hung up; anything it still sends is ignored."""
    try:
        while await reader.read(65536):
            pass
    except ConnectionError:
        return


def _listen(path: Path) -> BoundSocket:
    """Bind under a private name, then take the path, so that it always leads to a listener."""
    private = path.with_name(f".{secrets.token_hex(3)}")  # not longer than any name in use
    for name in (path, private):
        refuse_long_path(name, "use a shorter driver name or run directory")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
        listener.bind(bytes(private))
        private.chmod(SOCKET_MODE)
        listener.listen(BACKLOG)
        listener.setblocking(False)
        inode = inode_of(private)
        private.replace(path)
    except OSError as error:
        listener.close()
        private.unlink(missing_ok=True)
        raise HostError(f"cannot listen on {path}: {error.strerror}") from error
    return BoundSocket(listener, path, inode)
