"""A served driver does its work over real sockets, from the first slice to a clean stop."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import msgspec
import pytest

from netclaim.cli import main
from netclaim.errors import RequestError
from netclaim.framework import run_driver
from netclaim.framework.tools.clock import SystemClock
from netclaim.kubelet import DeviceHealth, DraClient, Health, PluginSockets, register
from netclaim.model import Device, Leftover, PodSandbox
from netclaim.nri import Container, StatusError
from tests.support.framework.cluster import api_server, runtime_at, served, settings_in
from tests.support.framework.parts import (
    DRIVER,
    UNREACHABLE,
    KeepingDriver,
    ScriptedDriver,
    claim_of,
    pod_of,
)
from tests.support.kubelet_parts import files_below

RED = claim_of("red", owner="pod-1")
CONTAINER = Container(id="c1", pod_sandbox_id="sandbox-1", name="main")
POD = pod_of(netns="/proc/self/ns/net")  # a namespace that exists; nobody enters it here


@pytest.fixture
def root() -> Iterator[Path]:
    """A directory whose path is short enough for sockets in it."""
    with TemporaryDirectory(prefix="nc") as directory:
        yield Path(directory)


async def test_whole_life_of_a_claim(root: Path) -> None:
    """Published, prepared, attached, reported, detached, released."""
    driver = ScriptedDriver()
    driver.devices.put_nowait((Device(name="eth1"),))
    async with api_server() as api:
        settings = settings_in(root, api)
        async with runtime_at(settings) as runtime, served(driver, settings) as kubelet:
            await api.wait_for(lambda: api.published() == ["eth1"])
            api.put_claim(RED)
            answers = await kubelet.prepare([RED.ref])
            assert answers["uid-red"].error is None
            assert [device.device_name for device in answers["uid-red"].devices] == ["eth1"]
            await runtime.run_pod_sandbox(POD)
            await runtime.create_container(POD, CONTAINER)
            name, (entry,) = await api.statuses.get()
            assert (name, entry["conditions"][0]["status"]) == ("red", "True")
            assert entry["networkData"]["interfaceName"] == "net-eth1"
            await runtime.stop_pod_sandbox(POD)
            await runtime.remove_pod_sandbox(POD)
            assert await kubelet.unprepare([RED.ref]) == {"uid-red": None}
        assert driver.calls == ["prepare red", "attach eth1", "detach eth1", "unprepare red"]
        # What holds containers stays, for those of pods that start while the driver is away.
        assert [each.name for each in files_below(settings.kubelet_dir)] == ["netclaim-attach"]
        assert api.published() == ["eth1"]  # a stop is no reason to move pods elsewhere


async def test_pod_that_joins_a_shared_claim(root: Path) -> None:
    """A later pod on a prepared claim, of which kubelet says nothing, gets its interface too."""
    driver = ScriptedDriver()
    driver.devices.put_nowait((Device(name="eth1"),))
    async with api_server() as api:
        settings = settings_in(root, api)
        async with runtime_at(settings) as runtime, served(driver, settings) as kubelet:
            api.put_claim(claim_of("red", pods=("pod-1",)))
            await kubelet.prepare([claim_of("red").ref])
            api.put_claim(claim_of("red", pods=("pod-1", "pod-2")))
            joining = msgspec.structs.replace(POD, id="s2", uid="pod-2", name="joining")
            other = msgspec.structs.replace(joining, id="s3", uid="pod-3", name="other")
            uses = {"resourceClaims": [{"name": "nic", "resourceClaimName": "red"}]}
            for pod, spec in ((joining, uses), (other, {})):
                metadata = {"name": pod.name, "uid": pod.uid}
                path = f"/api/v1/namespaces/default/pods/{pod.name}"
                api.put(path, {"metadata": metadata, "spec": spec})
                await runtime.run_pod_sandbox(pod)
    assert driver.calls == ["prepare red", "attach eth1"]


class IdealMachine(SystemClock):
    """A machine on which nothing takes any time, however busy the one of the test is."""

    def monotonic(self) -> float:
        """Always the same."""
        return 0.0


async def test_failed_attach_fails_the_pod(root: Path) -> None:
    """The driver's error reaches the runtime's user, and the claim shows it."""
    driver = ScriptedDriver()
    driver.fail("attach eth1", UNREACHABLE)
    async with api_server() as api:
        settings = settings_in(root, api)
        api.put_claim(RED)
        async with (
            runtime_at(settings) as runtime,
            served(driver, settings, clock=IdealMachine()) as kubelet,
        ):
            await kubelet.prepare([RED.ref])
            with pytest.raises(StatusError, match="out of reach"):
                await runtime.run_pod_sandbox(POD)
            _, (entry,) = await api.statuses.get()
            (condition,) = entry["conditions"]
            assert (condition["status"], condition["reason"]) == (
                "False",
                "NetworkInterfaceNotReady",
            )
            await runtime.run_pod_sandbox(moved_pod(POD, "sandbox-2"))
            _, (entry,) = await api.statuses.get()
            assert entry["conditions"][0]["status"] == "True"


async def test_a_refused_claim_says_so(root: Path) -> None:
    """What its author must mend has a reason of its own, by which a controller knows it."""
    driver = ScriptedDriver()
    driver.fail("prepare red", RequestError("ifName is too long"))
    async with api_server() as api:
        settings = settings_in(root, api)
        api.put_claim(RED)
        async with (
            runtime_at(settings),
            served(driver, settings, clock=IdealMachine()) as kubelet,
        ):
            await kubelet.prepare([RED.ref])
            _, (entry,) = await api.statuses.get()
    (condition,) = entry["conditions"]
    assert (condition["reason"], condition["message"]) == (
        "NetworkInterfaceRefused",
        "ifName is too long",
    )


async def test_collection_on_request(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`netclaim driver gc` prints what the running driver would remove, and removes."""
    driver = KeepingDriver()
    driver.left = [Leftover("lease", "address 192.0.2.7 of sandbox gone")]
    driver.devices.put_nowait((Device(name="eth1"),))
    async with api_server() as api:
        settings = settings_in(root, api)
        async with runtime_at(settings), served(driver, settings):
            command = ["driver", "gc", "--driver-name", DRIVER, "--run-dir", str(settings.run_dir)]
            while not journal_completed(settings.run_dir):
                await asyncio.to_thread(run_command, [*command, "--dry-run"])
            for options, said in (
                (["--dry-run"], "would remove address 192.0.2.7 of sandbox gone"),
                ([], "removed address 192.0.2.7 of sandbox gone"),
                ([], "nothing to remove"),
            ):
                capfd.readouterr()
                await asyncio.to_thread(run_command, [*command, *options])
                lines = capfd.readouterr().out.splitlines()
                assert said in lines  # among the driver's own log, since both are this process
                why = "not checked: items that only the container runtime can account for: "
                assert any(line.startswith(why) for line in lines)


