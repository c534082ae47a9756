"""Find what YAML can express and JSON cannot: keys that are not strings, bytes, sets, infinities.

An API server reads JSON. A program that converts has to guess or refuse; we say what to write
instead.
"""

import math
from collections.abc import Iterator
from typing import Any, Final

from netclaim.paths import Path

WHOLE_MAX: Final = (1 << 64) - 1  # what servers' and our own JSON readers take
WHOLE_MIN: Final = -(1 << 63)


def not_json(value: Any, at: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield where the value is not JSON, and what to do about it."""
    if isinstance(value, dict):
        for key, child in value.items():
            if isinstance(key, str) and _is_unicode(key):
                yield from not_json(child, (*at, key))
            else:
                yield (*at, _shown(key)), "this key is not a string; put it in quotes"
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from not_json(child, (*at, index))
    elif fault := _scalar_fault(value):
        yield at, fault


def _scalar_fault(value: Any) -> str:
    """Return what is wrong with a value that has no parts; empty if JSON can express it."""
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, str):
        return "" if _is_unicode(value) else "has half a surrogate pair; write the character"
    if isinstance(value, int):
        return "" if WHOLE_MIN <= value <= WHOLE_MAX else "does not fit into 64 bits"
    if isinstance(value, float):
        return "" if math.isfinite(value) else "is not a number; put it in quotes if it is a string"
    return f"is a {type(value).__name__} by its tag, which JSON does not have; leave out the tag"


def _is_unicode(text: str) -> bool:
    """Whether a text can be encoded; an escape can make half of a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _shown(key: Any) -> str:
    """Return a key nearly as the file has it."""
    simple = isinstance(key, bool | float) or key is None
    small = isinstance(key, int) and WHOLE_MIN <= key <= WHOLE_MAX  # str() has a limit of digits
    return ascii(key) if simple or small or isinstance(key, str) else f"({type(key).__name__})"
