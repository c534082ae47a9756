"""Changes to an object: RFC 7386 merge patches and RFC 6902 JSON patches.

No I/O; the original stays as it is. A patch that cannot be carried out is refused.
"""

import copy
from collections.abc import Sequence
from typing import Any

from netclaim.model.claims.claim import JsonObject
from netclaim.schema.refusal import RefusedError


def merge_patch(target: Any, patch: Any) -> Any:
    """Merge a patch into a value: null removes, objects merge, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def json_patch(target: JsonObject, operations: Sequence[JsonObject]) -> Any:
    """Carry out operations one after the other."""
    result: Any = copy.deepcopy(target)
    for operation in operations:
        try:
            result = _operate(result, operation)
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            raise _impossible(operation, f"no such path ({error})") from error
    return result


def _operate(document: Any, operation: JsonObject) -> Any:
    path = _pointer(operation["path"])
    match operation.get("op"):
        case "add":
            return _put(document, path, operation["value"], insert=True)
        case "replace":
            _get(document, path)
            return _put(document, path, operation["value"], insert=False)
        case "remove":
            return _remove(document, path)
        case "test":
            if _get(document, path) != operation["value"]:
                raise _impossible(operation, "testing value failed")
            return document
        case "copy":
            return _put(document, path, copy.deepcopy(_from(document, operation)), insert=True)
        case "move":
            value = _from(document, operation)
            shorter = _remove(document, _pointer(operation["from"]))
            return _put(shorter, path, value, insert=True)
        case other:
            raise _impossible(operation, f"unexpected kind of operation {other!r}")


def _impossible(operation: JsonObject, why: str) -> RefusedError:
    text = f"the server rejected our request due to an error in our request: {why}"
    return RefusedError(422, "Invalid", f"{text}: {operation}")


def _pointer(text: str) -> list[str]:
    if text and not text.startswith("/"):
        raise ValueError(text)
    parts = text.split("/")[1:]
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


def _from(document: Any, operation: JsonObject) -> Any:
    return _get(document, _pointer(operation["from"]))


def _get(document: Any, path: Sequence[str]) -> Any:
    for step in path:
        document = document[_index(document, step)]
    return document


def _put(document: Any, path: Sequence[str], value: Any, *, insert: bool) -> Any:
    if not path:
        return value
    parent = _get(document, path[:-1])
    if isinstance(parent, list) and insert:
        place = len(parent) if path[-1] == "-" else int(path[-1])
        if not 0 <= place <= len(parent):
            raise IndexError(path[-1])
        parent.insert(place, value)
    else:
        parent[_index(parent, path[-1])] = value
    return document


def _remove(document: Any, path: Sequence[str]) -> Any:
    parent = _get(document, path[:-1])
    del parent[_index(parent, path[-1])]
    return document


def _index(parent: Any, step: str) -> Any:
    if isinstance(parent, list):
        if not step.isdecimal():
            raise ValueError(step)
        return int(step)
    return step
