"""Health and metrics are served wherever there is room for them."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import aiohttp
import pytest
from structlog.testing import capture_logs

from netclaim import probe
from netclaim.framework.clock import SystemClock
from netclaim.framework.http import http_serving
from netclaim.framework.metrics import Metrics
from netclaim.framework.settings import HTTP_ADDRESS, Settings


class Retries(SystemClock):
    """A clock on which the driver waits for as long as the test likes."""

    def __init__(self) -> None:
        self.waiting: asyncio.Queue[float] = asyncio.Queue()
        self.go = asyncio.Semaphore(0)

    async def sleep(self, delay_s: float) -> None:
        """Say how long, and wait for the test."""
        self.waiting.put_nowait(delay_s)
        await self.go.acquire()


class Process:
    """What the probes of a process ask for."""

    def __init__(self) -> None:
        self.missing = ""
        self.illness = ""
        self.clock = Retries()

    @asynccontextmanager
    async def serving(
        self, address: str, *, asked_for: bool = True, socket: str = ""
    ) -> AsyncIterator[None]:
        """Serve at an address, and on a socket."""
        async with http_serving(
            address,
            Metrics("a.example.com", self.clock),
            lambda: self.missing,
            unhealthy=lambda: self.illness,
            refresh=lambda: None,
            asked_for=asked_for,
            clock=self.clock,
            socket=socket,
        ):
            yield


def taken_port() -> socket.socket:
    """A socket that listens on a port of its own."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen()
    return sock


async def ask(address: str, path: str) -> tuple[int, str]:
    """The status and the text of an answer."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://{address}/{path}") as response,
    ):
        return response.status, (await response.text()).strip()


def test_default() -> None:
    """Health is served unless it is not wanted, to the node itself."""
    assert Settings(node_name="n").http_address == HTTP_ADDRESS == "127.0.0.1:9178"


@pytest.mark.asyncio
async def test_what_the_probes_hear() -> None:
    """Ready and healthy are two things, and each answer says what is wrong."""
    process = Process()
    with closing(taken_port()) as sock:
        address = f"127.0.0.1:{sock.getsockname()[1]}"
    async with process.serving(address):
        assert await ask(address, "healthz") == (200, "ok")
        assert await ask(address, "readyz") == (200, "ok")
        process.missing = "not registered with kubelet"
        assert await ask(address, "healthz") == (200, "ok")
        assert await ask(address, "readyz") == (503, "not registered with kubelet")
        process.illness = "the event loop hangs"
        assert await ask(address, "healthz") == (503, "the event loop hangs")
        assert "netclaim_attachments" in (await ask(address, "metrics"))[1]


@pytest.mark.parametrize("asked_for", [True, False])
@pytest.mark.asyncio
async def test_taken_port_is_waited_for(*, asked_for: bool) -> None:
    """A driver works without its port while another process has it, and has it afterwards."""
    process = Process()
    with capture_logs() as logs, closing(taken_port()) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        async with process.serving(address, asked_for=asked_for):
            assert await process.clock.waiting.get() <= 0.75
            process.clock.go.release()
            await process.clock.waiting.get()  # tried again, in vain
            other.close()
            process.clock.go.release()
            async with asyncio.timeout(60):
                while not any(entry["event"] == "http.listening" for entry in logs):  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
            assert await ask(address, "readyz") == (200, "ok")
    warnings = [entry for entry in logs if entry["log_level"] == "warning"]
    assert [(entry["event"], entry["address"]) for entry in warnings] == [("http.busy", address)]


@pytest.mark.asyncio
async def test_end_while_the_port_is_taken() -> None:
    """A driver that never got its port ends like any other; two of them do not notice."""
    one, other = Process(), Process()
    with closing(taken_port()) as sock:
        address = f"127.0.0.1:{sock.getsockname()[1]}"
    async with one.serving(address), other.serving(address):
        assert await ask(address, "readyz") == (200, "ok")
        await other.clock.waiting.get()
    assert one.clock.waiting.empty()


@pytest.mark.asyncio
async def test_default_that_the_node_does_not_have() -> None:
    """A node without a loopback address keeps nobody from running who did not ask for one."""
    address = "192.0.2.1:9178"  # reserved for documentation: no machine has it
    process = Process()
    async with process.serving(address, asked_for=False):
        await process.clock.waiting.get()


@pytest.mark.asyncio
async def test_a_socket_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes of a process reach it while another one has the port, and see what it says."""
    path, process = tmp_path / "health.sock", Process()
    monkeypatch.setenv("NETCLAIM_HEALTH_SOCKET", str(path))
    with closing(taken_port()) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        async with process.serving(address, socket=str(path)):
            assert await asyncio.to_thread(probe.main, ["healthz"]) == 0
            assert await asyncio.to_thread(probe.main, ["readyz"]) == 0
            process.missing = "not registered with kubelet"
            assert await asyncio.to_thread(probe.main, ["readyz"]) == 1
            assert await asyncio.to_thread(probe.main, ["healthz"]) == 0
    assert probe.main(["healthz"]) == 1


def test_probe_without_a_driver(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is missing is said in a line, which kubelet shows."""
    monkeypatch.setenv("NETCLAIM_HEALTH_SOCKET", "/nowhere/health.sock")
    assert probe.main(["readyz"]) == 1
    assert "does not answer at /nowhere/health.sock" in capsys.readouterr().out
    monkeypatch.delenv("NETCLAIM_HEALTH_SOCKET")
    assert probe.main(["readyz"]) == 1
    assert probe.main([]) == 2


def test_gateway_behind_an_interface() -> None:
    """The kernel's table has addresses in its own byte order."""
    routes = (
        "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
        "eth0 00000000 0101F40A 0003 0 0 0 00000000 0 0 0\n"
        "test0 0100C612 00000000 0005 0 0 0 FFFFFFFF 0 0 0\n"
        "test0 00FF12C6 01FF12C6 0003 0 0 0 FCFFFFFF 0 0 0\n"
    )
    assert probe.gateway_of("test0", routes) == "198.18.255.1"
    assert probe.gateway_of("net1", routes) == ""
