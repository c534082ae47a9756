"""The objects that `netclaim explain` reads: of files here, and how they are kept, wherever from.

Promise: objects of any version of resource.k8s.io come out as v1, with the file and line they are
from; a fault is one line that begins with them. Statuses stay: they say what is taken. Limit: kinds
that say nothing about claims are passed over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from netclaim.check.subject import Subject as Written
from netclaim.errors import RequestError
from netclaim.manifests.documents import NO_MANIFEST, Document
from netclaim.manifests.fields import ShapeError
from netclaim.manifests.files import read_files
from netclaim.manifests.migration import migrate
from netclaim.model.claim import JsonObject
from netclaim.paths import Path

__all__ = ["CLUSTER_WIDE", "Found", "Key", "read_objects"]

CLUSTER_WIDE: Final = ("DeviceClass", "ResourceSlice", "Node")


class Key(NamedTuple):
    """What tells an object from every other in a cluster."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Found:
    """An object, and where: `FILE:LINE`, or nothing if it is a cluster's."""

    object: JsonObject
    where: str = ""
    written: Written | None = None  # as its file has it

    @property
    def key(self) -> Key:
        """Its kind, namespace and name."""
        meta = self.object.get("metadata")
        name = meta.get("name") if isinstance(meta, dict) else None
        if not isinstance(meta, dict) or not isinstance(name, str) or not name:
            raise self.fault("metadata.name is missing")
        kind = str(self.object["kind"])
        namespace = "" if kind in CLUSTER_WIDE else meta.get("namespace") or "default"
        return Key(kind, str(namespace), name)

    def fault(self, message: str) -> RequestError:
        """Return an error at the place of the object."""
        return RequestError(f"{self.where}: {message}" if self.where else message)


def read_objects(
    sources: Sequence[str], namespace: str, *, recursive: bool = False
) -> tuple[Found, ...]:
    """Read files, directories and standard input (`-`); `namespace` is for what names none."""
    return tuple(
        _placed(found, namespace)
        for file in read_files(sources, recursive=recursive)
        for document in file.documents
        for at, entry in document.entries()
        for found in _read_entry(document, at, entry)
    )


def _placed(found: Found, namespace: str) -> Found:
    if found.key.kind in CLUSTER_WIDE or found.written is None:
        return found
    written = replace(found.written, written=_put(found.written.written, namespace))
    return replace(found, object=_put(found.object, namespace), written=written)


def _put(obj: JsonObject, namespace: str) -> JsonObject:
    meta = obj["metadata"]
    return {**obj, "metadata": {**meta, "namespace": meta.get("namespace") or namespace}}


def _read_entry(document: Document, at: Path, data: Any) -> Iterator[Found]:
    if not isinstance(data, dict) or not data.get("apiVersion") or not data.get("kind"):
        raise document.fault_at(at, NO_MANIFEST)
    try:
        migrated = migrate(data, "v1")
    except ShapeError as error:
        raise document.fault_at((*at, *error.path), str(error)) from error
    if migrated.object is not None:
        where = f"{document.source}:{document.line_of(at)}"
        yield Found(migrated.object, where, Written(document, at, data, data))
