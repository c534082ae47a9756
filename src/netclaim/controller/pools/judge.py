"""AddressPools: whether they can be used, and how full they are.

Promise: a pool is ready only if no older pool of its domain has some of its addresses. (That two
pools never lease one address is not for this to see: the lease's name is the lock of a domain.) A
lease that comes or goes is the same work however many leases and pools there are; a pool whose spec
changes is compared with all others. `sweep` collects leases that nobody has.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import msgspec

from netclaim.controller.cluster.objects import ADDRESS_POOLS, MANAGER, Objects
from netclaim.controller.cluster.watches import Watches
from netclaim.controller.pools.counts import LeaseCounts
from netclaim.controller.pools.spec import PoolSpec
from netclaim.model.api.base import Condition, ObjectError
from netclaim.model.api.own_kinds.address_pool import (
    AddressLease,
    AddressPool,
    AddressPoolStatus,
)
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.address_space import address_from

COUNT_MAX: Final = 10**9  # what statuses and slices show of an IPv6 range, which nobody fills


class Pools:
    """The controller of AddressPools."""

    def __init__(
        self,
        objects: Objects,
        watches: Watches,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._objects = objects
        self._watches = watches
        self._now = now
        self._counts = LeaseCounts()
        self._pools: dict[str, PoolSpec] = {}

    @property
    def specs(self) -> Mapping[str, PoolSpec]:
        """The pools by name, as far as they can be read."""
        return self._pools

    def statuses(self) -> Iterator[tuple[str, AddressPoolStatus]]:
        """What the status of each pool says that can be read."""
        for found in self._watches.store("AddressPool").values():
            with suppress(ObjectError):
                pool = AddressPool.read(found)
                yield pool.name, pool.status

    def begin(self) -> None:
        """Count what there is; changes are passed on from now."""
        for found in self._watches.store("AddressLease").values():
            self.lease_changed(None, found)
        for found in self._watches.store("AddressPool").values():
            self.pool_changed(None, found)

    def lease_changed(self, before: JsonObject | None, now: JsonObject | None) -> Iterable[str]:
        """Count a lease; returns the pools whose numbers are others by that."""
        found = now or before or {}
        try:
            lease = AddressLease.read(found)
        except ObjectError:
            return ()
        if now is None:
            self._counts.drop_lease(lease.name)
        else:
            self._counts.set_lease(lease)
        own = self._pools.get(lease.spec.pool)
        domain, address = lease.spec.domain, address_from(lease.spec.address)
        if own is not None and own.has(domain, address) and not own.overlapping:
            return (own.name,)
        having = (name for name, each in self._pools.items() if each.has(domain, address))
        return {lease.spec.pool, *having}

    def pool_changed(self, before: JsonObject | None, now: JsonObject | None) -> Iterable[str]:
        """Note a pool; returns the pools that have to be judged by that.

        Others depend on its spec, and nobody on its status. One that cannot be read, because it is
        of a later definition, stays what it was.
        """
        name = (now or before or {})["metadata"]["name"]
        try:
            new = PoolSpec.of(AddressPool.read(now)) if now is not None else None
        except ObjectError:
            return (name,)
        old = self._pools.pop(name, None)
        if new is None:
            self._counts.drop_pool(name)
            return self._meet(old, None)
        self._pools[name] = new
        if old is not None and old.is_same(new):
            new.overlapping.update(old.overlapping)
            return (name,)
        self._counts.set_pool(name, new.domain, new.spaces)
        return {name, *self._meet(old, new)}

    def _meet(self, old: PoolSpec | None, new: PoolSpec | None) -> set[str]:
        """Note whom a pool overlaps with by now; returns these and those it did before."""
        met: set[str] = set()
        for other in self._pools.values():
            if other is new:
                continue
            if old is not None and old.shared_with(other) is not None:
                other.overlapping.pop(old.name, None)
                met.add(other.name)
            if new is not None and (shared := new.shared_with(other)) is not None:
                new.overlapping[other.name] = other.overlapping[new.name] = shared
                met.add(other.name)
        return met

    async def reconcile(self, name: str) -> None:
        """Judge a pool, and say how full it is."""
        found = self._watches.store("AddressPool").get(("", name))
        if found is None:
            return
        pool, spec = AddressPool.read(found), self._pools.get(name)
        if spec is None:
            return  # it was listed just now, and is heard of in a moment
        fault = self._fault(spec)
        status = AddressPoolStatus(
            observed_generation=pool.metadata.generation,
            conditions=(self._ready(pool, fault),),
            **self.numbers(name),
        )
        if status == pool.status:
            return
        said = msgspec.to_builtins(status)
        for count in ("size", "used", "kept", "free"):
            said.setdefault(count, 0)
        patch = {"metadata": {"uid": pool.metadata.uid}, "status": said}
        await self._objects.client.patch(
            ADDRESS_POOLS, name, patch, subresource="status", field_manager=MANAGER
        )

    def _fault(self, spec: PoolSpec) -> tuple[str, str] | None:
        """Why a pool cannot be used: a reason and a sentence."""
        if spec.fault:
            return "Invalid", spec.fault
        for name, shared in sorted(spec.overlapping.items()):
            if name in self._pools and self._pools[name].age < spec.age:
                return "Overlaps", (
                    f"{shared} is in the older pool {name} too; change the ranges, or, if the two "
                    f"are for separate networks, make this one anew with a `domain` of its own"
                )
        return self._moved(spec)

    def _moved(self, spec: PoolSpec) -> tuple[str, str] | None:
        """Whether an earlier pool of this name, of another domain, has leases."""
        leases = self._watches.store("AddressLease")
        for name in self._counts.elsewhere(spec.name, spec.domain):
            if ("", name) not in leases:
                continue
            lease = AddressLease.read(leases["", name]).spec
            domain = f"of the domain {lease.domain}" if lease.domain else "of none"
            return "Leased", (
                f"{lease.address} is leased to {lease.claim.namespace}/{lease.claim.name} from an "
                f"earlier pool of this name, which was {domain}: pods of both may share a network"
            )
        return None

    def numbers(self, name: str) -> dict[str, int]:
        """How full a pool is; nothing of one that cannot be used at all."""
        spec = self._pools[name]
        if spec.fault:
            return {}
        return {
            "size": min(spec.size, COUNT_MAX),
            "used": self._counts.used(spec.name),
            "kept": self._counts.kept(spec.name),
            "free": min(self._counts.free(spec.name, spec.overlapping), COUNT_MAX),
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
