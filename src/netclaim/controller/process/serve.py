"""The controller as a process: signals, probes and metrics, and taking turns with other replicas.

Promise: on SIGTERM what is under way is cancelled, which any later look makes up for, and the lease
is given back. A cluster that does not answer is waited for; so is one that lacks the definition of
PodNetworks. A replica that loses its lease stops, and waits for it again. Health and metrics are
served as the driver serves its own: from the network, they need a token.
"""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Final

import structlog
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from netclaim.controller.process.lease import Lease
from netclaim.controller.process.run import Controller
from netclaim.controller.settings import LEASE_NAME, ControllerSettings
from netclaim.errors import PeerError
from netclaim.framework.kube_api import KubeReviews
from netclaim.framework.process.http import Place, http_serving
from netclaim.framework.process.http_access import HttpAccess, Reviews
from netclaim.framework.tools.clock import Clock, SystemClock
from netclaim.kube import Client, Cluster, NotServedError, connect
from netclaim.model.api.own_kinds.address_pool import AddressPoolStatus
from netclaim.tasks import race

log = structlog.get_logger(__name__)

PAUSE_S: Final = 5.0  # after a failure; the definition may be installed any moment
# What there is to scrape, and what it means. A name in `_total` is a counter's, the others are
# gauges'; of a replica that waits for its turn there is only the first.
POOL_ADDRESSES: Final = "netclaim_controller_pool_addresses"  # the only one with labels
METRICS: Final = {
    "netclaim_controller_leading": "Whether this replica holds the lease and works.",
    "netclaim_controller_networks": "PodNetworks in the cluster.",
    "netclaim_controller_waiting": "Things that wait to be looked at.",
    "netclaim_controller_failing": "Things that could not be done and are tried again.",
    "netclaim_controller_nudges_total": "Pods that were nudged.",
    "netclaim_controller_services": "Services that name a network.",
    "netclaim_controller_endpoints": "Endpoints of these Services.",
    "netclaim_controller_slice_writes_total": "EndpointSlices that were written or deleted.",
    "netclaim_controller_annotated_waiting": "Pods whose annotated networks cannot be had.",
    "netclaim_controller_duplicate_addresses": "Addresses that several pods have on one network.",
    "netclaim_controller_uncollected_leases": "AddressLeases that nobody has and that could not be "
    "deleted when that was last tried.",
    POOL_ADDRESSES: "Addresses of an AddressPool, by pool and state (used, free, or kept, which "
    "counts those of the used ones that nobody has now).",
}


class Process(Collector):
    """What this replica does now, for probes and metrics."""

    def __init__(self) -> None:
        self.controller: Controller | None = None  # None: another replica works
        self.fault = ""
        self._counts: tuple[float, ...] = ()
        self._pools: tuple[tuple[str, AddressPoolStatus], ...] = ()
        self._registry = CollectorRegistry()
        self.refresh()
        self._registry.register(self)

    def not_ready(self) -> str:
        """What is missing, in words; a replica that waits for its turn is ready."""
        if self.fault:
            return self.fault
        return self.controller.not_ready() if self.controller is not None else ""

    def refresh(self) -> None:
        """Count what there is, for the metrics."""
        working = self.controller
        self._counts = (working is not None and working.works,)
        self._pools = ()
        if working is not None:
            self._pools = tuple(working.pools())
            found = (working.networks, working.waiting, working.failing, working.nudges)
            services = working.services
            served = (services.count, services.endpoints, services.writes)
            more = (working.annotated_waiting, working.duplicates, working.uncollected)
            self._counts = (*self._counts, *found, *served, *more)

    def exposition(self) -> bytes:
        """The metrics in Prometheus' text format, as they were counted last."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """The metrics, as prometheus_client has them."""
        for (name, text), value in zip(METRICS.items(), self._counts, strict=False):
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            yield kind(name, text, value=value)
        if self._pools:
            pools = GaugeMetricFamily(
                POOL_ADDRESSES, METRICS[POOL_ADDRESSES], labels=("pool", "state")
            )
            for name, status in self._pools:
                pools.add_metric((name, "used"), status.used)
                pools.add_metric((name, "kept"), status.kept)
                pools.add_metric((name, "free"), status.free)
            yield pools


async def serve_controller(cluster: Cluster, settings: ControllerSettings, place: Place) -> None:
    """Run until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    process = Process()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connect(cluster))
        await stack.enter_async_context(watched(process, place, KubeReviews(client), SystemClock()))
        await race(stop.wait(), _take_turns(client, settings, process))
        log.info("serve.stopping")


def watched(
    process: Process, place: Place, reviews: Reviews, clock: Clock
) -> AbstractAsyncContextManager[None]:
    """Serve /healthz, /readyz and /metrics while the block runs."""
    return http_serving(
        place,
        process,
        process.not_ready,
        unhealthy=lambda: "",  # it answers
        refresh=process.refresh,
        access=HttpAccess(reviews, clock),
        clock=clock,
    )


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
