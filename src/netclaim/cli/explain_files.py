"""The objects that `netclaim explain` reads: of files here, and how they are kept, wherever from.

Promise: objects of any version of resource.k8s.io come out as v1, with the file and line they are
from; a fault is one line that begins with them. Statuses stay: they say what is taken. Limit: kinds
that say nothing about claims are passed over.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from netclaim.errors import RequestError
from netclaim.kube.fields import Path as FieldPath
from netclaim.kube.fields import ShapeError
from netclaim.kube.manifest import SIZE_MAX, Document, decode, read_documents
from netclaim.kube.migration import migrate
from netclaim.model.claim import JsonObject

__all__ = ["CLUSTER_WIDE", "Found", "Key", "read_files"]

STDIN: Final = "-"
SUFFIXES: Final = (".yaml", ".yml", ".json")  # of a directory's files, as kubectl takes them
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


def read_files(sources: Sequence[str], namespace: str) -> tuple[Found, ...]:
    """Read files, directories and standard input (`-`); `namespace` is for what names none."""
    return tuple(
        _placed(found, namespace)
        for name, text in _texts(sources)
        for document in read_documents(text, name)
        for found in _read_document(document)
    )


def _placed(found: Found, namespace: str) -> Found:
    key = found.key
    if key.kind in CLUSTER_WIDE:
        return found
    meta = found.object["metadata"]
    placed = {**meta, "namespace": meta.get("namespace") or namespace}
    return Found({**found.object, "metadata": placed}, found.where)


def _texts(sources: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each file's name and text."""
    for source in sources:
        if source == STDIN:
            yield "stdin", decode(sys.stdin.buffer.read(SIZE_MAX + 1), "stdin")
            continue
        try:
            for file in _files(Path(source)):
                with file.open("rb") as stream:
                    yield str(file), decode(stream.read(SIZE_MAX + 1), str(file))
        except OSError as error:
            raise RequestError(f"{error.filename}: {error.strerror}") from error


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(one for one in path.iterdir() if one.suffix in SUFFIXES and one.is_file())
    if not found:
        raise RequestError(f"{path}: no file in there ends with {', '.join(SUFFIXES)}")
    return found


def _read_document(document: Document) -> Iterator[Found]:
    if document.root is None:
        return
    if not isinstance(document.root, yaml.MappingNode):
        raise document.fault("not a manifest: an object with apiVersion and kind is one")
    data = document.data()
    if data.get("kind") == "List":  # as `kubectl get -o yaml` prints several objects
        for number, entry in enumerate(data.get("items") or ()):
            yield from _read_entry(document, ("items", number), entry)
    else:
        yield from _read_entry(document, (), data)


def _read_entry(document: Document, at: FieldPath, data: Any) -> Iterator[Found]:
    where = f"{document.source}:{document.line_of(at)}"
    if not isinstance(data, dict) or not data.get("apiVersion") or not data.get("kind"):
        raise RequestError(f"{where}: not a manifest: an object with apiVersion and kind is one")
    try:
        migrated = migrate(data, "v1")
    except ShapeError as error:
        line = document.line_of((*at, *error.path))
        raise RequestError(f"{document.source}:{line}: {error}") from error
    if migrated.object is not None:
        yield Found(migrated.object, where)
