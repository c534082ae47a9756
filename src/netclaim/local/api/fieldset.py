"""Sets of an object's fields, as server-side apply counts them: listed, merged, taken away.

A field is a path of steps as `fieldsV1` writes them: `f:NAME`, `k:{KEYS}` for the entry of a list
with these keys, `v:VALUE` for an entry of a set, and `.` for the entry itself. No I/O. Limit: lists
that are neither below nor in `LISTS` count as one field, which is right for the kinds here.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from netclaim.model.claims.claim import JsonObject

FieldPath: TypeAlias = tuple[str, ...]
_Place: TypeAlias = tuple[str, ...]  # plain names, `*` for the entries of a list

SELF: Final = "."
SET: Final[tuple[str, ...]] = ()  # a list whose entries are their own keys
_POD_LISTS: Final[Mapping[str, tuple[str, ...]]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "resourceClaims": ("name",),
}
LISTS: Final[Mapping[_Place, tuple[str, ...]]] = {
    ("metadata", "ownerReferences"): ("uid",),
    ("metadata", "finalizers"): SET,
    ("status", "reservedFor"): ("uid",),
    ("status", "devices"): ("driver", "device", "pool", "shareID"),
    ("status", "devices", "*", "conditions"): ("type",),
    ("status", "conditions"): ("type",),
    ("status", "resourceClaimStatuses"): ("name",),
    **{("spec", name): keys for name, keys in _POD_LISTS.items()},
    **{("spec", "template", "spec", name): keys for name, keys in _POD_LISTS.items()},
}
# Objects that are written whole.
ATOMIC: Final[frozenset[_Place]] = frozenset(
    {
        ("status", "devices", "*", "data"),
        ("status", "allocation", "nodeSelector"),
        ("spec", "nodeSelector"),
        ("spec", "selector"),
    }
)


def fields_of(value: JsonObject) -> dict[FieldPath, Any]:
    """Return every field of an object, with its value."""
    return dict(_walk(value, (), ()))


def _walk(value: Any, place: _Place, path: FieldPath) -> Iterator[tuple[FieldPath, Any]]:
    if isinstance(value, dict) and place not in ATOMIC:  # an empty one owns nothing
        for key, inner in value.items():
            yield from _walk(inner, (*place, key), (*path, f"f:{key}"))
    elif isinstance(value, list) and place in LISTS:
        for item in value:
            entry = (*path, _step(item, LISTS[place]))
            yield (*entry, SELF), True
            if isinstance(item, dict):
                yield from _walk(item, (*place, "*"), entry)
    else:
        yield path, value


def _step(item: Any, keys: tuple[str, ...]) -> str:
    if not isinstance(item, dict):
        return f"v:{json.dumps(item)}"
    given = {key: item[key] for key in sorted(keys) if key in item}
    return f"k:{json.dumps(given, separators=(',', ':'))}"


def merged(live: Any, applied: Any, place: _Place = ()) -> Any:
    """Merge what is applied into what exists, entry by entry if lists have keys."""
    if isinstance(live, dict) and isinstance(applied, dict) and place not in ATOMIC:
        laid = {
            key: merged(live[key], value, (*place, key)) if key in live else value
            for key, value in applied.items()
        }
        return {**live, **laid}
    if isinstance(live, list) and isinstance(applied, list) and place in LISTS:
        keys = LISTS[place]
        entries = {_step(item, keys): item for item in live}
        for item in applied:
            step = _step(item, keys)
            entries[step] = merged(entries.get(step), item, (*place, "*"))
        return list(entries.values())
    return applied


def without_fields(value: JsonObject, paths: Iterable[FieldPath]) -> JsonObject:
    """Remove fields, and with them objects and entries that this leaves empty."""
    result: Any = value
    # Entries of lists first: without their keys they could not be found any more.
    for path in sorted(paths, key=lambda path: path[-1] != SELF):
        result = _without(result, path, ())
    return dict(result or {})


def _without(value: Any, path: FieldPath, place: _Place) -> Any:
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        keys = LISTS.get(place, SET)
        kept = []
        for item in value:
            if _step(item, keys) != step:
                kept.append(item)
            elif rest not in ((), (SELF,)):
                kept.append(_without(item, rest, (*place, "*")))
        return kept or None
    name = step.removeprefix("f:")
    if not isinstance(value, dict) or name not in value:
        return value
    inner = _without(value[name], rest, (*place, name)) if rest else None
    others = {key: other for key, other in value.items() if key != name}
    if inner is None:
        return others or None
    return {key: inner if key == name else other for key, other in value.items()}


def encode_fields(paths: Iterable[FieldPath]) -> JsonObject:
    """Encode the paths as one nested object, as `managedFields` holds it."""
    tree: JsonObject = {}
    for path in sorted(paths):
        node = tree
        for step in path:
            node = node.setdefault(step, {})
    return tree


def decode_fields(tree: JsonObject, path: FieldPath = ()) -> frozenset[FieldPath]:
    """Return the paths that a nested object encodes."""
    if not tree:
        return frozenset({path} if path else ())
    return frozenset().union(*(decode_fields(node, (*path, step)) for step, node in tree.items()))
