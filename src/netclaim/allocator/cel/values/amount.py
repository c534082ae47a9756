"""Quantities as CEL has them, with what the API server's own type keeps besides the amount.

That type holds a short number as an integer and a power of ten, and any other number as a decimal
of any length. Only the former can be converted to an integer: `2` can, `2000m` and `2.0` cannot. A
quantity that add() or sub() made cannot be compared on the right of `==`. Both is the same in
kube-scheduler.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from netclaim.model.quantity import BINARY_SUFFIXES, DECIMAL_EXPONENTS, INT64_MAX, NANO, Quantity

DIGITS_MAX: Final = 18  # of a number that is held as an integer: any of them fits in 64 bits
BINARY_DIGITS_MAX: Final = 14  # upstream's estimate, from which the suffix takes its share
FINEST: Final = -9  # the power of ten of a nano
PARTS: Final = re.compile(r"[+-]?0*(?P<whole>[0-9]*)\.?(?P<fraction>[0-9]*)(?P<suffix>.*)")


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity; `power` is that of its integer form, None if it has no such form."""

    nanos: int
    power: int | None
    text: str = ""
    summed: bool = False

    @classmethod
    def parse(cls, text: str | float) -> Self:
        """Read a quantity, or raise QuantityError."""
        quantity = Quantity.parse(text)
        power = _power(str(text))
        nanos = quantity.nanos
        if power is None:  # a decimal of any length is cut to the greatest amount
            nanos = max(min(nanos, INT64_MAX * NANO), -INT64_MAX * NANO)
        return cls(nanos, power, str(quantity))

    @property
    def integer(self) -> int | None:
        """The amount as an integer, if it is held as one that fits."""
        if self.power is None or self.power < 0:
            return None
        whole = self.nanos // NANO
        return whole if abs(whole) <= INT64_MAX else None

    def plus(self, nanos: int, power: int | None) -> "Amount":
        """Return the sum with another amount."""
        total = self.nanos + nanos
        if self.nanos == 0:
            common = power
        else:
            common = None if self.power is None or power is None else min(self.power, power)
        if common is not None and abs(total) > INT64_MAX * 10 ** (common - FINEST):
            common = None
        return Amount(total, common, str(Quantity(total)), summed=True)

    def __str__(self) -> str:
        return self.text


def _power(text: str) -> int | None:
    """Return the power of ten of a number that is held as an integer."""
    match = PARTS.fullmatch(text)
    assert match is not None  # it is a quantity
    whole, fraction, suffix = match.groups()
    if suffix in BINARY_SUFFIXES[1:]:
        share = int(BINARY_SUFFIXES.index(suffix) * 10 * 3 / 10)
        return 0 if not fraction and len(whole) + share <= BINARY_DIGITS_MAX else None
    exponent = DECIMAL_EXPONENTS.get(suffix)
    power = (int(suffix[1:]) if exponent is None else exponent) - len(fraction)
    return power if len(whole) + len(fraction) <= DIGITS_MAX and power >= FINEST else None
