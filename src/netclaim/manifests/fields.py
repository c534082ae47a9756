"""Find, change and leave out fields of an object by pattern, without touching the original.

A pattern is dotted, and `*` stands for each item of a list or each value of a map:
`spec.devices.*.capacity.*`. Absent and null along the way mean that there is nothing to do; any
other shape than the pattern expects is a ShapeError. What is not changed is shared, not copied.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from netclaim.errors import RequestError
from netclaim.paths import Path


class ShapeError(RequestError):
    """A field does not have the type or content that its kind requires."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message, path=path)


def edit(value: Any, pattern: str, change: Callable[[Any, Path], Any]) -> Any:
    """Return `value` with `change(found, path)` in the place of each thing the pattern finds."""
    return _edit(value, tuple(pattern.split(".")), change, ())


def find(value: Any, pattern: str) -> Iterator[Path]:
    """Yield the path of each thing the pattern finds."""
    yield from _find(value, tuple(pattern.split(".")), ())


def without(value: Any, paths: Iterable[Path]) -> Any:
    """Return `value` with everything at these paths left out."""
    for path in sorted(paths, key=_last_first, reverse=True):  # so that no index shifts
        value = _without(value, path)
    return value


def _edit(value: Any, steps: tuple[str, ...], change: Callable[[Any, Path], Any], at: Path) -> Any:
    if not steps:
        return change(value, at)
    if value is None:
        return None
    step, rest = steps[0], steps[1:]
    if step == "*" and isinstance(value, list):
        return [_edit(item, rest, change, (*at, index)) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        raise ShapeError(f"is {_type(value)}, not {'a list' if step == '*' else 'an object'}", at)
    keys = list(value) if step == "*" else [step] if step in value else []
    return {**value, **{key: _edit(value[key], rest, change, (*at, key)) for key in keys}}


def _find(value: Any, steps: tuple[str, ...], at: Path) -> Iterator[Path]:
    if not steps:
        yield at
        return
    for key, child in _children(value):
        if steps[0] in ("*", key):
            yield from _find(child, steps[1:], (*at, key))


def _children(value: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _without(value: Any, path: Path) -> Any:
    first, rest = path[0], path[1:]
    if isinstance(value, list):
        return [
            _without(item, rest) if index == first else item
            for index, item in enumerate(value)
            if rest or index != first
        ]
    if rest:
        return {**value, first: _without(value[first], rest)}
    return {key: child for key, child in value.items() if key != first}


def _last_first(path: Path) -> tuple[tuple[int, str], ...]:
    """Order indices as numbers, among keys."""
    return tuple((step, "") if isinstance(step, int) else (-1, step) for step in path)


def _type(value: Any) -> str:
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "an object")
