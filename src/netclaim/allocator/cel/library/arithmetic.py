"""Operators: arithmetic within 64 bits, order, indexing, membership.

Comparisons, `&&`, `||`, `?:` and indexing are only declared here, for the types that they take. The
compiler evaluates them itself: they treat errors or types in their own way, or are the most common.
"""

import math
from collections.abc import Callable
from typing import Final

from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.library.function import Overload, evaluated_by_the_compiler, overload
from netclaim.allocator.cel.values.value import (
    NONE,
    Optional,
    Uint,
    Value,
    equal,
    int_value,
    to_key,
    uint_value,
)

KEYS: Final = frozenset({bool, int, Uint, float, str})


def index(container: Value, key: Value) -> Value:
    """Return what a list or a map has under a key; an optional one gives an optional."""
    if type(container) is Optional:
        return find(container, key)
    if type(container) is list:
        position = _position(key)
        if not 0 <= position < len(container):
            raise EvaluationError(f"index out of bounds: {position}")
        return container[position]
    try:
        if isinstance(container, dict):
            return container[to_key(key)]
    except (KeyError, TypeError):
        pass
    raise EvaluationError(f"no such key: {key}")


def find(container: Value, key: Value) -> Optional:
    """Return what a list or a map has under a key, as an optional."""
    if type(container) is Optional:
        return find(container.value, key) if container.present else NONE
    if type(container) is list:
        position = _position(key)
        return Optional(container[position]) if 0 <= position < len(container) else NONE
    if type(key) not in KEYS:
        raise EvaluationError(f"invalid key: {key}")
    try:
        return Optional(container[to_key(key)]) if isinstance(container, dict) else NONE
    except KeyError:
        return NONE


def contains(element: Value, container: Value) -> bool:
    """Whether a list has an element; one that cannot be compared with it is a different one."""
    for other in container:
        try:
            if equal(element, other):
                return True
        except EvaluationError:
            continue
    return False


def has_key(key: Value, container: Value) -> bool:
    try:
        return to_key(key) in container
    except TypeError:  # a list or a map is no key
        return False


def _position(key: Value) -> int:
    if type(key) is float and key.is_integer():
        return int(key)
    if type(key) in (int, Uint):
        return int(key)
    raise EvaluationError(f"unsupported index value: {key}")


def _quotient(dividend: int, divisor: int) -> int:
    """Divide toward zero, as Go does."""
    if divisor == 0:
        raise EvaluationError("division by zero")
    whole = abs(dividend) // abs(divisor)
    return whole if (dividend < 0) == (divisor < 0) else -whole


def _remainder(dividend: int, divisor: int) -> int:
    if divisor == 0:
        raise EvaluationError("modulus by zero")
    return dividend - divisor * _quotient(dividend, divisor)


def _float_quotient(dividend: float, divisor: float) -> float:
    if divisor != 0:
        return dividend / divisor
    if dividend == 0 or math.isnan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1, divisor)


def _integers(operator: str, compute: Callable[[int, int], int]) -> tuple[Overload, Overload]:
    return (
        overload(operator, "(int, int) -> int", lambda a, b: int_value(compute(a, b))),
        overload(operator, "(uint, uint) -> uint", lambda a, b: uint_value(compute(a, b))),
    )


def _doubles(operator: str, compute: Callable[[float, float], float]) -> Overload:
    return overload(operator, "(double, double) -> double", compute)


def _orders() -> tuple[Overload, ...]:
    numbers = ("int", "uint", "double")
    pairs = [(one, other) for one in numbers for other in numbers]
    pairs += [(name, name) for name in ("bool", "string", "bytes")]
    return tuple(
        overload(name, f"({one}, {other}) -> bool", evaluated_by_the_compiler)
        for name in ("_<_", "_<=_", "_>_", "_>=_")
        for one, other in pairs
    )


OVERLOADS: Final = (
    overload("_?_:_", "(bool, A, A) -> A", evaluated_by_the_compiler),
    overload("_&&_", "(bool, bool) -> bool", evaluated_by_the_compiler),
    overload("_||_", "(bool, bool) -> bool", evaluated_by_the_compiler),
    overload("_==_", "(A, A) -> bool", evaluated_by_the_compiler),
    overload("_!=_", "(A, A) -> bool", evaluated_by_the_compiler),
    overload("!_", "(bool) -> bool", lambda value: not value),
    overload("-_", "(double) -> double", lambda value: -value),
    overload("-_", "(int) -> int", lambda value: int_value(-value)),
    overload("_+_", "(bytes, bytes) -> bytes", lambda a, b: a + b),
    _doubles("_+_", lambda a, b: a + b),
    *_integers("_+_", lambda a, b: a + b),
    overload("_+_", "(list(A), list(A)) -> list(A)", lambda a, b: a + b),
    overload("_+_", "(string, string) -> string", lambda a, b: a + b),
    _doubles("_-_", lambda a, b: a - b),
    *_integers("_-_", lambda a, b: a - b),
    _doubles("_*_", lambda a, b: a * b),
    *_integers("_*_", lambda a, b: a * b),
    _doubles("_/_", _float_quotient),
    *_integers("_/_", _quotient),
    *_integers("_%_", _remainder),
    *_orders(),
    overload("_[_]", "(list(A), int) -> A", evaluated_by_the_compiler),
    overload("_[_]", "(map(A, B), A) -> B", evaluated_by_the_compiler),
    overload(
        "_[_]", "(optional_type(list(A)), int) -> optional_type(A)", evaluated_by_the_compiler
    ),
    overload(
        "_[_]", "(optional_type(map(A, B)), A) -> optional_type(B)", evaluated_by_the_compiler
    ),
    overload("_[?_]", "(list(A), int) -> optional_type(A)", evaluated_by_the_compiler),
    overload(
        "_[?_]", "(optional_type(list(A)), int) -> optional_type(A)", evaluated_by_the_compiler
    ),
    overload("_[?_]", "(map(A, B), A) -> optional_type(B)", evaluated_by_the_compiler),
    overload(
        "_[?_]", "(optional_type(map(A, B)), A) -> optional_type(B)", evaluated_by_the_compiler
    ),
    overload("@in", "(A, list(A)) -> bool", contains),
    overload("@in", "(A, map(A, B)) -> bool", has_key),
)
