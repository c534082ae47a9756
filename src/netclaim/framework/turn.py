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
from netclaim.errors import HostError
from netclaim.framework.clock import Clock
from netclaim.framework.contract import Driver, NetworkDriver
from netclaim.framework.discover import follow_devices
from netclaim.framework.journal import Journal, open_journal
from netclaim.framework.kube_api import ApiSource
from netclaim.framework.listing import list_once
from netclaim.framework.metrics import Metrics
from netclaim.framework.node_watch import NodeWatch
from netclaim.framework.parts import Network, Parts, build
from netclaim.framework.records import KnownNode
from netclaim.framework.relay import RelayedCalls, RelayedClaims, RelayedHooks
from netclaim.framework.retire import Retirement
from netclaim.framework.runtime_places import RuntimePlaces
from netclaim.framework.runtime_ways import (
    installer_for,
    keep_installed,
    put_program,
    wait_for_way,
)
from netclaim.framework.seat import Seat, ask_for_seat
from netclaim.framework.settings import Settings
from netclaim.framework.store import JournalBusyError, JournalError, is_locked
from netclaim.framework.supervise import PASSING, STARTING, Backoff, Standing, retry, supervise
from netclaim.kubelet import HealthBoard

__all__ = ["Turns"]

log = structlog.get_logger()

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
ASKING: Final = Backoff(first_s=1.0, max_s=15.0)  # a process that hangs is killed by kubelet
HOOKS_S: Final = 2.5  # the runtime's hooks are over by then
CALLS_S: Final = 5.0  # attaches that take longer are begun again by the next process
SIT_S: Final = 5.0  # the successor waits for nothing but the answer; it takes milliseconds
LINGER_S: Final = 3.0  # kubelet looks at its plugins once a second
SIT_LOOK_S: Final = 0.05


