"""A device as its driver offers it, and the API's limits on what may be offered.

Promise: a `Device` that exists can be published; everything the API server would refuse is refused
here, with the device's name in the message, when the value is made. Limit: list-typed attributes,
compatibility groups and devices of several nodes are not modelled.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from netclaim.model.api.dra.taint import Taint as ApiTaint
from netclaim.model.api.limits import (
    ATTRIBUTES_AND_CAPACITIES_MAX,
    BINDING_CONDITIONS_MAX,
    COUNTER_USES_MAX,
    STRING_MAX,
    TAINTS_MAX,
    VALID_VALUES_MAX,
)
from netclaim.model.devices.counter import CounterUse
from netclaim.model.devices.device_name import (
    DeviceError,
    is_dns_label,
    is_label_key,
    is_label_value,
    qualified_name_fault,
)
from netclaim.model.quantity import INT64_MAX, Quantity

__all__ = [
    "AttributeValue",
    "Capacity",
    "Device",
    "DeviceError",
    "RequestPolicy",
    "Taint",
    "ValidRange",
    "Version",
    "is_dns_label",
]


SEMVER: Final = re.compile(
    r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?",
    re.ASCII,
)


class Version(msgspec.Struct, frozen=True):
    """A semantic version, which CEL compares as one; a plain `str` is compared as text."""

    text: str

    def __post_init__(self) -> None:
        if len(self.text) > STRING_MAX or not SEMVER.fullmatch(self.text):
            raise DeviceError(f"{self.text!r} is not a semantic version such as 1.2.3")


AttributeValue: TypeAlias = bool | int | str | Version


class ValidRange(msgspec.Struct, frozen=True):
    """Amounts a request may ask for: from `minimum` to `maximum`, in steps of `step`."""

    minimum: Quantity
    maximum: Quantity | None = None
    step: Quantity | None = None


class RequestPolicy(msgspec.Struct, frozen=True):
    """What a share of a capacity may be. Without a default, a share takes the whole capacity."""

    default: Quantity
    valid_values: tuple[Quantity, ...] = ()
    valid_range: ValidRange | None = None


class Capacity(msgspec.Struct, frozen=True):
    """An amount the device has; with a policy it can be shared out."""

    value: Quantity
    policy: RequestPolicy | None = None


class Taint(ApiTaint, frozen=True):
    """A reason to keep pods away from a device, or to evict them from it."""

    effect: Literal["None", "NoSchedule", "NoExecute"]


class Device(msgspec.Struct, frozen=True):
    """One device, by a name that stays the same across restarts.

    An attribute or capacity name without a domain belongs to the driver's own domain.
    """

    name: str
    attributes: Mapping[str, AttributeValue] = {}
    capacity: Mapping[str, Capacity] = {}
    allow_multiple_allocations: bool = False
    taints: tuple[Taint, ...] = ()
    consumes: tuple[CounterUse, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    """What the claim's status must say of the device before the pod is bound to its node."""
    binding_failure_conditions: tuple[str, ...] = ()
    """What sends the pod to another device instead. Needed as soon as there are conditions."""
    binds_to_node: bool = False
    """Whether a claim with the device is bound to the node that was chosen for its first pod."""
    making: int = 0
    """Which thing it is that has the name; another number says that it was made again, and that
    pods may have lost what they had of the earlier one. Not published."""

    def __post_init__(self) -> None:
        if not is_dns_label(self.name):
            raise DeviceError(f"device name {self.name!r} is not a DNS label")
        total = len(self.attributes) + len(self.capacity)
        if total > ATTRIBUTES_AND_CAPACITIES_MAX:
            raise self._error(
                f"{total} attributes and capacities; "
                f"at most {ATTRIBUTES_AND_CAPACITIES_MAX} are allowed"
            )
        for name, value in self.attributes.items():
            self._check_name(name)
            self._check_attribute(name, value)
        for name, capacity in self.capacity.items():
            self._check_name(name)
            if capacity.policy is not None:
                self._check_policy(name, capacity, capacity.policy)
        fault = (
            _taints_fault(self.taints)
            or _uses_fault(self.consumes)
            or _conditions_fault(self.binding_conditions, self.binding_failure_conditions)
        )
        if fault:
            raise self._error(fault)

    def _error(self, message: str) -> DeviceError:
        return DeviceError(f"device {self.name}: {message}")

    def _check_name(self, name: str) -> None:
        if fault := qualified_name_fault(name):
            raise self._error(f"{name!r}: {fault}")

    def _check_attribute(self, name: str, value: AttributeValue) -> None:
        if isinstance(value, str) and len(value.encode()) > STRING_MAX:
            raise self._error(f"attribute {name} is longer than {STRING_MAX} bytes")
        if isinstance(value, int) and not -INT64_MAX - 1 <= value <= INT64_MAX:
            raise self._error(f"attribute {name} does not fit in 64 bits")

    def _check_policy(self, name: str, capacity: Capacity, policy: RequestPolicy) -> None:
        if not self.allow_multiple_allocations:
            raise self._error(f"capacity {name} has a policy, but the device cannot be shared")
        if policy.valid_values and policy.valid_range is not None:
            raise self._error(f"capacity {name} has both valid values and a valid range")
        fault = _values_fault(policy) or _range_fault(policy, capacity.value)
        if fault:
            raise self._error(f"capacity {name}: {fault}")


