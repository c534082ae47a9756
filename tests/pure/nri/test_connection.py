"""One connection on a real socket pair."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest
import structlog.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from netclaim.errors import RequestError
from netclaim.nri import CallTimeoutError, ConnectionLostError, ProtocolError, StatusError
from netclaim.nri.proto import api_pb2 as pb
from netclaim.nri.wire.connection import Connection, Method, unary
from netclaim.nri.wire.endpoint import PLUGIN_SIDE, Endpoint, Service, Side
from tests.support.nri.parts import connection_on, never, pair, raising, virtual_time


def doing(work: Callable[[], Awaitable[None]]) -> Method:
    """A method that does the work and answers nothing."""

    async def handle(_request: pb.Empty, _deadline_s: float | None) -> pb.Empty:
        await work()
        return pb.Empty()

    return unary(pb.Empty, handle)


async def call(end: Connection, method: str, *, timeout_s: float = 2.0) -> None:
    """Call a method that takes nothing and answers nothing."""
    await end.call(method, pb.Empty(), pb.Empty, timeout_s=timeout_s)


@virtual_time
async def out_of_order(order: list[int]) -> None:
    """Make calls 0, 1, 2, ... and let their work end in the given order."""
    gates = [asyncio.Event() for _ in order]
    answered: list[int] = []

    async def wait(request: pb.ConfigureRequest, _deadline_s: float | None) -> pb.ConfigureResponse:
        await gates[request.request_timeout].wait()
        return pb.ConfigureResponse(events=request.request_timeout)

    async def make(end: Connection, number: int) -> None:
        request = pb.ConfigureRequest(request_timeout=number)
        reply = await end.call("Wait", request, pb.ConfigureResponse, timeout_s=2)
        assert reply.events == number
        answered.append(number)
        for next_number in order[len(answered) : len(answered) + 1]:
            gates[next_number].set()

    methods = {"Wait": unary(pb.ConfigureRequest, wait)}
    async with pair(plugin=methods) as (_, runtime), asyncio.TaskGroup() as tasks:
        for number in range(len(order)):
            tasks.create_task(make(runtime, number))
        gates[order[0]].set()
    assert answered == order


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(5)))
def test_overlap(order: list[int]) -> None:
    """Calls that overlap are answered in the order in which their work ends, each with its own."""
    out_of_order(order)


@virtual_time
async def test_both_ways() -> None:
    """While one side works on a call, it can call the other on the same connection."""
    ends: list[Connection] = []

    async def ask_back() -> None:
        await call(ends[0], "Plain")

    async def nothing() -> None:
        return

    async with pair(plugin={"Ask": doing(ask_back)}, runtime={"Plain": doing(nothing)}) as pair_:
        ends += pair_
        await call(ends[1], "Ask")


@virtual_time
async def test_large() -> None:
    """300 kB go both ways in one call."""

    async def echo(request: pb.ConfigureRequest, _deadline_s: float | None) -> pb.ConfigureRequest:
        return request

    async with pair(plugin={"Echo": unary(pb.ConfigureRequest, echo)}) as (_, runtime):
        request = pb.ConfigureRequest(config="x" * 300_000)
        assert await runtime.call("Echo", request, pb.ConfigureRequest, timeout_s=2) == request


@virtual_time
async def test_refusal() -> None:
    """An error of ours is the status, with its own message."""
    refuse = doing(raising(RequestError("ask for less", path=("spec", "count"))))
    async with pair(plugin={"Refuse": refuse}) as (_, runtime):
        with pytest.raises(StatusError, match=r"^spec\.count: ask for less$") as caught:
            await call(runtime, "Refuse")
    assert caught.value.code == 2


@virtual_time
async def test_broken_handler() -> None:
    """An error that nobody meant is a status too, is logged, and leaves the connection in use."""
    async with pair(plugin={"Break": doing(raising(KeyError("x")))}) as (_, runtime):
        with structlog.testing.capture_logs() as logs:
            for _ in range(2):
                with pytest.raises(StatusError, match="KeyError: 'x'"):
                    await call(runtime, "Break")
    assert [entry["event"] for entry in logs] == ["nri.handler_failed"] * 2


@virtual_time
async def test_unknown_method() -> None:
    """A method that nobody serves is answered with code 12, which makes a runtime fall back."""
    async with pair() as (_, runtime):
        with pytest.raises(StatusError, match=r"no method .*Plugin/Dance here") as caught:
            await call(runtime, "Dance")
    assert caught.value.code == 12


@virtual_time
async def test_unknown_service() -> None:
    """A method is served under its own service's name only."""
    left, right = socket.socketpair(socket.AF_UNIX)
    stranger = Side(serves=PLUGIN_SIDE.calls, calls=Service(1, "other.Service"))
    async with (
        connection_on(left, PLUGIN_SIDE, {"Never": doing(never)}),
        connection_on(right, stranger, {}) as end,
    ):
        with pytest.raises(StatusError) as caught:
            await call(end, "Never")
    assert caught.value.code == 12


