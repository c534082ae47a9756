"""For how many claims each pool has an address, which is what the scheduler is told.

A claim that has shares of a pool's device takes as many of its addresses, and the scheduler counts
that. Not every address is taken like this: older claims have addresses without a share, and of a
pool whose ranges were changed a claim has a share, but an address that is no longer among them. So
of each claim counts what its shares are more than its addresses in the pool, which is negative for
the former, but at most how many it has outside.

Promise: exact for every order in which leases, claims and pools are heard of. A change of a lease
or of a claim is the same work however many others there are; one of a pool's ranges looks at all
leases once. No I/O. Limit: what is kept for a replica counts as free, since its next claim asks for
a share.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from netclaim.controller.pools.spec import PoolSpec
from netclaim.kube.watch import Key
from netclaim.model.api.own_kinds.address_pool import AddressLease, AddressLeaseSpec
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.address_space import IpAddress, address_from
from netclaim.model.pools.counted_pool import pool_of

NOTHING: Final[Mapping[str, int]] = MappingProxyType({})  # one for all; there may be 100,000 claims


@dataclass(frozen=True, slots=True)
class _Held:
    """An address that a device of a claim has, by a lease of this name."""

    name: str
    pool: str
    domain: str
    address: IpAddress
    request: str
    device: str


@dataclass(slots=True)
class _Holder:
    """A claim, its addresses, and what it counts for by pool: nearly always nothing."""

    key: Key
    held: tuple[_Held, ...] = ()
    counts: Mapping[str, int] = field(default_factory=lambda: NOTHING)


class Rooms:
    """Counts the claims that do not take what they have shares for."""

    def __init__(
        self,
        driver: str,
        specs: Mapping[str, PoolSpec],
        claims: Callable[[], Mapping[Key, JsonObject]],
    ) -> None:
        """`specs` are the pools by name, as they are whenever asked; `claims` are all claims."""
        self._driver = driver
        self._specs = specs
        self._claims = claims
        self._holders: dict[str, _Holder] = {}  # claims by UID
        self._uids: dict[str, str] = {}  # leases: the UID of the claim
        self._totals: dict[str, int] = {}  # by pool, of all claims

    def of(self, pool: PoolSpec) -> int:
        """How many shares of a pool there can be, with those that claims have."""
        return pool.size + self._totals.get(pool.name, 0)

    def lease_changed(self, name: str, now: AddressLease | None) -> set[str]:
        """Note a lease; returns the pools that have another room by that."""
        changed: set[str] = set()
        if uid := self._uids.pop(name, ""):
            holder = self._holders[uid]
            holder.held = tuple(each for each in holder.held if each.name != name)
            changed |= self._count(uid)
        if now is not None and not now.spec.kept:
            claim = now.spec.claim
            self._uids[name] = claim.uid
            holder = self._holders.setdefault(claim.uid, _Holder((claim.namespace, claim.name)))
            holder.held += (_held(name, now.spec),)
            changed |= self._count(claim.uid)
        return changed

    def claim_changed(self, before: JsonObject | None, now: JsonObject | None) -> set[str]:
        """Note a claim; returns the pools that have another room by that."""
        uids = {each["metadata"]["uid"] for each in (before, now) if each is not None}
        return set().union(*(self._count(uid) for uid in uids if uid in self._holders))

    def pools_changed(self) -> None:
        """Note that a pool has other addresses, or is gone."""
        for uid in list(self._holders):
            self._count(uid)

    def _count(self, uid: str) -> set[str]:
        """Count a claim anew; returns the pools of which that is news."""
        holder = self._holders[uid]
        now = dict(self._counted(holder, uid))
        before, names = holder.counts, now.keys() | holder.counts.keys()
        more = {name: now.get(name, 0) - before.get(name, 0) for name in names}
        changed = {name for name in names if more[name]}
        for name in changed:
            self._totals[name] = self._totals.get(name, 0) + more[name]
        holder.counts = now or NOTHING
        if not holder.held:
            del self._holders[uid]
        return changed

    def _counted(self, holder: _Holder, uid: str) -> Iterator[tuple[str, int]]:
        shares = self._shares(holder.key, uid)
        inside: dict[str, set[tuple[str, str]]] = {}
        outside: dict[str, set[tuple[str, str]]] = {}
        for each in holder.held:
            having = self._having(each)
            device = each.request, each.device
            for name in having:
                inside.setdefault(name, set()).add(device)
            if each.pool not in having:
                outside.setdefault(each.pool, set()).add(device)
        for name in inside.keys() | outside.keys():
            here, there = inside.get(name, set()), outside.get(name, set())
            if count := min(shares.get(name, 0) - len(here), len(there - here)):
                yield name, count

    def _shares(self, key: Key, uid: str) -> dict[str, int]:
        """How many shares of each pool a claim has."""
        claim = self._claims().get(key)
        if claim is None or claim["metadata"]["uid"] != uid:
            return {}
        shares: dict[str, int] = {}
        allocation = claim["status"].get("allocation") or {"devices": {"results": ()}}
        for each in allocation["devices"]["results"]:
            if each["driver"] == self._driver and (name := pool_of(each["pool"])):
                shares[name] = shares.get(name, 0) + 1
        return shares

    def _having(self, held: _Held) -> Collection[str]:
        """The pools that an address is in: its own, which mostly says whether there are others."""
        own = self._specs.get(held.pool)
        if own is not None and not own.overlapping and own.has(held.domain, held.address):
            return (own.name,)
        return [name for name, each in self._specs.items() if each.has(held.domain, held.address)]


def _held(name: str, spec: AddressLeaseSpec) -> _Held:
    address, claim = address_from(spec.address), spec.claim
    return _Held(name, spec.pool, spec.domain, address, claim.request, claim.device)
