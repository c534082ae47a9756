"""Capacity of devices: what a request consumes of it, and what its policy makes of the request.

It is computed as in kube-scheduler 1.37 (KEP-5075): a request that asks for nothing consumes the
policy's default, or all of it; an amount that a policy does not list is rounded up to the next one
that it lists. An amount that the scheduler's arithmetic cannot hold fails the pod. Ranges with a
step are counted in whole units, or in thousandths with the feature DRAFractionalCapacityRange,
which is off in a cluster that can still go back to 1.36. No I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple

from netclaim.allocator.errors import AllocationError
from netclaim.model.api.base import QuantityText
from netclaim.model.api.dra.slice import CapacityPolicy, DeviceCapacity
from netclaim.model.quantity import INT64_MAX, NANO, Quantity

MILLI: Final = NANO // 1000


class Asked(NamedTuple):
    """An amount of a capacity that a request asks for, as its author wrote it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Policy:
    """Which amounts of a capacity can be consumed: some values, or a range with a step."""

    default: Quantity | None = None
    values: tuple[Quantity, ...] = ()
    least: Quantity | None = None
    most: Quantity | None = None
    step: Quantity | None = None

    @classmethod
    def of(cls, found: CapacityPolicy) -> "Policy":
        valid = found.valid_range
        step = _quantity(valid.step)
        return cls(
            default=_quantity(found.default),
            values=tuple(map(Quantity.parse, found.valid_values)),
            least=_quantity(valid.min),
            most=_quantity(valid.max),
            step=step if step is not None and step.nanos > 0 else None,
        )

    def unit(self, *, fractional: bool) -> int:
        """What the scheduler counts in: units, or thousandths if it may and all limits fit."""
        if not fractional:
            return NANO
        limits = [one.nanos for one in (self.least, self.most, self.step) if one is not None]
        fine = all(one % MILLI == 0 and abs(one) // MILLI <= INT64_MAX for one in limits)
        return MILLI if fine else NANO

    def __str__(self) -> str:
        if self.values:
            return f"one of {', '.join(map(str, self.values))}"
        limits = (("from", self.least), ("to", self.most), ("in steps of", self.step))
        return " ".join(f"{word} {limit}" for word, limit in limits if limit is not None)


@dataclass(frozen=True, slots=True)
class Capacity:
    """How much there is of something, and how much of it a request may take."""

    value: Quantity
    policy: Policy | None = None

    @classmethod
    def of(cls, found: DeviceCapacity) -> "Capacity":
        """Return a capacity that a driver publishes; a QuantityError names what is not one."""
        policy = found.request_policy
        return cls(Quantity.parse(found.value), Policy.of(policy) if policy is not None else None)


class TooSmall(NamedTuple):
    """Even an unused device could not serve the request; `name` is the capacity, if it is one."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"capacity {self.name}: {self.why}" if self.name else self.why


def consumed_by(
    asked: tuple[Asked, ...], capacities: Mapping[str, Capacity], *, fractional: bool = False
) -> tuple[TooSmall | None, Mapping[str, Quantity]]:
    """Return why even an unused device could not serve a request, and what it would consume.

    An AllocationError says that the scheduler would fail the pod.
    """
    missing = next((one.name for one in asked if one.name not in capacities), None)
    if missing is not None:
        return TooSmall(missing, "the device has none"), {}
    wanted = dict(asked)
    consumed = {
        name: consumption(name, one, wanted.get(name), fractional=fractional)
        for name, one in capacities.items()
    }
    for name, capacity in capacities.items():
        if _violates(capacity.policy, consumed[name], fractional=fractional):
            return TooSmall(name, f"{consumed[name]} is not {capacity.policy}"), consumed
        if consumed[name] > capacity.value:
            return TooSmall(name, f"{consumed[name]} is more than all, {capacity.value}"), consumed
    return None, consumed


def consumption(
    name: str, capacity: Capacity, asked: str | None, *, fractional: bool = False
) -> Quantity:
    """Return how much of a capacity a request consumes; `asked` is None if it names no amount."""
    policy = capacity.policy
    if asked is None:
        amount = policy.default if policy and policy.default is not None else capacity.value
    else:
        amount = _rounded(name, _parsed(asked), policy, fractional=fractional)
    if amount.nanos < 0:
        raise AllocationError(f"capacity {name}: {amount} is negative")
    return amount


def _rounded(name: str, amount: Quantity, policy: Policy | None, *, fractional: bool) -> Quantity:
    if policy is None:
        return amount
    if policy.least is not None:
        if amount < policy.least:
            return policy.least
        if policy.step is None:
            return amount
        return _stepped(name, amount, policy, policy.unit(fractional=fractional))
    return next((one for one in policy.values if amount <= one), amount)


def _stepped(name: str, amount: Quantity, policy: Policy, unit: int) -> Quantity:
    """Round up to a whole number of steps above the least, in whole units of the policy."""
    assert policy.least is not None
    assert policy.step is not None
    if unit == MILLI and amount.nanos % MILLI:
        raise AllocationError(f"capacity {name}: {amount} has more than three decimal places")
    least, step = _units(policy.least, unit), _units(policy.step, unit)
    steps = -(-(_units(amount, unit) - least) // step)
    if max(amount.nanos // unit, least + steps * step) > INT64_MAX:
        raise AllocationError(f"capacity {name}: {amount} is too large for the scheduler")
    return replace(policy.step, nanos=(least + steps * step) * unit)


def _violates(policy: Policy | None, amount: Quantity, *, fractional: bool) -> bool:
    if policy is None or amount == policy.default:
        return False
    if policy.values:
        return amount not in policy.values
    if policy.most is not None and amount > policy.most:
        return True
    if policy.step is None or policy.least is None:
        return False
    unit = policy.unit(fractional=fractional)
    if unit == MILLI and amount.nanos % MILLI:
        return True
    return (_units(amount, unit) - _units(policy.least, unit)) % _units(policy.step, unit) != 0


def _units(amount: Quantity, unit: int) -> int:
    return -(-amount.nanos // unit)


def _quantity(value: QuantityText | None) -> Quantity | None:
    return None if value is None else Quantity.parse(value)


@lru_cache(maxsize=1024)  # far more than the amounts in use at a time
def _parsed(text: str) -> Quantity:
    return Quantity.parse(text)
