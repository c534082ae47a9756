"""Kubernetes quantities in CEL: quantity("10G") and its methods."""

from collections.abc import Callable
from typing import Final

from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.library.function import overload
from netclaim.allocator.cel.values.amount import Amount
from netclaim.model.quantity import NANO, QuantityError


def _parse(text: str) -> Amount:
    try:
        return Amount.parse(text)
    except QuantityError as error:
        raise EvaluationError(str(error)) from error


def _is_quantity(text: str) -> bool:
    try:
        Amount.parse(text)
    except QuantityError:
        return False
    return True


def _as_integer(amount: Amount) -> int:
    if amount.integer is None:
        raise EvaluationError("cannot convert value to integer")
    return amount.integer


def _compare(one: Amount, other: Amount) -> int:
    return int(one.nanos > other.nanos) - int(one.nanos < other.nanos)


def _sign(amount: Amount) -> int:
    return int(amount.nanos > 0) - int(amount.nanos < 0)


def _adding(sign: int) -> Callable[[Amount, Amount], Amount]:
    return lambda one, other: one.plus(sign * other.nanos, other.power)


def _adding_int(sign: int) -> Callable[[Amount, int], Amount]:
    return lambda one, number: one.plus(sign * number * NANO, 0)


Q: Final = "kubernetes.Quantity"

OVERLOADS: Final = (
    overload("quantity", f"(string) -> {Q}", _parse),
    overload("isQuantity", "(string) -> bool", _is_quantity),
    overload("sign", f"({Q}) -> int", _sign),
    overload("isGreaterThan", f"{Q}.({Q}) -> bool", lambda a, b: _compare(a, b) > 0),
    overload("isLessThan", f"{Q}.({Q}) -> bool", lambda a, b: _compare(a, b) < 0),
    overload("compareTo", f"{Q}.({Q}) -> int", _compare),
    overload("asApproximateFloat", f"{Q}.() -> double", lambda amount: amount.nanos / NANO),
    overload("asInteger", f"{Q}.() -> int", _as_integer),
    overload("isInteger", f"{Q}.() -> bool", lambda amount: amount.integer is not None),
    overload("add", f"{Q}.({Q}) -> {Q}", _adding(1)),
    overload("add", f"{Q}.(int) -> {Q}", _adding_int(1)),
    overload("sub", f"{Q}.({Q}) -> {Q}", _adding(-1)),
    overload("sub", f"{Q}.(int) -> {Q}", _adding_int(-1)),
)
