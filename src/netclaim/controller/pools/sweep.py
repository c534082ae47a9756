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
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

import structlog

from netclaim.controller.objects import ADDRESS_LEASES, Objects
from netclaim.controller.pools.kept import KeptLeases
from netclaim.controller.watches import Watches
from netclaim.errors import NetclaimError
from netclaim.kube import ConflictError, NotFoundError
from netclaim.model.address_space import IpAddress, address_from
from netclaim.model.api.address_pool import AddressLease, LeaseHolder, held_device
from netclaim.model.api.base import ObjectError
from netclaim.model.api.claim import ResourceClaim
from netclaim.model.claim import JsonObject

log = structlog.get_logger(__name__)

SWEEP_S: Final = 15.0  # between two looks at all leases: a tenth of a second for 100,000
# A driver gives leases back when kubelet releases the claim, which may be a moment after the claim
# was deleted; the pod may have the address until then. Only a node that is lost needs this long.
GRACE_S: Final = 60.0
# Leases of one family that a device may have while its pod reports none: a driver that is killed
# leaves one and finds it again. More are somebody else's.
SPARE: Final = 4


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
        self._suspected: dict[str, tuple[str, float]] = {}  # lease: its UID, since when
        self.failing = 0  # leases that could not be collected when they were last looked at

    async def run(self) -> None:
        """Collect leases until cancelled."""
        while True:
            await self.collect()
            await asyncio.sleep(SWEEP_S)

    async def collect(self) -> None:
        """Delete what has belonged to nobody for a while, unless it is to be kept."""
        now_s = self._monotonic()
        leases = list(self._leases())
        self._kept.begin(leases)
        suspected: dict[str, tuple[str, float]] = {}
        due = []
        for lease, rivals in self._suspects(each for each in leases if not each.spec.kept):
            uid, since_s = self._suspected.get(lease.name, ("", now_s))
            if uid != lease.metadata.uid:
                since_s = now_s
            suspected[lease.name] = lease.metadata.uid, since_s
            if now_s - since_s >= GRACE_S:
                due.append((lease, rivals))
        self._suspected = suspected
        due += [(lease, []) for lease in leases if lease.spec.kept]
        failing = 0
        for lease, rivals in due:
            try:
                if lease.spec.kept or await self._is_orphan(lease, rivals):
                    await self._free(lease)
            except NetclaimError as error:  # of this one; the others have their turn
                failing += 1
                log.warning("address.uncollected", lease=lease.name, error=str(error))
        self.failing = failing

    def _leases(self) -> Iterator[AddressLease]:
        for found in list(self._watches.store("AddressLease").values()):
            with suppress(ObjectError):
                yield AddressLease.read(found)

    def _suspects(
        self, leases: Iterable[AddressLease]
    ) -> Iterator[tuple[AddressLease, list[AddressLease]]]:
        """Yield the leases that seem to be nobody's, with the others of the same device."""
        claims = self._watches.store("ResourceClaim")
        held: dict[tuple[object, ...], list[AddressLease]] = {}
        for lease in leases:
            if _is_held(lease, claims.get(_claim_key(lease))):
                held.setdefault(_device_key(lease), []).append(lease)
            else:
                yield lease, []
        for group in held.values():
            if len(group) > 1:  # all have one claim
                found_claim = claims.get(_claim_key(group[0]))
                yield from ((each, group) for each in group if _is_spare(each, group, found_claim))

    async def _is_orphan(self, lease: AddressLease, rivals: list[AddressLease]) -> bool:
        """Ask the API server whether a lease belongs to nobody."""
        namespace, name = _claim_key(lease)
        try:
            found = await self._objects.get("ResourceClaim", name, namespace)
        except NotFoundError:
            return True
        return not _is_held(lease, found) or (bool(rivals) and _is_spare(lease, rivals, found))

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


def _is_held(lease: AddressLease, found: JsonObject | None) -> bool:
    """Whether a claim is the one that has a lease, and has its device."""
    if found is None:
        return False
    try:
        claim = ResourceClaim.read(found)
    except ObjectError:  # of a later version of the API: who knows
        return True
    wanted = (lease.spec.driver, lease.spec.node_name, *_device(lease.spec.claim))
    return claim.metadata.uid == lease.spec.claim.uid and any(
        (each.driver, each.pool, each.request, held_device(each.device, each.share_id)) == wanted
        for each in claim.status.results
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


def _device(holder: LeaseHolder) -> tuple[str, str]:
    return holder.request, holder.device


def _device_key(lease: AddressLease) -> tuple[object, ...]:
    """What is the same of all leases that a device has in a family."""
    spec = lease.spec
    version = address_from(spec.address).version
    return spec.claim.uid, *_device(spec.claim), spec.driver, spec.node_name, version


def _claim_key(lease: AddressLease) -> tuple[str, str]:
    return lease.spec.claim.namespace, lease.spec.claim.name
