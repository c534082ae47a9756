"""While a driver is updated two of its processes run, one of them works, and no pod notices."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from netclaim.framework import Settings, run_driver
from netclaim.framework.journal.journal import open_journal
from netclaim.kubelet import DraClient, PluginSockets, register
from netclaim.model import Device
from netclaim.nri import Container
from tests.support.framework.cluster import ApiServer, api_server, runtime_at, served, settings_in
from tests.support.framework.parts import DRIVER, ScriptedDriver, claim_of, device_of, pod_of

RED = claim_of("red", owner="pod-1")
BLUE = claim_of("blue", device_of("eth2"), owner="pod-2", pods=("pod-2",))
CONTAINER = Container(id="c1", pod_sandbox_id="sandbox-1", name="main")
NETNS = "/proc/self/ns/net"  # one that exists
BOTH = (f"50-{DRIVER}", f"50-{DRIVER}")


@pytest.fixture
def root() -> Iterator[Path]:
    """A directory whose path is short enough for sockets in it."""
    with TemporaryDirectory(prefix="nc") as directory:
        yield Path(directory)


def driver_with(*devices: str) -> ScriptedDriver:
    """A driver that has discovered these."""
    driver = ScriptedDriver()
    driver.devices.put_nowait(tuple(Device(name=name) for name in devices))
    return driver


def instance(root: Path, api: ApiServer, name: str) -> Settings:
    """The settings of one of the processes."""
    return settings_in(root, api, instance=name)


async def test_newer_process_takes_over(root: Path) -> None:
    """The newer one works as soon as it can be called; the older one's calls go there."""
    older, newer = driver_with("eth1"), driver_with("eth1", "eth2")
    async with api_server() as api:
        first, second = instance(root, api, "a"), instance(root, api, "b")
        api.put_claim(RED)
        api.put_claim(BLUE)
        for number, name in ((1, "red"), (2, "blue")):
            uses = {"resourceClaims": [{"name": "nic", "resourceClaimName": name}]}
            metadata = {"name": f"pod-{number}", "uid": f"pod-{number}"}
            path = f"/api/v1/namespaces/default/pods/pod-{number}"
            api.put(path, {"metadata": metadata, "spec": uses})
        pods = [pod_of(f"pod-{n}", f"sandbox-{n}", netns=NETNS) for n in (1, 2)]
        async with runtime_at(first) as runtime, served(older, first) as old_kubelet:
            await old_kubelet.prepare([RED.ref])
            await runtime.run_pod_sandbox(pods[0])
            async with served(newer, second) as new_kubelet:
                await runtime.wait_plugins(*BOTH)
                await api.wait_for(lambda: api.published() == ["eth1", "eth2"])
                # Kubelet may ask either of them, and the runtime tells both.
                answers = await old_kubelet.prepare([BLUE.ref])
                assert answers["uid-blue"].error is None
                await runtime.run_pod_sandbox(pods[1])
                await runtime.create_container(pods[1], CONTAINER)
                assert (await new_kubelet.prepare([RED.ref]))["uid-red"].error is None
                await runtime.stop_pod_sandbox(pods[0])
                assert await new_kubelet.unprepare([RED.ref]) == {"uid-red": None}
    assert older.calls == ["prepare red", "attach eth1"]
    assert newer.calls == ["prepare blue", "attach eth2", "detach eth1", "unprepare red"]


async def test_older_process_works_again_when_the_newer_one_ends(root: Path) -> None:
    """An update that fails leaves a driver that works."""
    older, newer = driver_with("eth1"), driver_with("eth1", "eth2")
    async with api_server() as api:
        first, second = instance(root, api, "a"), instance(root, api, "b")
        api.put_claim(RED)
        async with runtime_at(first) as runtime, served(older, first) as kubelet:
            async with served(newer, second):
                await api.wait_for(lambda: api.published() == ["eth1", "eth2"])
            older.devices.put_nowait((Device(name="eth3"),))
            await api.wait_for(lambda: api.published() == ["eth3"])
            await kubelet.prepare([RED.ref])
            await runtime.run_pod_sandbox(pod_of(netns=NETNS))
        assert older.calls == ["prepare red", "attach eth1"]


