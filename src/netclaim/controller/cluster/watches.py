"""Follow what there is in the cluster, and keep only what is needed of it.

Promise: `wait_synced` returns once everything was listed; later changes are passed on one by one,
with what was known before, unless nothing changed of what is kept. Memory grows with the number of
objects, not with their size; see `slim`. If a kind is not served, NotServedError
ends it: the PodNetwork's definition is missing, for example.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Final, TypeAlias

from netclaim.controller.annotated.names import LABEL as FROM_ANNOTATION
from netclaim.controller.cluster.objects import ADDRESS_LEASES, ADDRESS_POOLS, POD_NETWORKS, Objects
from netclaim.controller.cluster.slim import (
    packed_slice,
    slim_annotated,
    slim_claim,
    slim_definition,
    slim_lease,
    slim_pod,
    slim_service,
    slim_template,
    whole,
    with_labels,
)
from netclaim.controller.services.spread import MANAGED_BY, MANAGER
from netclaim.controller.settings import ControllerSettings
from netclaim.convert.cluster import DEFINITIONS
from netclaim.kube import (
    NAMESPACES,
    NODES,
    PODS,
    NotFoundError,
    NotServedError,
    Pace,
    Reflector,
    Resource,
    Selection,
)
from netclaim.kube.resource import ENDPOINT_SLICES, SERVICES
from netclaim.kube.watch import Deleted, Key, Synced
from netclaim.model.claims.claim import JsonObject
from netclaim.network.devices.pool_device import LABEL as POOL_LABEL
from netclaim.network.pod_network import LABEL

Changed: TypeAlias = Callable[[str, JsonObject | None, JsonObject | None], None]
"""Called with the kind, the object as it was known, if it was, and as it is, unless it is gone."""

NOT_SERVED_S: Final = 10.0  # until it is looked again whether a kind is served
CHECKED_PAUSE_S: Final = 5.0  # at most between two attempts; templates are waited for by people
POOL_CLASS: Final = "PoolClass"  # the DeviceClasses of pools of addresses; see `pool_slices`
ANNOTATED: Final = "AnnotatedPod"  # pods with the label of `annotated`; others are not followed
DEFINITION: Final = "NetworkAttachmentDefinition"  # Multus' own kind, if it is installed


class Watches:
    """The stores of all kinds, by kind."""

    def __init__(self, objects: Objects, settings: ControllerSettings, changed: Changed) -> None:
        self._changed = changed
        client, pace = objects.client, Pace(longest_pause_s=CHECKED_PAUSE_S)

        def dra(kind: str, keep: Callable[[JsonObject], JsonObject], **select: str) -> Reflector:
            return Reflector(
                client,
                Selection(objects.resource(kind), **select),
                convert=lambda found: keep(objects.in_v1(kind, found)),
                pace=pace,
            )

        def plain(
            resource: Resource, keep: Callable[[JsonObject], JsonObject], **select: str
        ) -> Reflector:
            return Reflector(client, Selection(resource, **select), convert=keep, pace=pace)

        self._reflectors: dict[str, Reflector] = {
            ANNOTATED: plain(PODS, slim_annotated, labels=FROM_ANNOTATION),
            DEFINITION: plain(DEFINITIONS, slim_definition),
            "PodNetwork": plain(POD_NETWORKS, whole),
            "AddressPool": plain(ADDRESS_POOLS, whole),
            "AddressLease": plain(ADDRESS_LEASES, slim_lease),
            "Namespace": plain(NAMESPACES, with_labels),
            "Node": plain(NODES, with_labels),
            "DeviceClass": dra("DeviceClass", whole, labels=LABEL),
            POOL_CLASS: dra("DeviceClass", whole, labels=POOL_LABEL),
            "ResourceClaimTemplate": dra(
                "ResourceClaimTemplate", slim_template(settings.template_namespace)
            ),
            "ResourceClaim": dra("ResourceClaim", slim_claim),
            "ResourceSlice": dra(
                "ResourceSlice", packed_slice, fields=f"spec.driver={settings.driver_name}"
            ),
            "Service": plain(SERVICES, slim_service),
            "EndpointSlice": plain(ENDPOINT_SLICES, whole, labels=f"{MANAGED_BY}={MANAGER}"),
        }
        if settings.driver_namespace:
            self._reflectors["Pod"] = plain(
                PODS, slim_pod, namespace=settings.driver_namespace, labels=settings.driver_pods
            )
        self._changes: Counter[str] = Counter()
        self._synced: set[str] = set()
        self._all = asyncio.Event()

    def store(self, kind: str) -> Mapping[Key, JsonObject]:
        """The objects of a kind, by namespace and name."""
        return self._reflectors[kind].store

    def revision(self, *kinds: str) -> int:
        """A number that is another one after each change of objects of these kinds."""
        return sum(self._changes[kind] for kind in kinds)

    def faults(self) -> list[str]:
        """Why some kinds may be behind, in words."""
        return [f"{kind}: {r.fault}" for kind, r in self._reflectors.items() if r.fault is not None]

    async def wait_synced(self) -> None:
        """Return once every kind was listed."""
        await self._all.wait()

    async def run(self) -> None:
        """Follow everything until cancelled."""
        async with asyncio.TaskGroup() as group:
            for kind in self._reflectors:
                group.create_task(self._follow(kind))

    async def _follow(self, kind: str) -> None:
        while True:
            try:
                await self._follow_served(kind)
            except NotFoundError as error:
                if kind != DEFINITION:
                    raise NotServedError(self._not_served(kind)) from error
                self._listed(kind)
            await asyncio.sleep(NOT_SERVED_S)

    def _not_served(self, kind: str) -> str:
        resource = self._reflectors[kind].selection.resource
        return (
            f"the cluster does not serve {resource.plural} of {resource.api_version}; if the"
            " definition was deleted, `helm upgrade` installs it again"
        )

    async def _follow_served(self, kind: str) -> None:
        known: dict[Key, JsonObject] = {}
        async with aclosing(self._reflectors[kind].changes()) as changes:
            async for change in changes:
                if isinstance(change, Synced):
                    now = dict(self._reflectors[kind].store)
                    for key in known.keys() | now.keys():
                        self._tell(kind, known.get(key), now.get(key))
                    known = now
                    self._listed(kind)
                    continue
                key = _key(change.object)
                before = known.pop(key, None)
                if isinstance(change, Deleted):
                    self._tell(kind, before, None)
                else:
                    known[key] = change.object
                    self._tell(kind, before, change.object)

    def _listed(self, kind: str) -> None:
        self._synced.add(kind)
        if len(self._synced) == len(self._reflectors):
            self._all.set()

    def _tell(self, kind: str, before: JsonObject | None, now: JsonObject | None) -> None:
        """Pass a change on. A node, for example, changes all the time in what is not kept."""
        if before is None or now is None or _without_version(before) != _without_version(now):
            self._changes[kind] += 1
            self._changed(kind, before, now)


def _without_version(found: JsonObject) -> JsonObject:
    meta = {key: value for key, value in found["metadata"].items() if key != "resourceVersion"}
    return {**found, "metadata": meta}


def _key(found: JsonObject) -> Key:
    meta = found["metadata"]
    return meta.get("namespace", ""), meta["name"]
