"""The controller's parts put together: watches, a queue, and one worker that empties it.

Promise: nothing is judged before everything was listed once. What fails, for whatever reason, is
tried again with growing pauses, and keeps nothing else waiting. Everything runs below one task
group, and ends when it is cancelled. A further loop, such as one that releases what nobody uses, is
a task beside `nudge.run` in `run`, and hears of changes in `_changed`.
"""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final

import structlog

from netclaim.controller.annotated.networks import TrustedNetworks, is_made_of_definition
from netclaim.controller.annotated.pods import AnnotatedPods
from netclaim.controller.annotated.readings import Readings
from netclaim.controller.cluster.events import Events
from netclaim.controller.cluster.objects import Objects
from netclaim.controller.cluster.watches import DEFINITION, POOL_CLASS, Watches
from netclaim.controller.duplicates import DuplicateAddresses
from netclaim.controller.networks.keep import Networks
from netclaim.controller.networks.objects import differ_in_status, network_name
from netclaim.controller.pacing.keys import (
    DEFINITIONS,
    LEARN,
    NAMESPACE,
    POOL,
    RANKS,
    REPORT,
    STAMP,
    networks_of,
    rank,
)
from netclaim.controller.pacing.queue import WorkQueue
from netclaim.controller.pacing.rounds import Rounds
from netclaim.controller.pools.judge import Pools
from netclaim.controller.pools.slices import PoolSlices
from netclaim.controller.pools.sweep import LeaseSweep
from netclaim.controller.services.keep import Services
from netclaim.controller.settings import ControllerSettings
from netclaim.controller.stamp import Stamp
from netclaim.controller.waiting_pods.evictions import Evictions
from netclaim.controller.waiting_pods.lost import LostInterfaces
from netclaim.controller.waiting_pods.nudge import Nudge
from netclaim.controller.waiting_pods.refused import GRACE_S, RefusedClaims
from netclaim.framework.telemetry.logs import explain
from netclaim.kube import Client
from netclaim.model.api.own_kinds.address_pool import AddressPoolStatus
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.counted_pool import pool_of
from netclaim.network.devices.pool_device import LABEL as POOL_LABEL

log = structlog.get_logger(__name__)

SOON_S: Final = 0.5  # slices and claims come in bursts, and only the status depends on them
AGAIN_S: Final = 300.0  # for what no watch shows
COUNTED_S: Final = 2.0  # leases come in bursts as well, and only a pool's counts depend on them