@dataclass(slots=True)
class Turns:
    """One process's turns, and what they share."""

    driver: Driver
    settings: Settings
    api: ApiSource
    server: str  # the API server's address
    metrics: Metrics
    healths: HealthBoard
    clock: Clock
    hooked: Callable[[], Awaitable[None]]  # whether the runtime's plugin interface has us
    own_socket: Path  # where this process serves kubelet
    hooks: RelayedHooks
    retirement: Retirement = field(default_factory=Retirement)
    claims: RelayedClaims = field(init=False)
    calls: RelayedCalls = field(default_factory=RelayedCalls)
    installer: Installer | None = field(init=False)
    watch: NodeWatch = field(init=False)
    standing: Standing = field(init=False)  # what is wrong with the parts
    running: list[asyncio.Task[None]] = field(default_factory=list)
    leading: bool = False
    waits_for: str = "starting"  # in words, while it is not leading
    _asked: bool = False  # whether this process had its chance to be the newer one
    _gave_s: float | None = None  # when the seat was given to a newer process
    _known: asyncio.Event = field(default_factory=asyncio.Event)
    _callable: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.claims = RelayedClaims(self.driver.name)
        self.installer = installer_for(self.driver, self.settings)
        self.standing = Standing(self.clock)
        self.watch = NodeWatch(
            self.driver,
            self.api,
            self.settings.node_name,
            server=self.server,
            clock=self.clock,
            metrics=self.metrics,
        )

    async def wait_known(self) -> None:
        """Return once it is known whether this process works, or another one does."""
        await self._known.wait()

    def note_callable(self) -> None:
        """Kubelet and the runtime can call this process, so it may ask for the seat."""
        self._callable.set()

    def note_settings(self) -> None:
        """The driver's settings have changed, and with them perhaps what it asks of the node."""
        self.watch.look_again()

    async def run(self) -> None:
        """Take one turn after another, until cancelled."""
        while True:
            await self._turn()

    async def _turn(self) -> None:
        seat = Seat(RuntimePlaces.of(self.settings, self.driver.name).seat)
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
        """Before this process ends: go on passing calls on until kubelet calls the newer one.

        Kubelet calls the newest that it is connected to, and connects a moment after it registers.
        """
        if self._gave_s is not None and not self.leading:
            await self.clock.sleep(max(0.0, self._gave_s + LINGER_S - self.clock.monotonic()))

    async def _let_sit(self) -> None:
        """Wait until the successor has the journal; one that died on the way is not waited for."""
        until_s = self.clock.monotonic() + SIT_S
        while not self._is_busy() and self.clock.monotonic() < until_s:
            await self.clock.sleep(SIT_LOOK_S)

    async def _take_seat(self, stack: AsyncExitStack) -> AttachServer | None:
        """Serve the chained plugin as soon as the seat is ours, or about to be."""
        if self.settings.instance and self._is_busy():
            self.hooks.dismiss(passing=True)
            self.waits_for = "another process of the driver is active"
            self._known.set()
            await self._callable.wait()
            if not self._asked:
                return await self._ask(stack)
        return None

    async def _ask(self, stack: AsyncExitStack) -> AttachServer | None:
        """Ask for the seat until it is given, or free; between attempts the other one works."""
        places = RuntimePlaces.of(self.settings, self.driver.name)
        for delay_s in ASKING.delays(self.clock):
            async with AsyncExitStack() as attempt:
                server = await self._serve_calls(attempt)
                self.hooks.await_engagement()
                if await ask_for_seat(places.seat, self.own_socket) or not self._is_busy():
                    stack.push_async_exit(attempt.pop_all())
                    return server
                self.hooks.dismiss(passing=True)
            await self.clock.sleep(delay_s)
        raise AssertionError("delays never end")

    async def _serve_calls(self, stack: AsyncExitStack) -> AttachServer | None:
        if not isinstance(self.driver, NetworkDriver):
            return None
        places = RuntimePlaces.of(self.settings, self.driver.name)
        return await stack.enter_async_context(
            AttachServer(places.socket, self.calls, grace_s=CALLS_S)
        )

    def _is_busy(self) -> bool:
        return is_locked(self._journal_path)

    @property
    def _journal_path(self) -> Path:
        return self.settings.state_dir / self.driver.name / "journal.db"

    async def _open_journal(self, stack: AsyncExitStack) -> Journal:
        boot_id = _boot_id()
        self.waits_for = f"waiting for {self._journal_path}, which another process holds"
        # A process that has worked before waits for a full disk to be over; a new one says so.
        worked = self._known.is_set()
        return await retry(
            "journal",
            lambda: stack.enter_async_context(open_journal(self._journal_path, boot_id)),
            backoff=STARTING,
            clock=self.clock,
            metrics=self.metrics,
            retried=(JournalError, JournalBusyError) if worked else (JournalBusyError,),
        )

    async def _node(self, journal: Journal) -> KnownNode:
        """The node as the journal knows it; else as the API server says, which is waited for."""
        if journal.node is not None:
            return journal.node
        self.waits_for = f"waiting for the API server at {self.server}"
        return await self.watch.ask(journal)

    async def _work(
        self, journal: Journal, node: KnownNode, seat: Seat, server: AttachServer | None
    ) -> Path | None:
        """Work until another process wants the seat (where that one serves), or for a new start."""
        self.driver.learn_node(node.facts)
        parts = build(
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
            if parts.network is not None:
                server = server or await self._serve_calls(stack)
                await self._engage_network(parts.network, group, stack)
            self.claims.engage(parts.answers)
            self.leading = self._asked = True  # from now on it is others who are newer
            self._known.set()
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
        return seat.successor

    def _keep(
        self, group: asyncio.TaskGroup, name: str, part: Callable[[], Awaitable[None]]
    ) -> None:
        """Run a part for the rest of the turn, and start it again when it fails."""
        kept = supervise(
            name,
            part,
            backoff=Backoff(),
            clock=self.clock,
            metrics=self.metrics,
            retried=PASSING,
            standing=self.standing,
        )
        self.running.append(group.create_task(kept, name=name))

    async def _publish(self, parts: Parts) -> None:
        """Publish until the driver retires; then kubelet removes the slices."""
        ended = asyncio.ensure_future(parts.publisher.run())
        retired = asyncio.ensure_future(self.retirement.wait())
        try:
            await asyncio.wait({ended, retired}, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                ended.result()
            await asyncio.Event().wait()
        finally:
            for task in (ended, retired):
                task.cancel()
            await asyncio.wait({ended, retired})

    async def _discover(self, parts: Parts) -> None:
        """Follow the driver's devices, and begin anew when it has learned what becomes of them."""
        while True:
            async with asyncio.TaskGroup() as group:
                following = group.create_task(
                    follow_devices(self.driver, parts.offer, self.clock, self.standing)
                )
                await parts.publisher.wait_outdated()
                following.cancel()

    async def _engage_network(
        self, network: Network, group: asyncio.TaskGroup, stack: AsyncExitStack
    ) -> None:
        await asyncio.to_thread(put_program, RuntimePlaces.of(self.settings, self.driver.name))
        await stack.enter_async_context(network.attaching)
        self.hooks.engage(network.hooks)
        self.calls.engage(network.calls)
        self._keep(group, "repair", network.repairer.run)
        if self.settings.runtime_hook == "cni":
            note = network.repairer.note_running
            self._keep(group, "list", partial(list_once, network.runtime, note))
        if self.installer is not None:
            watching = self.settings.runtime_hook != "nri"
            keeping = partial(keep_installed, self.installer, watching=watching)
            self._keep(group, "runtime-hook", keeping)

    async def _disengage(
        self, parts: Parts, successor: Path | None, server: AttachServer | None
    ) -> None:
        """Take no more calls, and let those under way end; what is not done is begun again."""
        self.hooks.dismiss(passing=successor is not None)
        self.claims.dismiss(successor)
        if parts.network is None:
            return
        try:
            async with asyncio.timeout(HOOKS_S):
                await self.hooks.wait_idle()
        except TimeoutError:
            log.warning("serve.hooks_cut")
        if server is not None:
            await server.drain(CALLS_S)
        self.calls.engage(None)

    async def wait_hooked(self) -> None:
        """Return once the runtime would tell us of a pod that starts, in one way or the other.

        A runtime accepts a plugin only between its calls; one that lasts must not keep kubelet from
        the driver while the other way is open.
        """
        await wait_for_way(self.settings, self.hooked, self.installer)


def _boot_id() -> str:
    try:
        return BOOT_ID.read_text().strip()
    except OSError as error:
        raise HostError(f"cannot read {BOOT_ID}: {error}") from error
