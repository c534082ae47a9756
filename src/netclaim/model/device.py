"""A device as its driver offers it, and the API's limits on what may be offered.

Promise: a `Device` that exists can be published; everything the API server would refuse is refused
here, with the device's name in the message, when the value is made. Limit: devices that consume
shared counters (partitionable devices) and list-typed attributes are not modelled.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from netclaim.errors import NetclaimError
from netclaim.model.quantity import Quantity

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

# The API's own limits (resource.k8s.io validation).
ATTRIBUTES_AND_CAPACITIES_MAX: Final = 32
STRING_MAX: Final = 64
IDENTIFIER_MAX: Final = 32
DOMAIN_MAX: Final = 63
VALID_VALUES_MAX: Final = 10
TAINTS_MAX: Final = 16
INT64_MAX: Final = 2**63 - 1

DNS_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
DNS_SUBDOMAIN: Final = re.compile(rf"{DNS_LABEL.pattern}(?:\.{DNS_LABEL.pattern})*", re.ASCII)
IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
SEMVER: Final = re.compile(
    r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?",
    re.ASCII,
)


class DeviceError(NetclaimError, ValueError):
    """A device the API would refuse; the driver's author acts."""


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


class Taint(msgspec.Struct, frozen=True):
    """A reason to keep pods away from a device, or to evict them from it."""

    key: str
    effect: Literal["None", "NoSchedule", "NoExecute"]
    value: str = ""


class Device(msgspec.Struct, frozen=True):
    """One device, by a name that stays the same across restarts.

    An attribute or capacity name without a domain belongs to the driver's own domain.
    """

    name: str
    attributes: Mapping[str, AttributeValue] = {}
    capacity: Mapping[str, Capacity] = {}
    allow_multiple_allocations: bool = False
    taints: tuple[Taint, ...] = ()

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
        if len(self.taints) > TAINTS_MAX:
            raise self._error(f"{len(self.taints)} taints; at most {TAINTS_MAX} are allowed")

    def _error(self, message: str) -> DeviceError:
        return DeviceError(f"device {self.name}: {message}")

    def _check_name(self, name: str) -> None:
        domain, slash, identifier = name.rpartition("/")
        if not IDENTIFIER.fullmatch(identifier) or len(identifier) > IDENTIFIER_MAX:
            raise self._error(f"{name!r}: {identifier!r} is not a C identifier of at most 32 bytes")
        if slash and not (len(domain) <= DOMAIN_MAX and DNS_SUBDOMAIN.fullmatch(domain)):
            raise self._error(f"{name!r}: {domain!r} is not a domain of at most 63 bytes")

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


def is_dns_label(text: str) -> bool:
    """Whether the text may name a device."""
    return DNS_LABEL.fullmatch(text) is not None


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
