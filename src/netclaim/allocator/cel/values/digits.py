"""Whole numbers from decimal digits, however many there are. No I/O.

Python reads 4300 digits and raises ValueError at one more; an expression may have 10 KiB of them.
Promise: a number that fits in 64 bits is exact, and any other comes out as one that does not fit.
"""

from typing import Final

LEADING: Final = 21  # digits: with these, any number is more than 64 bits can hold


def whole(digits: str) -> int:
    """Read digits, with or without a sign; of a number that is too large only the beginning."""
    sign = digits[:1] if digits[:1] in ("+", "-") else ""
    return int(sign + (digits.removeprefix(sign).lstrip("0")[:LEADING] or "0"))
