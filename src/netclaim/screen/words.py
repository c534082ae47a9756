"""Numbers and lists of names in words, the same in every command. No I/O."""

from collections.abc import Sequence
from typing import Final

NAMES_SHOWN: Final = 5  # of objects that have something in common: enough to know them by


def counted(number: int, what: str) -> str:
    """Return a number of things, such as `1 claim` or `2 claims`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], most: int = NAMES_SHOWN) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
