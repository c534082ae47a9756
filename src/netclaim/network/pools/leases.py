"""Leases: the addresses that claims have of pools, and giving them back.

Promise: an address is in a plan only if its lease names this claim; the same request gets the same
addresses again, whatever ended the first attempt. A pool that has none left says so, and its claim
is tried again when its pod's sandbox is made. Limit: `search` finds an address; what a node could
not give back is the controller's to collect, as is everything of a node that is lost.
"""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import msgspec
import structlog

from netclaim.errors import NetclaimError, RequestError
from netclaim.framework import LaterError
from netclaim.framework.telemetry import claim_fields
from netclaim.model import Claim, Plan, Prepared
from netclaim.model.api.own_kinds.address_pool import (
    AddressLease,
    AddressLeaseSpec,
    AddressPool,
)
from netclaim.model.on_node.prepared import ClaimRef
from netclaim.model.pools.address_space import IpAddress
from netclaim.network.plan.interface_plan import (
    Addresses,
    Leased,
    pooled_at,
    read_plan,
)
from netclaim.network.policy.levels import Level
from netclaim.network.pools.cluster import ClusterPools
from netclaim.network.pools.errors import AddressTakenError, NamespaceFullError, PoolFullError
from netclaim.network.pools.kept import Kept, kept_mac
from netclaim.network.pools.parts import (
    address_of,
    addresses_of,
    as_released,
    holder_of,
    is_ours,
    wish_of,
)
from netclaim.network.pools.quota import Quota
from netclaim.network.pools.running import had_before
from netclaim.network.pools.search import Search
from netclaim.network.pools.terms import check_unpooled, check_use, chosen_of
from netclaim.network.request.parameters import InterfaceRequest

log = structlog.get_logger(__name__)

# For all leases of a claim: a pod's end does not wait for an API server that does not answer, and
# kubelet asks again after 45 s.
RELEASE_S: Final = 3.0
CLAIMS_MAX: Final = 4096  # whose leases are remembered; a node has hundreds


_Left: TypeAlias = tuple[str, Leased, AddressLease | None]
"""What is released: the pool, a lease, and the lease as it was seen last."""


