"""Write what became of the objects of a file in the place where they were.

Promise: documents without a change stay byte for byte; changed ones keep their comments and order
where the new form has a place for them. A new object is put in front of the one that needs it. A
file of JSON stays JSON, and a List stays a List. No I/O.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netclaim.manifests.objects import Object
from netclaim.manifests.text.documents import Document
from netclaim.manifests.text.in_front import with_objects_in_front
from netclaim.manifests.text.rewrite import rewrite
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path


@dataclass(frozen=True, slots=True)
class Replacement:
    """What takes an object's place, and what is new in front of it."""

    object: JsonObject
    before: tuple[JsonObject, ...] = ()


def converted_text(
    documents: Sequence[Document], replacements: Mapping[Object, Replacement]
) -> str:
    """Return a file's text with the objects that are replaced."""
    changed: dict[int, dict[Path, Replacement]] = {}
    for one, replacement in replacements.items():
        changed.setdefault(id(one.document), {})[one.at] = replacement
    return "".join(_converted(one, changed.get(id(one), {})) for one in documents)


def _converted(document: Document, changed: Mapping[Path, Replacement]) -> str:
    if not changed:
        return document.text
    if () not in changed:
        return rewrite(document, _unfolded(document.data(), (), changed)[0])
    replacement = changed[()]
    return with_objects_in_front(
        document, rewrite(document, replacement.object), replacement.before
    )


def _unfolded(value: Any, at: Path, changed: Mapping[Path, Replacement]) -> list[Any]:
    """Return what takes the place of an item of a List, or of the List itself."""
    if at in changed:
        return [*changed[at].before, changed[at].object]
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list) or value.get("kind") != "List":
        return [value]
    found = [
        one
        for number, item in enumerate(items)
        for one in _unfolded(item, (*at, "items", number), changed)
    ]
    return [{**value, "items": found}]