def run_command(words: list[str]) -> None:
    """`netclaim` with these words, which succeeds."""
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 0


def journal_completed(run_dir: Path) -> bool:
    """Whether pods need not be looked up any more."""
    return not (run_dir / DRIVER / "plans" / "ask").exists()


def moved_pod(pod: PodSandbox, sandbox: str) -> PodSandbox:
    """The pod in another sandbox."""
    return msgspec.structs.replace(pod, id=sandbox)


async def test_restart_keeps_pods_attached(root: Path) -> None:
    """A driver that stops and starts again touches no running pod, and can still release it."""
    async with api_server() as api:
        settings = settings_in(root, api)
        api.put_claim(RED)
        async with runtime_at(settings) as runtime:
            async with served(ScriptedDriver(), settings) as kubelet:
                await kubelet.prepare([RED.ref])
                await runtime.run_pod_sandbox(POD)
            await runtime.wait_plugins()
            driver = ScriptedDriver()
            async with served(driver, settings) as kubelet:
                await kubelet.prepare([RED.ref])
                await runtime.create_container(POD, CONTAINER)
                assert driver.calls == []
                await runtime.stop_pod_sandbox(POD)
                assert await kubelet.unprepare([RED.ref]) == {"uid-red": None}
                assert driver.calls == ["detach eth1", "unprepare red"]


async def test_pod_started_while_the_driver_was_away(root: Path) -> None:
    """A pod that started without its interface gets it when the driver is back."""
    async with api_server() as api:
        settings = settings_in(root, api)
        api.put_claim(RED)
        async with runtime_at(settings) as runtime:
            async with served(ScriptedDriver(), settings) as kubelet:
                await kubelet.prepare([RED.ref])
            await runtime.wait_plugins()
            await runtime.run_pod_sandbox(POD)  # nobody is there to object
            driver = ScriptedDriver()
            begun, go = driver.hold("attach eth1")
            async with served(driver, settings):
                await begun.wait()
                go.set()
                await api.statuses.get()
            assert driver.calls == ["attach eth1"]


