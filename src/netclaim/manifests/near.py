"""Guess which of several names was meant by one that is not among them."""

import difflib
from collections.abc import Iterable
from itertools import islice
from typing import Final

__all__ = ["near"]

NAME_MAX: Final = 253  # a longer one is no name; comparing takes the square of the length
KNOWN_MAX: Final = 200  # to compare with: a guess is not worth more time
LIKE: Final = 0.6  # difflib's own measure of a close match


def near(name: str, known: Iterable[str], *, cutoff: float = LIKE) -> str:
    """Return the known name that is most like another, whatever the case; or nothing."""
    folded = {one.lower(): one for one in islice(known, KNOWN_MAX)}
    wanted = name[:NAME_MAX].strip().lower()
    found = difflib.get_close_matches(wanted, folded, n=1, cutoff=cutoff)
    return folded[found[0]] if found else ""
