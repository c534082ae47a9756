"""AddressPools, as their controller reports them, with who has their addresses.

No I/O. Limit: leases are known only where they were listed; without them a pool says how many
addresses are used, and not by whom.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping

from netclaim.model.api.own_kinds import address_pool
from netclaim.status.values import AddressPool, ClaimStatus, PoolAddress, Problem
from netclaim.survey.offered import pool_fault


def pool_views(
    pools: Iterable[address_pool.AddressPool],
    leases: Iterable[address_pool.AddressLease],
    claims: Mapping[tuple[str, str], ClaimStatus],
) -> tuple[AddressPool, ...]:
    """Return the pools by their names."""
    by_pool: dict[str, list[PoolAddress]] = {}
    for lease in leases:
        by_pool.setdefault(lease.spec.pool, []).append(_address(lease, claims))
    views = (_view(pool, by_pool.get(pool.name, ())) for pool in pools)
    return tuple(sorted(views, key=lambda one: one.name))


def _address(
    lease: address_pool.AddressLease, claims: Mapping[tuple[str, str], ClaimStatus]
) -> PoolAddress:
    holder, owner = lease.spec.claim, lease.spec.owner
    if lease.spec.kept and owner is not None:
        return PoolAddress(
            address=lease.spec.address,
            namespace=owner.namespace,
            claim="",
            node="",
            kept_for=owner.replica,
        )
    claim = claims.get((holder.namespace, holder.name))
    return PoolAddress(
        address=lease.spec.address,
        namespace=holder.namespace,
        claim=holder.name,
        node=lease.spec.node_name,
        pods=claim.pods if claim is not None else (),
    )


def _view(pool: address_pool.AddressPool, addresses: Iterable[PoolAddress]) -> AddressPool:
    ready = pool.ready
    return AddressPool(
        name=pool.name,
        ranges=tuple(one.cidr for one in pool.spec.ranges),
        ready=ready.status == "True" if ready is not None else None,
        reason=ready.reason if ready is not None else "",
        message=ready.message if ready is not None else "",
        size=pool.status.size,
        used=pool.status.used,
        kept=pool.status.kept,
        free=pool.status.free,
        addresses=tuple(sorted(addresses, key=_place)),
    )


def _place(one: PoolAddress) -> tuple[int, int]:
    """Where an address comes in the order of addresses; what is none comes first."""
    try:
        address = ipaddress.ip_address(one.address)
    except ValueError:
        return 0, 0
    return address.version, int(address)


def pool_problems(pools: Iterable[address_pool.AddressPool]) -> Iterator[Problem]:
    """Yield the pools that nobody gets addresses of, although an admin meant them to."""
    for one in sorted(pools, key=lambda one: one.name):
        if fault := pool_fault(one):
            yield Problem(
                severity="error" if fault.is_error else "warning",
                kind="AddressPool",
                name=one.name,
                message=fault.message,
                hint=fault.hint,
            )
