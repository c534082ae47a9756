"""Closures for the macros that go over a list or a map: all, exists, filter, map and their like.

Promise: all() and exists() forgive an error if another element decides; the others do not.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from netclaim.allocator.cel.ast import FoldKind
from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.operators import Frame, Run
from netclaim.allocator.cel.values import Value, from_key, no_overload, to_key, type_name

__all__ = ["compile_fold"]

# Yields once for each element, with the macro's variables set in the frame.
Steps: TypeAlias = Callable[[Frame], Iterator[None]]


def compile_fold(
    kind: FoldKind, slots: tuple[int, ...], over: Run, condition: Run | None, result: Run | None
) -> Run:
    """Return a macro's closure; its variables are in `slots`."""
    steps = _steps(slots, over)
    always = condition if condition is not None else _true
    if kind in ("all", "exists"):
        return _deciding(steps, always, decisive=kind == "exists")
    if kind == "exists_one":
        return lambda frame: sum(1 for _ in _chosen(steps, always, frame)) == 1
    made = result if result is not None else _variable(slots[0])
    if kind in ("transformMap", "transformMapEntry"):
        entries = _entry(slots[0], made) if kind == "transformMap" else _entries(made)
        return _mapping(steps, always, entries)
    return lambda frame: [made(frame) for _ in _chosen(steps, always, frame)]


def _true(_: Frame) -> Value:
    return True


def _variable(slot: int) -> Run:
    return lambda frame: frame[slot]


def _steps(slots: tuple[int, ...], over: Run) -> Steps:
    first, second = slots if len(slots) == TWO else (slots[0], None)

    def steps(frame: Frame) -> Iterator[None]:
        for key, value in _pairs(over(frame)):
            if second is not None:
                frame[first], frame[second] = key, value
            else:
                frame[first] = key
            yield

    def elements(frame: Frame) -> Iterator[None]:
        for element in _elements(over(frame)):
            frame[first] = element
            yield

    return steps if second is not None else elements


TWO: Final = 2  # variables: index and element, or key and value


def _elements(container: Value) -> Iterator[Value]:
    if type(container) is list:
        return iter(container)
    if isinstance(container, dict):
        return map(from_key, container)
    raise EvaluationError(f"a {type_name(container)} has no elements to iterate over")


def _pairs(container: Value) -> Iterator[tuple[Value, Value]]:
    if isinstance(container, dict):
        return ((from_key(key), value) for key, value in container.items())
    return enumerate(_elements(container))


def _chosen(steps: Steps, condition: Run, frame: Frame) -> Iterator[None]:
    for _ in steps(frame):
        chosen = condition(frame)
        if type(chosen) is not bool:
            raise no_overload("?:", (chosen,))
        if chosen:
            yield


def _deciding(steps: Steps, condition: Run, *, decisive: bool) -> Run:
    def run(frame: Frame) -> Value:
        failure: EvaluationError | None = None
        for _ in steps(frame):
            try:
                value = condition(frame)
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

    return run


def _entry(slot: int, made: Run) -> Run:
    return lambda frame: {to_key(frame[slot]): made(frame)}


def _entries(made: Run) -> Run:
    def run(frame: Frame) -> Value:
        entries = made(frame)
        if not isinstance(entries, dict):
            raise no_overload("transformMapEntry", (entries,))
        return entries

    return run


def _mapping(steps: Steps, condition: Run, entries: Run) -> Run:
    def run(frame: Frame) -> Value:
        gathered: dict[Value, Value] = {}
        for _ in _chosen(steps, condition, frame):
            for key, value in entries(frame).items():
                if key in gathered:
                    raise EvaluationError(f"insert failed: key {from_key(key)} already exists")
                gathered[key] = value
        return gathered

    return run
