"""Guess which of the known names somebody meant. No I/O."""

import difflib
from collections.abc import Iterable
from typing import Final

from netclaim.cni.folding import fold

__all__ = ["ALIKE_TYPES", "did_you_mean", "nearest"]

COMPARED_MAX: Final = 64  # characters; comparing takes the square of the length
ALIKE: Final = 0.6  # difflib's own measure, of keys
ALIKE_TYPES: Final = 0.8  # of plugin types: portmap is not tap


def nearest(name: str, known: Iterable[str], *, alike: float = ALIKE) -> str:
    """Return the known name that is most like this one; empty if none is."""
    folded = {fold(one): one for one in known}
    found = difflib.get_close_matches(fold(name[:COMPARED_MAX]), folded, n=1, cutoff=alike)
    return folded[found[0]] if found else ""


def did_you_mean(name: str, known: Iterable[str], *, alike: float = ALIKE) -> str:
    """Return the guess as the end of a sentence; empty if there is none."""
    near = nearest(name, known, alike=alike)
    return f'; did you mean "{near}"?' if near else ""
