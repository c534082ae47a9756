"""Guess which of several names was meant by one that is not among them."""

import difflib
from collections.abc import Iterable
from itertools import islice
from typing import Final

from netclaim.screen.words import listed

NAME_MAX: Final = 253  # a longer one is no name; comparing takes the square of the length
KNOWN_MAX: Final = 200  # names to compare with; a guess is not worth more time
LIKE: Final = 0.6  # difflib's own measure of a close match
LISTED_MAX: Final = 10  # names in an error; more than that nobody reads


def near(name: str, known: Iterable[str], *, cutoff: float = LIKE) -> str:
    """Return the known name that is most like another, ignoring case, or an empty text."""
    folded = {one.lower(): one for one in islice(known, KNOWN_MAX)}
    wanted = name[:NAME_MAX].strip().lower()
    found = difflib.get_close_matches(wanted, folded, n=1, cutoff=cutoff)
    return folded[found[0]] if found else ""


def existing(name: str, known: Iterable[str]) -> str:
    """Say which known name was probably meant by an unknown one, or which names there are."""
    names = sorted(set(known))
    close = near(name, names)
    if close:
        return f'did you mean "{close}"?'
    return f"existing ones: {listed(names, LISTED_MAX)}" if names else "there are none"


def did_you_mean(name: str, known: Iterable[str], *, cutoff: float = LIKE) -> str:
    """Return the guess as the end of a sentence; or nothing."""
    guess = near(name, known, cutoff=cutoff)
    return f'; did you mean "{guess}"?' if guess else ""
