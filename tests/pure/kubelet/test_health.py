"""The health stream over a real socket: full lists, changes, repetition, and its end."""

from contextlib import aclosing

import pytest

from netclaim.kubelet import HEALTH_APIS, DeviceHealth, DraClient, Health, HealthApi, HealthBoard
from tests.support.kubelet_parts import BLUE, Answering, served

WELL = DeviceHealth("node-1", "eth1", Health.HEALTHY)
ILL = DeviceHealth("node-1", "eth2", Health.UNHEALTHY, message="no carrier")
UNSURE = DeviceHealth("node-1", "eth3", Health.UNKNOWN)


@pytest.mark.parametrize("api", HEALTH_APIS, ids=lambda api: api.version)
async def test_list_comes_at_once_and_after_each_change(api: HealthApi) -> None:
    """A watcher gets the whole list at once, and the whole list again when one device changes."""
    board = HealthBoard([WELL])
    async with (
        served(Answering(), healths=board) as driver,
        DraClient(await driver.register(health_apis=[api])) as call,
        aclosing(call.watch_health()) as lists,
    ):
        assert await anext(lists) == (WELL,)
        board.post([WELL, ILL, UNSURE])
        assert await anext(lists) == (WELL, ILL, UNSURE)
        board.post([])
        assert await anext(lists) == ()


async def test_newest_version_is_watched() -> None:
    """Kubelet watches by the newest version it has, and by none if it has none of the driver's."""
    newest, _ = HEALTH_APIS
    async with served(Answering(), healths=HealthBoard([WELL])) as driver:
        assert (await driver.register()).health_api is newest
        async with DraClient(await driver.register(health_apis=[])) as call:
            assert [healths async for healths in call.watch_health()] == []


async def test_change_while_nobody_watches_is_not_lost() -> None:
    """A watcher that comes late gets the list of now, not of then."""
    board = HealthBoard([WELL])
    async with (
        served(Answering(), healths=board) as driver,
        DraClient(await driver.register()) as call,
    ):
        board.post([ILL])
        async with aclosing(call.watch_health()) as lists:
            assert await anext(lists) == (ILL,)


async def test_every_watcher_is_told() -> None:
    """Two watchers each get every change."""
    board = HealthBoard([WELL])
    async with (
        served(Answering(), healths=board) as driver,
        DraClient(await driver.register()) as call,
        aclosing(call.watch_health()) as some,
        aclosing(call.watch_health()) as others,
    ):
        assert await anext(some) == await anext(others) == (WELL,)
        board.post([ILL])
        assert await anext(some) == await anext(others) == (ILL,)


async def test_same_list_again_wakes_nobody() -> None:
    """Posting what is known already sends nothing."""
    board = HealthBoard([WELL])
    async with (
        served(Answering(), healths=board) as driver,
        DraClient(await driver.register()) as call,
        aclosing(call.watch_health()) as lists,
    ):
        assert await anext(lists) == (WELL,)
        board.post([WELL])
        await call.prepare([BLUE])  # whatever the stream had to send has been sent by now
        board.post([ILL])
        assert await anext(lists) == (ILL,)


async def test_silence_is_broken() -> None:
    """The list is repeated though nothing changes: kubelet takes silence for ill health."""
    async with (
        served(Answering(), healths=HealthBoard([WELL]), resend_s=0.001) as driver,
        DraClient(await driver.register()) as call,
        aclosing(call.watch_health()) as lists,
    ):
        assert [await anext(lists) for _ in range(3)] == [(WELL,)] * 3


async def test_stop_ends_the_stream() -> None:
    """A stop ends the stream without an error and without waiting for its grace period."""
    async with served(Answering(), healths=HealthBoard([WELL])) as driver:
        call = DraClient(await driver.register())
        lists = call.watch_health()
        assert await anext(lists) == (WELL,)
    assert [healths async for healths in lists] == []
    async with call:
        pass


async def test_watcher_that_left_does_not_hold_up_the_stop() -> None:
    """A stream that its watcher gave up is over for the driver too."""
    async with (
        served(Answering(), healths=HealthBoard([WELL])) as driver,
        DraClient(await driver.register()) as call,
    ):
        async with aclosing(call.watch_health()) as lists:
            assert await anext(lists) == (WELL,)
        assert await call.unprepare([BLUE]) == {BLUE.uid: None}
