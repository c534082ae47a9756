"""What is said of keys that nobody knows: the first few, cut to a readable length. No I/O."""

from collections.abc import Callable, Sequence
from typing import Final

from netclaim.paths import Path

UNKNOWN_MAX: Final = 5  # keys of one object that are listed
KEY_SHOWN_MAX: Final = 64  # characters; the longest known key has 25


def unknown_keys(
    unknown: Sequence[str], path: Path, hint: Callable[[str], str]
) -> list[tuple[str, Path]]:
    """Return a message and a path for each of some unknown keys of the object at `path`.

    `hint` is given the key as it is shown, and returns the end of the message.
    """
    shown = [key[:KEY_SHOWN_MAX] for key in unknown[:UNKNOWN_MAX]]
    found: list[tuple[str, Path]] = [
        (f'unknown key "{key}"{hint(key)}', (*path, key)) for key in shown
    ]
    if len(unknown) > UNKNOWN_MAX:
        found.append((f"has {len(unknown) - UNKNOWN_MAX} more unknown keys", path))
    return found