class Controller:
    """The controller of one cluster. `run` may be called once."""

    def __init__(self, objects: Objects, settings: ControllerSettings) -> None:
        self._queue: WorkQueue[str] = WorkQueue(rank, RANKS)
        self._watches = Watches(objects, settings, self._changed)
        driver, counted = settings.driver_name, settings.count_addresses
        self._networks = Networks(objects, self._watches, driver, counts=self._counts)
        self._stamp = Stamp(objects, self._watches, settings.template_namespace)
        self._pools = Pools(objects, self._watches)
        self._pool_slices = PoolSlices(objects, self._watches, driver, self._pools, wanted=counted)
        self._sweep = LeaseSweep(objects, self._watches)
        self._nudge = Nudge(objects, self._watches, settings.driver_name)
        events = Events(objects.client, settings.identity)
        client = objects.client
        self._refused = Evictions(client, RefusedClaims(driver), events, rounds=Rounds(GRACE_S))
        lost = LostInterfaces(driver, lambda: self._watches.store("PodNetwork"))
        self._lost = Evictions(client, lost, events)
        self._services = Services(objects, self._watches, settings.driver_name, events)
        readings = Readings()
        self._annotated = AnnotatedPods(
            objects,
            self._watches,
            settings,
            events=events,
            readings=readings,
            counts=self._counts,
        )
        self._trusted = TrustedNetworks(objects, self._watches, settings, events, readings)
        self._duplicates = DuplicateAddresses(self._watches)
        self._synced = False
        self._failing: dict[str, str] = {}

    @classmethod
    async def of(cls, client: Client, settings: ControllerSettings) -> "Controller":
        """The controller of the cluster that a client speaks to."""
        return cls(await Objects.negotiated(client), settings)

    @property
    def nudges(self) -> int:
        """How many pods were nudged."""
        return self._nudge.count

    @property
    def services(self) -> Services:
        """The part that keeps the endpoints of networks."""
        return self._services

    @property
    def waiting(self) -> int:
        """How many things wait to be looked at."""
        return len(self._queue)

    @property
    def failing(self) -> int:
        """How many things could not be done."""
        return len(self._failing) + self._services.failing

    @property
    def annotated_waiting(self) -> int:
        """How many pods cannot have what their annotation asks for."""
        return self._annotated.waiting

    @property
    def networks(self) -> int:
        """How many networks there are."""
        return len(self._networks.names()) if self._synced else 0

    def pools(self) -> Iterator[tuple[str, AddressPoolStatus]]:
        """How full each pool of addresses is."""
        return self._pools.statuses() if self._synced else iter(())

    @property
    def duplicates(self) -> int:
        """How many addresses several pods have on one network."""
        return self._duplicates.count

    @property
    def uncollected(self) -> int:
        """How many leases nobody has and could not be deleted."""
        return self._sweep.failing

    def not_ready(self) -> str:
        """What is missing, in words; empty if nothing is."""
        if not self._synced:
            return "; ".join(self._watches.faults()) or "the cluster's objects are being listed"
        return "; ".join((*self._watches.faults(), *self._services.faults()))

    @property
    def works(self) -> bool:
        """Whether it has listed everything; it does nothing before, nor without the right to."""
        return self._synced

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._watches.run())
                await self._watches.wait_synced()
                self._synced = True
                self._networks.begin()
                self._pools.begin()
                self._pool_slices.begin()
                self._queue.add(LEARN)
                self._add_networks_and_pools()
                self._queue.add(STAMP)
                self._queue.add(DEFINITIONS)
                for claim in self._watches.store("ResourceClaim").values():
                    self._refused.changed("ResourceClaim", None, claim)
                    self._lost.changed("ResourceClaim", None, claim)
                self._duplicates.begin()
                self._services.begin()
                group.create_task(self._nudge.run())
                group.create_task(self._services.run())
                group.create_task(self._refused.run())
                group.create_task(self._lost.run())
                group.create_task(self._annotated.run())
                group.create_task(self._sweep.run())
                group.create_task(self._work())
                group.create_task(self._look_again())
        finally:
            self._queue.close()

    async def _work(self) -> None:
        while True:
            key = await self._queue.take()
            try:
                await self._look(key)
            except Exception as error:  # noqa: BLE001 (of this key; the others have their turn)
                pause_s = self._queue.failed(key)
                self._failing[key] = explain(
                    "reconcile.failed", error, network=key, pause_s=pause_s
                )
            else:
                self._queue.done(key)
                self._failing.pop(key, None)

    async def _look(self, key: str) -> None:
        """Make of what a key stands for what should be."""
        if key == LEARN:
            await self._learn()
        elif key == STAMP:
            await self._stamp.reconcile()
        elif key == DEFINITIONS:
            await self._trusted.reconcile()
        elif key.startswith(POOL):
            await self._pools.reconcile(key.removeprefix(POOL))
            await self._pool_slices.reconcile(key.removeprefix(POOL))
        elif key.startswith(NAMESPACE):
            self._add(await self._networks.reconcile_namespace(key.removeprefix(NAMESPACE)))
        elif key.startswith(REPORT):
            await self._networks.report(key.removeprefix(REPORT))
        else:
            await self._network(key)

    async def _network(self, name: str) -> None:
        try:
            await self._networks.reconcile(name)
        finally:
            self._queue.add(REPORT + name)  # it says what could not be done, too

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(AGAIN_S)
            self._queue.add(LEARN)  # the API server may be another one by now
            self._add_networks_and_pools()

    def _add_networks_and_pools(self) -> None:
        self._add(self._networks.names())
        self._add(map(POOL.__add__, self._pool_slices.names()))

    async def _learn(self) -> None:
        if await self._pool_slices.learn():
            self._add_networks_and_pools()

    def _counts(self) -> bool:
        """Whether templates may ask for an address of a pool."""
        return self._pool_slices.offered

    def _add(self, names: Iterable[str]) -> None:
        for name in names:
            self._queue.add(name)

    def _changed(self, kind: str, before: JsonObject | None, now: JsonObject | None) -> None:
        """Have every part note a change; one that cannot read an object stops nobody else."""
        if not self._synced:
            return
        for part in (
            self._nudge.changed,
            self._refused.changed,
            self._lost.changed,
            self._services.changed,
            self._annotated.changed,
            self._duplicates.changed,
            self._note,
        ):
            try:
                part(kind, before, now)
            except Exception as error:  # noqa: BLE001 (logged; what follows from it comes later)
                name = (now or before or {})["metadata"]["name"]
                explain("change.failed", error, kind=kind, object=name)

    def _note(self, kind: str, before: JsonObject | None, now: JsonObject | None) -> None:
        """Note what has to be looked at after a change."""
        found = now or before
        assert found is not None
        if kind == DEFINITION and self._trusted.concerns(found):
            self._queue.add(DEFINITIONS)
        if not self._pool_changed(kind, before, now):
            self._others_changed(kind, found, before, now)

    def _others_changed(
        self, kind: str, found: JsonObject, before: JsonObject | None, now: JsonObject | None
    ) -> None:
        """A network, or what one is made of, or who uses it."""
        match kind:
            case "PodNetwork":
                self._network_changed(before, now)
            case "Namespace":
                self._queue.add(NAMESPACE + found["metadata"]["name"])
                self._queue.add(STAMP)
                self._soon(self._networks.names())  # the status counts namespaces
            case "DeviceClass" | "ResourceClaimTemplate":
                self._made_changed(kind, before, now)
            case "ResourceClaim":
                self._networks.claim_changed(before, now)
                self._recount(self._pool_slices.claim_changed(before, now))
                names = self._networks.names()
                states = (one for one in (before, now) if one is not None)
                self._soon(set().union(*(networks_of(one, names) for one in states)))
            case "ResourceSlice" | "Node":
                self._soon(self._networks.names())

    def _network_changed(self, before: JsonObject | None, now: JsonObject | None) -> None:
        """A network; each of the controller's own reports is a change as well."""
        found = now or before
        assert found is not None
        if before is not None and now is not None and differ_in_status(before, now):
            if not self._networks.is_reported(now):  # somebody else wrote it
                self._soon([now["metadata"]["name"]])
            return
        if is_made_of_definition(found):
            self._queue.add(DEFINITIONS)
        self._queue.add(found["metadata"]["name"])

    def _made_changed(self, kind: str, before: JsonObject | None, now: JsonObject | None) -> None:
        """A class or a template: a network's, which may be what it should be, or somebody's."""
        states = [one for one in (now, before) if one is not None]
        name = states[0]["metadata"]["name"]  # what belongs to a network has its name
        if name in map(network_name, states):
            if now is None or not self._networks.is_kept(kind, now, name):
                self._look_at(kind, name)
        elif now is None and ("", name) in self._watches.store("PodNetwork"):
            self._look_at(kind, name)  # it stood in the network's way
        if kind == "ResourceClaimTemplate" and any(map(self._stamp.concerns, states)):
            self._queue.add(STAMP)

    def _look_at(self, kind: str, network: str) -> None:
        """Look at a network; soon if it is for a template, which tenants can write all the time."""
        if kind == "ResourceClaimTemplate":
            self._queue.add_later(network, SOON_S)
        else:
            self._queue.add(network)

    def _pool_changed(self, kind: str, before: JsonObject | None, now: JsonObject | None) -> bool:
        """Note a pool, one of its addresses, or what counts them; returns whether it is one."""
        found = now or before
        assert found is not None
        if kind == "AddressLease":
            names = {*self._pools.lease_changed(before, now)}
            self._recount(names | self._pool_slices.lease_changed(before, now))
        elif kind == "AddressPool":
            self._add(map(POOL.__add__, self._pools.pool_changed(before, now)))
            self._pool_slices.pool_changed(before, now)
            self._queue.add(POOL + found["metadata"]["name"])  # also of one that is gone
            if before is None or now is None:
                self._soon(self._networks.of_pool(found["metadata"]["name"]))
        elif kind == POOL_CLASS:
            self._queue.add(POOL + found["metadata"]["labels"][POOL_LABEL])
        elif kind == "ResourceSlice" and (name := pool_of(found["spec"]["pool"]["name"])):
            self._queue.add(POOL + name)
        else:
            return False
        return True

    def _recount(self, pools: Iterable[str]) -> None:
        """Have what the scheduler knows of pools looked at, and their status."""
        for name in pools:
            self._queue.add_later(POOL + name, COUNTED_S)

    def _soon(self, names: Iterable[str]) -> None:
        """Have the status of networks looked at."""
        there = set(self._networks.names())
        for name in names:
            if name in there:
                self._queue.add_later(REPORT + name, SOON_S)
