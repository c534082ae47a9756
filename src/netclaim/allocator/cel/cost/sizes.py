"""How large a part of a device can be: characters of a text, entries of a list or of a map.

The numbers are the limits that the API server enforces on a ResourceSlice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Optional

from netclaim.model.api.limits import DOMAIN_MAX, IDENTIFIER_MAX

UNKNOWN: Final = 2**64 - 1  # also what does not fit: sums and products stop here, as in cel-go

DRIVER_MAX: Final = 63
VALUE_MAX: Final = 64  # characters of an attribute's value
ENTRIES_MAX: Final = 32  # attributes and capacities of a device


@dataclass(frozen=True, slots=True)
class Shape:
    """The largest size of something, and what is in it."""

    size: int
    fields: Mapping[str, "Shape"] = field(default_factory=dict)
    key: Optional["Shape"] = None
    element: Optional["Shape"] = None
    named: bool = False  # whether a field of any name is an element


ATTRIBUTE: Final = Shape(VALUE_MAX)
AMOUNT: Final = Shape(0)  # a quantity has no size of its own
DOMAIN: Final = Shape(DOMAIN_MAX)
IDENTIFIER: Final = Shape(IDENTIFIER_MAX)
ATTRIBUTES: Final = Shape(ENTRIES_MAX, key=IDENTIFIER, element=ATTRIBUTE, named=True)
AMOUNTS: Final = Shape(ENTRIES_MAX, key=IDENTIFIER, element=AMOUNT)
DEVICE: Final = Shape(
    0,  # an object has no size
    {
        "driver": Shape(DRIVER_MAX),
        "allowMultipleAllocations": Shape(1),
        "attributes": Shape(ENTRIES_MAX, key=DOMAIN, element=ATTRIBUTES),
        "capacity": Shape(ENTRIES_MAX, key=DOMAIN, element=AMOUNTS),
    },
)


def field_of(owner: Shape | None, name: str) -> Shape | None:
    """Return what `owner.name` is, if that is known."""
    if owner is None:
        return None
    return owner.fields.get(name) or (owner.element if owner.named else None)


def within(number: int) -> int:
    """Return a sum or a product, or UNKNOWN for one that is too large."""
    return min(number, UNKNOWN)
