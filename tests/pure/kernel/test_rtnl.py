"""The rtnetlink client against a kernel that we play ourselves at the other end of a socket."""

import asyncio
import errno
import socket
import struct
from collections.abc import Iterator

import pytest

from netclaim.errors import HostError, PeerError
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import (
    BATCH_MAX,
    DUMP_TRIES,
    RECEIVE_BYTES,
    Rtnl,
    RtnlTimeoutError,
    UnstableDumpError,
)
from netclaim.kernel.netlink.codec import KernelError, MalformedMessageError, Request, messages
from tests.pure.kernel.test_netlink import DUMP, PLAIN, encoded, verdict

NEVER_S = 60.0
AT_ONCE_S = 0.001
DONE = struct.pack("=i", 0)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Our end of a socket, and the end that the test answers from."""
    ours, kernels = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    with ours, kernels:
        yield ours, kernels


@pytest.fixture
def kernel(ends: tuple[socket.socket, socket.socket]) -> socket.socket:
    """The end that the test answers from; what it sends before a call is read by the call."""
    return ends[1]


@pytest.fixture
def rtnl(ends: tuple[socket.socket, socket.socket]) -> Rtnl:
    """A client that waits for its answer."""
    return Rtnl(ends[0], timeout_s=NEVER_S)


async def test_a_call_returns_what_came_before_the_ack(rtnl: Rtnl, kernel: socket.socket) -> None:
    """The reply and the ack may be two datagrams."""
    kernel.send(encoded(uapi.RTM_NEWLINK, 1, b"data"))
    kernel.send(verdict(1, 0))
    assert [reply.payload for reply in await rtnl.call(PLAIN)] == [b"data"]


async def test_a_call_waits_for_an_answer_that_is_late(rtnl: Rtnl, kernel: socket.socket) -> None:
    """Without an answer at hand the call lets other tasks run until there is one."""
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as tasks:
        call = tasks.create_task(rtnl.call(PLAIN))
        (request,) = messages(await loop.sock_recv(kernel, 65536))
        assert not call.done()
        kernel.send(verdict(request.sequence, 0))
    assert call.result() == []


async def test_tasks_take_turns(rtnl: Rtnl, kernel: socket.socket) -> None:
    """A second call is not sent before the first one is answered."""
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as tasks:
        for name in ("one", "two", "three"):
            tasks.create_task(rtnl.call(Request(uapi.RTM_NEWLINK, name.encode(), name)))
        for sequence, name in enumerate(("one", "two", "three"), 1):
            (request,) = messages(await loop.sock_recv(kernel, 65536))
            assert (request.sequence, request.payload) == (sequence, name.encode())
            with pytest.raises(BlockingIOError):
                kernel.recv(1)
            kernel.send(verdict(sequence, 0))


async def test_no_answer_in_time_is_an_error_to_retry(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    """A kernel that does not answer gives RtnlTimeoutError, which says what was asked."""
    with pytest.raises(RtnlTimeoutError, match="do it") as caught:
        await Rtnl(ends[0], timeout_s=AT_ONCE_S).call(PLAIN)
    assert isinstance(caught.value, PeerError)


async def test_a_call_given_up_does_not_disturb_the_next(rtnl: Rtnl, kernel: socket.socket) -> None:
    """Answers to a cancelled call are passed over, whether they come before or after the next."""
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as tasks:
        given_up = tasks.create_task(rtnl.dump(DUMP))
        await loop.sock_recv(kernel, 65536)
        given_up.cancel()
    kernel.send(encoded(uapi.RTM_NEWLINK, 1, b"old1"))
    async with asyncio.TaskGroup() as tasks:
        call = tasks.create_task(rtnl.call(PLAIN))
        (request,) = messages(await loop.sock_recv(kernel, 65536))
        kernel.send(verdict(1, -errno.EPERM))
        kernel.send(encoded(uapi.RTM_NEWLINK, request.sequence, b"new1"))
        kernel.send(verdict(request.sequence, 0))
    assert [reply.payload for reply in call.result()] == [b"new1"]


async def test_a_dump_that_changed_is_read_again(rtnl: Rtnl, kernel: socket.socket) -> None:
    """An inconsistent list is thrown away and asked for anew."""
    kernel.send(encoded(uapi.RTM_NEWLINK, 1, b"torn", uapi.NLM_F_DUMP_INTR))
    kernel.send(encoded(uapi.NLMSG_DONE, 1, DONE))
    kernel.send(encoded(uapi.RTM_NEWLINK, 2, b"good") + encoded(uapi.NLMSG_DONE, 2, DONE))
    assert [reply.payload for reply in await rtnl.dump(DUMP)] == [b"good"]


async def test_a_dump_that_never_settles_is_given_up(rtnl: Rtnl, kernel: socket.socket) -> None:
    """After several torn readings the caller is told, to try again later."""
    for sequence in range(1, DUMP_TRIES + 1):
        kernel.send(encoded(uapi.NLMSG_DONE, sequence, DONE, uapi.NLM_F_DUMP_INTR))
    with pytest.raises(UnstableDumpError, match="list it"):
        await rtnl.dump(DUMP)


async def test_a_long_batch_goes_in_parts(rtnl: Rtnl, kernel: socket.socket) -> None:
    """No more requests are sent at once than acks fit in the receive buffer."""
    for start in (1, BATCH_MAX + 1):
        kernel.send(b"".join(verdict(start + place, 0) for place in range(BATCH_MAX)))
    await rtnl.batch([PLAIN] * (BATCH_MAX + 1))
    sent = [len(list(messages(kernel.recv(65536)))) for _ in range(2)]
    assert sent == [BATCH_MAX, 1]


async def test_an_empty_batch_asks_nothing(rtnl: Rtnl, kernel: socket.socket) -> None:
    """Nothing to do is done without a system call."""
    await rtnl.batch([])
    with pytest.raises(BlockingIOError):
        kernel.recv(1)


async def test_the_first_failure_of_a_batch_is_raised_with_the_others_noted(
    rtnl: Rtnl, kernel: socket.socket
) -> None:
    """No failure of a batch is dropped."""
    kernel.send(verdict(1, 0) + verdict(2, -errno.ENODEV) + verdict(3, -errno.EEXIST))
    with pytest.raises(KernelError) as caught:
        await rtnl.batch([PLAIN, PLAIN, PLAIN])
    assert caught.value.errno == errno.ENODEV
    assert len(caught.value.__notes__) == 1
    assert "EEXIST" in caught.value.__notes__[0]


async def test_a_datagram_of_any_size_is_read_whole(rtnl: Rtnl, kernel: socket.socket) -> None:
    """A container's link may take more room than all that the kernel sends otherwise."""
    large = bytes(3 * RECEIVE_BYTES)
    kernel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * len(large))
    kernel.send(encoded(uapi.RTM_NEWLINK, 1, large) + verdict(1, 0))
    assert [reply.payload for reply in await rtnl.call(PLAIN)] == [large]


async def test_the_rest_of_a_failed_exchange_is_not_read_by_the_next(
    rtnl: Rtnl, kernel: socket.socket
) -> None:
    """What is queued when an exchange fails belongs to it and is thrown away."""
    loop = asyncio.get_running_loop()
    for _ in range(2):
        kernel.send(b"not netlink")
    with pytest.raises(MalformedMessageError):
        await rtnl.call(PLAIN)
    kernel.recv(65536)
    async with asyncio.TaskGroup() as tasks:
        call = tasks.create_task(rtnl.call(PLAIN))
        (request,) = messages(await loop.sock_recv(kernel, 65536))
        kernel.send(verdict(request.sequence, 0))
    assert call.result() == []


async def test_a_closed_client_says_so(rtnl: Rtnl) -> None:
    """A call after close is an error of ours; closing again is nothing."""
    rtnl.close()
    rtnl.close()
    with pytest.raises(HostError, match="do it"):
        await rtnl.call(PLAIN)
