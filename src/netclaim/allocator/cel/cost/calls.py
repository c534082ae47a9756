"""What one call costs, by the sizes of what it is given; the target of a member call comes first.

Promise: the prices are those of cel-go and of Kubernetes' libraries, for an estimate from the
largest sizes as well as for a count from real ones. What is not listed costs 1.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from netclaim.allocator.cel.cost.sizes import UNKNOWN, within
from netclaim.allocator.cel.library.function import Overload

TRAVERSAL: Final = 0.1  # for each character of a text
PATTERN: Final = 0.25  # for each character of a regular expression
LIST: Final = 10  # for making one
MAP: Final = 30
ADDRESS: Final = 16  # bytes of an IPv6 address, for comparing networks
TEXTS: Final = frozenset({"string", "bytes"})


class Price(NamedTuple):
    """What a call costs, and how large its result can be, if that follows from it."""

    cost: int
    size: int | None = None


class Given(NamedTuple):
    """What a call is given: sizes, the numbers that are known, and of what its first list is."""

    sizes: Sequence[int]
    numbers: Sequence[int | None]
    texts: bool = False
    element: int = UNKNOWN
    exact: bool = True  # whether the size of the second is not only the largest


def price(one: Overload, given: Given) -> Price:
    """Return the price of a call of an overload."""
    listed = BY_NAME.get(one.name)
    return listed(one, given) if listed is not None else Price(1)


def traverse(size: int, times: int = 1) -> int:
    """Return what it costs to go over a text."""
    return within(math.ceil(float(size) * times * TRAVERSAL))


def _first(_: Overload, given: Given) -> Price:
    return Price(traverse(given.sizes[0]))


def _second(_: Overload, given: Given) -> Price:
    return Price(traverse(given.sizes[1]))


def _changed(_: Overload, given: Given) -> Price:
    return Price(traverse(given.sizes[0]), given.sizes[0])


def _twice(_: Overload, given: Given) -> Price:
    return Price(traverse(given.sizes[0], 2))


def _split(_: Overload, given: Given) -> Price:
    """At most a part for each character, or as many as the call asks for."""
    count = given.numbers[2] if len(given.numbers) > 2 else None
    return Price(traverse(given.sizes[0], 2), given.sizes[0] if count is None else count % 2**64)


def _replace(_: Overload, given: Given) -> Price:
    """The longest result comes from replacing nothing, which is around every character."""
    text, old, new = given.sizes[:3]
    if not given.exact or not old:
        size = within(within(text + 1) * new + text)
    else:
        size = text if new <= old else within(-(-text // old) * new)
    return Price(traverse(text, 2), size)


def _join(_: Overload, given: Given) -> Price:
    separators = within(max(given.sizes[0] - 1, 0) * given.sizes[1]) if len(given.sizes) > 1 else 0
    size = within(within(given.sizes[0] * given.element) + separators)
    return Price(traverse(size), size)


def _pattern(one: Overload, given: Given) -> Price:
    text = within(math.ceil(float(within(given.sizes[0] + 1)) * TRAVERSAL))
    cost = within(text * within(math.ceil(float(given.sizes[1]) * PATTERN)))
    return Price(cost, None if one.name == "matches" else given.sizes[0])


def _contains(_: Overload, given: Given) -> Price:
    return Price(within(traverse(given.sizes[0]) * traverse(given.sizes[1])))


def _member(one: Overload, given: Given) -> Price:
    return Price(given.sizes[1] if one.parameters[1].name == "list" else 1)


def _add(one: Overload, given: Given) -> Price:
    kind = one.parameters[0].name
    size = within(given.sizes[0] + given.sizes[1])
    if kind in TEXTS:
        return Price(traverse(size), size)
    return Price(1, size) if kind == "list" else Price(1)


def _order(one: Overload, given: Given) -> Price:
    if one.parameters[0].name in TEXTS and one.parameters[0] == one.parameters[1]:
        return _compare(one, given)
    return Price(1)


def _compare(_: Overload, given: Given) -> Price:
    return Price(traverse(min(given.sizes[0], given.sizes[1])))


def _over_list(one: Overload, given: Given) -> Price:
    if one.parameters[0].name != "list":
        return Price(traverse(given.sizes[0]))
    return Price(within(given.sizes[0] * (1 + traverse(given.element) if given.texts else 1)))


def _made(size: int, factor: float = 1) -> Price:
    """The price of making a list."""
    return Price(within(within(math.ceil(float(size) * factor)) + 1 + LIST), size)


def _slice(_: Overload, given: Given) -> Price:
    start, end = given.numbers[1] or 0, given.numbers[2]
    size = (given.sizes[0] if end is None else max(end, 0)) - max(start, 0)
    return _made(UNKNOWN if size < 0 else size)


def _range(_: Overload, given: Given) -> Price:
    count = given.numbers[0]
    return _made(UNKNOWN if count is None else max(count, 0))


def _reverse(_: Overload, given: Given) -> Price:
    return _made(given.sizes[0])


def _flatten(_: Overload, given: Given) -> Price:
    depth = given.numbers[1] if len(given.numbers) > 1 else 1
    return _made(given.sizes[0], UNKNOWN if depth is None else max(depth, 0))


def _distinct(_: Overload, given: Given) -> Price:
    return _made(within(given.sizes[0] ** 2), 2)


def _sort(one: Overload, given: Given) -> Price:
    """Every element, or its key, is compared with every other."""
    keys = one.parameters[-1].parameters[0]
    return _made(within(given.sizes[-1] ** 2), 2 + TRAVERSAL if keys.name in TEXTS else 2)


def _sets(one: Overload, given: Given) -> Price:
    times = 2 if one.name == "sets.equivalent" else 1
    return Price(within(given.sizes[0] * given.sizes[1] * times + 1))


def _bytes(one: Overload, given: Given) -> Price:
    if one.parameters[0].name == "string":
        return Price(traverse(given.sizes[0]), within(given.sizes[0] * 4))  # bytes of a character
    return Price(1)


def _string(one: Overload, given: Given) -> Price:
    if one.parameters[0].name == "bytes":
        return Price(traverse(given.sizes[0]), given.sizes[0])
    return Price(1)


def _quote(_: Overload, given: Given) -> Price:
    return Price(traverse(given.sizes[0]), within(given.sizes[0] * 2 + 2))


def _contains_ip(one: Overload, given: Given) -> Price:
    text = traverse(given.sizes[1]) if one.parameters[1].name == "string" else 0
    return Price(within(traverse(2 * ADDRESS) + text))


def _contains_cidr(one: Overload, given: Given) -> Price:
    return Price(within(_contains_ip(one, given).cost + traverse(ADDRESS) + 1))


def _ip(one: Overload, given: Given) -> Price:
    return Price(1 if one.member else traverse(given.sizes[0]))


BY_NAME: Final[Mapping[str, Callable[[Overload, Given], Price]]] = {
    **dict.fromkeys(("startsWith", "endsWith"), _second),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _changed),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity"), _first),
    **dict.fromkeys(("semver", "isSemver"), _first),
    **dict.fromkeys(("matches", "find", "findAll"), _pattern),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _over_list),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _order),
    **dict.fromkeys(("_==_", "_!=_"), _compare),
    **dict.fromkeys(("sets.contains", "sets.intersects", "sets.equivalent"), _sets),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys"), _sort),
    "@in": _member,
    "_+_": _add,
    "bytes": _bytes,
    "contains": _contains,
    "containsCIDR": _contains_cidr,
    "containsIP": _contains_ip,
    "distinct": _distinct,
    "flatten": _flatten,
    "ip": _ip,
    "ip.isCanonical": _twice,
    "join": _join,
    "lists.range": _range,
    "replace": _replace,
    "reverse": _reverse,
    "slice": _slice,
    "split": _split,
    "string": _string,
    "strings.quote": _quote,
}
