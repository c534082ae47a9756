"""What is left of links that claims share: which of them are nearly used up. No I/O.

Promise: every command that shows a cluster means the same by "nearly full". Limit: a link that one
claim has alone is as full as it should be.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from netclaim.model.api.base import QuantityText
from netclaim.model.api.dra.claim import DeviceResult, ResourceClaim
from netclaim.model.api.dra.ids import DeviceId
from netclaim.model.quantity import Quantity, QuantityError
from netclaim.survey.pools import Pool

ROOM: Final = (
    "further claims go to other links or wait; --attachments and --link-bandwidth set"
    " how much there is"
)


@dataclass(frozen=True, slots=True)
class FullDevice:
    """A device of which several claims have nearly everything."""

    name: str  # with its pool's
    claims: int
    amounts: str  # what is scarce, for example "attachments 29 of 32"

    def __str__(self) -> str:
        return f"{self.amounts} in use by {self.claims} claims"


def full_devices(pools: Iterable[Pool], claims: Iterable[ResourceClaim]) -> list[FullDevice]:
    """Return the devices that claims share and that are nearly used up."""
    owners: dict[DeviceId, list[DeviceResult]] = {}
    for claim in claims:
        for one in claim.status.results:
            if not one.admin_access:
                owners.setdefault(one.id, []).append(one)
    found = []
    for pool in pools:
        for device in (device for part in pool.slices for device in part.spec.devices):
            having = owners.get(DeviceId(pool.driver, pool.name, device.name), [])
            total = {name: str(each.value) for name, each in device.capacity.items()}
            used = {
                name: summed(one.consumed_capacity.get(name) for one in having) for name in total
            }
            if device.allow_multiple_allocations:
                found.append(full_device(f"{pool.name}/{device.name}", len(having), total, used))
    return [each for each in found if each is not None]


def full_device(
    name: str, claims: int, total: Mapping[str, str], used: Mapping[str, str]
) -> FullDevice | None:
    """Return a device that claims share if a capacity of it is nearly used up."""
    scarce = [each for each in total if _is_scarce(used[each], total[each])]
    if claims < 2 or not scarce:
        return None
    amounts = ", ".join(f"{each} {used[each]} of {total[each]}" for each in scarce)
    return FullDevice(name, claims, amounts)


def _is_scarce(used: str, total: str) -> bool:
    there = _nanos(total)
    return there > 0 and _nanos(used) * 10 >= there * 9  # a tenth is left, or less


def _nanos(text: str) -> int:
    try:
        return Quantity.parse(text).nanos
    except QuantityError:
        return 0  # the API server takes none that is not one


def summed(amounts: Iterable[QuantityText | None]) -> str:
    """Return the sum of amounts as people write them, in the notation of the last one."""
    total: Quantity | None = None
    for text in amounts:
        if text is None:
            continue
        try:
            amount = Quantity.parse(text)
        except QuantityError:
            continue  # the API server takes none that is not one
        total = amount if total is None else Quantity(total.nanos + amount.nanos, amount.notation)
    return str(total) if total is not None else "0"
