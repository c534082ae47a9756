"""The driver's socket: calls that overlap, callers that vanish, instances that hand over."""

import asyncio
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from netclaim.chained import OK, Answer, AttachServer, Command, Refusal, Request
from netclaim.errors import HostError, PeerError

GRACE_S = 30.0  # more than any of these calls takes; those that never end are cut by 0
ADD = b"netclaim/1 ADD\ncontainer=%s\nlength=0\n\n"
WAIT = b"netclaim/1 WAIT\ncontainer=%s\nuid=u1\nlength=0\n\n"


class Scripted:
    """A handler whose calls begin at once and end when the test says so."""

    def __init__(self) -> None:
        self.begun: asyncio.Queue[Request] = asyncio.Queue()
        self.answers: dict[str, asyncio.Future[Answer]] = {}
        self.cancelled = asyncio.Event()
        self.ended: list[str] = []

    async def __call__(self, request: Request) -> Answer:
        """Note that it began, and wait."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.answers[request.container_id] = answer
        self.begun.put_nowait(request)
        try:
            result = await answer
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        self.ended.append(request.container_id)
        return result


@asynccontextmanager
async def caller(path: Path, data: bytes) -> AsyncIterator[asyncio.StreamReader]:
    """A connection that has said this."""
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        writer.write(data)
        yield reader
    finally:
        writer.close()
        await writer.wait_closed()


async def call(path: Path, data: bytes) -> bytes:
    """What is answered."""
    async with caller(path, data) as reader:
        return await reader.read()


async def answer_with(answer: Answer | Exception) -> Answer:
    """Return or raise."""
    if isinstance(answer, Exception):
        raise answer
    return answer


async def test_calls_overlap(tmp_path: Path) -> None:
    """A call that takes its time does not hold up the next one."""
    path, handler = tmp_path / "run" / "attach.sock", Scripted()
    async with AttachServer(path, handler, grace_s=GRACE_S), asyncio.TaskGroup() as group:
        first = group.create_task(call(path, ADD % b"c1"))
        await handler.begun.get()
        second = group.create_task(call(path, ADD % b"c2"))
        await handler.begun.get()
        handler.answers["c2"].set_result(Refusal("no link", code=11))
        assert await second == b"error 11\nno link"
        handler.answers["c1"].set_result(OK)
        assert await first == b"ok\n"
    assert list(path.parent.iterdir()) == []


async def test_only_root_may_ask(tmp_path: Path) -> None:
    """The socket is its owner's alone."""
    path = tmp_path / "attach.sock"
    async with AttachServer(path, Scripted(), grace_s=GRACE_S):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (PeerError("the API server is away"), b"error 999\nthe API server is away"),
        (ZeroDivisionError(), b"error 999\nthe driver failed to handle this call; see its log"),
    ],
)
async def test_a_handler_that_fails(tmp_path: Path, outcome: Exception, said: bytes) -> None:
    """An error of the handler's refuses that call, and the next one is served."""
    path = tmp_path / "attach.sock"
    async with AttachServer(path, lambda _: answer_with(outcome), grace_s=GRACE_S):
        assert await call(path, ADD % b"c1") == said
        assert await call(path, ADD % b"c1") == said


async def test_nonsense_is_refused(tmp_path: Path) -> None:
    """Who speaks another language is told so."""
    path = tmp_path / "attach.sock"
    async with AttachServer(path, Scripted(), grace_s=GRACE_S):
        assert b"cannot read the request" in await call(path, b"GET / HTTP/1.1\n\n")


async def test_an_add_outlives_its_caller(tmp_path: Path) -> None:
    """The runtime comes back for what it asked: an ADD goes on without its caller."""
    path, handler = tmp_path / "attach.sock", Scripted()
    async with AttachServer(path, handler, grace_s=GRACE_S):
        async with caller(path, ADD % b"c1"):
            await handler.begun.get()
        async with caller(path, WAIT % b"c2") as reader:
            await handler.begun.get()
            handler.answers["c2"].set_result(OK)
            assert await reader.read() == b"ok\n"
        handler.answers["c1"].set_result(OK)
    assert handler.ended == ["c2", "c1"]


async def test_a_wait_ends_with_its_caller(tmp_path: Path) -> None:
    """A container that is no longer created waits for nothing."""
    path, handler = tmp_path / "attach.sock", Scripted()
    async with AttachServer(path, handler, grace_s=GRACE_S):
        async with caller(path, WAIT % b"c1"):
            assert (await handler.begun.get()).command is Command.WAIT
        await handler.cancelled.wait()


async def test_leaving(tmp_path: Path) -> None:
    """New calls, and at last those that have not ended, are sent to the next instance."""
    path, handler = tmp_path / "attach.sock", Scripted()
    server = AttachServer(path, handler, grace_s=0)
    async with asyncio.TaskGroup() as group:
        async with server:
            ends = group.create_task(call(path, ADD % b"ends"))
            stays = group.create_task(call(path, ADD % b"stays"))
            await handler.begun.get()
            await handler.begun.get()
            await server.drain(0)
            assert await call(path, ADD % b"late") == b"again\n"
            handler.answers["ends"].set_result(OK)
            assert await ends == b"ok\n"
        assert await stays == b"again\n"
    assert handler.cancelled.is_set()
    assert not path.exists()


async def test_who_was_never_accepted(tmp_path: Path) -> None:
    """A caller still in the backlog when the socket closes is sent to the next instance too."""
    path = tmp_path / "attach.sock"
    with socket.socket(socket.AF_UNIX) as waiting:
        async with AttachServer(path, Scripted(), grace_s=0):
            waiting.connect(bytes(path))  # and the loop gets no turn to accept it
        waiting.setblocking(True)
        assert waiting.recv(100) == b"again\n"


async def test_handing_over(tmp_path: Path) -> None:
    """A second instance takes the path; the first one ends its calls and leaves the path alone."""
    path, old, new = tmp_path / "attach.sock", Scripted(), Scripted()
    async with AsyncExitStack() as second, asyncio.TaskGroup() as group:
        async with AttachServer(path, old, grace_s=GRACE_S):
            begun = group.create_task(call(path, ADD % b"c1"))
            await old.begun.get()
            await second.enter_async_context(AttachServer(path, new, grace_s=GRACE_S))
            later = group.create_task(call(path, ADD % b"c2"))
            await new.begun.get()
            old.answers["c1"].set_result(OK)
        assert await begun == b"ok\n"
        assert path.exists()
        new.answers["c2"].set_result(OK)
        assert await later == b"ok\n"
    assert not path.exists()


async def test_paths_that_are_too_long(tmp_path: Path) -> None:
    """A path that the kernel does not take is named, with what to do about it."""
    path = tmp_path / ("d" * 100) / "attach.sock"
    with pytest.raises(HostError, match="use a shorter driver name"):
        async with AttachServer(path, Scripted(), grace_s=0):
            pass
