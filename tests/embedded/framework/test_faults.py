"""What the node's owner must change does not end a driver that runs: it says so, and recovers."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import pytest

from netclaim.errors import HostError
from netclaim.framework.tools.clock import SystemClock
from netclaim.model import Device
from tests.pure.framework.process.test_serve import free_port
from tests.support.framework.cluster import api_server, runtime_at, served, settings_in
from tests.support.framework.parts import ScriptedDriver, claim_of, device_of

pytestmark = pytest.mark.embedded

RED = claim_of("red", owner="pod-1")
BLUE = claim_of("blue", device_of("eth2"), owner="pod-1")
HURRY = 50  # times as fast as the machine's clock


class HurriedClock(SystemClock):
    """A clock that is ahead of the machine's, for back-off that would take the test's time."""

    def monotonic(self) -> float:
        """Faster."""
        return super().monotonic() * HURRY

    async def sleep(self, delay_s: float) -> None:
        """Shorter."""
        await super().sleep(delay_s / HURRY)


class Probe:
    """Asks a driver how it is."""

    def __init__(self, http: aiohttp.ClientSession, port: int) -> None:
        self._http = http
        self._url = f"http://127.0.0.1:{port}"

    async def ask(self, path: str) -> tuple[int, str]:
        """The status and the text."""
        async with self._http.get(f"{self._url}/{path}") as response:
            return response.status, (await response.text()).strip()

    async def wait_ready(self) -> None:
        """Ask until the driver is ready. As by kubelet, it has to be asked."""
        async for status, _ in self._answers():
            if status == 200:
                return

    async def wait_missing(self, words: str) -> None:
        """Ask until the driver says that this is missing."""
        async for status, text in self._answers():
            if status == 503 and words in text:
                return

    async def _answers(self) -> AsyncIterator[tuple[int, str]]:
        while True:
            yield await self.ask("readyz")
            await asyncio.sleep(0.01)


@pytest.fixture
def root() -> Iterator[Path]:
    """A directory whose path is short enough for sockets in it."""
    with TemporaryDirectory(prefix="nc") as directory:
        yield Path(directory)


@pytest.fixture
def small_disk(root: Path) -> Iterator[Path]:
    """A file system of a megabyte."""
    disk = root / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """Leave no room; returns the file to remove."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while file.write(os.urandom(size)) == size:
                    pass
            except OSError:
                continue
    return filler


async def test_a_full_disk(root: Path, small_disk: Path) -> None:
    """With no room for the journal claims are refused and the driver is not ready, until it has."""
    driver = ScriptedDriver()
    port = free_port()
    async with asyncio.timeout(60), api_server() as api, aiohttp.ClientSession() as http:
        address = f"127.0.0.1:{port}"
        settings = settings_in(root, api, http_address=address, state_dir=small_disk)
        probe = Probe(http, port)
        for claim in (RED, BLUE):
            api.put_claim(claim)
        async with (
            runtime_at(settings),
            served(driver, settings, clock=HurriedClock()) as kubelet,
        ):
            await probe.wait_ready()
            assert (await kubelet.prepare([RED.ref]))["uid-red"].error is None
            filler = fill(small_disk)
            answer = (await kubelet.prepare([BLUE.ref]))["uid-blue"]
            assert "disk is full" in (answer.error or "")
            await probe.wait_missing("journal: cannot write")
            filler.unlink()
            await probe.wait_ready()
            assert (await kubelet.unprepare([RED.ref])) == {"uid-red": None}


class FlakyDriver(ScriptedDriver):
    """A driver whose discovery fails once it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.fault: HostError | None = None

    async def discover(self) -> AsyncIterator[tuple[Device, ...]]:
        """What is in the queue, unless something is wrong."""
        while True:
            devices = await self.devices.get()
            if self.fault is not None:
                raise self.fault
            yield devices


async def test_discovery_without_rights(root: Path) -> None:
    """A driver that cannot see its devices any more keeps the others' pods, and says why."""
    driver = FlakyDriver()
    port = free_port()
    async with asyncio.timeout(60), api_server() as api, aiohttp.ClientSession() as http:
        settings = settings_in(root, api, http_address=f"127.0.0.1:{port}")
        probe = Probe(http, port)
        api.put_claim(RED)
        driver.devices.put_nowait((Device(name="eth1"),))
        async with (
            runtime_at(settings),
            served(driver, settings, clock=HurriedClock()) as kubelet,
        ):
            await probe.wait_ready()
            driver.fault = HostError("the driver needs CAP_NET_ADMIN")
            driver.devices.put_nowait(())
            await probe.wait_missing("discover: the driver needs CAP_NET_ADMIN")
            assert (await kubelet.prepare([RED.ref]))["uid-red"].error is None
            assert api.published() == ["eth1"]
            driver.fault = None
            driver.devices.put_nowait((Device(name="eth2"),))
            await probe.wait_ready()
            await api.wait_for(lambda: api.published() == ["eth2"])
