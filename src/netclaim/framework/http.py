"""Health and metrics over HTTP, for kubelet's probes and for Prometheus.

    /healthz    503 when a restart might help: an event loop or a part does not live
    /readyz     503 with what is missing, or does not work for now
    /metrics    numbers, in Prometheus' text form

Promise: a scrape holds up no event loop: its text is made in a thread, one at a time. A port that
another process has does not keep the driver from its work. Two instances of a driver share a node's
port while one takes over from the other, and several drivers have the same default; it is tried
again until it is free, with one line in the log.
A Unix socket can be served as well, which no other process shares: for probes of this one.
Limit: an address that was asked for and cannot be listened on for another reason is an error.
"""

import asyncio
import errno
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import structlog
from aiohttp import web

from netclaim.errors import HostError, RequestError
from netclaim.framework.clock import Clock
from netclaim.framework.metrics import Metrics
from netclaim.framework.settings import HTTP_ADDRESS
from netclaim.framework.supervise import Backoff

__all__ = ["http_serving"]

log = structlog.get_logger()

SHUTDOWN_S: Final = 1.0  # probes and scrapes are short; a stop does not wait for idle connections
# For a port that is taken. The other instance has it for as long as kubelet lets it end, 30 s; a
# probe fails for good after three times ten seconds.
BUSY: Final = Backoff(first_s=0.5, max_s=5.0)


@asynccontextmanager
async def http_serving(
    address: str,
    metrics: Metrics,
    not_ready: Callable[[], str],
    *,
    unhealthy: Callable[[], str],
    refresh: Callable[[], None],
    asked_for: bool,
    clock: Clock,
    socket: str = "",
) -> AsyncIterator[None]:
    """Serve while the block runs. `not_ready` says what is still missing; nothing means ready.

    `unhealthy` says why the process should be restarted. `refresh` brings the metrics in line with
    the state of the process. An address that nobody `asked_for` need not be one that this node has.
    An empty one serves nothing, and so does an empty `socket`.
    """
    application = _application(metrics, not_ready, unhealthy, refresh)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_S)
    await runner.setup()
    try:
        if socket:
            await _listen_at(runner, socket)
        async with _on_port(runner, address, asked_for=asked_for, clock=clock):
            yield
    finally:
        await runner.cleanup()


async def _listen_at(runner: web.AppRunner, path: str) -> None:
    """Listen on a socket; one that an earlier process left is replaced."""
    try:
        await web.UnixSite(runner, path).start()
    except OSError as error:
        raise HostError(f"cannot listen on {path}: {error.strerror}") from error


@asynccontextmanager
async def _on_port(
    runner: web.AppRunner, address: str, *, asked_for: bool, clock: Clock
) -> AsyncIterator[None]:
    if not address:
        yield
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise RequestError(f"{address!r} is not an address such as {HTTP_ADDRESS}")

    async def listen() -> None:
        await web.TCPSite(runner, host.strip("[]") or None, int(port)).start()
        log.info("http.listening", address=address)

    try:
        await listen()
    except OSError as error:
        if asked_for and error.errno != errno.EADDRINUSE:
            raise HostError(f"cannot listen on {address}: {error}") from error
        log.warning(
            "http.busy",
            address=address,
            error=error.strerror,
            hint="retried until the port is free; --http-address sets another port",
        )
        async with asyncio.TaskGroup() as group:
            trying = group.create_task(_until_free(listen, clock))
            yield
            trying.cancel()
    else:
        yield


async def _until_free(listen: Callable[[], Awaitable[None]], clock: Clock) -> None:
    for delay_s in BUSY.delays(clock):
        await clock.sleep(delay_s)
        try:
            await listen()
        except OSError as error:
            log.debug("http.still_busy", error=error.strerror)
        else:
            return


def _application(
    metrics: Metrics,
    not_ready: Callable[[], str],
    unhealthy: Callable[[], str],
    refresh: Callable[[], None],
) -> web.Application:
    async def healthz(_request: web.Request) -> web.Response:
        return _answer(unhealthy())

    async def readyz(_request: web.Request) -> web.Response:
        return _answer(not_ready())

    scraping = asyncio.Lock()

    async def exposition(_request: web.Request) -> web.Response:
        headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        async with scraping:  # a disk that does not answer keeps one thread, not all of them
            refresh()
            body = await asyncio.to_thread(metrics.exposition)
        return web.Response(body=body, headers=headers)

    application = web.Application()
    application.router.add_get("/healthz", healthz)
    application.router.add_get("/readyz", readyz)
    application.router.add_get("/metrics", exposition)
    return application


def _answer(missing: str) -> web.Response:
    return web.Response(text=f"{missing or 'ok'}\n", status=503 if missing else 200)
