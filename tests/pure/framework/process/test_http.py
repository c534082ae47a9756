"""Health and metrics are served wherever there is room for them."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import aiohttp
import pytest
from structlog.testing import capture_logs

from netclaim import probe
from netclaim.framework.process import http
from netclaim.framework.process.http import Place, http_serving
from netclaim.framework.process.http_access import ALLOWED_S, KEPT_S, HttpAccess
from netclaim.framework.settings.fields import HTTP_ADDRESS, Settings
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.tools.clock import SystemClock
from tests.support.framework.accounts import Accounts


class Retries(SystemClock):
    """A clock on which the driver waits for as long as the test likes."""

    def __init__(self) -> None:
        self.passed_s = 0.0
        self.waiting: asyncio.Queue[float] = asyncio.Queue()
        self.go = asyncio.Semaphore(0)

    def monotonic(self) -> float:
        """The time of the machine, and what the test has let pass."""
        return super().monotonic() + self.passed_s

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
        self.reviews = Accounts()

    @asynccontextmanager
    async def serving(self, address: str, **others: str) -> AsyncIterator[None]:
        """Serve at an address, and on a socket."""
        async with http_serving(
            Place(address, **others),
            Metrics("a.example.com", self.clock),
            lambda: self.missing,
            unhealthy=lambda: self.illness,
            refresh=lambda: None,
            access=HttpAccess(self.reviews, self.clock),
            clock=self.clock,
        ):
            yield


def taken_port() -> socket.socket:
    """A socket that listens on a port of its own."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen()
    return sock


async def ask(
    address: str, path: str, token: str = "", *, tls: ssl.SSLContext | None = None
) -> tuple[int, str]:
    """The status and the text of an answer."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = f"{'https' if tls else 'http'}://{address}/{path}"
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, headers=headers, ssl=tls or True) as response,
    ):
        return response.status, (await response.text()).strip()


def test_default() -> None:
    """Health is served unless it is not wanted, to the node itself."""
    assert Settings(node_name="n").http_address == HTTP_ADDRESS == "127.0.0.1:9178"


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


async def test_taken_port_is_waited_for() -> None:
    """A driver works without its port while another has it; in an update, that is no warning."""
    process = Process()
    with capture_logs() as logs, closing(taken_port()) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        async with process.serving(address):
            assert await process.clock.waiting.get() <= 0.75
            process.clock.go.release()
            await process.clock.waiting.get()  # tried again, in vain
            other.close()
            process.clock.go.release()
            async with asyncio.timeout(60):
                while not any(entry["event"] == "http.listening" for entry in logs):  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
            assert await ask(address, "readyz") == (200, "ok")
    assert {entry["log_level"] for entry in logs} == {"info"}
    assert [entry["event"] for entry in logs] == ["http.busy", "http.listening"]


async def test_port_that_stays_taken() -> None:
    """What takes longer than an update is somebody else's port, and is said once."""
    process = Process()
    with capture_logs() as logs, closing(taken_port()) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        async with process.serving(address):
            for _ in range(20):
                await process.clock.waiting.get()
                process.clock.passed_s += 10
                process.clock.go.release()
            await process.clock.waiting.get()
    warnings = [entry for entry in logs if entry["log_level"] == "warning"]
    assert [(each["event"], each["address"]) for each in warnings] == [("http.still_busy", address)]


async def test_end_while_the_port_is_taken() -> None:
    """A driver that never got its port ends like any other; two of them do not notice."""
    one, other = Process(), Process()
    with closing(taken_port()) as sock:
        address = f"127.0.0.1:{sock.getsockname()[1]}"
    async with one.serving(address), other.serving(address):
        assert await ask(address, "readyz") == (200, "ok")
        await other.clock.waiting.get()
    assert one.clock.waiting.empty()


async def test_default_that_the_node_does_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node without a loopback address keeps nobody from running who did not ask for one."""
    address = "192.0.2.1:9178"  # reserved for documentation: no machine has it
    monkeypatch.setattr(http, "HTTP_ADDRESS", address)
    process = Process()
    async with process.serving(address):
        await process.clock.waiting.get()


async def status_on(path: Path, what: str) -> int:
    """The status of an answer on a socket."""
    reader, writer = await asyncio.open_unix_connection(path)
    with closing(writer):
        writer.write(f"GET /{what} HTTP/1.0\r\nHost: probe\r\n\r\n".encode())
        return int((await reader.read()).split()[1])


async def test_a_socket_of_its_own(tmp_path: Path) -> None:
    """Probes of a process reach it while another one has the port, and see what it says."""
    path, process = tmp_path / "health.sock", Process()
    with closing(taken_port()) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        async with process.serving(address, socket=str(path)):
            assert await status_on(path, "healthz") == 200
            assert await status_on(path, "readyz") == 200
            process.missing = "not registered with kubelet"
            assert await status_on(path, "readyz") == 503
            assert await status_on(path, "healthz") == 200
    with pytest.raises(ConnectionRefusedError):
        await status_on(path, "healthz")


async def test_what_the_api_server_said_is_kept() -> None:
    """For a minute; and for an hour while it does not answer, if it had allowed."""
    process = Process()
    access = HttpAccess(process.reviews, process.clock)
    for _ in range(3):
        assert await access.refusal("Bearer prometheus", "/metrics", "192.0.2.1") is None
        assert await access.refusal("bearer web", "/metrics", "192.0.2.1") is not None
    assert process.reviews.asked == ["prometheus", "web"]
    process.reviews.away = True
    process.clock.passed_s += KEPT_S
    assert await access.refusal("Bearer prometheus", "/metrics", "192.0.2.1") is None
    refusal = await access.refusal("Bearer web", "/metrics", "192.0.2.1")
    assert refusal is not None
    assert refusal.status == 503
    process.clock.passed_s += ALLOWED_S
    refusal = await access.refusal("Bearer prometheus", "/metrics", "192.0.2.1")
    assert refusal is not None
    assert refusal.status == 503


async def test_guesses_are_few() -> None:
    """The API server is not asked about every guess, and others are not kept waiting by them."""
    process = Process()
    access = HttpAccess(process.reviews, process.clock)
    answers = [await access.refusal(f"Bearer {n}", "/metrics", "192.0.2.1") for n in range(1000)]
    assert len(process.reviews.asked) < 50
    assert answers[-1] is not None
    assert answers[-1].status == 429
    assert await access.refusal("Bearer prometheus", "/metrics", "192.0.2.2") is None


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