@dataclass(slots=True)
class Leases:
    """Leases addresses for the claims of one node."""

    pools: ClusterPools
    quota: Quota
    _kept: Kept = field(init=False)
    # What claims have, by their UIDs and the leases' names; a claim that is not here may have some.
    _known: dict[str, dict[str, AddressLease]] = field(default_factory=dict)
    _made: dict[str, list[AddressLease]] = field(default_factory=dict)  # by attempts under way
    _given_back: dict[str, None] = field(default_factory=dict)  # claims, by their UIDs

    def __post_init__(self) -> None:
        self._kept = Kept(self.pools)

    @asynccontextmanager
    async def all_or_none(self, claim: Claim) -> AsyncGenerator[None, None]:
        """Give back what the block leases for a claim if a part of it has to be waited for.

        Two claims that need addresses of two pools would wait for each other. What the claim had
        before stays: its pod may run.
        """
        made = self._made.setdefault(claim.uid, [])
        try:
            yield
        except LaterError:
            known = self._known.get(claim.uid, {})
            running = {each.ip for each in had_before(claim)}
            unused: list[_Left] = []
            for lease in made:
                if address_of(lease) in running:
                    continue
                known.pop(lease.name, None)
                nor_kept = msgspec.structs.replace(as_released(lease), lease=None)
                unused.append((lease.spec.pool, nor_kept, None))
            await self._release_all(claim.ref, unused)
            raise
        finally:
            del self._made[claim.uid]

    async def take(
        self,
        claim: Claim,
        request: InterfaceRequest,
        plan: Plan,
        level: Level,
        *,
        withheld: Collection[IpAddress] = (),
    ) -> Plan:
        """Return the plan with addresses, if its network has them leased; none that are `withheld`.

        A second call for the same request gets the same ones; a pod that runs keeps what it has,
        also if its leases were deleted, unless another claim has them by now.
        """
        interface = read_plan(plan)
        at = pooled_at(interface.judged)
        if not at:
            check_unpooled(request)
            return plan
        where = (*request.plugin_paths[at[0]], "ipam", "pool")
        if len(at) > 1:
            raise RequestError("only one plugin of a network can have a pool", path=where)
        name = interface.judged.plugins[at[0]].config["ipam"].get("pool", "")
        pool = await self.pools.pool(name)
        check_use(claim, request, pool, level, where)
        self._given_back.pop(claim.uid, None)
        chosen = chosen_of(request, pool, where)
        holder = holder_of(claim, request.device)
        owner = await self._kept.owner_of(claim, request, pool, interface.if_name)
        spec = AddressLeaseSpec(
            pool.name,
            "",
            request.device.driver,
            request.device.pool,
            holder,
            domain=pool.spec.domain,
            renewed=str(uuid.uuid4()),
            owner=owner,
        )
        known = await self._leases_of(claim)
        kept = await self._kept.leases_for(owner, spec)
        if not known and not kept and not claim.reported:
            self.quota.expect_room(pool, claim.namespace)
        had = had_before(claim, request.device)
        search = Search(self.pools, pool, spec, known, self._made.get(claim.uid, []))
        leases = []
        try:
            for space in pool.spaces:
                free = space.without(withheld)
                mine = tuple(lease for lease in known.values() if is_ours(lease, spec))
                wish = wish_of(free, chosen, (each.ip for each in had), mine)
                lease = await search.lease(free, wish, (*mine, *kept))
                known[lease.name] = lease
                leases.append(lease)
            counted = {each.ip for each in had}
            counted |= {address_of(each) for each in kept if each.spec.kept}
            new = [each for each in leases if address_of(each) not in counted]
            await self._check_new(pool, claim, spec, new)
        except (PoolFullError, AddressTakenError, NamespaceFullError):
            raise
        except BaseException:  # a request may have been carried out without an answer
            self._known.pop(claim.uid, None)
            raise
        addresses = addresses_of(pool, leases, had, kept_mac(owner, interface))
        interface = msgspec.structs.replace(interface, addresses=addresses)
        return msgspec.structs.replace(plan, network=interface.to_json())

    async def give_back(self, prepared: Prepared) -> None:
        """Release what a claim has, or leave it to whom it is kept for.

        What cannot be released now is left to the controller. May be repeated.
        """
        claim = prepared.claim
        self._given_back[claim.uid] = None
        if len(self._given_back) > CLAIMS_MAX:
            del self._given_back[next(iter(self._given_back))]
        known = self._known.pop(claim.uid, {})
        left = {name: (lease.spec.pool, as_released(lease)) for name, lease in known.items()}
        for plan in prepared.plans:
            addresses = read_plan(plan).addresses if plan.network is not None else None
            addresses = addresses or Addresses("")
            for each in addresses.leases:
                left.setdefault(each.name, (addresses.pool, each))
        await self._release_all(
            claim, [(pool, leased, known.get(name)) for name, (pool, leased) in left.items()]
        )
        for pool, _ in left.values():
            self.quota.forget(pool, claim.namespace)

    async def _check_new(
        self,
        pool: AddressPool,
        claim: Claim,
        spec: AddressLeaseSpec,
        new: Sequence[AddressLease],
    ) -> None:
        """Raise unless a claim may have leases that no pod has yet.

        Also those that an attempt left which ended before it came to this: they go as well.
        """
        try:
            await self._kept.expect_alone(spec.owner, spec, new)
            await self.quota.check(pool, claim.namespace, new)
        except (AddressTakenError, NamespaceFullError):
            made = self._made.get(claim.uid, [])
            made += [lease for lease in new if lease not in made]
            raise

    def has_given_back(self, claim_uid: str) -> bool:
        """Whether a claim has released what it had, and leased nothing since."""
        return claim_uid in self._given_back

    async def let_go(self, lease: AddressLease) -> None:
        """Release a lease of a claim that has given back the others."""
        holder, pool = lease.spec.claim, lease.spec.pool
        claim = ClaimRef(holder.uid, holder.namespace, holder.name)
        await self._release_all(claim, [(pool, as_released(lease), lease)])

    def learn(self, claim_uid: str, leases: Iterable[AddressLease]) -> None:
        """Remember the leases that a claim has by now, instead of what was known of them."""
        self._known[claim_uid] = {lease.name: lease for lease in leases}

    async def _release_all(self, claim: ClaimRef, left: Sequence[_Left]) -> None:
        """Release leases one after the other, as many as there is time for."""
        done = 0
        try:
            async with asyncio.timeout(RELEASE_S):
                for pool, leased, known in left:
                    await self._release(claim, pool, leased, known)
                    done += 1
        except TimeoutError:
            for _, leased, _ in left[done:]:
                _log_left(claim, leased, "the API server did not answer in time")

    async def _release(
        self, claim: ClaimRef, pool: str, leased: Leased, known: AddressLease | None
    ) -> None:
        try:
            if leased.lease is not None and leased.lease.owner is not None:
                await self._kept.leave(leased, claim, known)
                return
            await self.pools.release(leased.name, leased.uid, leased.resource_version)
        except NetclaimError as error:
            _log_left(claim, leased, str(error))
        else:
            self.pools.forget(pool, leased.name)

    async def _leases_of(self, claim: Claim) -> dict[str, AddressLease]:
        """What the claim has already, which only an attempt before this one can have left."""
        known = self._known.get(claim.uid)
        if known is None:
            again = claim.begun or claim.reported
            found = await self.pools.leases_of(claim.uid) if again else ()
            # Not those of a node that is lost, or of another driver.
            here = {(each.driver, each.pool) for each in claim.devices}
            known = {
                lease.name: lease
                for lease in found
                if (lease.spec.driver, lease.spec.node_name) in here
            }
            self._known[claim.uid] = known
        if len(self._known) > CLAIMS_MAX:
            del self._known[next(iter(self._known))]
        return known


def _log_left(claim: ClaimRef, leased: Leased, why: str) -> None:
    log.warning("address.left", **claim_fields(claim), lease=leased.name, error=why)
