"""ResourceSlices as devices: where each is, what it is like, who has it, and what is left of it.

Promise: only slices of a pool's newest generation count, as for the scheduler; a pool that lacks
slices has its devices as unavailable, and says so. The order is that of node, driver and name. No
I/O. Limit: counters that devices share are not counted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from netclaim.model.quantity import Quantity, QuantityError
from netclaim.status.dra_objects import Allocated, Claim, PublishedDevice, Slice
from netclaim.status.values import Capacity, ClaimUse, Device, DeviceState, Taint

__all__ = ["DeviceId", "PoolState", "devices_of", "pool_states", "uses_of"]

KEEPS_AWAY: Final = ("NoSchedule", "NoExecute")  # an effect None is for information only
KINDS: Final = ("string", "int", "bool", "version")


class DeviceId(NamedTuple):
    """What tells a device from every other in the cluster."""

    driver: str
    pool: str
    device: str


class PoolState(msgspec.Struct, frozen=True):
    """A pool: the slices of its newest generation, and how many of them there should be."""

    driver: str
    name: str
    generation: int
    expected: int
    slices: tuple[Slice, ...]
    outdated: int  # slices of older generations that are still there

    @property
    def missing(self) -> int:
        """How many slices are missing: while that is so, no device can be allocated."""
        return max(0, self.expected - len(self.slices))

    @property
    def node(self) -> str:
        """Its node, if it has one."""
        return self.slices[0].spec.node_name


def pool_states(slices: Iterable[Slice]) -> tuple[PoolState, ...]:
    """Put slices together."""
    pools: dict[tuple[str, str], list[Slice]] = {}
    for one in slices:
        pools.setdefault((one.spec.driver, one.spec.pool.name), []).append(one)
    return tuple(_pool_state(*key, parts) for key, parts in sorted(pools.items()))


def _pool_state(driver: str, name: str, parts: Sequence[Slice]) -> PoolState:
    newest = max(one.spec.pool.generation for one in parts)
    current = [one for one in parts if one.spec.pool.generation == newest]
    return PoolState(
        driver=driver,
        name=name,
        generation=newest,
        expected=current[0].spec.pool.resource_slice_count,
        slices=tuple(sorted(current, key=lambda one: one.metadata.name)),
        outdated=len(parts) - len(current),
    )


def uses_of(claims: Iterable[Claim]) -> Mapping[DeviceId, tuple[ClaimUse, ...]]:
    """Return who has which device."""
    uses: dict[DeviceId, list[ClaimUse]] = {}
    for claim in claims:
        given = claim.status.allocation.devices.results if claim.status.allocation else ()
        pods = tuple(
            one.name
            for one in claim.status.reserved_for
            if one.resource == "pods" and not one.api_group
        )
        for one in given:
            found = uses.setdefault(DeviceId(one.driver, one.pool, one.device), [])
            found.append(_use(claim, one, pods))
    return {device: tuple(found) for device, found in uses.items()}


def _use(claim: Claim, given: Allocated, pods: tuple[str, ...]) -> ClaimUse:
    return ClaimUse(
        namespace=claim.metadata.namespace,
        claim=claim.metadata.name,
        request=given.request,
        pods=pods,
        share_id=given.share_id,
        admin_access=given.admin_access,
        consumed_capacity={name: str(value) for name, value in given.consumed_capacity.items()},
    )


def devices_of(
    pools: Iterable[PoolState], uses: Mapping[DeviceId, tuple[ClaimUse, ...]]
) -> tuple[Device, ...]:
    """Return all devices with who has them."""
    found = [device for pool in pools for device in _devices(pool, uses)]
    return tuple(sorted(found, key=lambda one: (one.node, one.driver, one.pool, one.name)))


def _devices(pool: PoolState, uses: Mapping[DeviceId, tuple[ClaimUse, ...]]) -> Iterator[Device]:
    for part in pool.slices:
        for one in part.spec.devices:
            used_by = uses.get(DeviceId(pool.driver, pool.name, one.name), ())
            yield Device(
                driver=pool.driver,
                pool=pool.name,
                name=one.name,
                node=part.spec.node_name or one.node_name,
                state=_state(one, used_by, complete=not pool.missing),
                shareable=one.allow_multiple_allocations,
                attributes=_attributes(one.attributes),
                capacity=tuple(_capacities(one, used_by)),
                taints=tuple(
                    Taint(key=taint.key, value=taint.value, effect=taint.effect)
                    for taint in one.taints
                ),
                used_by=used_by,
            )


def _state(device: PublishedDevice, used_by: Sequence[ClaimUse], *, complete: bool) -> DeviceState:
    taken = any(not use.admin_access for use in used_by)
    if taken and (not device.allow_multiple_allocations or _is_full(device, used_by)):
        return "used"
    if not complete:
        return "unavailable"
    if any(taint.effect in KEEPS_AWAY for taint in device.taints):
        return "tainted"
    return "shared" if device.allow_multiple_allocations else "free"


def _is_full(device: PublishedDevice, used_by: Iterable[ClaimUse]) -> bool:
    """Whether a capacity is used up, so that no other claim can have anything of the device."""
    return any(
        Quantity.parse(one.used).nanos >= Quantity.parse(one.total).nanos
        for one in _capacities(device, used_by)
    )


def _attributes(attributes: Mapping[str, Mapping[str, Any]]) -> dict[str, str | int | bool]:
    """Return attributes as plain values; a kind that is newer than this is left out."""
    return {
        name: value[kind]
        for name, value in attributes.items()
        for kind in KINDS
        if isinstance(value.get(kind), str | int)
    }


def _capacities(device: PublishedDevice, used_by: Iterable[ClaimUse]) -> Iterator[Capacity]:
    for name, amount in device.capacity.items():
        # What is there with admin access takes nothing from others.
        consumed = (use.consumed_capacity.get(name) for use in used_by if not use.admin_access)
        yield Capacity(name=name, total=str(amount.value), used=_sum(consumed))


def _sum(amounts: Iterable[str | None]) -> str:
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
