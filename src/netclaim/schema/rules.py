"""What the rules share: lists and sets of checked entries, JSON of a driver's, taints' tolerations.

Each rule is a function that yields what is wrong, in the order in which the real server tells it.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

import msgspec

from netclaim.model.claim import JsonObject
from netclaim.paths import Path
from netclaim.schema.names import check_label_key, check_label_value
from netclaim.schema.refusal import (
    Fault,
    duplicate,
    invalid,
    missing,
    too_long,
    too_many,
    unsupported,
)

__all__ = ["EFFECTS", "check_each", "check_raw", "check_set", "check_toleration"]

RAW_MAX: Final = 10 << 10
EFFECTS: Final = ("NoExecute", "NoSchedule", "None")

T = TypeVar("T")


def check_each(
    items: Sequence[T], limit: int, at: Path, check: Callable[[T, Path], Iterable[Fault]]
) -> Iterator[Fault]:
    """A list: not too long, and each entry right. A list that is too long is not looked into."""
    if len(items) > limit:
        yield too_many(at, len(items), limit)
        return
    for index, item in enumerate(items):
        yield from check(item, (*at, index))


def check_set(
    items: Sequence[T],
    limit: int,
    at: Path,
    check: Callable[[T, Path], Iterable[Fault]],
    key: Callable[[T], Hashable],
) -> Iterator[Fault]:
    """A list whose entries must differ."""
    yield from check_each(items, limit, at, check)
    if len(items) > limit:
        return
    seen: set[Hashable] = set()
    for index, item in enumerate(items):
        if key(item) in seen:
            yield duplicate((*at, index), key(item))
        seen.add(key(item))


def check_raw(value: Any, at: Path) -> Iterator[Fault]:
    """JSON for or from a driver."""
    if value is None:
        yield missing(at)
    elif len(msgspec.json.encode(value)) > RAW_MAX:
        yield too_long(at, RAW_MAX)
    elif not isinstance(value, dict):
        yield invalid(at, "<value omitted>", "must be a valid JSON object")


def check_toleration(toleration: JsonObject, at: Path) -> Iterator[Fault]:
    """A toleration of taints."""
    if toleration.get("key"):
        yield from check_label_key(toleration["key"], (*at, "key"))
    operator, value = toleration.get("operator", ""), toleration.get("value", "")
    match operator:
        case "Exists" if value:
            yield invalid((*at, "value"), value, "must be empty for operator `Exists`")
        case "Exists":
            pass
        case "Equal":
            yield from check_label_value(value, (*at, "value"))
        case _:
            yield unsupported((*at, "operator"), operator, ("Equal", "Exists"))
    effect = toleration.get("effect", "")
    if effect and effect not in EFFECTS:
        yield unsupported((*at, "effect"), effect, EFFECTS)
