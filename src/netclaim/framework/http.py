"""Health and metrics over HTTP, for kubelet's probes and for Prometheus."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import structlog
from aiohttp import web

from netclaim.errors import HostError, RequestError
from netclaim.framework.metrics import Metrics

__all__ = ["http_serving"]

log = structlog.get_logger()

SHUTDOWN_S: Final = 1.0  # probes and scrapes are short; a stop does not wait for idle connections


@asynccontextmanager
async def http_serving(
    address: str, metrics: Metrics, not_ready: Callable[[], str]
) -> AsyncIterator[None]:
    """Serve while the block runs. `not_ready` says what is still missing; nothing means ready.

    An empty address serves nothing.
    """
    if not address:
        yield
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise RequestError(f"{address!r} is not an address such as 127.0.0.1:9178")
    runner = web.AppRunner(
        _application(metrics, not_ready), access_log=None, shutdown_timeout=SHUTDOWN_S
    )
    await runner.setup()
    try:
        await _listen(runner, host.strip("[]"), int(port))
        log.info("http.listening", address=address)
        yield
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, host: str, port: int) -> None:
    try:
        await web.TCPSite(runner, host or None, port).start()
    except OSError as error:
        raise HostError(f"cannot listen on {host}:{port}: {error}") from error


def _application(metrics: Metrics, not_ready: Callable[[], str]) -> web.Application:
    async def healthz(_request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_request: web.Request) -> web.Response:
        missing = not_ready()
        return web.Response(text=f"{missing or 'ok'}\n", status=503 if missing else 200)

    async def exposition(_request: web.Request) -> web.Response:
        headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        return web.Response(body=metrics.exposition(), headers=headers)

    application = web.Application()
    application.router.add_get("/healthz", healthz)
    application.router.add_get("/readyz", readyz)
    application.router.add_get("/metrics", exposition)
    return application
