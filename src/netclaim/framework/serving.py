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

A part that fails later of anything else is started again with back-off, and named by /readyz until
it works, also if the node's owner has to change something (a full disk, rights that were taken
away). Pods that need no such part are served meanwhile. What concerns one claim or pod fails that
one.
"""

import asyncio
import faulthandler
import gc
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import structlog
from structlog.contextvars import bound_contextvars

from netclaim.chained import PlanFiles
from netclaim.errors import NetclaimError, exit_code, faults_in
from netclaim.framework.collect.retire import AWAY_S, Retirement
from netclaim.framework.contract import Driver, NetworkDriver
from netclaim.framework.kube_api import Api, KubeReviews
from netclaim.framework.process.driver_thread import hooks_on, own_loop
from netclaim.framework.process.http import Place, http_serving
from netclaim.framework.process.http_access import HttpAccess
from netclaim.framework.process.leader import Turns
from netclaim.framework.process.node_places import NodePlaces
from netclaim.framework.process.relay import RelayedHooks, let_end
from netclaim.framework.process.rights import Rights
from netclaim.framework.process.watchdog import Watchdog, Watched, this_loop, watching
from netclaim.framework.settings.fields import Settings
from netclaim.framework.settings.flags import followed_from_command_line, settings_of
from netclaim.framework.settings.reload import Following
from netclaim.framework.settings.sources import Followed, Resolved
from netclaim.framework.telemetry.logs import configure_logs
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.telemetry.traces import traced
from netclaim.framework.tools.clock import Clock, SystemClock
from netclaim.keeper import NO_KEEPER, Keeper
from netclaim.kube import connect, load_cluster
from netclaim.kubelet import HealthBoard, PluginSockets, RegistrationVerdict, serve_plugin
from netclaim.nri import Plugin

log = structlog.get_logger()

# The event loop and the loop of the hooks take turns. With Python's 5 ms, a hook would wait for so
# long after each of its system calls while the event loop has much to do.
SWITCH_S: Final = 0.0005
# From the signal. A pod of the driver may have a long grace period (see `retire`), which is not for
# a process that hangs; calls of kubelet have 20 s, attaches five and hooks that may block ten.
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
        followed = _followed(followed, _change_logs)
    sys.setswitchinterval(SWITCH_S)
    # What is loaded by now stays for the life of the process: 80,000 objects. The garbage collector
    # would look at them again and again while a claim is decoded that makes 200,000 more, which
    # takes 22 ms each time. Other thresholds gain a fifth of what this does, and are left alone.
    gc.freeze()
    faults: list[NetclaimError] = []
    retirement = Retirement()
    try:
        keeper = Keeper.from_environment()
        asyncio.run(_until_signalled(driver, settings, followed, retirement, keeper))
    except* NetclaimError as group:
        faults = faults_in(group)
    for fault in faults:
        sys.stderr.write(f"{driver.name}: {fault}\n")
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
    keeper: Keeper = NO_KEEPER,
) -> None:
    """Run a driver until cancelled."""
    clock, retirement = clock or SystemClock(), retirement or Retirement()
    sockets = PluginSockets.under(settings.kubelet_dir, driver.name, settings.instance)
    places = NodePlaces.of(settings, driver.name)
    async with traced(driver.name, settings.node_name), AsyncExitStack() as stack:
        stack.enter_context(bound_contextvars(driver=driver.name, node=settings.node_name))
        cluster = load_cluster(settings.kubeconfig)
        hooks = RelayedHooks(lambda pod: PlanFiles(places.plans).concerns(pod.uid, pod.namespace))
        plugin = _plugin(driver, settings, hooks)
        loops = [this_loop()]
        if driver.may_block:  # its hooks end before another process has the journal
            own = await stack.enter_async_context(own_loop("hooks"))
            driver = hooks_on(own, driver)
            loops.append(Watched("hooks", own.loop, own.thread.ident or 0))
        metrics = Metrics(driver.name, clock, driver.collectors())
        watchdog = await stack.enter_async_context(watching(loops, metrics, clock))
        rights = Rights(clock, metrics.note_api)
        client = await stack.enter_async_context(connect(cluster, rights.note))
        turns = Turns(
            driver,
            settings,
            Api(client),
            cluster.server,
            metrics=metrics,
            healths=HealthBoard(),
            clock=clock,
            own_socket=sockets.dra.absolute(),
            hooks=hooks,
            plugin=plugin,
            retirement=retirement,
            keeper=keeper,
        )
        state = _State(turns, watchdog, rights)
        await stack.enter_async_context(
            http_serving(
                Place(
                    settings.http_address,
                    settings.http_certificate,
                    settings.http_key,
                    settings.health_socket,
                ),
                metrics,
                state.not_ready,
                unhealthy=state.unhealthy,
                refresh=partial(state.refresh, metrics),
                access=HttpAccess(KubeReviews(client), clock),
                clock=clock,
            )
        )
        group = await stack.enter_async_context(asyncio.TaskGroup())
        group.create_task(turns.run())
        group.create_task(keeper.stay_known(clock.sleep))
        if followed is not None and followed.sources.path is not None:
            # What the driver asks of the node may count for the first time.
            followed = _followed(followed, lambda _: turns.watch.look_again())
            group.create_task(Following(followed, metrics, clock).run())
        await turns.known.wait()
        if plugin is not None:
            await stack.enter_async_context(_connecting(plugin, group))
        if isinstance(driver, NetworkDriver) and turns.leading:
            await turns.wait_hooked()
        elif plugin is not None:  # the runtime calls both processes before one gives its seat
            await plugin.wait_connected()

        def observe(verdict: RegistrationVerdict) -> None:
            state.registered = verdict.registered
            if verdict.registered:
                turns.reachable.set()

        while True:
            async with serve_plugin(
                driver.name, sockets, turns.claims, turns.healths, observe, keeper=keeper
            ):
                try:
                    await retirement.wait_to_leave()
                finally:
                    await turns.linger()
            state.registered = False
            await clock.sleep(AWAY_S)
            retirement.away = True


def _followed(followed: Followed, further: Callable[[Resolved], None]) -> Followed:
    """The same, with a further step that is taken first when the file has changed."""

    def change(resolved: Resolved) -> None:
        further(resolved)
        followed.change(resolved)

    return replace(followed, change=change)


def _change_logs(resolved: Resolved) -> None:
    configure_logs(resolved["log_format"], resolved["log_level"])


@dataclass(slots=True)
class _State:
    """What the process still lacks, for its probes and metrics."""

    turns: Turns
    watchdog: Watchdog
    rights: Rights
    registered: bool = False  # with kubelet

    def not_ready(self) -> str:
        """What is still missing, in words; empty if nothing is."""
        installer, mode = self.turns.installer, self.turns.settings.runtime_hook
        if not self.turns.leading:
            return self.turns.waits_for
        if self.turns.plugin is not None and self.turns.plugin.runtime is None:
            return "not connected to the container runtime's NRI socket"
        if mode != "nri" and installer is not None and not installer.installed:
            why = f": {installer.complaint}" if installer.complaint else ""
            return f"the container runtime's network configuration does not list the driver{why}"
        if not self.registered:
            return "not registered with kubelet"
        faults = (self.rights.text(), self.turns.standing.text(), self.watchdog.late())
        return "; ".join(filter(None, faults))

    def refresh(self, metrics: Metrics) -> None:
        metrics.ready.set(not self.not_ready())
        metrics.seat_held.set(self.turns.leading)
        metrics.registered.set(self.registered)
        metrics.parts_failing.set(self.turns.standing.count())
        metrics.missing_attachments.set(self.turns.missing())
        if self.turns.plugin is not None:
            metrics.note_hooked("nri", hooked=self.turns.plugin.runtime is not None)
        installer = self.turns.installer
        if installer is not None and self.turns.settings.runtime_hook != "nri":
            metrics.note_hooked("cni", hooked=installer.installed)

    def unhealthy(self) -> str:
        """Why the process should be restarted, in words; empty if there is no reason."""
        ended = [task.get_name() for task in self.turns.running if task.done()]
        return f"parts have ended: {', '.join(ended)}" if ended else self.watchdog.hung()


def _plugin(driver: Driver, settings: Settings, hooks: RelayedHooks) -> Plugin | None:
    if not isinstance(driver, NetworkDriver) or settings.runtime_hook == "cni":
        return None
    return Plugin(
        hooks, name=driver.name, index=settings.nri_index, socket_path=settings.nri_socket
    )


@asynccontextmanager
async def _connecting(plugin: Plugin, group: asyncio.TaskGroup) -> AsyncIterator[None]:
    """Be the runtime's plugin while the block runs, and leave it between two hooks."""
    running: asyncio.Task[object] = group.create_task(plugin.run())
    try:
        yield
    finally:
        await let_end(plugin.wait_answered())
        running.cancel()


async def _until_signalled(
    driver: Driver,
    settings: Settings,
    followed: Followed | None,
    retirement: Retirement,
    keeper: Keeper,
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            run_driver(driver, settings, followed=followed, retirement=retirement, keeper=keeper)
        )
        await stop.wait()
        log.info("serve.stopping", driver=driver.name)
        keeper.stopping = True
        faulthandler.dump_traceback_later(END_S, exit=True)
        running.cancel()
