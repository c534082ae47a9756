"""Say what a field that a kind does not have may have been meant for."""

import difflib
from collections.abc import Mapping
from itertools import islice
from typing import Final

from netclaim.paths import Path
from netclaim.schema.shape import Fields, ListOf, MapOf, Shape

__all__ = ["hint", "near"]

NAME_MAX: Final = 253  # a longer one is no name; comparing takes the square of the length
KNOWN_MAX: Final = 200  # to compare with: a guess is not worth more time


def hint(shape: Shape, path: Path) -> str:
    """Return what to write instead of an unknown field, as the end of a sentence."""
    name = str(path[-1]) if path else ""
    beside = _fields_at(shape, path[:-1])
    for key, inner in beside.items():
        if isinstance(inner, Fields) and name in inner.known:
            return f": it belongs under `{key}`"
    if guess := near(name, beside):
        return f": is {guess} meant?"
    return f"; there are {', '.join(beside)}" if beside else ""


def near(name: str, known: Mapping[str, object] | list[str]) -> str:
    """Return which of the known names may have been meant; nothing if none is like it."""
    folded = {one.lower(): one for one in islice(known, KNOWN_MAX)}
    found = difflib.get_close_matches(name[:NAME_MAX].lower(), folded, n=1)
    return folded[found[0]] if found else ""


def _fields_at(shape: Shape, path: Path) -> Mapping[str, Shape]:
    """The fields that an object at a path may have."""
    for step in path:
        match shape:
            case Fields(known) if step in known:
                shape = known[str(step)]
            case ListOf(inner) | MapOf(inner):
                shape = inner
            case _:
                return {}
    return shape.known if isinstance(shape, Fields) else {}
