"""AddressPools as devices of the cluster, so that the scheduler knows when one is full.

    ResourceSlice   addresses.media.DRIVER   for all nodes, with one device; see `pool_device`
    DeviceClass     addresses.media          what the requests of templates name

Promise: `reconcile` writes what differs, and a second call writes nothing. What the device has of
addresses is what requests for it can have; see `room`. A pool that is not to be used has a taint,
one that is gone neither slice nor class; what claims have of it stays theirs. Limit: this is a hint
for the scheduler, of which there may be two, and which may be a moment behind. The lease is the
truth.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import structlog

from netclaim.controller.cluster.objects import Objects
from netclaim.controller.cluster.slim import unpacked_slice
from netclaim.controller.cluster.watches import POOL_CLASS, Watches
from netclaim.controller.pools.judge import COUNT_MAX, Pools
from netclaim.controller.pools.room import Rooms
from netclaim.errors import RequestError
from netclaim.framework.publish.server_fields import dropped_fields, without_server_fields
from netclaim.kube import AlreadyExistsError, ConflictError, NotFoundError
from netclaim.model.api.base import ObjectError
from netclaim.model.api.dra.device_json import device_json
from netclaim.model.api.own_kinds.address_pool import KIND, AddressLease, AddressPool
from netclaim.model.api.own_kinds.pod_network import API_VERSION
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.counted_pool import class_name_of, pool_of, slice_pool_of
from netclaim.network.devices.pool_device import LABEL, pool_class, pool_device

log = structlog.get_logger(__name__)

SLICE: Final = "ResourceSlice"
CLASS: Final = "DeviceClass"
FULL: Final = "Full"  # why nobody may have an address; the other reasons are those of `Ready`
PROBE: Final = "no.pool"  # no AddressPool is called like this: their names have no dots


class PoolSlices:
    """Keeps slices and classes of pools, where the API server can."""

    def __init__(
        self, objects: Objects, watches: Watches, driver: str, pools: Pools, *, wanted: bool
    ) -> None:
        """`wanted` is what the admin has set."""
        self._objects = objects
        self._watches = watches
        self._driver = driver
        self._wanted = wanted
        self._kept = False  # by the API server, as far as is known
        self._stored: dict[str, tuple[list[JsonObject], list[JsonObject]]] = {}  # sent, returned
        self._pools = pools
        self._rooms = Rooms(driver, pools.specs, lambda: watches.store("ResourceClaim"))

    @property
    def offered(self) -> bool:
        """Whether pools are devices, so that templates may ask for them."""
        return self._wanted and self._kept

    def begin(self) -> None:
        """Count what there is, and take over what a controller before this one has found out.

        It has made slices, or not. Changes are passed on from now, behind those of the pools.
        """
        self._kept = any(True for _ in self._slices())
        for lease in self._watches.store("AddressLease").values():
            self.lease_changed(None, lease)

    async def learn(self) -> bool:
        """Find out whether the API server keeps what makes such a device; True if that is news.

        Only an object that it would store says so. Whatever else it answers is raised, and what was
        known stays: a refusal may pass, and pools that were withdrawn would let nobody start.
        """
        before = self.offered
        if self._wanted:
            self._kept = await self._is_kept()
        return before != self.offered

    def names(self) -> set[str]:
        """All pools that there are, or of which something is left."""
        pools = {name for _, name in self._watches.store(KIND)}
        slices = {pool_of(each["spec"]["pool"]["name"]) for each in self._slices()}
        classes = {_label(each) for each in self._watches.store(POOL_CLASS).values()}
        return (pools | slices | classes) - {""}

    def lease_changed(self, before: JsonObject | None, now: JsonObject | None) -> set[str]:
        """Note a lease; returns the pools that have another room by that."""
        lease = None
        with suppress(ObjectError):
            lease = AddressLease.read(now) if now is not None else None
        return self._rooms.lease_changed((now or before or {})["metadata"]["name"], lease)

    def claim_changed(self, before: JsonObject | None, now: JsonObject | None) -> set[str]:
        """Note a claim; returns the pools that have another room by that."""
        return self._rooms.claim_changed(before, now)

    def pool_changed(self, before: JsonObject | None, now: JsonObject | None) -> None:
        """Note a pool, with which others may have another room."""
        if before is None or now is None or before["spec"] != now["spec"]:
            self._rooms.pools_changed()

    async def reconcile(self, name: str) -> None:
        """Make the slice and the class of a pool what they should be."""
        found = self._watches.store(KIND).get(("", name))
        if found is None or not self.offered:
            await self._drop(name)
            return
        pool = AddressPool.read(found)
        await self._keep_class(pool)
        # Judged as it is now; what there is stays until then.
        if pool.ready is not None and name in self._pools.specs:
            await self._keep_slice(pool)

    async def _is_kept(self) -> bool:
        devices = [device_json(pool_device("probe", 1))]
        stored = await self._objects.dry_run(self._slice(PROBE, devices))
        returned = without_server_fields(stored["spec"].get("devices") or [])
        dropped = dropped_fields(devices, returned)
        if dropped:
            log.info("pool.not_counted", dropped=sorted(dropped))
        return not dropped

    async def _keep_class(self, pool: AddressPool) -> None:
        wanted = _owned(pool_class(pool.name, self._driver), pool)
        live = self._watches.store(POOL_CLASS).get(("", class_name_of(pool.name)))
        if live is None:
            live = await self._created(wanted, pool.name)
        if live is not None and (live["spec"], _owner(live)) != (wanted["spec"], _owner(wanted)):
            await self._objects.update(_over(live, wanted))

    async def _keep_slice(self, pool: AddressPool) -> None:
        device = self._device(pool)
        devices = [] if device is None else [device]
        wanted = _owned(self._slice(pool.name, devices), pool)
        name = wanted["metadata"]["name"]
        packed = self._watches.store(SLICE).get(("", name))
        live = unpacked_slice(packed) if packed is not None else None
        if live is None:
            live = await self._created(wanted, pool.name)
            if live is None:
                log.info("pool.counted", pool=pool.name, **_said(device))
                return
        there = without_server_fields(live["spec"].get("devices") or [])
        if there == devices or self._stored.get(name) == (devices, there):
            return
        stored = await self._objects.update(_over(live, wanted))
        returned = without_server_fields(stored["spec"].get("devices") or [])
        self._stored[name] = devices, returned
        log.info("pool.counted", pool=pool.name, **_said(device))

    async def _created(self, wanted: JsonObject, pool: str) -> JsonObject | None:
        """Create an object; or return what is there already, which the watch has not seen yet."""
        name = wanted["metadata"]["name"]
        try:
            await self._objects.create(wanted)
        except AlreadyExistsError as error:
            live = await self._objects.get(wanted["kind"], name)
            if _label(live) != pool:
                raise RequestError(
                    f"the {wanted['kind']} {name} belongs to somebody else"
                ) from error
            return live
        return None

    async def _drop(self, name: str) -> None:
        """Delete the slice and the class of a pool; claims that have a share of it keep it."""
        slices = [each for each in self._slices() if pool_of(each["spec"]["pool"]["name"]) == name]
        classes = [
            each for each in self._watches.store(POOL_CLASS).values() if _label(each) == name
        ]
        for kind, found in ((SLICE, slices), (CLASS, classes)):
            for live in found:
                try:
                    await self._objects.delete(kind, live)
                except (NotFoundError, ConflictError):  # gone, or changed: then it comes again
                    continue
                self._stored.pop(live["metadata"]["name"], None)
                log.info("pool.uncounted", pool=name, kind=kind)

    def _slices(self) -> Iterator[JsonObject]:
        for found in self._watches.store(SLICE).values():
            if pool_of(found["spec"]["pool"]["name"]):
                yield found

    def _device(self, pool: AddressPool) -> JsonObject | None:
        """The device of a pool; None if its ranges cannot be counted."""
        ready, spec = pool.ready, self._pools.specs[pool.name]
        assert ready is not None
        usable = ready.status == "True" and pool.spec.enabled
        unusable = "" if usable else ready.reason or "NotReady"
        if spec.fault:
            return None
        addresses = min(self._rooms.of(spec), COUNT_MAX)
        if addresses < 1:
            addresses, unusable = 1, unusable or FULL
        return device_json(pool_device(pool.name, addresses, unusable=unusable))

    def _slice(self, pool: str, devices: list[JsonObject]) -> JsonObject:
        counted = {"name": slice_pool_of(pool), "generation": 1, "resourceSliceCount": 1}
        name = f"{class_name_of(pool)}.{self._driver}"
        spec = {"driver": self._driver, "allNodes": True, "pool": counted, "devices": devices}
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": SLICE,
            "metadata": {"name": name, "labels": {LABEL: pool}},
            "spec": spec,
        }


def _owned(wanted: JsonObject, pool: AddressPool) -> JsonObject:
    owner = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": pool.name,
        "uid": pool.metadata.uid,
        "controller": True,
    }
    return {**wanted, "metadata": {**wanted["metadata"], "ownerReferences": [owner]}}


def _owner(found: JsonObject) -> list[str]:
    return [each["uid"] for each in found["metadata"].get("ownerReferences", ())]


def _over(live: JsonObject, wanted: JsonObject) -> JsonObject:
    """What is wanted, in the place of exactly this version of what is there."""
    same = {key: live["metadata"][key] for key in ("uid", "resourceVersion")}
    return {**wanted, "metadata": {**wanted["metadata"], **same}}


def _label(found: JsonObject) -> str:
    label: str = found["metadata"].get("labels", {}).get(LABEL, "")
    return label


def _said(device: JsonObject | None) -> JsonObject:
    if device is None:
        return {"addresses": 0}
    taints = [each["value"] for each in device["taints"] if "value" in each]
    return {"addresses": int(device["capacity"]["addresses"]["value"]), "unusable": "".join(taints)}