async def test_call_under_way_goes_on_at_the_newer_process(root: Path) -> None:
    """A claim that is being prepared while the seat changes hands is prepared."""
    older, newer = driver_with("eth1"), driver_with("eth1", "eth2")
    begun = older.hang("prepare red")
    async with api_server() as api:
        first, second = instance(root, api, "a"), instance(root, api, "b")
        api.put_claim(RED)
        async with runtime_at(first), served(older, first) as kubelet:
            preparing = asyncio.ensure_future(kubelet.prepare([RED.ref]))
            await begun.wait()
            async with served(newer, second):
                answers = await preparing
                assert [device.device_name for device in answers["uid-red"].devices] == ["eth1"]
        assert newer.calls == ["prepare red"]


async def test_pod_that_starts_while_the_seat_changes_hands(root: Path) -> None:
    """An attach that is slow is begun again by the newer process; the pod has it once."""
    older, newer = driver_with("eth1"), driver_with("eth1", "eth2")
    begun = older.hang("attach eth1")
    pod = pod_of(netns=NETNS)
    async with api_server() as api:
        first, second = instance(root, api, "a"), instance(root, api, "b")
        api.put_claim(RED)
        async with runtime_at(first) as runtime, served(older, first) as kubelet:
            await kubelet.prepare([RED.ref])
            starting = asyncio.ensure_future(runtime.run_pod_sandbox(pod))
            await begun.wait()
            await starting  # the runtime is answered while the attach goes on
            async with served(newer, second):
                await api.wait_for(lambda: api.published() == ["eth1", "eth2"])
                await runtime.create_container(pod, CONTAINER)
                _, (entry,) = await api.statuses.get()
                while entry["conditions"][0]["status"] != "True":
                    _, (entry,) = await api.statuses.get()
        assert newer.calls == ["detach eth1", "attach eth1"]


async def test_hooked_while_the_api_server_is_away(root: Path) -> None:
    """A driver that starts while the API server is away serves the pods that it knows."""
    pod = pod_of(netns=NETNS)
    async with api_server() as api:
        settings = settings_in(root, api)
        api.put_claim(RED)
        async with runtime_at(settings), served(driver_with("eth1"), settings) as kubelet:
            await kubelet.prepare([RED.ref])
    driver = driver_with("eth1")
    async with runtime_at(settings) as runtime, asyncio.TaskGroup() as group:
        running = group.create_task(run_driver(driver, settings))
        sockets = PluginSockets.under(settings.kubelet_dir, DRIVER)
        async with DraClient(await register(sockets.registration)):
            await runtime.run_pod_sandbox(pod)
            assert driver.calls == ["attach eth1"]
        running.cancel()


async def test_hook_under_way_is_answered_before_the_driver_ends(root: Path) -> None:
    """SIGTERM in the middle of a hook: the pod has its interface, and the runtime is told so."""
    driver = driver_with("eth1")
    begun, go = driver.hold("attach eth1")
    async with api_server() as api:
        settings = settings_in(root, api)
        sockets = PluginSockets.under(settings.kubelet_dir, DRIVER)
        api.put_claim(RED)
        async with runtime_at(settings) as runtime, asyncio.TaskGroup() as group:
            running = group.create_task(run_driver(driver, settings))
            async with DraClient(await register(sockets.registration)) as kubelet:
                await kubelet.prepare([RED.ref])
            starting = group.create_task(runtime.run_pod_sandbox(pod_of(netns=NETNS)))
            await begun.wait()
            running.cancel()
            while sockets.registration.exists():  # noqa: ASYNC110 (nobody tells of it)
                await asyncio.sleep(0.01)
            go.set()
            await starting
            await asyncio.wait({running})
            await runtime.wait_plugins()
            assert driver.calls == ["prepare red", "attach eth1"]
            again = driver_with("eth1")
            async with served(again, settings):
                await runtime.create_container(pod_of(netns=NETNS), CONTAINER)
            assert again.calls == []


async def test_older_process_that_does_not_give_its_seat(root: Path) -> None:
    """While the older one hangs with the journal, pods that have no plan pass the newer one."""
    async with api_server() as api:
        settings = instance(root, api, "b")
        path = settings.state_dir / DRIVER / "journal.db"
        async with open_journal(path, "boot") as journal:
            await journal.settle()
            async with runtime_at(settings) as runtime, served(driver_with("eth1"), settings):
                await runtime.wait_plugins(BOTH[0])
                for number in range(3):
                    await runtime.run_pod_sandbox(pod_of(f"p{number}", f"s{number}", netns=NETNS))
