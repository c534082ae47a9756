"""Pools and leases in the API server, for one node's driver.

Promise: a pool is read at most once in some seconds, however many claims want addresses of it; what
others are known to have is not asked for again for a while. Each method but `pool` is one request.
Limit: what is remembered of taken addresses may be wrong either way, and costs a request then. The
lease decides.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from netclaim.errors import RequestError
from netclaim.framework import Objects
from netclaim.kube import Resource
from netclaim.model.api.own_kinds.address_pool import (
    CLAIM_LABEL,
    KIND,
    LEASE_KIND,
    LEASE_PLURAL,
    NAMESPACE_LABEL,
    NODE_LABEL,
    PLURAL,
    POOL_LABEL,
    AddressLease,
    AddressLeaseSpec,
    AddressPool,
    lease_object,
    node_label,
)
from netclaim.model.api.own_kinds.kept_address import KEPT_LABEL, LeaseOwner
from netclaim.model.api.own_kinds.pod_network import GROUP, VERSION
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.address_space import IpAddress, lease_name, leased_address
from netclaim.network.pools.errors import PoolNotReadyError
from netclaim.plugins.engine.conf import read_ip

POOLS: Final = Resource(GROUP, VERSION, PLURAL, KIND, namespaced=False)
LEASES: Final = Resource(GROUP, VERSION, LEASE_PLURAL, LEASE_KIND, namespaced=False)
POOL_AGE_S: Final = 10.0  # as for a namespace's labels: an admin sees a change within seconds
# Addresses that others have are passed over for so long. Who ends gives an address back; a pool
# that is nearly full is listed once in this time, and not once for each claim.
TAKEN_AGE_S: Final = 5.0
KEPT: Final = 64  # pools; a node's pods are in a few


@dataclass(slots=True)
class Taken:
    """What others are known to have of a pool."""

    since_s: float
    addresses: set[IpAddress] = field(default_factory=set)
    listed: bool = False  # all of them, as of then


@dataclass(slots=True)
class ClusterPools:
    """The pools of the cluster and their leases, as this node sees them."""

    objects: Objects
    monotonic: Callable[[], float]
    node_labels: Callable[[], Mapping[str, str] | None]  # None: not known yet
    reads_labels: bool = False  # whether they say which addresses the node may lease
    _pools: dict[str, tuple[float, AddressPool]] = field(default_factory=dict)
    # None: the call that asked was cut off.
    _asking: dict[str, asyncio.Future[AddressPool | None]] = field(default_factory=dict)
    _taken: dict[str, Taken] = field(default_factory=dict)
    # By pool: others that have leases among its addresses, such as one whose range it got.
    _others: dict[str, set[str]] = field(default_factory=dict)

    async def pool(self, name: str) -> AddressPool:
        """Return a pool with the ranges of this node; RequestError if there is none of this name.

        PoolNotReadyError if it has no range for the node.
        """
        pool = await self._pool(name)
        if not pool.is_by_node:
            return pool
        self.reads_labels = True
        labels = self.node_labels()
        if labels is None:
            raise PoolNotReadyError(
                f"the ranges of the pool {name} are for some nodes, and the labels of this one are "
                "not known yet"
            )
        here = pool.on_node(labels)
        if not here.spec.ranges:
            raise PoolNotReadyError(
                f"the pool {name} has no range for this node; ask a cluster admin to add one, or "
                "to label the node so that the `nodeSelector` of one selects it"
            )
        return here

    async def _pool(self, name: str) -> AddressPool:
        """Return a pool, as it was read at most some seconds ago."""
        while True:
            kept = self._pools.get(name)
            if kept is not None and self.monotonic() - kept[0] < POOL_AGE_S:
                return kept[1]
            asking = self._asking.get(name)
            if asking is None:
                return await self._ask(name)
            if (found := await asyncio.shield(asking)) is not None:
                return found

    async def _ask(self, name: str) -> AddressPool:
        """Read a pool, for all claims that want it meanwhile."""
        answer: asyncio.Future[AddressPool | None] = asyncio.get_running_loop().create_future()
        self._asking[name] = answer
        try:
            pool = await self._read(name)
            answer.set_result(pool)
        except Exception as error:
            answer.set_exception(error)
            answer.exception()  # perhaps nobody else wants it
            raise
        finally:
            del self._asking[name]
            if not answer.done():
                answer.set_result(None)
        return pool

    async def _read(self, name: str) -> AddressPool:
        asked_s = self.monotonic()
        found = await self.objects.get(POOLS, name)
        if found is None:
            self._pools.pop(name, None)
            raise RequestError(f"there is no AddressPool {name}; ask a cluster admin to create it")
        pool = AddressPool.read(found)
        if pool.ready is not None:  # one that nobody has judged yet is looked at again
            self._pools.pop(name, None)
            self._pools[name] = asked_s, pool
            if len(self._pools) > KEPT:
                del self._pools[next(iter(self._pools))]
        return pool

    def taken(self, pool: str) -> Taken:
        """What others are known to have of a pool."""
        known = self._taken.get(pool)
        if known is None or self.monotonic() - known.since_s > TAKEN_AGE_S:
            known = self._taken[pool] = Taken(self.monotonic())
        return known

    async def list_taken(self, pool: str) -> Taken:
        """Ask which addresses of a pool are leased, by it or by others that are known to."""
        asked_s = self.monotonic()
        names = ",".join(sorted({pool, *self._others.get(pool, ())}))
        found = await self.objects.find(LEASES, f"{POOL_LABEL} in ({names})")
        addresses = {read_ip(each["spec"]["address"]) for each in found}
        self._taken[pool] = known = Taken(asked_s, addresses, listed=True)
        return known

    async def leases_of(self, claim_uid: str) -> list[AddressLease]:
        """Return the leases that a claim has."""
        found = await self.objects.find(LEASES, f"{CLAIM_LABEL}={claim_uid}")
        return [AddressLease.read(each) for each in found]

    async def kept_for(self, owner: LeaseOwner) -> list[AddressLease]:
        """Return the leases that are kept for somebody, of whatever pools."""
        found = await self.objects.find(LEASES, f"{KEPT_LABEL}={owner.label}")
        return [AddressLease.read(each) for each in found]

    async def named(self, name: str) -> AddressLease | None:
        """Return the lease of this name."""
        found = await self.objects.get(LEASES, name)
        return None if found is None else AddressLease.read(found)

    async def leases_on(self, node_name: str) -> list[AddressLease]:
        """Return the leases of a node."""
        found = await self.objects.find(LEASES, f"{NODE_LABEL}={node_label(node_name)}")
        return [AddressLease.read(each) for each in found]

    async def leases_in(self, pool: str, namespace: str) -> list[AddressLease]:
        """Return the leases of a pool that the claims of a namespace have."""
        labels = f"{POOL_LABEL}={pool},{NAMESPACE_LABEL}={namespace}"
        found = await self.objects.find(LEASES, labels)
        return [AddressLease.read(each) for each in found]

    async def lease_at(self, spec: AddressLeaseSpec) -> AddressLease | None:
        """Return the lease of an address, if somebody has it."""
        found = await self.objects.get(LEASES, lease_name(spec.domain, read_ip(spec.address)))
        if found is None:
            return None
        lease = AddressLease.read(found)
        if lease.spec.pool != spec.pool:
            self._others.setdefault(spec.pool, set()).add(lease.spec.pool)
        return lease

    async def lease(self, spec: AddressLeaseSpec) -> AddressLease | None:
        """Lease an address; None if somebody has it."""
        made = await self.objects.create(LEASES, lease_object(spec))
        self.taken(spec.pool).addresses.add(read_ip(spec.address))
        return None if made is None else AddressLease.read(made)

    async def renew(self, lease: AddressLease, spec: AddressLeaseSpec) -> AddressLease | None:
        """Lease an address anew that its claim has already; None if it is gone meanwhile."""
        wanted: JsonObject = lease_object(spec)
        meta = lease.metadata
        wanted["metadata"] |= {"uid": meta.uid, "resourceVersion": meta.resource_version}
        stored = await self.objects.replace(LEASES, wanted)
        return None if stored is None else AddressLease.read(stored)

    async def release(self, name: str, uid: str, resource_version: str) -> None:
        """Give an address back, if nobody has leased it anew."""
        meta = {"name": name, "uid": uid, "resourceVersion": resource_version}
        await self.objects.delete(LEASES, {"metadata": meta})

    def forget(self, pool: str, name: str) -> None:
        """Note that an address was given back, by its lease's name."""
        if (known := self._taken.get(pool)) is not None:
            known.addresses.discard(leased_address(name))
