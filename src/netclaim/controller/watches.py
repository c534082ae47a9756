"""Follow what there is in the cluster, and keep only what is needed of it.

Promise: `wait_synced` returns once everything was listed; later changes are passed on one by one,
with what was known before, unless nothing changed of what is kept. Memory grows with the number of
claims, leases, namespaces and nodes, not with their size. If a kind is not served, NotFoundError
ends it: the PodNetwork's definition is missing, for example.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any, Final, TypeAlias

import msgspec

from netclaim.controller.annotated.names import ANNOTATION, POD_CLAIM, STATUS_ANNOTATION
from netclaim.controller.annotated.names import LABEL as FROM_ANNOTATION
from netclaim.controller.objects import ADDRESS_LEASES, ADDRESS_POOLS, POD_NETWORKS, Objects
from netclaim.controller.services.spread import MANAGED_BY, MANAGER
from netclaim.controller.settings import ControllerSettings
from netclaim.convert.cluster import DEFINITIONS
from netclaim.kube import (
    NAMESPACES,
    NODES,
    PODS,
    NotFoundError,
    Pace,
    Reflector,
    Resource,
    Selection,
)
from netclaim.kube.resource import ENDPOINT_SLICES, SERVICES
from netclaim.kube.watch import Deleted, Key, Synced
from netclaim.model.claim import JsonObject
from netclaim.network.devices.pool_device import LABEL as POOL_LABEL
from netclaim.network.pod_network import LABEL
from netclaim.schema.network_service import NETWORK, UPSTREAM_NAME
from netclaim.survey.claim_networks import brief

COPY_TO: Final = "cni.networking.x-k8s.io/copy-to"  # at a template that is copied; see `stamp`
COPY_OF: Final = "cni.networking.x-k8s.io/copy-of"  # at a copy: namespace/name of its original
Changed: TypeAlias = Callable[[str, JsonObject | None, JsonObject | None], None]
"""Called with the kind, the object as it was known, if it was, and as it is, unless it is gone."""

NOT_SERVED_S: Final = 10.0  # until it is looked again whether a kind is served
CHECKED_PAUSE_S: Final = 5.0  # at most between two attempts; templates are waited for by people
META: Final = (
    *("name", "namespace", "uid", "resourceVersion", "labels", "annotations"),
    *("ownerReferences", "deletionTimestamp"),
)
POOL_CLASS: Final = "PoolClass"  # the DeviceClasses of pools of addresses; see `pool_slices`
ANNOTATED: Final = "AnnotatedPod"  # pods with the label of `annotated`; others are not followed
DEFINITION: Final = "NetworkAttachmentDefinition"  # Multus' own kind, if it is installed
COPIED: Final = frozenset({COPY_TO, COPY_OF})
MIRRORED: Final = ("mtu", "routes", "pciAddress")  # see `annotated.mirror`
REQUEST: Final = ("name", "exactly", "firstAvailable")


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
            ANNOTATED: plain(PODS, _slim_annotated, labels=FROM_ANNOTATION),
            DEFINITION: plain(DEFINITIONS, _whole),
            "PodNetwork": plain(POD_NETWORKS, _whole),
            "AddressPool": plain(ADDRESS_POOLS, _whole),
            "AddressLease": plain(ADDRESS_LEASES, _slim_lease),
            "Namespace": plain(NAMESPACES, _meta_only),
            "Node": plain(NODES, _meta_only),
            "DeviceClass": dra("DeviceClass", _whole, labels=LABEL),
            POOL_CLASS: dra("DeviceClass", _whole, labels=POOL_LABEL),
            "ResourceClaimTemplate": dra("ResourceClaimTemplate", _slim_template),
            "ResourceClaim": dra("ResourceClaim", slim_claim),
            "ResourceSlice": dra(
                "ResourceSlice", packed_slice, fields=f"spec.driver={settings.driver_name}"
            ),
            "Service": plain(SERVICES, _slim_service),
            "EndpointSlice": plain(ENDPOINT_SLICES, _whole, labels=f"{MANAGED_BY}={MANAGER}"),
        }
        if settings.driver_namespace:
            self._reflectors["Pod"] = plain(
                PODS, _slim_pod, namespace=settings.driver_namespace, labels=settings.driver_pods
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
            except NotFoundError:
                if kind != DEFINITION:
                    raise
                self._listed(kind)
            await asyncio.sleep(NOT_SERVED_S)

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


def _whole(found: JsonObject) -> JsonObject:
    meta = {key: value for key, value in found["metadata"].items() if key != "managedFields"}
    return {**found, "metadata": meta}


def packed_slice(found: JsonObject) -> JsonObject:
    """Of a slice: whose it is, and its devices as text, which is a tenth of their size as objects.

    They are read only when they have changed; with thousands of nodes they would be most of the
    controller's memory.
    """
    spec = found["spec"]
    return {
        "metadata": _kept(found["metadata"], META[:4]),
        "spec": _kept(spec, ("driver", "nodeName", "pool")),
        "devices": msgspec.json.encode(spec.get("devices") or []),
    }


def unpacked_slice(found: JsonObject) -> JsonObject:
    """The slice with its devices again."""
    devices = msgspec.json.decode(found["devices"])
    return {"metadata": found["metadata"], "spec": {**found["spec"], "devices": devices}}


def _meta_only(found: JsonObject) -> JsonObject:
    return {"metadata": _kept(found["metadata"], (*META[:5], "deletionTimestamp"))}


def slim_claim(found: JsonObject) -> JsonObject:
    """Of a claim: its classes and devices, their networks, its pods, and what its drivers say."""
    devices = found.get("spec", {}).get("devices", {})
    status: dict[str, Any] = found.get("status", {})
    allocation = status.get("allocation")
    meta = found["metadata"]
    own = FROM_ANNOTATION in meta.get("labels", {})
    slim = _kept(status, ("reservedFor",))
    if allocation is not None:
        given = allocation.get("devices", {})
        config = [brief(each) for each in given.get("config", ())]
        results = list(given.get("results", ()))
        slim["allocation"] = {"devices": {"results": results, "config": config}}
    reports = [
        _kept(each, ("driver", "pool", "device", "shareID", "conditions", "networkData"))
        | _data(each.get("data"), own=own)
        for each in status.get("devices", ())
    ]
    return {
        "metadata": _kept(meta, META if own else META[:4]),
        "spec": {"devices": {"requests": [_slim(one) for one in devices.get("requests", ())]}},
        "status": {**slim, "devices": reports},
    }


def _data(data: Any, *, own: bool) -> JsonObject:
    """Of a driver's data: the network, its name servers, and the pods that share the claim.

    Of a claim that was made of an annotation also what is mirrored of its interfaces.
    """
    keys = ("podNetwork", "dns", "pods", *(MIRRORED if own else ()))
    kept = _kept(data, keys) if isinstance(data, dict) else {}
    return {"data": kept} if kept else {}


def _slim_annotated(found: JsonObject) -> JsonObject:
    """Of a pod with networks by annotation: these, what is reported of them, and its claim."""
    status: dict[str, Any] = found.get("status", {})
    meta = _kept(found["metadata"], META[:4])
    annotations = found["metadata"].get("annotations") or {}
    meta["annotations"] = _kept(annotations, (ANNOTATION, STATUS_ANNOTATION))
    claims = {
        each["name"]: each.get("resourceClaimName", "")
        for each in status.get("resourceClaimStatuses", ())
    }
    ended = status.get("phase") in ("Succeeded", "Failed")
    # The label alone, which anybody may write, asks for nothing.
    asks = any(each["name"] == POD_CLAIM for each in found["spec"].get("resourceClaims", ()))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "claim": claims.get(POD_CLAIM, ""),
        "done": ended or not asks or "deletionTimestamp" in found["metadata"],
    }


def _slim_template(found: JsonObject) -> JsonObject:
    """Of a template that nobody here made or copies: only that it is there."""
    meta = _kept(found["metadata"], META)
    kept = LABEL in meta.get("labels", {}) or COPIED & meta.get("annotations", {}).keys()
    return {"metadata": meta, "spec": found["spec"] if kept else {}}


def _slim_service(found: JsonObject) -> JsonObject:
    """Of a Service that names no network: only that it is there."""
    meta = _kept(found["metadata"], META)
    named = NETWORK in meta.get("annotations", {}) or UPSTREAM_NAME in meta.get("labels", {})
    if not named:
        return {"metadata": _kept(meta, META[:4])}
    return {"metadata": meta, "spec": found.get("spec", {})}


def _slim_lease(found: JsonObject) -> JsonObject:
    return {"metadata": _kept(found["metadata"], META[:4]), "spec": found["spec"]}


def _slim(request: JsonObject) -> JsonObject:
    return _kept(request, REQUEST)


def _slim_pod(found: JsonObject) -> JsonObject:
    conditions = found.get("status", {}).get("conditions", ())
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    node = found.get("spec", {}).get("nodeName", "")
    return {"metadata": _kept(found["metadata"], META[:4]), "node": node, "ready": ready}


def _kept(found: JsonObject, keys: tuple[str, ...]) -> JsonObject:
    return {key: found[key] for key in keys if key in found}
