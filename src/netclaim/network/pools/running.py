"""What pods that run have of pools, by what is reported of their claims.

Promise: an address that a pod has and somebody else holds the lease of is logged wherever it is
found. No I/O.
"""

from ipaddress import IPv4Interface, IPv6Interface
from typing import TypeAlias

import structlog

from netclaim.model import AllocatedDevice, Claim
from netclaim.model.api.own_kinds.address_pool import AddressLeaseSpec, LeaseHolder
from netclaim.model.pools.address_space import IpAddress
from netclaim.plugins.engine.conf import read_cidr

IpInterface: TypeAlias = IPv4Interface | IPv6Interface

log = structlog.get_logger(__name__)


def had_before(claim: Claim, device: AllocatedDevice | None = None) -> tuple[IpInterface, ...]:
    """The addresses that a claim's status reports for a device of it, or for all."""
    return tuple(
        read_cidr(ip)
        for each in claim.reported
        if device is None or (each.driver, each.key) == (device.driver, device.key)
        for ip in each.ips
    )


def note_taken(spec: AddressLeaseSpec, address: IpAddress, holder: LeaseHolder | None) -> None:
    """Log that a pod may have an address that is leased to another claim by now."""
    log.error(
        "address.taken",
        claim=f"{spec.claim.namespace}/{spec.claim.name}",
        claim_uid=spec.claim.uid,
        pool=spec.pool,
        address=str(address),
        holder=f"{holder.namespace}/{holder.name}" if holder else "",
    )
