"""The place of a field in a document: a path of keys and indices, and how people write it.

Values only. Code passes paths on as they are and never reads one back out of a text.
"""

from typing import TypeAlias

__all__ = ["Key", "Path", "show"]


class Key(str):
    """A key that the user chose, for example in a map of labels; written in brackets."""

    __slots__ = ()


Path: TypeAlias = tuple[str | int, ...]


def show(path: Path) -> str:
    """Return a path as people write it: `spec.devices.requests[0].name`, `labels[app]`."""
    parts = (f"[{step}]" if isinstance(step, int | Key) else f".{step}" for step in path)
    return "".join(parts).removeprefix(".")
