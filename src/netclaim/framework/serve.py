"""Serve a driver: connect it to kubelet, the runtime and the API server, and run it until SIGTERM.

Promise: one tree of tasks. A network driver is announced to kubelet only once the runtime's hooks
reach it, so that no pod starts unseen; the runtime's hooks reach it as soon as the journal is read,
whether the API server answers or not. On SIGTERM calls under way may finish, then the announcement
is withdrawn and the runtime is left between two hooks; what is published and attached stays.

What ends the process:

* at the start, what the node's owner or the user must change (HostError, RequestError: settings, a
  journal that cannot be opened, a socket that is not ours), with a message and exit code 2; what
  may pass (PeerError) is waited out;
* later, a bug: an error that is no NetclaimError, OSError or TimeoutError; and the runtime's socket
  when it may not be opened any more.

A part that fails later of anything else, be it for the node's owner to change (a full disk, rights
that were taken away), is started again with back-off and named by /readyz until it works: pods that
need no such part are served meanwhile. What concerns one claim or pod fails that one.
"""

import asyncio
import faulthandler
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import structlog
from structlog.contextvars import bound_contextvars

from netclaim.chained import PlanFiles
from netclaim.errors import NetclaimError, exit_code, faults_in
from netclaim.framework.clock import Clock, SystemClock
from netclaim.framework.contract import Driver, NetworkDriver
from netclaim.framework.http import http_serving
from netclaim.framework.kube_api import Api
from netclaim.framework.logs import configure_logs
from netclaim.framework.metrics import Metrics
from netclaim.framework.own_loop import hooks_on, own_loop
from netclaim.framework.relay import RelayedHooks
from netclaim.framework.reload import Following
from netclaim.framework.retire import AWAY_S, Retirement
from netclaim.framework.runtime_places import RuntimePlaces
from netclaim.framework.setting_flags import followed_from_command_line, settings_of
from netclaim.framework.setting_sources import Followed, Resolved
from netclaim.framework.settings import HTTP_ADDRESS, Settings
from netclaim.framework.tracer import traced
from netclaim.framework.turn import Turns
from netclaim.framework.watchdog import Watchdog, Watched, this_loop, watching
from netclaim.kube import Answered, connect, load_cluster
from netclaim.kubelet import HealthBoard, PluginSockets, RegistrationVerdict, serve_plugin
from netclaim.model.pod import PodSandbox
from netclaim.nri import Plugin

__all__ = ["run_driver", "serve"]

log = structlog.get_logger()

# The event loop and the loop of the hooks take turns. With Python's 5 ms, a hook would wait for so
# long after each of its system calls while the event loop has much to do.
SWITCH_S: Final = 0.0005
HOOKS_S: Final = 2.5  # the runtime waits two seconds for a hook
# From the signal. A pod of the driver may have a long grace period (see `retire`), which is not for
# a process that hangs; calls of kubelet have 20 s, attaches and hooks ten.
END_S: Final = 60.0


def serve(
    driver: Driver, settings: Settings | None = None, followed: Followed | None = None
) -> bool:
    """Run a driver as this process. Without settings: those of the command line.

    The file of `followed` is looked at while the driver runs. Returns whether it was retired and
    has released everything, so that nothing of it need stay.
    """
    if settings is None:
        followed = followed_from_command_line(f"The DRA driver {driver.name}.")
        settings = settings_of(followed.started)
    configure_logs(settings.log_format, settings.log_level)
    if followed is not None:
        followed = replace(followed, change=partial(_with_logs, followed.change))
    sys.setswitchinterval(SWITCH_S)
    faults: list[NetclaimError] = []
    retirement = Retirement()
    try:
        asyncio.run(_until_signalled(driver, settings, followed, retirement))
    except* NetclaimError as group:
        faults = faults_in(group)
    for fault in faults:
        sys.stderr.write(f"{driver.name}: {' '.join(str(fault).split())}\n")
    if faults:
        sys.exit(exit_code(faults))
    return retirement.done


async def run_driver(
    driver: Driver,
    settings: Settings,
    *,
    followed: Followed | None = None,
    clock: Clock | None = None,
    retirement: Retirement | None = None,
) -> None:
    """Run a driver until cancelled."""
    async with traced(driver.name, settings.node_name):
        with bound_contextvars(driver=driver.name, node=settings.node_name):
            await _run_driver(
                driver,
                settings,
                followed,
                clock or SystemClock(),
                retirement or Retirement(),
            )


