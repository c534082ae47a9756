"""ResourceSlices as devices: where each is, what it is like, who has it, and what is left of it.

Promise: the devices of a pool that lacks slices are unavailable. The order is that of node, driver
and name. A network's own device on a link is no link: it is there only while a claim has it. No
I/O. Limit: counters that devices share are not counted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from netclaim.model.api.base import QuantityText
from netclaim.model.api.dra.claim import DeviceResult, ResourceClaim
from netclaim.model.api.dra.ids import DeviceId
from netclaim.model.api.dra.slice import DeviceAttribute, DeviceCapacity, PublishedDevice
from netclaim.model.api.dra.taint import KEEPS_AWAY, DeviceTaintRule
from netclaim.model.quantity import Quantity, QuantityError
from netclaim.status.values import Capacity, ClaimUse, Device, DeviceState, Taint
from netclaim.survey.pools import Pool
from netclaim.survey.room import summed


def uses_of(claims: Iterable[ResourceClaim]) -> Mapping[DeviceId, tuple[ClaimUse, ...]]:
    """Return who has which device."""
    uses: dict[DeviceId, list[ClaimUse]] = {}
    for claim in claims:
        for one in claim.status.results:
            uses.setdefault(one.id, []).append(_use(claim, one))
    return {device: tuple(found) for device, found in uses.items()}


def _use(claim: ResourceClaim, given: DeviceResult) -> ClaimUse:
    return ClaimUse(
        namespace=claim.metadata.namespace,
        claim=claim.metadata.name,
        request=given.request,
        pods=claim.status.pods,
        share_id=given.share_id,
        admin_access=given.admin_access,
        consumed_capacity={name: str(value) for name, value in given.consumed_capacity.items()},
    )


def devices_of(
    pools: Iterable[Pool],
    uses: Mapping[DeviceId, tuple[ClaimUse, ...]],
    rules: Sequence[DeviceTaintRule] = (),
) -> tuple[Device, ...]:
    """Return all devices with who has them; `rules` are an admin's taints."""
    found = [device for pool in pools for device in _devices(pool, uses, rules)]
    return tuple(sorted(found, key=lambda one: (one.node, one.driver, one.pool, one.name)))


def _devices(
    pool: Pool,
    uses: Mapping[DeviceId, tuple[ClaimUse, ...]],
    rules: Sequence[DeviceTaintRule],
) -> Iterator[Device]:
    for part in pool.slices:
        for one in part.spec.devices:
            device = DeviceId(pool.driver, pool.name, one.name)
            used_by = uses.get(device, ())
            if one.pod_network and not used_by:
                continue
            taints = (
                *(Taint(key=it.key, value=it.value, effect=it.effect) for it in one.taints),
                *(_by_rule(rule) for rule in rules if rule.concerns(device)),
            )
            yield Device(
                driver=pool.driver,
                pool=pool.name,
                name=one.name,
                node=part.spec.node_name or one.node_name,
                state=_state(one, used_by, taints, complete=not pool.missing),
                shareable=one.allow_multiple_allocations,
                attributes=_attributes(one.attributes),
                capacity=tuple(_capacities(one, used_by)),
                taints=taints,
                used_by=used_by,
            )


def _by_rule(rule: DeviceTaintRule) -> Taint:
    taint = rule.spec.taint
    return Taint(key=taint.key, value=taint.value, effect=taint.effect, rule=rule.metadata.name)


def _state(
    device: PublishedDevice,
    used_by: Sequence[ClaimUse],
    taints: Iterable[Taint],
    *,
    complete: bool,
) -> DeviceState:
    taken = any(not use.admin_access for use in used_by)
    if taken and (not device.allow_multiple_allocations or _is_full(device, used_by)):
        return "used"
    if not complete:
        return "unavailable"
    if any(taint.effect in KEEPS_AWAY for taint in taints):
        return "tainted"
    return "shared" if taken else "free"


def _is_full(device: PublishedDevice, used_by: Iterable[ClaimUse]) -> bool:
    """Whether so little is left of a capacity that no other claim can have any of the device."""
    return any(
        _nanos(amount.value) - _nanos(_consumed(name, used_by)) < _least(amount)
        for name, amount in device.capacity.items()
    )


def _least(capacity: DeviceCapacity) -> int:
    """The least that a claim can have of a capacity; without a policy, any amount it asks for."""
    policy = capacity.request_policy
    if policy is None:
        return 1
    least = [*policy.valid_values[:1], policy.valid_range.min, policy.default, capacity.value]
    return next(_nanos(text) for text in least if text is not None)


def _nanos(text: QuantityText) -> int:
    try:
        return Quantity.parse(text).nanos
    except QuantityError:
        return 0  # the API server takes none that is not one


def _attributes(attributes: Mapping[str, DeviceAttribute]) -> dict[str, str | int | bool]:
    """Return attributes as plain values; a kind that is newer than this is left out."""
    values = {name: one.typed[1] for name, one in attributes.items()}
    return {name: value for name, value in values.items() if value is not None}


def _capacities(device: PublishedDevice, used_by: Sequence[ClaimUse]) -> Iterator[Capacity]:
    """How much there is, and is used: all of it, if one claim keeps everybody else away."""
    owners = [use for use in used_by if not use.admin_access]
    is_alone = len(owners) == 1 and (
        not device.allow_multiple_allocations or _is_full(device, owners)
    )
    for name, amount in device.capacity.items():
        used = str(amount.value) if is_alone else _consumed(name, used_by)
        yield Capacity(name=name, total=str(amount.value), used=used)


def _consumed(name: str, used_by: Iterable[ClaimUse]) -> str:
    """How much claims have of a capacity; admin access takes nothing from others."""
    return summed(use.consumed_capacity.get(name) for use in used_by if not use.admin_access)
