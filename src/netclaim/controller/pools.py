"""AddressPools: whether they can be used, how full they are, and leases that nobody has any more.

Promise: a pool is ready only if no older pool of its domain has some of its addresses. (That two
pools never lease one address is not for this to see: the lease's name is the lock of a domain.) A
lease is collected when its claim is gone, or has no device of the lease's driver on its node, and
the API server has said so again a minute later; of one that is leased anew meanwhile the deletion
fails. So nothing that lives is ever taken away, whichever release of the chart it belongs to.
Limit: the drivers give leases back themselves, at once; what is collected here is what they could
not.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

import msgspec
import structlog

from netclaim.controller.objects import ADDRESS_LEASES, ADDRESS_POOLS, MANAGER, Objects
from netclaim.controller.watches import Watches
from netclaim.errors import PeerError
from netclaim.kube import ConflictError, NotFoundError
from netclaim.model.address_space import address_from, range_faults, space_of
from netclaim.model.api.address_pool import (
    AddressLease,
    AddressPool,
    AddressPoolStatus,
)
from netclaim.model.api.base import Condition, ObjectError
from netclaim.model.api.claim import ResourceClaim
from netclaim.model.claim import JsonObject

log = structlog.get_logger(__name__)

SWEEP_S: Final = 15.0  # between two looks at all leases: a tenth of a second for 100,000
# A driver gives leases back when kubelet releases the claim, which may be a moment after the claim
# was deleted; the pod may have the address until then. Only a node that is lost needs this long.
GRACE_S: Final = 60.0
COUNT_MAX: Final = 10**9  # what a status shows of an IPv6 range, which nobody fills


class Pools:
    """The controller of AddressPools."""

    def __init__(
        self,
        objects: Objects,
        watches: Watches,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._objects = objects
        self._watches = watches
        self._now = now
        self._monotonic = monotonic
        self._suspected: dict[str, tuple[str, float]] = {}  # lease: its UID, since when

    def names(self) -> list[str]:
        """All pools there are."""
        return [name for _, name in self._watches.store("AddressPool")]

    def statuses(self) -> Iterator[tuple[str, AddressPoolStatus]]:
        """What the status of each pool says."""
        for found in self._watches.store("AddressPool").values():
            pool = AddressPool.read(found)
            yield pool.name, pool.status

    async def reconcile(self, name: str) -> None:
        """Judge a pool, and say how full it is."""
        found = self._watches.store("AddressPool").get(("", name))
        if found is None:
            return
        pool = AddressPool.read(found)
        fault = self._fault(pool)
        status = AddressPoolStatus(
            observed_generation=pool.metadata.generation,
            conditions=(self._ready(pool, fault),),
            **self._counts(pool, faulty=bool(fault and fault[0] == "Invalid")),
        )
        if status == pool.status:
            return
        said = msgspec.to_builtins(status)
        for count in ("size", "used", "free"):
            said.setdefault(count, 0)
        patch = {"metadata": {"uid": pool.metadata.uid}, "status": said}
        await self._objects.client.patch(
            ADDRESS_POOLS, name, patch, subresource="status", field_manager=MANAGER
        )

    async def run(self) -> None:
        """Collect leases until cancelled."""
        while True:
            try:
                await self.collect()
            except PeerError as error:
                log.warning("address.uncollected", error=str(error))
            await asyncio.sleep(SWEEP_S)

    async def collect(self) -> None:
        """Delete what has belonged to nobody for a while."""
        suspected = self._suspected
        self._suspected = {}
        now_s = self._monotonic()
        for lease in self._leases():
            if self._is_held(lease, self._watches.store("ResourceClaim").get(_claim_key(lease))):
                continue
            uid, since_s = suspected.get(lease.name, ("", now_s))
            if uid != lease.metadata.uid:
                since_s = now_s
            self._suspected[lease.name] = lease.metadata.uid, since_s
            if now_s - since_s >= GRACE_S and await self._is_orphan(lease):
                await self._delete(lease)

    async def _is_orphan(self, lease: AddressLease) -> bool:
        """Ask the API server whether a lease belongs to nobody."""
        namespace, name = _claim_key(lease)
        try:
            found = await self._objects.get("ResourceClaim", name, namespace)
        except NotFoundError:
            return True
        return not self._is_held(lease, found)

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
        node = lease.spec.node_name
        log.info("address.collected", lease=lease.name, claim=_claim(lease), node=node)

    def _is_held(self, lease: AddressLease, found: JsonObject | None) -> bool:
        """Whether a claim is the one that has a lease, and has a device on the lease's node."""
        if found is None:
            return False
        try:
            claim = ResourceClaim.read(found)
        except ObjectError:  # of a later version of the API: who knows
            return True
        return claim.metadata.uid == lease.spec.claim.uid and any(
            (result.driver, result.pool) == (lease.spec.driver, lease.spec.node_name)
            for result in claim.status.results
        )

    def _leases(self) -> Iterator[AddressLease]:
        for found in list(self._watches.store("AddressLease").values()):
            try:
                yield AddressLease.read(found)
            except ObjectError:
                continue

    def _fault(self, pool: AddressPool) -> tuple[str, str] | None:
        """Why a pool cannot be used: a reason and a sentence."""
        for each in pool.spec.ranges:
            for field, message in range_faults(each):
                return "Invalid", f"{each.cidr}: {field} {message}"
            if not any(space_of([each], version).size for version in (4, 6)):
                return "Invalid", f"{each.cidr}: no address is left for pods between start and end"
        if not pool.size:
            return "Invalid", "its ranges have no address that a pod can have"
        for _, name in self._watches.store("AddressPool"):
            if name != pool.name and (shared := self._shared(pool, name)):
                return "Overlaps", (
                    f"{shared} is in the older pool {name} too; change the ranges, or, if the two "
                    f"are for separate networks, make this one anew with a `domain` of its own"
                )
        return self._moved(pool)

    def _moved(self, pool: AddressPool) -> tuple[str, str] | None:
        """Whether an earlier pool of this name, of another domain, has leases."""
        for lease in self._leases():
            if lease.spec.pool == pool.name and lease.spec.domain != pool.spec.domain:
                domain = f"of the domain {lease.spec.domain}" if lease.spec.domain else "of none"
                return "Leased", (
                    f"{lease.spec.address} is leased to {_claim(lease)} from an earlier pool of "
                    f"this name, which was {domain}: pods of both may share a network"
                )
        return None

    def _shared(self, pool: AddressPool, name: str) -> str:
        """An address that an older pool of the same domain has as well."""
        other = AddressPool.read(self._watches.store("AddressPool")["", name])
        if other.spec.domain != pool.spec.domain:
            return ""
        if _age(other) > _age(pool) or any(any(range_faults(r)) for r in other.spec.ranges):
            return ""
        for mine in pool.spaces:
            for theirs in other.spaces:
                if (found := mine.shared_with(theirs)) is not None:
                    return str(found)
        return ""

    def _counts(self, pool: AddressPool, *, faulty: bool) -> dict[str, int]:
        if faulty:
            return {}
        used = {space.version: 0 for space in pool.spaces}
        inside = dict(used)
        for lease in self._leases():
            address = address_from(lease.spec.address)
            if lease.spec.pool == pool.name:
                used[address.version] = used.get(address.version, 0) + 1
            if lease.spec.domain == pool.spec.domain and any(address in s for s in pool.spaces):
                inside[address.version] = inside.get(address.version, 0) + 1
        free = min(space.size - inside[space.version] for space in pool.spaces)
        return {
            "size": min(pool.size, COUNT_MAX),
            "used": max(used.values()),
            "free": min(free, COUNT_MAX),
        }

    def _ready(self, pool: AddressPool, fault: tuple[str, str] | None) -> Condition:
        if fault is not None:
            wanted = Condition("Ready", "False", *fault)
        elif not pool.spec.enabled:
            wanted = Condition("Ready", "True", "Disabled", "nobody gets addresses of it any more")
        else:
            wanted = Condition("Ready", "True", "Usable", "claims can have addresses of it")
        before = next((one for one in pool.status.conditions if one.type == "Ready"), None)
        since = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
        if before is not None and before.status == wanted.status:
            since = before.last_transition_time or since
        return msgspec.structs.replace(wanted, last_transition_time=since)


def _age(pool: AddressPool) -> tuple[str, str]:
    """What is less for the older one of two pools."""
    return pool.metadata.creation_timestamp, pool.name


def _claim(lease: AddressLease) -> str:
    return "/".join(_claim_key(lease))


def _claim_key(lease: AddressLease) -> tuple[str, str]:
    return lease.spec.claim.namespace, lease.spec.claim.name
