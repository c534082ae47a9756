"""A driver that will not come back prepares nothing new, and releases what pods still have."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from netclaim.chained import AGAIN, OK, Answer, Listing, encode_retire
from netclaim.cli.asking import ask_driver
from netclaim.framework import Settings, run_driver
from netclaim.framework.collect.retire import AWAY_S, Retirement
from netclaim.framework.process.handover import ask_for_seat
from netclaim.framework.process.node_places import NodePlaces
from netclaim.framework.tools.clock import SystemClock
from netclaim.kubelet import DraClient, PluginSockets, register
from netclaim.model import Device
from tests.support.framework.cluster import api_server, runtime_at, settings_in
from tests.support.framework.parts import DRIVER, ScriptedDriver, claim_of, pod_of

RED, BLUE = claim_of("red", owner="pod-1"), claim_of("blue", owner="pod-2")
POD = pod_of(netns="/proc/self/ns/net")  # a namespace that exists; nobody enters it here


class Patient(SystemClock):
    """A clock on which the time away from kubelet lasts until the test ends it."""

    def __init__(self) -> None:
        self.away = asyncio.Event()
        self.back = asyncio.Event()

    async def sleep(self, delay_s: float) -> None:
        """Everything else takes as long as it takes."""
        if delay_s != AWAY_S:
            await super().sleep(delay_s)
            return
        self.away.set()
        await self.back.wait()


@pytest.fixture
def root() -> Iterator[Path]:
    """A directory whose path is short enough for sockets in it."""
    with TemporaryDirectory(prefix="nc") as directory:
        yield Path(directory)


async def retire(settings: Settings, instance: str = "") -> Answer:
    """What `netclaim driver retire` asks."""
    path = settings.run_dir / DRIVER / "attach.sock"
    return await asyncio.to_thread(ask_driver, path, encode_retire(instance))


async def test_what_runs_is_released_and_nothing_is_begun(root: Path) -> None:
    """Kubelet does not find it for a while, then finds it again, and gets its pods' claims back."""
    driver, clock, retirement = ScriptedDriver(), Patient(), Retirement()
    driver.devices.put_nowait((Device(name="eth1"), Device(name="eth2")))
    async with api_server() as api:
        settings = settings_in(root, api)
        sockets = PluginSockets.under(settings.kubelet_dir, DRIVER)
        api.put_claim(RED)
        api.put_claim(BLUE)
        async with runtime_at(settings) as runtime, asyncio.TaskGroup() as group:
            running = group.create_task(
                run_driver(driver, settings, clock=clock, retirement=retirement)
            )
            async with DraClient(await register(sockets.registration)) as kubelet:
                await kubelet.prepare([RED.ref])
                await runtime.run_pod_sandbox(POD)
                held = ("claim default/red", f"interface of pod default/{POD.name}")
                assert await retire(settings) == Listing(held)
            await clock.away.wait()
            assert not sockets.registration.exists()
            clock.back.set()
            async with DraClient(await register(sockets.registration)) as kubelet:
                refused = (await kubelet.prepare([BLUE.ref]))["uid-blue"].error
                assert refused is not None
                assert "being uninstalled" in refused
                assert (await kubelet.prepare([RED.ref]))["uid-red"].error is None
                await runtime.stop_pod_sandbox(POD)
                await runtime.remove_pod_sandbox(POD)
                assert await kubelet.unprepare([RED.ref]) == {"uid-red": None}
                assert await retire(settings) == OK
            running.cancel()
    assert retirement.done
    assert driver.calls == ["prepare red", "attach eth1", "detach eth1", "unprepare red"]


async def test_who_still_holds_something_is_not_done(root: Path) -> None:
    """A driver that is stopped before its pods have ended keeps what the next one needs."""
    driver, retirement = ScriptedDriver(), Retirement()
    driver.devices.put_nowait((Device(name="eth1"),))
    async with api_server() as api:
        settings = settings_in(root, api)
        sockets = PluginSockets.under(settings.kubelet_dir, DRIVER)
        api.put_claim(RED)
        async with runtime_at(settings), asyncio.TaskGroup() as group:
            running = group.create_task(run_driver(driver, settings, retirement=retirement))
            async with DraClient(await register(sockets.registration)) as kubelet:
                await kubelet.prepare([RED.ref])
            assert await retire(settings, "an-older-one") == AGAIN
            assert retirement.refusal() == ""
            assert await retire(settings) == Listing(("claim default/red",))
            running.cancel()
    assert retirement.begun
    assert not retirement.done


async def test_a_newer_process_asks_while_it_ends(root: Path) -> None:
    """What the newer one has by then is not to be removed by the older one."""
    driver, retirement = ScriptedDriver(), Retirement()
    driver.devices.put_nowait((Device(name="eth1"),))
    hanging = driver.hang("attach eth1")
    async with api_server() as api:
        settings = settings_in(root, api)
        sockets = PluginSockets.under(settings.kubelet_dir, DRIVER)
        api.put_claim(RED)
        async with runtime_at(settings) as runtime, asyncio.TaskGroup() as group:
            running = group.create_task(run_driver(driver, settings, retirement=retirement))
            async with DraClient(await register(sockets.registration)) as kubelet:
                await kubelet.prepare([RED.ref])
            starting = asyncio.ensure_future(runtime.run_pod_sandbox(POD))
            await hanging.wait()
            assert await retire(settings) != OK
            running.cancel()  # the hook is given time to end; meanwhile the seat is offered
            while sockets.registration.exists():  # noqa: ASYNC110 (nobody tells of it)
                await asyncio.sleep(0.01)
            assert await ask_for_seat(NodePlaces.of(settings, DRIVER).seat, root / "newer")
            await asyncio.gather(starting, return_exceptions=True)
    assert not retirement.begun
    assert not retirement.done


def test_a_newer_process_ends_it() -> None:
    """Who passes the work on was not the last."""
    retirement = Retirement()
    retirement.begin(())
    retirement.end((), ())
    assert (retirement.done, bool(retirement.refusal())) == (True, True)
    retirement.cancel()
    assert (retirement.done, retirement.begun, retirement.refusal()) == (False, False, "")
