"""The rules for the metadata of objects: what users may write there, and what may change."""

from collections.abc import Iterator, Sequence
from typing import Final

from netclaim.model.api.limits import ANNOTATIONS_MAX
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path
from netclaim.schema.kinds import EVENT, NAMESPACE, Kind
from netclaim.schema.refusal import Fault, forbidden, invalid, missing, too_long
from netclaim.schema.rules.names import check_label_key, check_label_value, check_name

META: Final = ("metadata",)
STANDARD_FINALIZERS: Final = ("orphan", "foregroundDeletion", "kubernetes")


def check_metadata(meta: JsonObject, kind: Kind) -> Iterator[Fault]:
    label = kind is NAMESPACE
    if prefix := meta.get("generateName"):
        yield from check_name(prefix, (*META, "generateName"), label=label, prefix=True)
    if not meta.get("name"):
        yield missing((*META, "name"), "name or generateName is required")
    elif kind is not EVENT:  # of which only the path's own characters are forbidden
        yield from check_name(meta["name"], (*META, "name"), label=label)
    yield from check_labels(meta, META)
    yield from _check_owners(meta.get("ownerReferences", ()), (*META, "ownerReferences"))
    for index, finalizer in enumerate(meta.get("finalizers", ())):
        where = (*META, "finalizers", index)
        yield from check_label_key(finalizer, where)
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            yield invalid(where, finalizer, "must have a domain before its name, with a slash")


def check_labels(meta: JsonObject, at: Path) -> Iterator[Fault]:
    """Labels, and annotations too."""
    for key, value in meta.get("labels", {}).items():
        yield from check_label_key(key, (*at, "labels"))
        yield from check_label_value(value, (*at, "labels"))
    size = 0
    for key, value in meta.get("annotations", {}).items():
        yield from check_label_key(key.lower(), (*at, "annotations"))
        size += len(key.encode()) + len(value.encode())
    if size > ANNOTATIONS_MAX:
        yield too_long((*at, "annotations"), ANNOTATIONS_MAX)


def _check_owners(owners: Sequence[JsonObject], at: Path) -> Iterator[Fault]:
    for index, owner in enumerate(owners):
        for key in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(key):
                yield missing((*at, index, key), "must not be empty")
    if sum(bool(owner.get("controller")) for owner in owners) > 1:
        yield invalid(at, "", "only one reference can have controller set to true")


def check_metadata_update(meta: JsonObject, old: JsonObject) -> Iterator[Fault]:
    """What of the metadata may not change."""
    for key in ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"):
        if meta.get(key) != old.get(key):
            yield invalid((*META, key), meta.get(key), "field is immutable")
    added = set(meta.get("finalizers", ())) - set(old.get("finalizers", ()))
    if old.get("deletionTimestamp") and added:
        yield forbidden(
            (*META, "finalizers"), "no new finalizers can be added if the object is being deleted"
        )
