"""Collect leases of addresses that nobody has any more.

Promise: a lease is collected when its claim is gone, or has not got the lease's device from the
lease's driver on its node; or when the device has other leases, and one of them is the address that
its pod reports. The API server has said so again a minute later; of a lease that is made anew
meanwhile the deletion fails. So nothing that lives is ever taken away, whichever release of the
chart it belongs to. What is to be kept for a replica is kept then. What cannot be collected keeps
nothing else from it. Limit: the drivers give leases back themselves, at once; what is collected
here is what they could not, and what somebody else leased with a node's token.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

import msgspec
import structlog

from netclaim.controller.cluster.objects import ADDRESS_LEASES, Objects
from netclaim.controller.cluster.watches import Watches
from netclaim.controller.pools.ipam_claims import IpamClaims
from netclaim.controller.pools.kept import KeptLeases
from netclaim.errors import NetclaimError
from netclaim.framework.telemetry.logs import explain
from netclaim.kube import ConflictError, NotFoundError
from netclaim.model.api.base import ObjectError
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.api.own_kinds.address_pool import AddressLease, held_device
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.address_space import IpAddress, address_from

log = structlog.get_logger(__name__)

SWEEP_S: Final = 15.0  # between two looks at all leases: a third of a second for 100,000
# A driver gives leases back when kubelet releases the claim, which may be a moment after the claim
# was deleted; the pod may have the address until then. Only a node that is lost needs this long.
GRACE_S: Final = 60.0
# Leases of one family that a device may have while its pod reports none: a driver that is killed
# leaves one and finds it again. More are somebody else's.
SPARE: Final = 4
AT_A_TIME: Final = 1000  # leases, in some milliseconds; then others have their turn


class LeaseSweep:
    """The collector of leases."""

    def __init__(
        self,
        objects: Objects,
        watches: Watches,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._objects = objects
        self._watches = watches
        self._monotonic = monotonic
        self._kept = KeptLeases(objects, watches, monotonic)
        self._ipam_claims = IpamClaims(objects, watches)
        self._suspected: dict[str, tuple[str, float]] = {}  # lease: its UID, since when
        self.failing = 0  # leases that could not be collected when they were last looked at

    async def run(self) -> None:
        """Collect leases until cancelled."""
        while True:
            try:
                await self.collect()
            except Exception as error:  # noqa: BLE001 (nothing else stops for it)
                explain("address.not_swept", error)
            await asyncio.sleep(SWEEP_S)

    async def collect(self) -> None:
        """Delete what has belonged to nobody for a while, unless it is to be kept."""
        now_s = self._monotonic()
        found = list(self._watches.store("AddressLease").values())
        owned: list[AddressLease] = []
        for number, each in enumerate(found):
            await _turn(number)
            if "owner" in each["spec"]:
                owned += _read([each])
        self._kept.begin(owned)
        await self._ipam_claims.report(owned)
        suspected: dict[str, tuple[str, float]] = {}
        due = []
        for lease, rivals in await self._suspects(found):
            uid, since_s = self._suspected.get(lease.name, ("", now_s))
            if uid != lease.metadata.uid:
                since_s = now_s
            suspected[lease.name] = lease.metadata.uid, since_s
            if now_s - since_s >= GRACE_S:
                due.append((lease, rivals))
        self._suspected = suspected
        due += [(lease, []) for lease in owned if lease.spec.kept]
        failing = 0
        for number, (lease, rivals) in enumerate(due):
            await _turn(number)
            try:
                if lease.spec.kept or await self._is_orphan(lease, rivals):
                    await self._free(lease)
            except NetclaimError as error:  # of this one; the others have their turn
                failing += 1
                log.warning("address.uncollected", lease=lease.name, error=str(error))
        self.failing = failing

    async def _suspects(
        self, leases: Iterable[JsonObject]
    ) -> list[tuple[AddressLease, list[AddressLease]]]:
        """Return the leases that seem to be nobody's, with the others of the same device.

        Reads nothing but what it has to: nearly all leases are of claims that live.
        """
        claims = self._watches.store("ResourceClaim")
        nobodys: list[JsonObject] = []
        first: dict[tuple[object, ...], JsonObject] = {}
        doubled: dict[tuple[object, ...], list[JsonObject]] = {}
        for number, lease in enumerate(leases):
            await _turn(number)
            spec = lease["spec"]
            if spec.get("kept"):
                continue
            holder = spec["claim"]
            if not _is_held(spec, claims.get((holder["namespace"], holder["name"]))):
                nobodys.append(lease)
            elif (before := first.setdefault(_device_key(spec), lease)) is not lease:
                doubled.setdefault(_device_key(spec), [before]).append(lease)
        suspects: list[tuple[AddressLease, list[AddressLease]]] = [
            (lease, []) for lease in _read(nobodys)
        ]
        for group in map(_read, doubled.values()):
            claim = claims.get(_claim_key(group[0])) if group else None  # all have one
            suspects += [(each, group) for each in group if _is_spare(each, group, claim)]
        return suspects

    async def _is_orphan(self, lease: AddressLease, rivals: list[AddressLease]) -> bool:
        """Ask the API server whether a lease belongs to nobody."""
        namespace, name = _claim_key(lease)
        try:
            found = await self._objects.get("ResourceClaim", name, namespace)
        except NotFoundError:
            return True
        spec: JsonObject = msgspec.to_builtins(lease.spec)
        return not _is_held(spec, found) or (bool(rivals) and _is_spare(lease, rivals, found))

    async def _free(self, lease: AddressLease) -> None:
        """Delete a lease that no claim has, or have it kept."""
        if not await self._kept.is_wanted(lease):
            await self._delete(lease)
        elif not lease.spec.kept:
            await self._kept.keep(lease)

    async def _delete(self, lease: AddressLease) -> None:
        try:
            await self._objects.client.delete(
                ADDRESS_LEASES,
                lease.name,
                uid=lease.metadata.uid,
                resource_version=lease.metadata.resource_version,
            )
        except (NotFoundError, ConflictError):  # given back, or leased anew
            return
        claim, node = "/".join(_claim_key(lease)), lease.spec.node_name
        log.info("address.collected", lease=lease.name, claim=claim, node=node)


async def _turn(number: int) -> None:
    """Let others have their turn now and then."""
    if number % AT_A_TIME == 0:
        await asyncio.sleep(0)


def _read(leases: Iterable[JsonObject]) -> list[AddressLease]:
    read = []
    for each in leases:
        with suppress(ObjectError):
            read.append(AddressLease.read(each))
    return read


def _is_held(spec: JsonObject, found: JsonObject | None) -> bool:
    """Whether a claim is the one that has a lease, and has its device."""
    holder = spec["claim"]
    if found is None or found["metadata"]["uid"] != holder["uid"]:
        return False
    allocation = found.get("status", {}).get("allocation") or {}
    return any(
        each.get("pool") == spec["nodeName"]
        and each.get("driver") == spec["driver"]
        and each.get("request") == holder.get("request", "")
        and held_device(each.get("device", ""), each.get("shareID")) == holder.get("device", "")
        for each in allocation.get("devices", {}).get("results", ())
    )


def _is_spare(lease: AddressLease, group: list[AddressLease], found: JsonObject | None) -> bool:
    """Whether a device can do without one of its leases of a family."""
    if found is None:
        return False
    reported = _reported(lease, found)
    mine = address_from(lease.spec.address)
    all_of_it = {address_from(each.spec.address) for each in group}
    if mine in sorted(all_of_it, key=lambda each: (each not in reported, int(each)))[SPARE:]:
        return True
    return mine not in reported and bool(all_of_it & reported)


def _reported(lease: AddressLease, found: JsonObject) -> set[IpAddress]:
    """The addresses that a claim's status says its device has."""
    try:
        claim = ResourceClaim.read(found)
    except ObjectError:
        return {address_from(lease.spec.address)}
    return {
        address_from(ip.partition("/")[0])
        for each in claim.status.devices
        if (each.driver, each.pool) == (lease.spec.driver, lease.spec.node_name)
        and held_device(each.device, each.share_id) == lease.spec.claim.device
        for ip in each.network_data.ips
    }


def _device_key(spec: JsonObject) -> tuple[object, ...]:
    """What is the same of all leases that a device has in a family."""
    holder = spec["claim"]
    device = holder.get("request"), holder.get("device")
    return holder["uid"], device, spec["driver"], spec["nodeName"], ":" in spec["address"]


def _claim_key(lease: AddressLease) -> tuple[str, str]:
    return lease.spec.claim.namespace, lease.spec.claim.name
