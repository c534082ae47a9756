"""The life of a served driver: start over leftovers, order of the sockets, an orderly stop."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from grpclib.const import Status
from structlog.testing import capture_logs

from netclaim.errors import HostError
from netclaim.kubelet import DraClient, DriverCallError, PluginSockets
from tests.support.kubelet_parts import (
    BLUE,
    DRIVER,
    RED,
    Answering,
    Waiting,
    files_below,
    kubelet_directory,
    leave_behind,
    served,
)


@pytest.fixture
def root() -> Iterator[Path]:
    """Kubelet's root directory."""
    with kubelet_directory() as path:
        yield path


async def test_start_over_leftovers(root: Path) -> None:
    """A driver that was killed starts again over both of its old sockets."""
    sockets = PluginSockets.under(root, DRIVER)
    sockets.dra.parent.mkdir()
    leave_behind(sockets.registration)
    leave_behind(sockets.dra)
    async with served(Answering(), root=root) as driver, DraClient(await driver.register()) as call:
        assert (await call.unprepare([RED])) == {RED.uid: None}


async def test_start_again_after_a_clean_stop(root: Path) -> None:
    """A clean stop removes both sockets, and the next start needs nothing more."""
    for _ in range(2):
        async with served(Answering(), root=root) as driver:
            await driver.register()
        assert files_below(root) == []


async def test_second_driver_of_the_name(root: Path) -> None:
    """A second driver of the same name is refused, and the first one serves on."""
    async with served(Answering(), root=root) as driver:
        with pytest.raises(HostError, match="another process serves"):
            async with served(Answering(), root=root):
                pytest.fail("the second driver was served")
        async with DraClient(await driver.register()) as call:
            assert (await call.unprepare([RED])) == {RED.uid: None}


async def test_dra_socket_comes_first(root: Path) -> None:
    """The DRA socket is bound first: with both in trouble, it is the one that is named."""
    sockets = PluginSockets.under(root, DRIVER)
    sockets.dra.parent.mkdir()
    sockets.dra.touch()
    sockets.registration.touch()
    with pytest.raises(HostError, match=str(sockets.dra)):
        async with served(Answering(), root=root):
            pytest.fail("the driver was served")


async def test_no_announcement_no_socket(root: Path) -> None:
    """A driver that cannot announce itself takes its DRA socket down again."""
    sockets = PluginSockets.under(root, DRIVER)
    sockets.registration.touch()
    with pytest.raises(HostError, match=str(sockets.registration)):
        async with served(Answering(), root=root):
            pytest.fail("the driver was served")
    assert not sockets.dra.exists()


async def until_refused(call: DraClient) -> DriverCallError:
    """Prepare another claim until the driver turns it away, which is when its stop has begun."""
    while True:
        try:
            await call.prepare([BLUE])
        except DriverCallError as refusal:
            return refusal


async def test_call_in_flight_is_finished(root: Path) -> None:
    """A stop turns new calls away and answers the one in flight; only then the sockets go.

    Kubelet hangs up on a driver whose registration socket is gone.
    """
    claims = Waiting()
    stop = asyncio.Event()
    announced: asyncio.Future[DraClient] = asyncio.get_running_loop().create_future()

    async def live() -> None:
        async with served(claims, root=root) as driver:
            announced.set_result(DraClient(await driver.register()))
            await stop.wait()

    async with asyncio.TaskGroup() as tasks:
        life = tasks.create_task(live())
        async with await announced as call:
            in_flight = tasks.create_task(call.prepare([RED]))
            await claims.started.wait()
            stop.set()
            refusal = await until_refused(call)
            assert refusal.status is Status.UNAVAILABLE
            sockets = PluginSockets.under(root, DRIVER)
            assert set(files_below(root)) == {sockets.registration, sockets.dra}
            claims.go_on.set()
            assert (await in_flight)[RED.uid].error is None
            await life
    assert files_below(root) == []
    assert not claims.cancelled.is_set()


async def test_call_longer_than_the_grace_is_cut() -> None:
    """When the grace period is over, a call in flight is cancelled and its client is told."""
    claims = Waiting()
    async with asyncio.TaskGroup() as tasks:
        async with served(claims, grace_s=0) as driver:
            client = DraClient(await driver.register())
            in_flight = tasks.create_task(cut_short(client))
            await claims.started.wait()
        assert claims.cancelled.is_set()
        assert (await in_flight).status is Status.UNAVAILABLE


async def cut_short(client: DraClient) -> DriverCallError:
    """A call that fails, and how."""
    async with client:
        with pytest.raises(DriverCallError) as cut:
            await client.prepare([RED])
    return cut.value


async def test_cut_calls_are_counted() -> None:
    """The log says how many calls did not finish."""
    claims = Waiting()
    with capture_logs() as logs:
        async with asyncio.TaskGroup() as tasks:
            async with served(claims, grace_s=0) as driver:
                in_flight = tasks.create_task(cut_short(DraClient(await driver.register())))
                await claims.started.wait()
            await in_flight
    assert [entry["calls"] for entry in logs if entry["event"] == "kubelet.calls_cut"] == [1]


async def test_connections_are_closed() -> None:
    """A stop closes the connections that kubelet keeps open."""
    async with served(Answering()) as driver:
        reader, writer = await asyncio.open_unix_connection(driver.sockets.dra)
        assert await reader.readexactly(9)  # the server's first HTTP/2 frame has arrived
    await reader.read()  # returns only at the end of the stream
    assert reader.at_eof()
    writer.close()
    await writer.wait_closed()


async def test_stop_by_an_error_is_a_stop(root: Path) -> None:
    """An error in the driver's own work goes through, after the sockets are gone."""
    with pytest.raises(RuntimeError, match="discovery broke"):
        async with served(Answering(), root=root):
            raise RuntimeError("discovery broke")
    assert files_below(root) == []
