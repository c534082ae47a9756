"""A network's status, and the end of one that was deleted.

Promise: a status is written only when it differs from what there is, also while the watch is behind
with the last one. What the status says of a network's objects is what `keep` found at its last
look, so a report comes after a look, and never of an earlier spec. Nobody waits for a report: it
must not come before a namespace's templates. A report costs what the network's own claims cost, and
others have their turn meanwhile.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec
import structlog

from netclaim.controller.cluster.objects import MANAGER, POD_NETWORKS, Objects
from netclaim.controller.cluster.watches import Watches
from netclaim.controller.networks.available import Available
from netclaim.controller.networks.claims import ClaimsByNetwork
from netclaim.controller.networks.objects import FINALIZER
from netclaim.controller.networks.wanted import (
    Use,
    Uses,
    allowed_namespaces,
    status_of,
    with_times,
)
from netclaim.errors import NetclaimError
from netclaim.model.api.base import ObjectError
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.api.own_kinds.pod_network import PodNetwork, PodNetworkStatus
from netclaim.model.claims.claim import JsonObject
from netclaim.network.pod_network import pool_of_network

log = structlog.get_logger(__name__)

STEP: Final = 200  # claims, which take a millisecond; then others have their turn
SAID_MAX: Final = 3  # namespaces that a message names
ITS_CLASS: Final = ""  # among what failed, beside the namespaces: a class is in none


@dataclass(frozen=True, slots=True)
class Look:
    """What there was at the last look at a network's objects."""

    uid: str
    generation: int
    ending: bool
    mistake: str = ""
    taken: tuple[str, ...] = ()  # the class, by somebody else
    passed_over: tuple[str, ...] = ()  # templates of others, each in a namespace of theirs
    failed: Mapping[str, NetclaimError] = field(default_factory=dict)
    template: JsonObject | None = None  # what namespaces get; None: the network is not offered

    def is_of(self, network: PodNetwork) -> bool:
        """Whether the network is still as it was."""
        meta = network.metadata
        now = (meta.uid, meta.generation, network.is_ending)
        return (self.uid, self.generation, self.ending) == now


class Reports:
    """Writes the status of networks."""

    def __init__(
        self,
        objects: Objects,
        watches: Watches,
        driver: str,
        claims: ClaimsByNetwork,
        now: Callable[[], datetime],
    ) -> None:
        self._objects = objects
        self._watches = watches
        self._driver = driver
        self._now = now
        self._available = Available(driver)
        self._claims = claims
        self._written: dict[str, tuple[str, PodNetworkStatus]] = {}  # with the network's UID

    async def report(self, network: PodNetwork, look: Look) -> None:
        """Write a network's status; let it go, if it was deleted and nobody uses it."""
        use = await self._use(network.name)
        if network.is_ending and not use.claims and ITS_CLASS not in look.failed:
            await self.release(network)
            log.info("network.gone", network=network.name)
            return
        nodes = self._available.of(
            network,
            self._watches.revision("Node", "ResourceSlice"),
            [node for _, node in self._watches.store("Node")],
            self._watches.store("ResourceSlice").values(),
        )
        there = 0
        if look.template is not None:
            namespaces = self._watches.store("Namespace").values()
            there = len(allowed_namespaces(network, namespaces))
        said = [
            f"namespace {where}: {error}" if where != ITS_CLASS else f"its DeviceClass: {error}"
            for where, error in look.failed.items()
        ]
        pool = pool_of_network(network)
        status = status_of(
            network,
            mistake=look.mistake,
            taken="; ".join(look.taken),
            no_pool="" if ("", pool) in self._watches.store("AddressPool") else pool,
            passed_over="; ".join([*look.passed_over, *said][:SAID_MAX]),
            nodes=nodes,
            namespaces=max(0, there - len(look.passed_over) - len(look.failed)),
            use=use,
        )
        await self._write(network, status)

    def is_written(self, network: PodNetwork) -> bool:
        """Whether a network's status is what was written last."""
        uid, status = self._written.get(network.name, ("", None))
        return (uid, status) == (network.metadata.uid, network.status)

    def forget(self, name: str) -> None:
        """Forget a network that is gone."""
        self._available.forget(name)
        self._written.pop(name, None)

    async def release(self, network: PodNetwork) -> None:
        """Let a network that was deleted go, as far as this controller is concerned."""
        left = tuple(one for one in network.metadata.finalizers if one != FINALIZER)
        await self.set_finalizers(network, left)

    async def set_finalizers(self, network: PodNetwork, finalizers: tuple[str, ...]) -> None:
        """Replace a network's finalizers, unless it has changed meanwhile."""
        meta = network.metadata
        patch = {
            "metadata": {
                "uid": meta.uid,
                "resourceVersion": meta.resource_version,
                "finalizers": list(finalizers) or None,
            }
        }
        await self._objects.client.patch(POD_NETWORKS, network.name, patch, field_manager=MANAGER)

    async def _use(self, name: str) -> Use:
        uses, store = Uses(name, self._driver), self._watches.store("ResourceClaim")
        for number, key in enumerate(self._claims.of(name)):
            if number % STEP == 0:
                await asyncio.sleep(0)
            if (found := store.get(key)) is None:
                continue
            try:
                uses.add(ResourceClaim.read(found))
            except ObjectError:  # of a later version of the API; nobody else's network stops
                continue
        return uses.use()

    async def _write(self, network: PodNetwork, status: Any) -> None:
        uid, last = self._written.get(network.name, ("", None))
        if last is None or uid != network.metadata.uid:
            last = network.status
        before = {each.type: each for each in last.conditions}
        now = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
        status = msgspec.structs.replace(status, conditions=tuple(with_times(status, before, now)))
        self._written[network.name] = network.metadata.uid, status
        if not status == last == network.status:
            said = {**dict.fromkeys(("users", "nodes")), **msgspec.to_builtins(status)}
            for count in ("nodesAvailable", "namespaces", "interfaces", "pods"):
                said.setdefault(count, 0)
            patch = {"metadata": {"uid": network.metadata.uid}, "status": said}
            await self._objects.client.patch(
                POD_NETWORKS, network.name, patch, subresource="status", field_manager=MANAGER
            )
