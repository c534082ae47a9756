"""What a call costs, by the values that it is given."""

from collections.abc import Sequence
from typing import Final

from netclaim.allocator.cel.cost.calls import Given, Price, price, traverse
from netclaim.allocator.cel.library.function import Overload
from netclaim.allocator.cel.values.value import Optional, Uint, Value

BY_ELEMENT: Final = frozenset({"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"})


def price_of_call(overloads: Sequence[Overload], values: Sequence[Value]) -> Price:
    """Return what a call costs, and how large its result can become, before it is made."""
    taken = next((one for one in overloads if one.takes(values)), None)
    if taken is None:
        return Price(1)
    if taken.name in BY_ELEMENT:
        return Price(_go_over(values[0]))
    sizes = [_size(value) for value in values]
    numbers = [int(value) if type(value) in (int, Uint) else None for value in values]
    element = max(map(_size, values[0]), default=0) if taken.name == "join" else 1
    return price(taken, Given(sizes, numbers, element=element))


def cost_of_comparison(one: Value, other: Value) -> int:
    """Return what it costs to compare two values."""
    return traverse(min(_size(one), _size(other)))


def _size(value: Value) -> int:
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    return _size(value.value) if isinstance(value, Optional) and value.present else 1


def _go_over(value: Value) -> int:
    if isinstance(value, list):
        return sum(map(_go_over, value))
    return len(value) // 10 if isinstance(value, str | bytes) else 1
