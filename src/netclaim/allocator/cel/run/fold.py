"""Closures for the macros that go over a list or a map, such as all, exists, filter and map.

Promise: all() and exists() ignore an error if another element decides; the others do not.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from netclaim.allocator.cel.errors import EvaluationError
from netclaim.allocator.cel.run.operators import Frame, Run, always, decide, variable
from netclaim.allocator.cel.syntax.ast import FoldKind
from netclaim.allocator.cel.values.value import Value, from_key, no_overload, to_key, type_name

# Yields once for each element, with the macro's variables set in the frame.
Steps: TypeAlias = Callable[[Frame], Iterator[None]]


def compile_fold(
    kind: FoldKind, slots: tuple[int, ...], over: Run, condition: Run | None, result: Run | None
) -> Run:
    """Return a macro's closure; its variables are in `slots`."""
    steps = _steps(slots, over)
    test = condition if condition is not None else always(True)
    if kind in ("all", "exists"):
        return lambda frame: decide((test for _ in steps(frame)), frame, decisive=kind == "exists")
    if kind == "exists_one":
        return lambda frame: sum(1 for _ in _chosen(steps, test, frame)) == 1
    made = result if result is not None else variable(slots[0])
    if kind in ("transformMap", "transformMapEntry"):
        entries = _entry(slots[0], made) if kind == "transformMap" else _entries(made)
        return _mapping(steps, test, entries)
    return lambda frame: [made(frame) for _ in _chosen(steps, test, frame)]


def _steps(slots: tuple[int, ...], over: Run) -> Steps:
    """Set one variable to each element or key, or two to index and element, or key and value."""
    if len(slots) == 1:
        (slot,) = slots

        def elements(frame: Frame) -> Iterator[None]:
            for element in _elements(over(frame)):
                frame[slot] = element
                yield

        return elements
    first, second = slots

    def pairs(frame: Frame) -> Iterator[None]:
        for key, value in _pairs(over(frame)):
            frame[first], frame[second] = key, value
            yield

    return pairs


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
