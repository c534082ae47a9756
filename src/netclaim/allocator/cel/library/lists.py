"""Functions on lists: Kubernetes' own, cel-go's extension (version 3) and its sets."""

import functools
import itertools
from collections.abc import Callable
from typing import Final

from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.library.arithmetic import contains
from netclaim.allocator.cel.library.function import Overload, overload
from netclaim.allocator.cel.values.value import (
    Uint,
    Value,
    compare,
    int_value,
    no_overload,
    type_name,
    uint_value,
)

COMPARABLE: Final = ("int", "uint", "double", "bool", "string", "bytes")


def _comparison(one: Value, other: Value) -> int | None:
    """Order two values; None if they have no order, which decides nothing, as upstream."""
    try:
        return compare(one, other)
    except EvaluationError:
        return None


def _is_sorted(values: list[Value]) -> bool:
    return all(_comparison(one, other) != 1 for one, other in itertools.pairwise(values))


def _extreme(name: str, worse: int) -> Callable[[list[Value]], Value]:
    def run(values: list[Value]) -> Value:
        if not values:
            raise EvaluationError(f"{name} called on empty list")
        best = values[0]
        for value in values[1:]:
            if _comparison(best, value) == worse:
                best = value
        return best

    return run


def _sum(zero: Value, checked: Callable[[Value], Value]) -> Callable[[list[Value]], Value]:
    def run(values: list[Value]) -> Value:
        total = zero
        for value in values:
            if type(value) is not type(zero):
                raise no_overload("sum", (value,))
            total = checked(total + value)
        return total

    return run


def _index_of(values: list[Value], element: Value) -> int:
    found = (position for position, one in enumerate(values) if contains(element, [one]))
    return next(found, -1)


def _last_index_of(values: list[Value], element: Value) -> int:
    backwards = _index_of(values[::-1], element)
    return -1 if backwards < 0 else len(values) - 1 - backwards


def _slice(values: list[Value], start: int, end: int) -> list[Value]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end or end > len(values):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def _flatten(values: list[Value], depth: int = 1) -> list[Value]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat: list[Value] = []
    for value in values:
        flat += _flatten(value, depth - 1) if type(value) is list and depth else [value]
    return flat


def _distinct(values: list[Value]) -> list[Value]:
    unique: list[Value] = []
    for value in values:
        if not contains(value, unique):
            unique.append(value)
    return unique


def _sort_by_keys(values: list[Value], keys: list[Value]) -> list[Value]:
    if not all(type_name(key) == type_name(keys[0]) for key in keys):
        raise EvaluationError("list elements must have the same type")
    order = functools.cmp_to_key(compare)
    positions = sorted(range(len(keys)), key=lambda position: order(keys[position]))
    return [values[position] for position in positions]


def _sets_contain(whole: list[Value], part: list[Value]) -> bool:
    return all(contains(element, whole) for element in part)


def _sets_intersect(one: list[Value], other: list[Value]) -> bool:
    return any(contains(element, other) for element in one)


def _sets_equivalent(one: list[Value], other: list[Value]) -> bool:
    return _sets_contain(one, other) and _sets_contain(other, one)


def _for_comparable(name: str, signature: str, run: Callable[..., Value]) -> tuple[Overload, ...]:
    """Declare a function once for each type that has an order; `T` in its signature is the type."""
    return tuple(overload(name, signature.replace("T", part), run) for part in COMPARABLE)


OVERLOADS: Final = (
    *_for_comparable("isSorted", "list(T).() -> bool", _is_sorted),
    *_for_comparable("min", "list(T).() -> T", _extreme("min", 1)),
    *_for_comparable("max", "list(T).() -> T", _extreme("max", -1)),
    overload("sum", "list(int).() -> int", _sum(0, int_value)),
    overload("sum", "list(uint).() -> uint", _sum(Uint(0), uint_value)),
    overload("sum", "list(double).() -> double", _sum(0.0, float)),
    overload("indexOf", "list(A).(A) -> int", _index_of),
    overload("lastIndexOf", "list(A).(A) -> int", _last_index_of),
    overload("slice", "list(A).(int, int) -> list(A)", _slice),
    overload("flatten", "list(list(A)).() -> list(A)", _flatten),
    overload("flatten", "list(dyn).(int) -> list(dyn)", _flatten),
    *_for_comparable("sort", "list(T).() -> list(T)", lambda values: _sort_by_keys(values, values)),
    *_for_comparable("@sortByAssociatedKeys", "list(A).(list(T)) -> list(A)", _sort_by_keys),
    overload("lists.range", "(int) -> list(int)", lambda count: list(range(count))),
    overload("reverse", "list(A).() -> list(A)", lambda values: values[::-1]),
    overload("distinct", "list(A).() -> list(A)", _distinct),
    overload("sets.contains", "(list(A), list(A)) -> bool", _sets_contain),
    overload("sets.equivalent", "(list(A), list(A)) -> bool", _sets_equivalent),
    overload("sets.intersects", "(list(A), list(A)) -> bool", _sets_intersect),
)