@virtual_time
async def test_unreadable_payload() -> None:
    """A payload that is not the method's message is answered with code 3."""
    methods = {"Configure": doing(never)}
    left, right = socket.socketpair(socket.AF_UNIX)
    async with connection_on(left, PLUGIN_SIDE, methods):
        end = Endpoint(Side(serves=PLUGIN_SIDE.calls, calls=PLUGIN_SIDE.serves))
        reader, writer = await asyncio.open_unix_connection(sock=right)
        writer.write(end.request("Configure", b"\xff", 1.0)[1])
        (answer,) = end.receive(await reader.read(1000))
        writer.close()
        await writer.wait_closed()
    assert answer.code == 3  # type: ignore[union-attr]


@virtual_time
async def test_timeout() -> None:
    """A call that is not answered in time fails; its late answer disturbs nobody."""
    release = asyncio.Event()

    async def wait() -> None:
        await release.wait()

    async with pair(plugin={"Wait": doing(wait)}) as (_, runtime):
        with pytest.raises(CallTimeoutError, match="the answer to Wait did not arrive within 2 s"):
            await call(runtime, "Wait")
        release.set()
        await call(runtime, "Wait")


@virtual_time
async def test_deadline() -> None:
    """A handler learns when the caller will stop waiting, on its own loop's clock."""
    seen: list[float | None] = []

    async def note(_request: pb.Empty, deadline_s: float | None) -> pb.Empty:
        seen.append(deadline_s)
        return pb.Empty()

    async with pair(plugin={"Note": unary(pb.Empty, note)}) as (_, runtime):
        now_s = asyncio.get_running_loop().time()
        await call(runtime, "Note", timeout_s=1.5)
    assert seen == [now_s + 1.5]


@virtual_time
async def test_peer_leaves() -> None:
    """When the peer goes, calls out fail and calls in are cancelled; later calls fail at once."""
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await never()
        finally:
            cancelled.set()

    async with pair(plugin={"Work": doing(work)}) as (plugin, runtime):
        async with asyncio.TaskGroup() as tasks:
            calling = tasks.create_task(_lost(call(runtime, "Work")))
            await started.wait()
            plugin.close()
            await calling
        await cancelled.wait()
        await runtime.wait_closed()
        await _lost(call(runtime, "Work"))


async def _lost(calling: Awaitable[None]) -> None:
    with pytest.raises(ConnectionLostError):
        await calling


@virtual_time
async def test_protocol_error() -> None:
    """A peer that breaks the rules ends the connection, and every error says what it did."""
    left, right = socket.socketpair(socket.AF_UNIX)
    async with connection_on(left, PLUGIN_SIDE, {}) as plugin:
        with right:
            right.send(b"\xff" * 8)
            with pytest.raises(ConnectionLostError, match="over the limit"):
                await call(plugin, "RegisterPlugin")
            with pytest.raises(ProtocolError, match="over the limit"):
                await plugin.wait_closed()


@virtual_time
async def test_unreadable_answer() -> None:
    """An answer that is not the message it should be is a protocol error of that call."""

    async def garbage(_request: pb.Empty, _deadline_s: float | None) -> pb.Empty:
        return pb.Empty.FromString(b"\x12\x01\xff")  # kept as an unknown field; no UTF-8

    async with pair(plugin={"Configure": unary(pb.Empty, garbage)}) as (_, runtime):
        with pytest.raises(ProtocolError, match="Configure was answered with an unreadable"):
            await runtime.call("Configure", pb.Empty(), pb.LinuxNamespace, timeout_s=1)


@virtual_time
async def test_block_error() -> None:
    """What the block raises comes out as itself, after the connection's tasks have ended."""
    with pytest.raises(ZeroDivisionError):
        async with pair(plugin={"Never": doing(never)}):
            raise ZeroDivisionError


@virtual_time
async def test_close_twice() -> None:
    """Closing again does nothing."""
    async with pair() as (plugin, _):
        plugin.close()
        plugin.close()
        assert plugin.closed
        await plugin.wait_closed()