def _taints_fault(taints: tuple[Taint, ...]) -> str:
    if len(taints) > TAINTS_MAX:
        return f"{len(taints)} taints; at most {TAINTS_MAX} are allowed"
    for one in taints:
        if not is_label_key(one.key):
            return f"taint {one.key!r} is not named as a label is"
        if not is_label_value(one.value):
            return f"taint {one.key}: {one.value!r} is not the value of a label"
    return ""


def _uses_fault(uses: tuple[CounterUse, ...]) -> str:
    if len(uses) > COUNTER_USES_MAX:
        return f"uses {len(uses)} counter sets; at most {COUNTER_USES_MAX} are allowed"
    if len({use.counter_set for use in uses}) < len(uses):
        return "uses a counter set twice"
    return ""


def _conditions_fault(conditions: tuple[str, ...], failures: tuple[str, ...]) -> str:
    if bool(conditions) != bool(failures):
        return "binding conditions and binding failure conditions need each other"
    if max(len(conditions), len(failures)) > BINDING_CONDITIONS_MAX:
        return f"more than {BINDING_CONDITIONS_MAX} binding conditions of a kind"
    named = (*conditions, *failures)
    if len(set(named)) < len(named):
        return "a binding condition is named twice"
    wrong = [name for name in named if not is_label_key(name)]
    return f"binding condition {wrong[0]!r} is not named as a label is" if wrong else ""


def _values_fault(policy: RequestPolicy) -> str:
    values = policy.valid_values
    if not values:
        return ""
    if len(values) > VALID_VALUES_MAX:
        return f"{len(values)} valid values; at most {VALID_VALUES_MAX} are allowed"
    if list(values) != sorted(set(values)):
        return "valid values are not in ascending order"
    return "" if policy.default in values else "the default is not one of the valid values"


def _range_fault(policy: RequestPolicy, whole: Quantity) -> str:
    valid = policy.valid_range
    if valid is None:
        return ""
    top = valid.maximum if valid.maximum is not None else whole
    if not valid.minimum <= policy.default <= top <= whole:
        return "minimum <= default <= maximum <= capacity does not hold"
    if valid.step is None:
        return ""
    step = valid.step.nanos
    if step <= 0 or valid.minimum.nanos + step > whole.nanos:
        return "the step is not positive, or exceeds the capacity"
    amounts = [policy.default] if valid.maximum is None else [policy.default, valid.maximum]
    if any((amount.nanos - valid.minimum.nanos) % step for amount in amounts):
        return "default and maximum are not whole steps from the minimum"
    return ""
