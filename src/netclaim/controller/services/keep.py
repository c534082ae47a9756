"""Services that name a network: keep their EndpointSlices, and say at each what is wrong with it.

Promise: `changed` is cheap, and what it notes is done `BATCH_S` later, so that a burst of pods
costs a write for each slice and batch, not for each pod. Namespaces take turns, one Service at a
time: a tenant with many Services or pods waits for themselves. The slices of a Service that is
gone, or names no network any more, are deleted, also after a restart.
"""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Final

import structlog

from netclaim.controller.cluster.events import Events
from netclaim.controller.cluster.objects import Objects
from netclaim.controller.cluster.watches import CHECKED_PAUSE_S, Watches
from netclaim.controller.pacing.queue import FIRST_PAUSE_S, LONGEST_PAUSE_S, WorkQueue
from netclaim.controller.services.complaints import Complaints
from netclaim.controller.services.endpoints import (
    Endpoint,
    Guard,
    endpoints_of,
    refused_addresses,
)
from netclaim.controller.services.interfaces import Interface, Interfaces
from netclaim.controller.services.pods import ServicePods
from netclaim.controller.services.spread import SERVICE_NAME, Writes, spread
from netclaim.controller.services.write import Key, SliceWriter
from netclaim.framework.telemetry.logs import explain
from netclaim.kube import Pace
from netclaim.model.api.base import ObjectError
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.api.service import Service
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import show
from netclaim.pauses import pause_after_s
from netclaim.schema.network_service import NetworkService, network_service

log = structlog.get_logger(__name__)

BATCH_S: Final = 0.2  # pods of a rollout come together; well below the second that is promised
SERVICES_MAX: Final = 100  # of networks in a namespace; each change of a pod looks at all of them
SHOWN_MAX: Final = 3  # addresses in an event
ZONE: Final = "topology.kubernetes.io/zone"


