"""The rules for lists: their length, each of their entries, and that entries differ."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from netclaim.paths import Path
from netclaim.schema.refusal import Fault, duplicate, too_many

T = TypeVar("T")


def check_each(
    items: Sequence[T], limit: int, at: Path, check: Callable[[T, Path], Iterable[Fault]]
) -> Iterator[Fault]:
    """A list of checked entries. The entries of a list that is too long are not looked at."""
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
    """A list of checked entries that must differ in their key."""
    yield from check_each(items, limit, at, check)
    if len(items) > limit:
        return
    seen: set[Hashable] = set()
    for index, item in enumerate(items):
        if key(item) in seen:
            yield duplicate((*at, index), key(item))
        seen.add(key(item))
