"""JSON objects and lists that cannot change, so that what was judged is what runs.

Promise: a frozen value is equal to the plain one and encodes alike; changing it raises TypeError.
Text that says a key twice keeps the last value, as most readers do, and `repeated` names the key
for those who have to refuse it.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NoReturn

from netclaim.json_text import read_json

CHANGING: Final = {
    "__delitem__", "__iadd__", "__imul__", "__ior__", "__setitem__", "append", "clear", "extend",
    "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update",
}  # fmt: skip


class FrozenObject(dict[str, Any]):
    """A JSON object; what it is made of should be frozen itself."""

    __slots__ = ("repeated",)

    repeated: tuple[str, ...]

    def __init__(
        self, items: Iterable[tuple[str, Any]] | dict[str, Any], *, repeated: tuple[str, ...] = ()
    ) -> None:
        super().__init__(items)
        self.repeated = repeated


class FrozenList(list[Any]):
    """A JSON list."""

    __slots__ = ()


def _refuse_change(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError(f"a {type(self).__name__} cannot change")


for _kind in (FrozenObject, FrozenList):
    for _name in CHANGING & set(dir(_kind)):
        setattr(_kind, _name, _refuse_change)


def frozen(value: Any) -> Any:
    """Return a value of JSON with all objects and lists in it frozen."""
    if isinstance(value, FrozenObject | FrozenList):
        return value
    if isinstance(value, dict):
        return FrozenObject({key: frozen(item) for key, item in value.items()})
    if isinstance(value, list):
        return FrozenList(map(frozen, value))
    return value


def decode_json(text: str | bytes) -> Any:
    """Decode JSON text into a frozen value; ValueError says where it stops being JSON."""
    read_json(text)  # stricter than the next one, and its errors name the place
    return frozen(json.loads(text, object_pairs_hook=_object))


def repeated(value: object) -> tuple[str, ...]:
    """The keys that an object's text had more than once."""
    return value.repeated if isinstance(value, FrozenObject) else ()


def repeated_within(value: object) -> Iterator[str]:
    """The keys that objects had more than once, the innermost objects first."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from repeated_within(item)
    yield from repeated(value)


def _object(pairs: list[tuple[str, Any]]) -> FrozenObject:
    found: dict[str, Any] = {}
    twice: dict[str, None] = {}
    for key, item in pairs:
        if key in found:
            twice[key] = None
        found[key] = frozen(item)
    return FrozenObject(found, repeated=tuple(twice))
