"""Serve a driver: connect it to kubelet, the runtime and the API server, and run it until SIGTERM.

Promise: one tree of tasks. A network driver is announced to kubelet only once the runtime's hooks
reach it, so that no pod starts unseen. On SIGTERM the announcement is withdrawn first and calls
under way may finish; what is published and attached stays. What may pass is waited out; what the
node's owner must change ends the process with a message and exit code 2.
"""

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import structlog

from netclaim.errors import HostError, NetclaimError, exit_code, faults_in
from netclaim.framework.clock import Clock, SystemClock
from netclaim.framework.contract import Driver
from netclaim.framework.discover import follow_devices
from netclaim.framework.http import http_serving
from netclaim.framework.journal import open_journal
from netclaim.framework.logs import configure_logs
from netclaim.framework.parts import Parts, build
from netclaim.framework.settings import Settings, settings_from_command_line
from netclaim.framework.supervise import Backoff, retry
from netclaim.kube import DraApi, connect, load_cluster
from netclaim.kubelet import PluginSockets, RegistrationVerdict, serve_plugin
from netclaim.model.claim import JsonObject
from netclaim.model.node import NodeFacts

__all__ = ["run_driver", "serve"]

log = structlog.get_logger()

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
# Another process of the driver gives its journal back within its grace period of 20 s.
STARTING: Final = Backoff(first_s=0.2, max_s=2.0)


def serve(driver: Driver, settings: Settings | None = None) -> None:
    """Run a driver as this process. Without settings: those of the command line."""
    if settings is None:
        settings = settings_from_command_line(f"The DRA driver {driver.name}.")
    configure_logs(settings.log_format, settings.log_level)
    faults: list[NetclaimError] = []
    try:
        asyncio.run(_until_signalled(driver, settings))
    except* NetclaimError as group:
        faults = faults_in(group)
    for fault in faults:
        sys.stderr.write(f"{driver.name}: {' '.join(str(fault).split())}\n")
    if faults:
        sys.exit(exit_code(faults))


async def run_driver(
    driver: Driver,
    settings: Settings,
    *,
    clock: Clock | None = None,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Run a driver until cancelled. `on_ready` is called whenever kubelet has registered it."""
    clock = clock or SystemClock()
    boot_id = _boot_id()
    async with AsyncExitStack() as stack:
        path = settings.state_dir / driver.name / "journal.db"
        journal = await retry(
            "journal",
            lambda: stack.enter_async_context(open_journal(path, boot_id)),
            backoff=STARTING,
            clock=clock,
        )
        cluster = load_cluster(settings.kubeconfig)
        client = await stack.enter_async_context(connect(cluster))
        api = await retry("api", lambda: DraApi.negotiated(client), backoff=STARTING, clock=clock)
        node = await retry(
            "node", lambda: api.get_node(settings.node_name), backoff=STARTING, clock=clock
        )
        driver.learn_node(await _node_facts(node, cluster.server))
        parts = build(
            driver,
            settings,
            journal=journal,
            api=api,
            node_uid=node["metadata"]["uid"],
            clock=clock,
        )
        await _run(driver, settings, parts, clock, on_ready)


async def _node_facts(node: JsonObject, server: str) -> NodeFacts:
    """What a driver may want to know of its node, and of the way to the API server."""
    listed = (node.get("status") or {}).get("addresses") or ()
    host = urlsplit(server).hostname or ""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None)
    except OSError as error:  # known by a proxy, say; the node's own addresses are known anyway
        log.warning("serve.api_unresolved", host=host, error=str(error))
        found = []
    return NodeFacts(
        name=node["metadata"]["name"],
        addresses=tuple(each["address"] for each in listed if each["type"].endswith("IP")),
        api_addresses=tuple(sorted({str(address[0]) for *_, address in found})),
    )


async def _run(
    driver: Driver, settings: Settings, parts: Parts, clock: Clock, on_ready: Callable[[], None]
) -> None:
    registered = False

    def observe(verdict: RegistrationVerdict) -> None:
        nonlocal registered
        registered = verdict.registered
        if registered:
            on_ready()

    def not_ready() -> str:
        if parts.network is not None and parts.network.plugin.runtime is None:
            return "not connected to the container runtime's NRI socket"
        return "" if registered else "not registered with kubelet"

    async with (
        asyncio.TaskGroup() as group,
        http_serving(settings.http_address, parts.metrics, not_ready),
        AsyncExitStack() as stack,
    ):
        group.create_task(parts.reporter.run())
        group.create_task(parts.publisher.run())
        group.create_task(follow_devices(driver, parts.offer, clock))
        if parts.network is not None:
            await stack.enter_async_context(parts.network.attaching)
            group.create_task(parts.network.repairer.run())
            group.create_task(parts.network.plugin.run())
            await parts.network.wait_hooked()
        sockets = PluginSockets.under(settings.kubelet_dir, driver.name)
        async with serve_plugin(driver.name, sockets, parts.answers, parts.healths, observe):
            await asyncio.Event().wait()  # until cancelled


async def _until_signalled(driver: Driver, settings: Settings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run_driver(driver, settings))
        await stop.wait()
        log.info("serve.stopping", driver=driver.name)
        running.cancel()


def _boot_id() -> str:
    try:
        return BOOT_ID.read_text().strip()
    except OSError as error:
        raise HostError(f"cannot read {BOOT_ID}: {error}") from error
