"""Closures for operators that are not ordinary calls, and for the selection of fields.

Such operators ignore errors, or do not evaluate all operands. Each function takes the closures of
the operands and returns that of the operator.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from netclaim.allocator.cel.check.environment import DevicePath
from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.library.arithmetic import contains, find, index
from netclaim.allocator.cel.values.semver import Semver
from netclaim.allocator.cel.values.value import (
    NONE,
    Optional,
    Value,
    compare,
    equal,
    no_overload,
    type_name,
)

# The device, what the evaluation has cost, then one place for each variable of a macro.
Frame: TypeAlias = list[Value]
SPENT: Final = 1  # where a frame counts
Run: TypeAlias = Callable[[Frame], Value]
Relation: TypeAlias = Callable[[Value, Value], bool]


def always(value: Value) -> Run:
    """Return a constant."""
    return lambda _: value


def variable(slot: int) -> Run:
    """Return the value of a macro's variable."""
    return lambda frame: frame[slot]


def decide(operands: Iterable[Run], frame: Frame, *, decisive: bool) -> Value:
    """Evaluate `&&` or `||`: one decisive operand is enough, whatever the others are."""
    failure: EvaluationError | None = None
    for operand in operands:
        try:
            value = operand(frame)
        except EvaluationError as error:
            failure = failure or error
            continue
        if value is decisive:
            return decisive
        if type(value) is not bool:
            failure = failure or no_overload("||" if decisive else "&&", (value,))
    if failure is not None:
        raise failure
    return not decisive


def _and(*operands: Run) -> Run:
    return lambda frame: decide(operands, frame, decisive=False)


def _or_else(*operands: Run) -> Run:
    return lambda frame: decide(operands, frame, decisive=True)


def _conditional(condition: Run, yes: Run, no: Run) -> Run:
    def run(frame: Frame) -> Value:
        chosen = condition(frame)
        if type(chosen) is not bool:
            raise no_overload("?:", (chosen,))
        return yes(frame) if chosen else no(frame)

    return run


def _comparing(relation: Relation) -> Callable[[Run, Run], Run]:
    def build(left: Run, right: Run) -> Run:
        return lambda frame: relation(left(frame), right(frame))

    return build


def _unequal(one: Value, other: Value) -> bool:
    try:
        return not equal(one, other)
    except EvaluationError:
        return True  # what cannot be compared is unequal, as upstream


def _indexing(look_up: Callable[[Value, Value], Value]) -> Callable[[Run, Run], Run]:
    def build(container: Run, key: Run) -> Run:
        def run(frame: Frame) -> Value:
            owner = container(frame)
            return NONE if owner is NONE else look_up(owner, key(frame))

        return run

    return build


def _or(target: Run, alternative: Run) -> Run:
    def run(frame: Frame) -> Value:
        optional = target(frame)
        return alternative(frame) if optional is NONE else optional

    return run


def _or_value(target: Run, default: Run) -> Run:
    def run(frame: Frame) -> Value:
        optional = target(frame)
        if type(optional) is not Optional:
            return optional  # as upstream: what is no optional is its own value
        return optional.value if optional.present else default(frame)

    return run


RELATIONS: Final[dict[str, Relation]] = {
    "_==_": equal,
    "_!=_": _unequal,
    "_<_": lambda one, other: compare(one, other) < 0,
    "_<=_": lambda one, other: compare(one, other) <= 0,
    "_>_": lambda one, other: compare(one, other) > 0,
    "_>=_": lambda one, other: compare(one, other) >= 0,
}

SPECIAL: Final[dict[str, Callable[..., Run]]] = {
    **{name: _comparing(relation) for name, relation in RELATIONS.items()},
    "_&&_": _and,
    "_||_": _or_else,
    "_?_:_": _conditional,
    "_[_]": _indexing(index),
    "_[?_]": _indexing(find),
    "or": _or,
    "orValue": _or_value,
}


def select(operand: Run, field: str) -> Run:
    """Return `a.field`: an entry of a map, or of the map in an optional."""

    def run(frame: Frame) -> Value:
        owner = operand(frame)
        if type(owner) is Optional:
            return find(owner, field)
        try:
            return owner[field]
        except (KeyError, TypeError):
            raise EvaluationError(f"no such key: {field}") from None

    return run


def select_optional(operand: Run, field: str) -> Run:
    """Return `a.?field`: the same as an optional."""
    return lambda frame: find(operand(frame), field)


def presence(operand: Run, field: str) -> Run:
    """Return `has(a.field)`."""
    return lambda frame: find(operand(frame), field).present


def in_constants(element: Run, constants: list[Value]) -> Run:
    """Return `element in [1, 2]`; upstream looks it up by hash, which a version does not have."""
    if not constants:
        return lambda _: False

    def run(frame: Frame) -> Value:
        value = element(frame)
        if type(value) in (Semver, bytes):
            raise EvaluationError(f"a {type_name(value)} cannot be looked up in constants")
        return contains(value, constants)

    return run


def device_path(path: DevicePath, slowly: Run) -> Run:
    """Return the lookup of device.A["B"].C; `slowly` explains what is missing on the way."""
    kind, domain, name = path

    def run(frame: Frame) -> Value:
        try:
            return frame[0][kind][domain][name]
        except (KeyError, TypeError):
            return slowly(frame)

    return run
