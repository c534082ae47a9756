"""AddressPools, as their controller reports them, with who has their addresses.

A pool that was switched off is as somebody wants it. No I/O. Limit: leases are known only where
they were listed; without them a pool says how many addresses are used, and not by whom.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from netclaim.model.api.own_kinds import address_pool
from netclaim.status.parts.networks import NO_REPORT
from netclaim.status.values import AddressPool, ClaimStatus, PoolAddress, Problem

MEANT: Final = "Disabled"  # the reason of an admin
HINT: Final = "kubectl describe addresspool {}"
WHO: Final = "netclaim status pool/{} shows who has its addresses"
GROW: Final = f"add a range to it, or end pods; {WHO}"


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


def pool_problems(pools: Iterable[AddressPool]) -> Iterator[Problem]:
    """Yield the pools that nobody gets addresses of, although an admin meant them to."""
    for one in pools:
        if one.ready is None:
            yield _problem(one, NO_REPORT, HINT, is_error=False)
        elif not one.ready:
            yield _problem(one, one.message, HINT, is_error=True)
        elif one.reason != MEANT and not one.free:
            yield _problem(one, f"full: all {one.size} addresses are used", GROW, is_error=False)
        elif one.reason != MEANT and one.free * 10 < one.size:  # as the alert that the chart has
            said = f"nearly full: {one.free} of {one.size} addresses are free"
            yield _problem(one, said, GROW, is_error=False)


def _problem(pool: AddressPool, message: str, hint: str, *, is_error: bool) -> Problem:
    return Problem(
        severity="error" if is_error else "warning",
        kind="AddressPool",
        name=pool.name,
        message=message,
        hint=hint.format(pool.name),
    )