class Services:
    """The controller of Services that name a network."""

    def __init__(
        self,
        objects: Objects,
        watches: Watches,
        driver: str,
        events: Events,
    ) -> None:
        self._watches = watches
        self._writer = SliceWriter(objects.client)
        self._complaints = Complaints(events)
        self._interfaces = Interfaces(driver)
        self._pods = ServicePods(
            objects.client, Pace(longest_pause_s=CHECKED_PAUSE_S), self._pods_changed
        )
        self._named: dict[str, dict[str, tuple[Service, NetworkService]]] = {}  # by namespace
        self._slices: dict[Key, dict[str, JsonObject]] = {}
        self._turns: WorkQueue[str] = WorkQueue()  # of namespaces
        self._due: dict[str, dict[str, None]] = {}  # Services to look at, by namespace
        self._failures: dict[Key, int] = {}
        self._counts: dict[Key, int] = {}

    @property
    def count(self) -> int:
        """How many Services name a network."""
        return sum(map(len, self._named.values()))

    @property
    def endpoints(self) -> int:
        """How many endpoints they have."""
        return sum(self._counts.values())

    @property
    def writes(self) -> int:
        """How many slices were written or deleted."""
        return self._writer.count

    @property
    def failing(self) -> int:
        """How many Services could not be served."""
        return len(self._failures)

    def faults(self) -> list[str]:
        """Why endpoints may be behind, in words."""
        return self._pods.faults()

    def begin(self) -> None:
        """Note everything that there is, once it was listed."""
        for kind in ("ResourceClaim", "Service", "EndpointSlice"):
            for found in self._watches.store(kind).values():
                self.changed(kind, None, found)

    def changed(self, kind: str, before: JsonObject | None, now: JsonObject | None) -> None:
        """Note a change, and have the Services looked at that it concerns."""
        found = now or before
        assert found is not None
        match kind:
            case "ResourceClaim":
                for namespace, network in self._interfaces.changed(before, now):
                    self._add_of(namespace, network)
            case "Service":
                self._service_changed(found["metadata"], now)
            case "EndpointSlice":
                self._slice_changed(found["metadata"], now)
            case "PodNetwork":
                for namespace in self._named:
                    self._add_of(namespace, found["metadata"]["name"])

    async def run(self) -> None:
        """Keep slices until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pods.run())
                group.create_task(self._work())
        finally:
            self._turns.close()

    def _service_changed(self, meta: JsonObject, now: JsonObject | None) -> None:
        namespace, name = meta["namespace"], meta["name"]
        there = self._named.get(namespace, {})
        known = there.pop(name, None)
        read = _read(now) if now is not None else None
        if read is not None:
            self._named.setdefault(namespace, there)[name] = read
        elif not there:
            self._named.pop(namespace, None)
        if known is not None and read is None:
            self._complaints.forget((namespace, name))
            for other in there:  # one more of them may be served now
                self._add(namespace, other)
        if known is not None or read is not None or (namespace, name) in self._slices:
            self._add(namespace, name)
            self._pods.follow(self._named)

    def _slice_changed(self, meta: JsonObject, now: JsonObject | None) -> None:
        key = meta["namespace"], meta["labels"].get(SERVICE_NAME, "")
        there = self._slices.setdefault(key, {})
        if now is not None:
            there[meta["name"]] = now
        else:
            there.pop(meta["name"], None)
        if not there:
            del self._slices[key]
        self._add(*key)

    def _pods_changed(self, namespace: str) -> None:
        for name in self._named.get(namespace, ()):
            self._add(namespace, name)

    def _add_of(self, namespace: str, network: str) -> None:
        for name, (_, named) in self._named.get(namespace, {}).items():
            if named.network == network:
                self._add(namespace, name)

    def _add(self, namespace: str, name: str) -> None:
        self._due.setdefault(namespace, {})[name] = None
        self._turns.add_later(namespace, BATCH_S)

    async def _work(self) -> None:
        while True:
            namespace = await self._turns.take()
            due = self._due[namespace]
            name = next(iter(due))
            del due[name]
            if due:
                self._turns.add(namespace)  # behind the others
            else:
                del self._due[namespace]
            try:
                await self._reconcile((namespace, name))
            except Exception as error:  # noqa: BLE001 (of this Service; the others have their turn)
                self._failed((namespace, name), error)
            else:
                self._failures.pop((namespace, name), None)

    def _failed(self, key: Key, error: Exception) -> None:
        count = self._failures[key] = self._failures.get(key, 0) + 1
        pause_s = pause_after_s(count, first_s=FIRST_PAUSE_S, longest_s=LONGEST_PAUSE_S)
        asyncio.get_running_loop().call_later(pause_s, self._add, *key)
        namespace, name = key
        where = {"namespace": namespace, "service": name, "pause_s": pause_s}
        explain("service.failed", error, **where)

    async def _reconcile(self, key: Key) -> None:
        """Make the slices of a Service what they should be."""
        namespace, name = key
        live = list(self._slices.get(key, {}).values())
        found = self._named.get(namespace, {}).get(name)
        if found is None:
            self._counts.pop(key, None)
            await self._writer.write(key, Writes((), (), tuple(live)))
            return
        pods = self._pods.of(namespace)
        if pods is None:
            return  # comes again when they are listed
        service, named = found
        network = self._network(named.network)
        said = dict(self._warnings(key, named, network))
        endpoints: list[Endpoint] = []
        if network is not None and not named.faults and "TooManyNetworkServices" not in said:
            guard = Guard(network)
            chosen = list(self._chosen(namespace, named, pods.values()))
            endpoints = list(endpoints_of(service, chosen, guard, self._zone_of))
            if addresses := _refused(chosen, guard):
                said["AddressNotPublished"] = (
                    f"{addresses}: in no range of the network {named.network}, whose pods may "
                    "choose their addresses; write its subnets into spec.ipam of the PodNetwork"
                )
        self._counts[key] = len(endpoints)
        foreign = self._writer.foreign_in(namespace)
        await self._writer.write(key, spread(service, live, endpoints, foreign))
        if (whole := self._watches.store("Service").get(key)) is not None:
            await self._complaints.say(whole, said)

    def _chosen(
        self, namespace: str, named: NetworkService, pods: Iterable[JsonObject]
    ) -> Iterator[tuple[JsonObject, list[Interface]]]:
        for pod in pods:
            meta = pod["metadata"]
            own = list(self._interfaces.of((namespace, meta["uid"]), named.network))
            if own and named.selects(meta.get("labels", {})):
                yield pod, own

    def _network(self, name: str) -> PodNetwork | None:
        found = self._watches.store("PodNetwork").get(("", name))
        network = PodNetwork.read(found) if found is not None else None
        return network if network is not None and network.is_ours else None

    def _zone_of(self, node: str) -> str:
        found = self._watches.store("Node").get(("", node))
        zone: str = found["metadata"].get("labels", {}).get(ZONE, "") if found is not None else ""
        return zone

    def _warnings(
        self, key: Key, named: NetworkService, network: PodNetwork | None
    ) -> Iterator[tuple[str, str]]:
        namespace, name = key
        if named.faults:
            yield (
                "NetworkServiceInvalid",
                "; ".join(f"{show(each.path)}: {each.message}" for each in named.faults),
            )
        elif network is None:
            yield "NetworkNotFound", f"there is no PodNetwork {named.network}"
        if list(self._named[namespace]).index(name) >= SERVICES_MAX:
            text = f"only {SERVICES_MAX} Services of a namespace may name networks"
            yield "TooManyNetworkServices", text
        if named.doubt:
            yield "ClusterIPUnreachable", named.doubt


def _read(found: JsonObject) -> tuple[Service, NetworkService] | None:
    """A Service that names a network; None for any other."""
    if "spec" not in found:
        return None
    try:
        service = Service.read(found)
    except ObjectError:
        return None
    named = network_service(service)
    return (service, named) if named is not None else None


def _refused(chosen: Iterable[tuple[JsonObject, list[Interface]]], guard: Guard) -> str:
    """Some of the addresses that are not published, with their pods."""
    found: list[str] = []
    for pod, interfaces in chosen:
        for address in refused_addresses(interfaces, guard):
            found.append(f"{address} of pod {pod['metadata']['name']}")
            if len(found) > SHOWN_MAX:
                return ", ".join([*found[:SHOWN_MAX], "and others"])
    return ", ".join(found)
