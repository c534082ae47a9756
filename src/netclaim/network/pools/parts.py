"""Parts of leases: who has one, which address is wished for, what a plan keeps, why there is none.

No I/O.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from netclaim.model import AllocatedDevice, Claim
from netclaim.model.api.own_kinds.address_pool import (
    AddressLease,
    AddressLeaseSpec,
    AddressPool,
    LeaseHolder,
    held_device,
)
from netclaim.model.pools.address_space import IpAddress, Range, Space, range_of
from netclaim.network.plan.interface_plan import Addresses, Leased
from netclaim.network.pools.errors import AddressTakenError, PoolFullError
from netclaim.network.pools.kept import kept_words
from netclaim.network.pools.running import IpInterface
from netclaim.plugins.engine.conf import read_ip


@dataclass(frozen=True, slots=True)
class Wish:
    """The address of a family that is preferred to others, or the only one that will do."""

    address: IpAddress | None = None
    must: bool = False


def wish_of(
    space: Space,
    chosen: Iterable[IpAddress],
    had: Iterable[IpAddress],
    known: Sequence[AddressLease],
) -> Wish:
    """What a claim chose, or what its pod has, also outside of ranges that were changed since."""
    for address in chosen:
        if address.version == space.version:
            return Wish(address, must=True)
    mine = {address_of(lease) for lease in known}
    for address in had:
        if address.version == space.version and (address in space or address in mine):
            return Wish(address)
    return Wish()


def address_of(lease: AddressLease) -> IpAddress:
    return read_ip(lease.spec.address)


def as_released(lease: AddressLease) -> Leased:
    meta = lease.metadata
    return Leased(lease.name, meta.uid, meta.resource_version, "", lease=lease.spec)


def holder_of(claim: Claim, device: AllocatedDevice) -> LeaseHolder:
    """Who has an address: one device of a claim, whatever its other devices have."""
    name = held_device(device.device, device.share_id)
    return LeaseHolder(claim.namespace, claim.name, claim.uid, device.request, name)


def is_ours(lease: AddressLease, spec: AddressLeaseSpec) -> bool:
    """Whether the same device of a claim has it; a node may not touch what another one leased."""
    return _holding(lease.spec) == _holding(spec)


def _holding(spec: AddressLeaseSpec) -> tuple[object, ...]:
    """What is the same of all leases that one device of a claim has of a pool."""
    return spec.domain, spec.pool, spec.driver, spec.node_name, spec.claim


def identity_of(spec: AddressLeaseSpec) -> str:
    if spec.owner is not None:
        return spec.owner.identity
    return f"{spec.claim.uid}/{spec.claim.request}/{spec.claim.device}"


def addresses_of(
    pool: AddressPool, leases: Sequence[AddressLease], had: Sequence[IpInterface], mac: str
) -> Addresses:
    return Addresses(
        pool.name,
        tuple(_leased(pool, lease, had) for lease in leases),
        routes=tuple(msgspec.to_builtins(route) for route in pool.spec.routes),
        dns=msgspec.to_builtins(pool.spec.dns),
        mac=mac,
    )


def _leased(pool: AddressPool, lease: AddressLease, had: Sequence[IpInterface]) -> Leased:
    address = address_of(lease)
    try:
        found = range_of(pool.spec.ranges, address)
    except KeyError:  # the range is gone; who has the address keeps it as it is
        found = Range(next(str(each.network) for each in had if each.ip == address))
    length = found.cidr.partition("/")[2] or str(address.max_prefixlen)
    return Leased(
        lease.name,
        lease.metadata.uid,
        lease.metadata.resource_version,
        f"{address}/{length}",
        found.gateway,
        lease.spec,
    )


def taken_error(
    spec: AddressLeaseSpec, wish: IpAddress, had: AddressLease | None
) -> AddressTakenError:
    whose = "leased to another claim"
    if had is not None and had.spec.claim.namespace != spec.claim.namespace:
        whose = f"leased to a claim of another namespace (see the AddressLease of {wish})"
    elif had is not None:
        whose = kept_words(had) or f"leased to the claim {had.spec.claim.full_name}"
    return AddressTakenError(f"{wish} of the pool {spec.pool} is {whose}")


def full_error(pool: AddressPool, space: Space) -> PoolFullError:
    family = f" IPv{space.version}" if len(pool.spaces) > 1 else ""
    return PoolFullError(
        f"the pool {pool.name} has no free{family} address: all {space.size} are leased"
    )
