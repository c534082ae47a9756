"""A turn at the work: what runs while this process holds the driver's seat.

    take the seat    wait for the journal, or ask the process that has it
    engage           hooks and claims come here; at once, if the journal knows the node
    end              calls under way end or are passed on, the journal is closed, the seat given

Promise: a turn ends when another process asks for the seat, when the Node object was replaced (then
the next one follows at once), or when it is cancelled; what is published and attached stays.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from netclaim.chained import AttachServer, Installer
from netclaim.framework.attach.repair import list_once
from netclaim.framework.collect.retire import Retirement
from netclaim.framework.contract import Driver, NetworkDriver
from netclaim.framework.discover.follow import follow_devices
from netclaim.framework.journal.journal import Journal, open_journal
from netclaim.framework.journal.records import KnownNode
from netclaim.framework.journal.store import JournalBusyError, JournalError, is_locked
from netclaim.framework.kube_api import Api, KubeObjects
from netclaim.framework.process.class_watch import follow_classes
from netclaim.framework.process.handover import Seat, ask_for_seat
from netclaim.framework.process.node_places import NodePlaces
from netclaim.framework.process.node_watch import NodeWatch
from netclaim.framework.process.relay import RelayedCalls, RelayedClaims, RelayedHooks, let_end
from netclaim.framework.process.runtime_callers import installer_for, keep_installed, put_program
from netclaim.framework.process.wiring.parts import Parts, build
from netclaim.framework.process.wiring.stages import Network
from netclaim.framework.settings.fields import Settings
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.supervise import (
    PASSING,
    STARTING,
    Backoff,
    Standing,
    retry,
    supervise,
)
from netclaim.keeper import NO_KEEPER, Keeper
from netclaim.kernel.host.boot import boot_id
from netclaim.kubelet import HealthBoard
from netclaim.nri import Plugin
from netclaim.tasks import race

log = structlog.get_logger()

ASKING: Final = Backoff(first_s=1.0, max_s=15.0)  # a process that hangs is killed by kubelet
CALLS_S: Final = 5.0  # attaches that take longer are begun again by the next process
SIT_S: Final = 5.0  # the successor waits for nothing but the answer; it takes milliseconds
LINGER_S: Final = 3.0  # kubelet looks at its plugins once a second
SIT_LOOK_S: Final = 0.05


@dataclass(slots=True)
class Turns:
    """The turns of one process, and what they share."""

    driver: Driver
    settings: Settings
    api: Api
    server: str  # the API server's address
    metrics: Metrics
    healths: HealthBoard
    clock: Clock
    own_socket: Path  # where this process serves kubelet
    hooks: RelayedHooks
    plugin: Plugin | None  # by the runtime's plugin interface, if that is used
    retirement: Retirement = field(default_factory=Retirement)
    keeper: Keeper = NO_KEEPER  # what outlives this process
    claims: RelayedClaims = field(init=False)
    calls: RelayedCalls = field(default_factory=RelayedCalls)
    installer: Installer | None = field(init=False)
    places: NodePlaces = field(init=False)
    watch: NodeWatch = field(init=False)
    standing: Standing = field(init=False)  # what is wrong with the parts
    running: list[asyncio.Task[None]] = field(default_factory=list)
    known: asyncio.Event = field(default_factory=asyncio.Event)  # who works: this process or not
    reachable: asyncio.Event = field(default_factory=asyncio.Event)  # by kubelet and the runtime
    parts: Parts | None = None  # of the turn under way
    leading: bool = False
    waits_for: str = "starting"  # in words, while it is not leading
    _asked: bool = False  # whether this process had its chance to be the newer one
    _gave_s: float | None = None  # when the seat was given to a newer process

    def __post_init__(self) -> None:
        self.claims = RelayedClaims(self.driver.name)
        self.places = NodePlaces.of(self.settings, self.driver.name)
        attaches = isinstance(self.driver, NetworkDriver)
        self.installer = installer_for(self.settings, self.driver.name) if attaches else None
        self.standing = Standing(self.clock)
        self.watch = NodeWatch(
            self.driver,
            self.api,
            self.settings.node_name,
            server=self.server,
            clock=self.clock,
            metrics=self.metrics,
        )

    async def run(self) -> None:
        while True:
            await self._turn()

    async def _turn(self) -> None:
        seat = Seat(self.places.seat)
        successor: Path | None = None
        try:
            async with AsyncExitStack() as stack:
                server = await self._take_seat(stack)
                journal = await self._open_journal(stack)
                node = await self._node(journal)
                async with seat.offered():
                    successor = await self._work(journal, node, seat, server)
        finally:
            self.leading = False
            if seat.successor is not None:  # it may have asked while this process was ending
                self.retirement.cancel()
            seat.give()
        if successor is not None:
            self._gave_s = self.clock.monotonic()
            log.info("seat.given", successor=str(successor))
            await self._let_sit()

    async def linger(self) -> None:
        """Pass calls on, before the process ends, until kubelet calls the newer process.

        Kubelet calls the newest process that it is connected to, and connects a moment after a
        process registers.
        """
        if self._gave_s is not None and not self.leading:
            await self.clock.sleep(max(0.0, self._gave_s + LINGER_S - self.clock.monotonic()))

    def missing(self) -> int:
        """How many devices running pods lack, as far as this process is the one to know."""
        network = self.parts.network if self.parts is not None else None
        return network.sandboxes.lacking() if network is not None else 0

    async def _let_sit(self) -> None:
        """Wait until the successor has the journal, but not for one that died on the way."""
        until_s = self.clock.monotonic() + SIT_S
        while not self._is_busy() and self.clock.monotonic() < until_s:
            await self.clock.sleep(SIT_LOOK_S)

    async def _take_seat(self, stack: AsyncExitStack) -> AttachServer | None:
        """Wait for the seat, or ask for it; returns what serves the chained plugin by then."""
        if self.settings.instance and self._is_busy():
            self.hooks.dismiss(passing=True)
            self.waits_for = "another process of the driver is active"
            self.known.set()
            await self.reachable.wait()
            if not self._asked:
                return await self._ask(stack)
        return None

    async def _ask(self, stack: AsyncExitStack) -> AttachServer | None:
        """Ask until the seat is given or free; between attempts the other process works."""
        for delay_s in ASKING.delays(self.clock):
            async with AsyncExitStack() as attempt:
                server = await self._serve_calls(attempt)
                self.hooks.await_engagement()
                if await ask_for_seat(self.places.seat, self.own_socket) or not self._is_busy():
                    stack.push_async_exit(attempt.pop_all())
                    return server
                self.hooks.dismiss(passing=True)
            await self.clock.sleep(delay_s)
        raise AssertionError("delays never end")

    async def _serve_calls(self, stack: AsyncExitStack) -> AttachServer | None:
        if not isinstance(self.driver, NetworkDriver):
            return None
        return await stack.enter_async_context(
            AttachServer(self.places.socket, self.calls, grace_s=CALLS_S, keeper=self.keeper)
        )

    def _is_busy(self) -> bool:
        return is_locked(self.places.journal)

    async def _open_journal(self, stack: AsyncExitStack) -> Journal:
        boot = boot_id()
        self.waits_for = f"waiting for {self.places.journal}, which another process holds"
        # A process that has worked before waits for a full disk to be over; a new one says so.
        worked = self.known.is_set()
        return await retry(
            "journal",
            lambda: stack.enter_async_context(open_journal(self.places.journal, boot)),
            backoff=STARTING,
            clock=self.clock,
            metrics=self.metrics,
            retried=(JournalError, JournalBusyError) if worked else (JournalBusyError,),
        )

    async def _node(self, journal: Journal) -> KnownNode:
        """The node from the journal, or else from the API server, which is waited for."""
        if journal.node is not None:
            return journal.node
        self.waits_for = f"waiting for the API server at {self.server}"
        return await self.watch.ask(journal)

    async def _work(
        self, journal: Journal, node: KnownNode, seat: Seat, server: AttachServer | None
    ) -> Path | None:
        """Work until another process asks for the seat, or the node was replaced.

        Returns where the other process serves kubelet.
        """
        self.driver.learn_objects(KubeObjects(self.api.client))
        self.driver.learn_node(node.facts)
        self.parts = parts = build(
            self.driver,
            self.settings,
            journal=journal,
            api=self.api,
            node_uid=node.uid,
            metrics=self.metrics,
            healths=self.healths,
            hooked=self.wait_hooked,
            retirement=self.retirement,
            clock=self.clock,
        )
        async with AsyncExitStack() as stack:
            group = await stack.enter_async_context(asyncio.TaskGroup())
            self._keep(group, "journal", journal.run)
            self._keep(group, "report", parts.reporter.run)
            self._keep(group, "publish", partial(self._publish, parts))
            self._keep(group, "discover", partial(self._discover, parts))
            self._keep(group, "collect", parts.collector.run)
            self._keep(group, "preflight", parts.preflight.run)
            if self.driver.class_labels:
                self._keep(group, "classes", partial(follow_classes, self.driver, self.api))
            if parts.network is not None:
                server = server or await self._serve_calls(stack)
                await self._engage_network(parts, parts.network, group, stack)
            self.claims.engage(parts.answers)
            self.leading = self._asked = True  # from now on it is others who are newer
            self.known.set()
            log.info("seat.taken", driver=self.driver.name)
            ends = [
                group.create_task(seat.wait_asked()),
                group.create_task(self.watch.follow(journal, node)),
            ]
            try:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await self._disengage(parts, seat.successor, server)
                self.retirement.end(journal.bookings, journal.leases)
                for task in (*self.running, *ends):
                    task.cancel()
                self.running.clear()
                self.parts = None
        return seat.successor

    def _keep(
        self, group: asyncio.TaskGroup, name: str, part: Callable[[], Awaitable[None]]
    ) -> None:
        """Run a part for the rest of the turn, and start it again when it fails."""
        kept = supervise(
            name,
            part,
            clock=self.clock,
            metrics=self.metrics,
            retried=PASSING,
            standing=self.standing,
        )
        self.running.append(group.create_task(kept, name=name))

    async def _publish(self, parts: Parts) -> None:
        """Publish until the driver retires; then kubelet removes the slices."""
        await race(parts.publisher.run(), self.retirement.wait())
        await asyncio.Event().wait()

    async def _discover(self, parts: Parts) -> None:
        """Follow the driver's devices, and begin anew when it has learned of dropped fields."""
        while True:
            following = follow_devices(self.driver, parts.offer, self.clock, self.standing)
            await race(following, parts.publisher.wait_outdated())

    async def _engage_network(
        self, parts: Parts, network: Network, group: asyncio.TaskGroup, stack: AsyncExitStack
    ) -> None:
        await asyncio.to_thread(put_program, self.places.program)
        await stack.enter_async_context(network.reconciler)
        self.hooks.engage(network.hooks)
        self.calls.engage(network.calls)
        self._keep(group, "repair", network.repairer.run)
        if self.settings.runtime_hook == "cni":
            self._keep(group, "list", partial(list_once, parts.runtime, network.sandboxes))
        if self.installer is not None:
            watching = self.settings.runtime_hook != "nri"
            keeping = partial(keep_installed, self.installer, watching=watching)
            self._keep(group, "runtime-hook", keeping)

    async def _disengage(
        self, parts: Parts, successor: Path | None, server: AttachServer | None
    ) -> None:
        """Take no more calls and let those under way end; the next turn repeats unfinished ones."""
        self.hooks.dismiss(passing=successor is not None)
        self.claims.dismiss(successor)
        if parts.network is None:
            return
        await let_end(self.hooks.wait_idle())
        if server is not None:
            await server.drain(CALLS_S)
        self.calls.engage(None)

    async def wait_hooked(self) -> None:
        """Return once the runtime would call the driver for a pod that starts, in either way.

        A runtime accepts a plugin only between its calls. A call that lasts must not keep kubelet
        from the driver while the other way is open.
        """
        ways = []
        if self.plugin is not None:
            ways.append(self.plugin.wait_connected())
        if self.settings.runtime_hook != "nri" and self.installer is not None:
            ways.append(self.installer.wait_installed())
        await race(*ways)
