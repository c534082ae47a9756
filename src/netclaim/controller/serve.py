"""The controller as a process: signals, probes and metrics, and taking turns with other replicas.

Promise: on SIGTERM what is under way is cancelled, which any later look makes up for, and the lease
is given back. A cluster that does not answer is waited for; so is one that lacks the definition of
PodNetworks. A replica that loses its lease stops, and waits for it again.
"""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Final

import structlog
from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from netclaim.controller.lease import Lease
from netclaim.controller.run import Controller
from netclaim.controller.settings import LEASE_NAME, ControllerSettings
from netclaim.errors import HostError, PeerError, RequestError
from netclaim.kube import Client, Cluster, NotServedError, connect
from netclaim.tasks import race

log = structlog.get_logger(__name__)

PAUSE_S: Final = 5.0  # after a failure; the definition may be installed any moment
SHUTDOWN_S: Final = 1.0
# What there is to scrape, and what it means. The last one is a counter, the others are gauges; of a
# replica that waits for its turn there is only the first.
METRICS: Final = {
    "netclaim_controller_leading": "Whether this replica holds the lease and works.",
    "netclaim_controller_networks": "PodNetworks in the cluster.",
    "netclaim_controller_waiting": "Things that wait to be looked at.",
    "netclaim_controller_failing": "Things that could not be done and are tried again.",
    "netclaim_controller_nudges_total": "Pods that were nudged.",
}


class Process(Collector):
    """What this replica does now, for probes and metrics."""

    def __init__(self) -> None:
        self.controller: Controller | None = None  # None: another replica works
        self.fault = ""

    def not_ready(self) -> str:
        """What is missing, in words; a replica that waits for its turn is ready."""
        if self.fault:
            return self.fault
        return self.controller.not_ready() if self.controller is not None else ""

    def collect(self) -> Iterator[Metric]:
        """The metrics, as prometheus_client has them."""
        working = self.controller
        counts: tuple[float, ...] = (bool(working),)
        if working is not None:
            found = (working.networks, working.waiting, working.failing, working.nudges)
            counts = (*counts, *found)
        for (name, text), value in zip(METRICS.items(), counts, strict=False):
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            yield kind(name, text, value=value)


async def serve_controller(
    cluster: Cluster, settings: ControllerSettings, *, http_address: str
) -> None:
    """Run until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    process = Process()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(_Http(process, http_address))
        client = await stack.enter_async_context(connect(cluster))
        await race(stop.wait(), _take_turns(client, settings, process))
        log.info("serve.stopping")


async def _take_turns(client: Client, settings: ControllerSettings, process: Process) -> None:
    if not settings.lease_namespace:
        await _keep_working(client, settings, process)
        return
    lease = Lease(client, settings.lease_namespace, LEASE_NAME, settings.identity)
    while True:
        await lease.acquire()
        try:
            await race(lease.hold(), _keep_working(client, settings, process))
        finally:
            process.controller = None
            await lease.release()


async def _keep_working(client: Client, settings: ControllerSettings, process: Process) -> None:
    """Work, and start again after what may pass."""
    while True:
        try:
            process.controller = await Controller.of(client, settings)
            process.fault = ""
            await process.controller.run()
        except* (PeerError, NotServedError) as group:
            process.fault = _text(group)
            log.warning("serve.failed", error=process.fault)
        await asyncio.sleep(PAUSE_S)


def _text(group: BaseExceptionGroup[BaseException]) -> str:
    first: BaseException = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return str(first)


class _Http:
    """Serves /healthz, /readyz and /metrics while its block runs."""

    def __init__(self, process: Process, address: str) -> None:
        self._address = address
        registry = CollectorRegistry()
        registry.register(process)

        async def healthz(_: web.Request) -> web.Response:
            return web.Response(text="ok\n")

        async def readyz(_: web.Request) -> web.Response:
            missing = process.not_ready()
            return web.Response(text=f"{missing or 'ok'}\n", status=503 if missing else 200)

        async def metrics(_: web.Request) -> web.Response:
            headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
            return web.Response(body=generate_latest(registry), headers=headers)

        application = web.Application()
        application.router.add_get("/healthz", healthz)
        application.router.add_get("/readyz", readyz)
        application.router.add_get("/metrics", metrics)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_S)

    async def __aenter__(self) -> None:
        await self._runner.setup()
        if not self._address:
            return
        host, colon, port = self._address.rpartition(":")
        if not colon or not port.isdecimal():
            raise RequestError(f"{self._address!r} is not an address such as :9418")
        try:
            await web.TCPSite(self._runner, host.strip("[]") or None, int(port)).start()
        except OSError as error:
            raise HostError(f"cannot listen on {self._address}: {error}") from error
        log.info("http.listening", address=self._address)

    async def __aexit__(self, *_error: object) -> None:
        await self._runner.cleanup()
