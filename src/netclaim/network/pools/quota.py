"""Quota: how many addresses of a pool the claims of one namespace may have.

A lease is made first and then counted. Of those that are made at a time, on whatever nodes, each
counts what was there before it and what was made before it; who is beyond the limit gives back. A
lease that was made by an attempt which ended before it was counted, and is made anew, is counted
then: it has others before it that came after it, which is the safe side.

Promise: never more than `perNamespace` stay leased, however many nodes lease at a time, and of a
burst as many stay as there is room for. One list of the namespace's leases of the pool for each new
lease, and none while the limit is known to be reached. Limit: what a namespace had before the limit
was written stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from netclaim.model.api.own_kinds.address_pool import AddressLease, AddressPool
from netclaim.network.pools.cluster import TAKEN_AGE_S, ClusterPools
from netclaim.network.pools.errors import NamespaceFullError
from netclaim.plugins.engine.conf import read_ip

FIRST: Final = 1  # generation of a lease that was never made anew


@dataclass(slots=True)
class Quota:
    """The limits of pools for namespaces."""

    pools: ClusterPools
    _reached: dict[tuple[str, str], float] = field(default_factory=dict)  # pool, namespace: when

    def expect_room(self, pool: AddressPool, namespace: str) -> None:
        """Raise if a namespace had all that it may have a moment ago."""
        limit = pool.spec.per_namespace
        since_s = self._reached.get((pool.name, namespace))
        if limit is None or since_s is None:
            return
        if self.pools.monotonic() - since_s <= TAKEN_AGE_S:
            raise _full(pool.name, namespace, limit)
        del self._reached[pool.name, namespace]

    async def check(self, pool: AddressPool, namespace: str, made: Sequence[AddressLease]) -> None:
        """Raise unless a namespace may have the leases that were made for it, or made anew."""
        limit = pool.spec.per_namespace
        if limit is None or not made:
            return
        there = await self.pools.leases_in(pool.name, namespace)
        for mine in made:
            if sum(_is_before(each, mine) for each in there) >= limit:
                self._reached[pool.name, namespace] = self.pools.monotonic()
                raise _full(pool.name, namespace, limit)

    def forget(self, pool: str, namespace: str) -> None:
        """Note that an address of a namespace was given back."""
        self._reached.pop((pool, namespace), None)


def _is_before(lease: AddressLease, mine: AddressLease) -> bool:
    """Whether a lease was there before one that was just made, for one of whose family it is.

    Versions give the order as long as a lease is not written again; one that was is older.
    """
    if lease.name == mine.name:
        return False
    if read_ip(lease.spec.address).version != read_ip(mine.spec.address).version:
        return False
    versions = lease.metadata.resource_version, mine.metadata.resource_version
    if lease.metadata.generation != FIRST or not all(map(str.isdecimal, versions)):
        return True
    return int(versions[0]) < int(versions[1])


def _full(pool: str, namespace: str, limit: int) -> NamespaceFullError:
    return NamespaceFullError(
        f"the namespace {namespace} has as many addresses of the pool {pool} as the pool's "
        f"`perNamespace` allows, {limit}; delete pods that have one, or ask a cluster admin"
    )
