"""Kubernetes quantities: `100M`, `1.5Gi`, `250m`, `12e6`.

Promise: arithmetic and comparison are exact, and the text is the canonical one that the API server
prints (no fraction, the largest suffix that keeps it whole). Limit: as in Kubernetes, a value finer
than one billionth is rounded away from zero; unlike there, the text has a greatest length.
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Literal, Self

from netclaim.errors import RequestError

NANO: Final = 10**9  # the finest step Kubernetes keeps
INT64_MAX: Final = 2**63 - 1  # it counts in 64 bits

DECIMAL_EXPONENTS: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
DECIMAL_SUFFIXES: Final = {exponent: suffix for suffix, exponent in DECIMAL_EXPONENTS.items()}
BINARY_SUFFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

PATTERN: Final = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))"
    r"(?:(?P<binary>[KMGTPE]i)|[eE](?P<exponent>[+-]?\d+)|(?P<decimal>[numkMGTPE]?))",
    re.ASCII,
)
TEXT_MAX: Final = 1000  # characters: Python reads numbers of up to 4300 digits, and no others
EXPONENT_MAX: Final = 30  # above any value Kubernetes can hold (2^63), below a memory bomb


class QuantityError(RequestError):
    """A text that is not a quantity."""


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An amount, with the notation it was written in. Compares by amount alone."""

    nanos: int
    notation: Literal["decimal", "binary", "exponent"] = field(default="decimal", compare=False)

    @classmethod
    def parse(cls, text: str | float) -> Self:
        """Read what a manifest holds: a string, or a plain number."""
        if len(str(text)) > TEXT_MAX:
            raise QuantityError(f"a quantity has at most {TEXT_MAX} characters")
        match = PATTERN.fullmatch(str(text))
        if match is None:
            raise QuantityError(f"{text!r} is not a quantity such as 100M, 1.5Gi or 250m")
        amount = Fraction(match["number"])
        if match["binary"]:
            return cls(_nanos(amount * 1024 ** BINARY_SUFFIXES.index(match["binary"])), "binary")
        if match["exponent"]:
            exponent = int(match["exponent"])
            if abs(exponent) > EXPONENT_MAX:
                raise QuantityError(f"{text!r} is too large for a quantity")
            return cls(_nanos(amount * Fraction(10) ** exponent), "exponent")
        return cls(_nanos(amount * Fraction(10) ** DECIMAL_EXPONENTS[match["decimal"]]))

    @property
    def value(self) -> Fraction:
        """The amount, exactly."""
        return Fraction(self.nanos, NANO)

    def __str__(self) -> str:
        if self.notation == "binary" and self.nanos % NANO == 0 and abs(self.nanos) >= 1024 * NANO:
            return _binary(self.nanos // NANO)
        return _decimal(self.nanos, exponential=self.notation == "exponent")


def _nanos(amount: Fraction) -> int:
    """Count billionths, rounding away from zero."""
    scaled = abs(amount) * NANO
    whole = -(-scaled.numerator // scaled.denominator)
    return whole if amount >= 0 else -whole


def _binary(whole: int) -> str:
    power = 0
    while whole % 1024 == 0 and power < len(BINARY_SUFFIXES) - 1:
        whole //= 1024
        power += 1
    return f"{whole}{BINARY_SUFFIXES[power]}"


def _decimal(nanos: int, *, exponential: bool) -> str:
    if nanos == 0:
        return "0"
    exponent = -9
    while nanos % 1000 == 0 and exponent < 18:
        nanos //= 1000
        exponent += 3
    if exponential and exponent:
        return f"{nanos}e{exponent}"
    return f"{nanos}{DECIMAL_SUFFIXES[exponent]}"
