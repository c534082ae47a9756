"""Whether a device may be given to a claim while other claims hold devices. Pure.

The scheduler decides who gets a device; this is the last line of defence against its races and
against claims that were never released.
"""

from collections.abc import Iterable

from netclaim.framework.records import Booking
from netclaim.model.claim import AllocatedDevice, Claim

__all__ = ["holder"]


def holder(claim: Claim, bookings: Iterable[Booking]) -> Booking | None:
    """Another claim's booking that holds one of the claim's devices, if there is one."""
    for booking in bookings:
        if booking.claim.uid == claim.uid:
            continue
        if any(_exclude(mine, held) for mine in claim.devices for held in booking.devices):
            return booking
    return None


def _exclude(one: AllocatedDevice, other: AllocatedDevice) -> bool:
    if (one.pool, one.device) != (other.pool, other.device):
        return False
    if one.admin_access or other.admin_access:
        return False
    return None in {one.share_id, other.share_id} or one.share_id == other.share_id
