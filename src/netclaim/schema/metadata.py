"""Objects' metadata: what users may write there, and what the server writes itself.

Pure, but for the clock and the random names that are handed in.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from netclaim.model.claim import JsonObject
from netclaim.paths import Path
from netclaim.schema.kinds import EVENT, NAMESPACE, Kind
from netclaim.schema.names import check_label_key, check_label_value, check_name
from netclaim.schema.refusal import Fault, forbidden, invalid, missing

__all__ = ["Stamps", "check_metadata", "check_metadata_update", "stamp_new"]

GENERATED_MAX: Final = 58  # of a generated name before its five letters
META: Final = ("metadata",)
STANDARD_FINALIZERS: Final = ("orphan", "foregroundDeletion", "kubernetes")
ANNOTATIONS_MAX: Final = 256 << 10  # bytes of all keys and values together


@dataclass(frozen=True, slots=True)
class Stamps:
    """Where times, UIDs and the tails of generated names come from."""

    now: Callable[[], str]
    uid: Callable[[], str]
    tail: Callable[[], str]  # five letters and digits


def stamp_new(meta: JsonObject, kind: Kind, namespace: str, stamps: Stamps) -> JsonObject:
    """The metadata of an object about to be made."""
    name = meta.get("name", "")
    if not name and (prefix := meta.get("generateName")):
        name = f"{prefix[:GENERATED_MAX]}{stamps.tail()}"
    stamped = {"name": name} if name else {}
    if meta.get("generateName"):
        stamped["generateName"] = meta["generateName"]
    if kind.namespaced:
        stamped["namespace"] = namespace
    kept = {key: meta[key] for key in _USERS if meta.get(key)}
    system = {"uid": stamps.uid(), "generation": 1, "creationTimestamp": stamps.now()}
    return stamped | system | kept


_USERS: Final = ("labels", "annotations", "ownerReferences", "finalizers")


def check_metadata(meta: JsonObject, kind: Kind, at: Path = META) -> Iterator[Fault]:
    """What is wrong with an object's metadata by itself."""
    label = kind is NAMESPACE
    if prefix := meta.get("generateName"):
        yield from check_name(prefix, (*at, "generateName"), label=label, prefix=True)
    if not meta.get("name"):
        yield missing((*at, "name"), "name or generateName is required")
    elif kind is not EVENT:  # of which only the path's own characters are forbidden
        yield from check_name(meta["name"], (*at, "name"), label=label)
    yield from check_labels(meta, at)
    yield from _check_owners(meta.get("ownerReferences", ()), (*at, "ownerReferences"))
    for index, finalizer in enumerate(meta.get("finalizers", ())):
        where = (*at, "finalizers", index)
        yield from check_label_key(finalizer, where)
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            yield invalid(where, finalizer, "must have a domain before its name, with a slash")


def check_labels(meta: JsonObject, at: Path) -> Iterator[Fault]:
    """What is wrong with labels and annotations."""
    for key, value in meta.get("labels", {}).items():
        yield from check_label_key(key, (*at, "labels"))
        yield from check_label_value(value, (*at, "labels"))
    size = 0
    for key, value in meta.get("annotations", {}).items():
        yield from check_label_key(key.lower(), (*at, "annotations"))
        size += len(key.encode()) + len(value.encode())
    if size > ANNOTATIONS_MAX:
        message = f"Too long: may not be more than {ANNOTATIONS_MAX} bytes"
        yield Fault((*at, "annotations"), "FieldValueTooLong", message)


def _check_owners(owners: Any, at: Path) -> Iterator[Fault]:
    for index, owner in enumerate(owners):
        for key in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(key):
                yield missing((*at, index, key), "must not be empty")
    if sum(bool(owner.get("controller")) for owner in owners) > 1:
        yield invalid(at, "", "only one reference can have controller set to true")


def check_metadata_update(meta: JsonObject, old: JsonObject) -> Iterator[Fault]:
    """What may not change about an object's metadata."""
    for key in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"):
        if meta.get(key) != old.get(key):
            yield invalid((*META, key), meta.get(key), "field is immutable")
    added = set(meta.get("finalizers", ())) - set(old.get("finalizers", ()))
    if old.get("deletionTimestamp") and added:
        yield forbidden(
            (*META, "finalizers"), "no new finalizers can be added if the object is being deleted"
        )
