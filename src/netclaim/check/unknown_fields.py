"""Say which field an unknown one may have been meant for."""

from collections.abc import Mapping
from typing import Final

from netclaim.manifests.near import near
from netclaim.paths import Path, show
from netclaim.schema.shapes.shape import Fields, ListOf, MapOf, Shape

LISTED_MAX: Final = 12  # an object with more fields is too long to list
COMMON: Final = ("metadata", "name")  # so frequent that finding one nearby means nothing


def unknown_field(shape: Shape, path: Path) -> str:
    """Say that an object has no such field, and what to write instead."""
    name = str(path[-1]) if path else ""
    return f'unknown field "{name}"{_hint(shape, path, name)}'


def _hint(shape: Shape, path: Path, name: str) -> str:
    beside = _fields_at(shape, path[:-1])
    same = {key.lower(): key for key in beside}.get(name.lower())
    if not same and (name not in COMMON or "metadata" in beside):
        for key, inner in beside.items():
            if isinstance(inner, Fields) and name in inner.known:
                return f"; it belongs under `{key}`"
        for length in range(len(path) - 2, -1, -1):
            if name in _fields_at(shape, path[:length]):
                place = f"under `{show(path[:length])}`" if length else "at the top level"
                return f"; it belongs {place}"
    if guess := same or near(name, beside):
        return f'; did you mean "{guess}"?'
    return f"; known fields are {', '.join(beside)}" if 0 < len(beside) <= LISTED_MAX else ""


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