async def _run_driver(
    driver: Driver,
    settings: Settings,
    followed: Followed | None,
    clock: Clock,
    retirement: Retirement,
) -> None:
    sockets = PluginSockets.under(settings.kubelet_dir, driver.name, settings.instance)
    cluster = load_cluster(settings.kubeconfig)
    hooks = RelayedHooks(partial(_concerns, RuntimePlaces.of(settings, driver.name).plans))
    plugin = _plugin(driver, settings, hooks)
    async with AsyncExitStack() as stack:
        loops = [this_loop()]
        if driver.may_block:  # its hooks end before another process has the journal
            own = await stack.enter_async_context(own_loop("hooks"))
            driver = hooks_on(own, driver)
            loops.append(Watched("hooks", own.loop, own.thread.ident or 0))
        metrics = Metrics(driver.name, clock, driver.collectors())
        watchdog = await stack.enter_async_context(watching(loops, metrics, clock))
        client = await stack.enter_async_context(connect(cluster, partial(_note_request, metrics)))
        turns = Turns(
            driver,
            settings,
            Api(client),
            cluster.server,
            metrics=metrics,
            healths=HealthBoard(),
            clock=clock,
            hooked=_never_mind if plugin is None else plugin.wait_connected,
            own_socket=sockets.dra.absolute(),
            hooks=hooks,
            retirement=retirement,
        )
        state = _State(turns, plugin, watchdog)
        await stack.enter_async_context(
            http_serving(
                settings.http_address,
                metrics,
                state.not_ready,
                unhealthy=state.unhealthy,
                refresh=partial(state.refresh, metrics),
                asked_for=settings.http_address != HTTP_ADDRESS,
                clock=clock,
                socket=settings.health_socket,
            )
        )
        group = await stack.enter_async_context(asyncio.TaskGroup())
        group.create_task(turns.run())
        if followed is not None and followed.sources.path is not None:
            noted = replace(followed, change=partial(_with_node, followed.change, turns))
            group.create_task(Following(noted, metrics, clock).run())
        await turns.wait_known()
        if plugin is not None:
            await stack.enter_async_context(_connecting(plugin, group))
        if isinstance(driver, NetworkDriver) and turns.leading:
            await turns.wait_hooked()
        elif plugin is not None:  # the runtime tells both processes, before one gives its seat
            await plugin.wait_connected()

        def observe(verdict: RegistrationVerdict) -> None:
            state.registered = verdict.registered
            if verdict.registered:
                turns.note_callable()

        while True:
            async with serve_plugin(driver.name, sockets, turns.claims, turns.healths, observe):
                try:
                    await retirement.wait_to_leave()
                finally:
                    await turns.linger()
            state.registered = False
            await clock.sleep(AWAY_S)
            retirement.away = True


def _with_logs(change: Callable[[Resolved], None], resolved: Resolved) -> None:
    """Take over the settings that the file has changed, those of the log among them."""
    configure_logs(resolved["log_format"], resolved["log_level"])
    change(resolved)


def _with_node(change: Callable[[Resolved], None], turns: Turns, resolved: Resolved) -> None:
    """Likewise, and ask for the node again: it may count for the first time."""
    change(resolved)
    turns.note_settings()


class _State:
    """What is still missing."""

    def __init__(self, turns: Turns, plugin: Plugin | None, watchdog: Watchdog) -> None:
        self._turns = turns
        self._plugin = plugin
        self._watchdog = watchdog
        self.registered = False

    def not_ready(self) -> str:
        """In words; nothing if nothing is."""
        installer, mode = self._turns.installer, self._turns.settings.runtime_hook
        if not self._turns.leading:
            return self._turns.waits_for
        if self._plugin is not None and self._plugin.runtime is None:
            return "not connected to the container runtime's NRI socket"
        if mode != "nri" and installer is not None and not installer.installed:
            why = f": {installer.complaint}" if installer.complaint else ""
            return f"the container runtime's network configuration does not list the driver{why}"
        if not self.registered:
            return "not registered with kubelet"
        return "; ".join(filter(None, (self._turns.standing.text(), self._watchdog.late())))

    def refresh(self, metrics: Metrics) -> None:
        """Bring the metrics in line with what is so now."""
        metrics.ready.set(not self.not_ready())
        metrics.seat_held.set(self._turns.leading)
        metrics.registered.set(self.registered)
        metrics.parts_failing.set(self._turns.standing.count())
        if self._plugin is not None:
            metrics.note_hooked("nri", hooked=self._plugin.runtime is not None)
        installer = self._turns.installer
        if installer is not None and self._turns.settings.runtime_hook != "nri":
            metrics.note_hooked("cni", hooked=installer.installed)

    def unhealthy(self) -> str:
        """Why the process should be started again; nothing if there is no reason."""
        ended = [task.get_name() for task in self._turns.running if task.done()]
        return f"parts have ended: {', '.join(ended)}" if ended else self._watchdog.hung()


def _plugin(driver: Driver, settings: Settings, hooks: RelayedHooks) -> Plugin | None:
    if not isinstance(driver, NetworkDriver) or settings.runtime_hook == "cni":
        return None
    return Plugin(
        hooks, name=driver.name, index=settings.nri_index, socket_path=settings.nri_socket
    )


def _concerns(plans: Path, pod: PodSandbox) -> bool:
    return PlanFiles(plans).concerns(pod.uid, pod.namespace)


def _note_request(metrics: Metrics, answered: Answered) -> None:
    metrics.note_api(answered.verb, answered.resource, answered.code, answered.took_s)


async def _never_mind() -> None:
    """Nothing to wait for."""


@asynccontextmanager
async def _connecting(plugin: Plugin, group: asyncio.TaskGroup) -> AsyncIterator[None]:
    """Be the runtime's plugin while the block runs; leave it between two hooks."""
    running = group.create_task(_run(plugin.run))
    try:
        yield
    finally:
        try:
            async with asyncio.timeout(HOOKS_S):
                await plugin.wait_answered()
        except TimeoutError:
            log.warning("serve.hooks_cut")
        running.cancel()


async def _run(part: Callable[[], Awaitable[object]]) -> None:
    await part()


async def _until_signalled(
    driver: Driver, settings: Settings, followed: Followed | None, retirement: Retirement
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            run_driver(driver, settings, followed=followed, retirement=retirement)
        )
        await stop.wait()
        log.info("serve.stopping", driver=driver.name)
        faulthandler.dump_traceback_later(END_S, exit=True)
        running.cancel()