async def test_not_announced_without_a_runtime(root: Path) -> None:
    """Kubelet hears of a network driver only once the runtime's hooks reach it."""
    async with api_server() as api:
        settings = settings_in(root, api, runtime_hook="nri")
        sockets = PluginSockets.under(settings.kubelet_dir, DRIVER)
        driver = ScriptedDriver()
        driver.devices.put_nowait((Device(name="eth1"),))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(run_driver(driver, settings))
            await api.wait_for(lambda: api.published() == ["eth1"])
            assert not sockets.registration.exists()
            async with runtime_at(settings):
                await register(sockets.registration)
            running.cancel()


async def test_announced_by_either_way_to_be_called(root: Path) -> None:
    """A runtime that accepts no plugin for a while does not keep kubelet from the driver."""
    async with api_server() as api:
        settings = settings_in(root, api)
        async with served(ScriptedDriver(), settings):
            text = (settings.cni_conf_dir / "10-pods.conflist").read_text()
    assert "netclaim-attach" in text


async def test_second_process_waits_for_the_first(root: Path) -> None:
    """Two processes of one driver do not share its journal: the second starts after the first."""
    async with api_server() as api:
        settings = settings_in(root, api)
        second = ScriptedDriver()
        second.devices.put_nowait((Device(name="eth2"),))
        async with runtime_at(settings) as runtime, asyncio.TaskGroup() as group:
            async with served(ScriptedDriver(), settings):
                running = group.create_task(run_driver(second, settings))
            await api.wait_for(lambda: api.published() == ["eth2"])
            await runtime.wait_plugins(f"50-{DRIVER}")
            running.cancel()


async def test_health_and_metrics(root: Path) -> None:
    """Health, readiness and metrics are served over HTTP, device health to kubelet."""
    driver = ScriptedDriver()
    driver.devices.put_nowait((Device(name="eth1"),))
    async with api_server() as api, aiohttp.ClientSession() as http:
        port = free_port()
        settings = settings_in(root, api, http_address=f"127.0.0.1:{port}")
        async with runtime_at(settings), served(driver, settings) as kubelet:
            for path, text in [("healthz", "ok"), ("readyz", "ok"), ("metrics", "netclaim_")]:
                async with http.get(f"http://127.0.0.1:{port}/{path}") as response:
                    assert response.status == 200
                    assert text in await response.text()
            healths = await first_health(kubelet)
            assert [(h.device_name, h.health) for h in healths] == [("eth1", Health.HEALTHY)]


async def test_state_as_metrics(root: Path) -> None:
    """Metrics say by which ways the runtime calls, and whether this process works; by way too."""
    async with api_server() as api, aiohttp.ClientSession() as http:
        url = f"127.0.0.1:{free_port()}"
        settings = settings_in(root, api, http_address=url)

        async def state() -> dict[str, str]:
            async with http.get(f"http://{url}/metrics") as response:
                lines = (await response.text()).splitlines()
            shown = [line.replace(f'driver="{DRIVER}"', "").rpartition(" ") for line in lines]
            return {series.replace("{}", ""): value for series, _, value in shown}

        async with served(ScriptedDriver(), settings):
            away = await state()
            assert away["netclaim_ready"] == "0.0", "nobody listens on the NRI socket"
            assert away['netclaim_runtime_hooked{,hook="nri"}'] == "0.0"
            assert away['netclaim_runtime_hooked{,hook="cni"}'] == "1.0"
            assert away["netclaim_seat_held"] == away["netclaim_registered"] == "1.0"
        async with runtime_at(settings), served(ScriptedDriver(), settings):
            here = await state()
            assert here["netclaim_ready"] == here['netclaim_runtime_hooked{,hook="nri"}'] == "1.0"
            assert here["netclaim_parts_failing"] == here["netclaim_missing_attachments"] == "0.0"


async def first_health(kubelet: DraClient) -> tuple[DeviceHealth, ...]:
    """The first list of healths that has a device."""
    async for healths in kubelet.watch_health():
        if healths:
            return healths
    return ()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
