"""Search: an address of a pool for an interface, and its lease.

    1. where a prepare was begun before, what the claim has already
    2. what is kept for its pod (`kept`)
    3. an address by a hash of who asks; if somebody has it, the next one by the hash, three times
    4. of what is free, as the API server lists it, one by the hash

Promise: what is returned is leased for this claim; no address is taken from another. Limit: a
search knows one request of one claim; `leases` remembers what claims have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import msgspec

from netclaim.model.api.own_kinds.address_pool import AddressLease, AddressLeaseSpec, AddressPool
from netclaim.model.pools.address_space import IpAddress, Space, candidates, free_candidate
from netclaim.network.pools.cluster import ClusterPools
from netclaim.network.pools.errors import PoolFullError
from netclaim.network.pools.kept import is_kept_for, not_given_back
from netclaim.network.pools.parts import (
    Wish,
    address_of,
    full_error,
    identity_of,
    is_ours,
    taken_error,
)
from netclaim.network.pools.running import note_taken

GUESSES: Final = 4  # requests before a list: of a pool that is half full, one in sixteen needs it
LISTS: Final = 8  # of a pool whose last addresses many nodes want at a time


@dataclass(frozen=True, slots=True)
class Search:
    """Finds the addresses of one interface."""

    pools: ClusterPools
    pool: AddressPool
    spec: AddressLeaseSpec  # of the leases, as far as they have no address yet
    known: dict[str, AddressLease]  # what the claim has; without what turns out to be another's
    made: list[AddressLease]  # grows by what is leased anew, also if nothing comes of it

    async def lease(self, space: Space, wish: Wish, known: Sequence[AddressLease]) -> AddressLease:
        """Lease an address of a space: one of these leases, the one that is wished for, or any."""
        spec = self.spec
        for lease in sorted(known, key=lambda each: address_of(each) != wish.address):
            address = address_of(lease)
            fits = address == wish.address or (not wish.must and address in space)
            if fits and (is_kept_for(lease, spec) or is_ours(lease, spec)):
                renewed = await self._renew(lease)
                if renewed is not None:
                    return renewed
                self.known.pop(lease.name, None)  # it is another one now
            if fits and lease.spec.owner is not None and lease.spec.owner == spec.owner:
                raise not_given_back(lease)
        if wish.address is not None:
            made, had = await self._try(wish.address)
            if made is not None:
                return made
            if wish.must:
                raise taken_error(spec, wish.address, had)
            note_taken(spec, wish.address, had.spec.claim if had is not None else None)
        return await self._guessed(space) or await self._listed(space)

    async def _guessed(self, space: Space) -> AddressLease | None:
        """Try some addresses without knowing what is free."""
        taken = self.pools.taken(self.pool.name)
        if taken.listed or not space.size:
            return None
        guesses = dict.fromkeys(islice(candidates(space, identity_of(self.spec)), GUESSES))
        for number, address in enumerate(guesses):
            if address in taken.addresses and number:
                continue
            lease, _ = await self._try(address, look=number == 0)
            if lease is not None:
                return lease
        return None

    async def _listed(self, space: Space) -> AddressLease:
        """Try what is free as far as one knows, and ask again when that has changed."""
        identity, pool = identity_of(self.spec), self.pool
        for attempt in range(LISTS):
            taken = self.pools.taken(pool.name)
            if not taken.listed or attempt:
                taken = await self.pools.list_taken(pool.name)
            for number in range(GUESSES):
                address = free_candidate(space, f"{identity}/{attempt}.{number}", taken.addresses)
                if address is None:
                    raise full_error(pool, space)
                lease, _ = await self._try(address)  # its holder shows what else to list
                if lease is not None:
                    return lease
        raise PoolFullError(
            f"the last addresses of the pool {pool.name} were leased to others just now"
        )

    async def _try(
        self, address: IpAddress, *, look: bool = True
    ) -> tuple[AddressLease | None, AddressLease | None]:
        """Lease an address; or say who has it. `look`: it may be this very claim."""
        spec = msgspec.structs.replace(self.spec, address=str(address))
        made = await self.pools.lease(spec)
        if made is not None:
            self.made.append(made)
        if made is not None or not look:
            return made, None
        lease = await self.pools.lease_at(spec)
        if lease is not None and is_ours(lease, spec):
            return await self._renew(lease), lease
        if lease is not None and spec.owner is not None and lease.spec.owner == spec.owner:
            raise not_given_back(lease)  # it is of another claim since this one looked
        return None, lease

    async def _renew(self, lease: AddressLease) -> AddressLease | None:
        """Have a lease again, whose address and owner stay."""
        had = lease.spec
        wanted = msgspec.structs.replace(self.spec, address=had.address, owner=had.owner)
        return await self.pools.renew(lease, wanted)
