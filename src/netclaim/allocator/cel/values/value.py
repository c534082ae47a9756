"""CEL values as Python values: the names of their types, when they are equal, and their order.

    bool, int, double, string, bytes, null_type   bool, int, float, str, bytes, None
    uint                                          Uint
    list, map, optional_type, type                list, dict, Optional, Type
    kubernetes.Quantity, kubernetes.Semver        Amount, Semver
    net.IP, net.CIDR                              IPv4Address, IPv6Address; IPv4Interface, ...

Promise: equality and order are those of cel-go with Kubernetes' types, including its oddities: a
quantity or a version compared with anything else has no value instead of being unequal. A bool that
is the key of a map is wrapped, since True and 1 are the same key to Python.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface
from typing import Any, Final, TypeAlias

from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.values.amount import Amount
from netclaim.allocator.cel.values.semver import Semver
from netclaim.allocator.cel.values.types import Type
from netclaim.model.quantity import INT64_MAX

__all__ = [
    "INT64_MAX",
    "INT64_MIN",
    "NONE",
    "UINT64_MAX",
    "DomainMap",
    "Optional",
    "Uint",
    "Value",
    "compare",
    "equal",
    "from_key",
    "int_value",
    "no_overload",
    "to_key",
    "type_name",
    "uint_value",
]

Value: TypeAlias = Any  # one of the types in this module's table


class Uint(int):
    """An unsigned 64-bit integer; never the result of Python's arithmetic, which gives int."""

    __slots__ = ()


class DomainMap(dict[str, Mapping[str, Value]]):
    """Attributes or capacities by domain: an unknown domain is empty, yet not `in` the map."""

    __slots__ = ()

    def __missing__(self, domain: object) -> Mapping[str, Value]:
        return {}


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent."""

    value: Value = None
    present: bool = True


NONE: Final = Optional(present=False)

INT64_MIN: Final = -INT64_MAX - 1
UINT64_MAX: Final = 2**64 - 1

NUMBERS: Final = frozenset({int, Uint, float})
ORDERED: Final = frozenset({bool, str, bytes})
PLAIN: Final = NUMBERS | ORDERED  # their own == is CEL's, among the same type
STRICT: Final = (Amount, Semver, IPv4Address, IPv6Address, IPv4Interface, IPv6Interface)

NAMES: Final[Mapping[type, str]] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    DomainMap: "map",
    Optional: "optional_type",
    Type: "type",
    Amount: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
    IPv4Address: "net.IP",
    IPv6Address: "net.IP",
    IPv4Interface: "net.CIDR",
    IPv6Interface: "net.CIDR",
}


def type_name(value: Value) -> str:
    """What CEL calls the type of a value."""
    return NAMES[type(value)]


def no_overload(function: str, values: Iterable[Value]) -> EvaluationError:
    """Say that a function does not take values of these types."""
    found = ", ".join(type_name(value) for value in values)
    return EvaluationError(f"no such overload: {function} of ({found})")


def int_value(number: int) -> int:
    """Return an int of CEL, if the number fits."""
    if not INT64_MIN <= number <= INT64_MAX:
        raise EvaluationError("integer overflow")
    return int(number)


def uint_value(number: int) -> Uint:
    """Return a uint of CEL, if the number fits."""
    if not 0 <= number <= UINT64_MAX:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def to_key(value: Value) -> Value:
    """Return what stands for a value as the key of a dict."""
    return (value,) if type(value) is bool else value


def from_key(key: Value) -> Value:
    """Return the value that a dict's key stands for."""
    return key[0] if type(key) is tuple else key


def equal(left: Value, right: Value) -> bool:
    """Whether two values are equal; numbers of different types may be."""
    kind, other = type(left), type(right)
    if kind is other and kind in PLAIN:
        return bool(left == right)
    if left is None or right is None:
        return left is right
    if kind in NUMBERS:
        return other in NUMBERS and bool(left == right)
    if isinstance(left, STRICT):
        return _strictly_equal(left, right)
    if isinstance(left, dict):
        return isinstance(right, dict) and _maps_equal(left, right)
    return kind is other and _same_kind_equal(left, right)


def compare(left: Value, right: Value) -> int:
    """Order two values: -1, 0 or 1."""
    kind, other = type(left), type(right)
    if not (kind in NUMBERS and other in NUMBERS) and not (kind in ORDERED and kind is other):
        raise no_overload("comparison", (left, right))
    if left != left or right != right:  # noqa: PLR0124 - only NaN differs from itself
        raise EvaluationError("NaN values cannot be ordered")
    return int(left > right) - int(left < right)


def _strictly_equal(left: Value, right: Value) -> bool:
    if type_name(left) != type_name(right) or (type(right) is Amount and right.summed):
        raise no_overload("==", (left, right))
    return bool(left.nanos == right.nanos if type(left) is Amount else left == right)


def _same_kind_equal(left: Value, right: Value) -> bool:
    if type(left) is list:
        return _lists_equal(left, right)
    if type(left) is Optional and left.present and right.present:
        return equal(left.value, right.value)
    return bool(left == right)


def _lists_equal(left: list[Value], right: list[Value]) -> bool:
    return len(left) == len(right) and all(map(_not_unequal, left, right))


def _maps_equal(left: Mapping[Value, Value], right: Mapping[Value, Value]) -> bool:
    """Look up each key in the right one, as upstream; a DomainMap has a value for every domain."""
    if len(left) != len(right):
        return False
    for key, value in left.items():
        try:
            other = right[key]
        except KeyError:
            return False
        if not _not_unequal(value, other):
            return False
    return True


def _not_unequal(left: Value, right: Value) -> bool:
    """Elements that cannot be compared do not make their lists unequal, as upstream."""
    try:
        return equal(left, right)
    except EvaluationError:
        return True
