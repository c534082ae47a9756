"""One object of a file or of a cluster: what it is, and the line of each of its fields.

An object is read in v1's form, whatever its file has. Promise: a finding about a field names the
path and line in the file, so that a request of v1beta1 is not said to have an `exactly`. An object
of a cluster has no lines, and is called by its name.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from netclaim.manifests.finding import Finding, Severity
from netclaim.manifests.kinds import API_VERSIONS, CLUSTER_WIDE, GROUP
from netclaim.manifests.text.documents import Document
from netclaim.manifests.versions.conversion import FLAT_VERSIONS
from netclaim.manifests.versions.legacy import DEAD_KINDS, DEAD_VERSIONS, written_path
from netclaim.manifests.versions.remark import Remark
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path, show

DEFAULT: Final = "default"  # the namespace of an object that names none


class ObjectKey(NamedTuple):
    """Identifies an object in a cluster."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Object:
    """An object, as it was written and in v1's form."""

    written: JsonObject
    object: JsonObject  # in v1's form; empty if nothing takes the place of a kind that is gone
    document: Document | None = None  # None: it is from a cluster
    at: Path = ()  # its path in its document: empty, or in the items of a List
    remarks: tuple[Remark, ...] = ()  # what does not survive the conversion to v1

    @property
    def kind(self) -> str:
        """The object's kind, for example `Pod`."""
        return str((self.object or self.written).get("kind"))

    @property
    def name(self) -> str:
        """The object's name; empty if the server is to generate one."""
        return str(self._meta("name") or "")

    @property
    def namespace(self) -> str:
        """The object's namespace; empty for kinds that have none."""
        return "" if self.kind in CLUSTER_WIDE else str(self._meta("namespace") or DEFAULT)

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.kind, self.namespace, self.name)

    @property
    def is_known(self) -> bool:
        """Whether it is of a kind that we read, and not of another group's with the same name."""
        return bool(self.object) and self.object.get("apiVersion") == API_VERSIONS.get(self.kind)

    @property
    def is_taint_rule(self) -> bool:
        """Whether it is a DeviceTaintRule, which is the same in every version."""
        group = str(self.object.get("apiVersion")).partition("/")[0]
        return self.kind == "DeviceTaintRule" and group == GROUP

    @property
    def source(self) -> str:
        """The file that it is from, or what to call it without one."""
        if self.document is not None:
            return self.document.source
        return f"{self.kind} {self.namespace}/{self.name}".replace(" /", " ")

    def in_namespace(self, namespace: str) -> "Object":
        """Return it in a namespace, unless it names one itself or its kind has none."""
        meta = self.object.get("metadata") or {}
        if self.kind in CLUSTER_WIDE or not self.object or not isinstance(meta, dict):
            return self
        if meta.get("namespace"):
            return self
        return replace(self, object={**self.object, "metadata": {**meta, "namespace": namespace}})

    def error(self, path: Path, message: str) -> Finding:
        """Return a mistake at a field, which is given in v1's form or in the file's."""
        return self._finding(Severity.ERROR, path, message)

    def warning(self, path: Path, message: str) -> Finding:
        """Return a doubt about a field, which is given in v1's form or in the file's."""
        return self._finding(Severity.WARNING, path, message)

    def line_of(self, path: Path = ()) -> int:
        """Return the file's line of a field, or of the nearest thing around it; 0 without file."""
        return self.document.line_of(self._place(path)) if self.document is not None else 0

    def where(self, path: Path = ()) -> str:
        """Return `FILE:LINE` of a field, or what to call the object without a file."""
        return f"{self.source}:{self.line_of(path)}" if self.document is not None else self.source

    def _finding(self, severity: Severity, path: Path, message: str) -> Finding:
        place = show(self._place(path))
        return Finding(severity, self.source, self.line_of(path), place, message)

    def _meta(self, key: str) -> Any:
        return inside(self.object or self.written, ("metadata",)).get(key)

    def _place(self, path: Path) -> Path:
        """Return the path in the document, in the file's own version."""
        version = str(self.written.get("apiVersion")).rpartition("/")[2]
        if version in DEAD_VERSIONS or self.written.get("kind") in DEAD_KINDS:
            path = written_path(path, self.kind)
        return (*self.at, *(_flattened(self.written, path) if version in FLAT_VERSIONS else path))


def _flattened(written: JsonObject, path: Path) -> Path:
    """Convert a path of v1 to the older form: no `exactly`, and a device's fields under `basic`."""
    value: Any = written
    found: list[str | int] = []
    for step in path:
        if isinstance(value, dict) and step not in value:
            if step == "exactly":
                continue
            if step in inside(value, ("basic",)):
                found.append("basic")
                value = value["basic"]
        found.append(step)
        value = _child(value, step)
    return tuple(found)


class Index:
    """Objects by kind, namespace and name; of some that are not there, it is known why."""

    def __init__(
        self, objects: Iterable[Object], absent: Mapping[ObjectKey, str] = MappingProxyType({})
    ) -> None:
        self._absent = absent
        self._found: dict[ObjectKey, list[Object]] = {}
        for one in objects:
            if one.name:
                self._found.setdefault(one.key, []).append(one)

    def find(self, kind: str, name: str, *, near: Object) -> Object | None:
        """Return the object that `near` means by a name; of several, the one in its own file."""
        namespace = "" if kind in CLUSTER_WIDE else near.namespace
        found = self._found.get(ObjectKey(kind, namespace, name), ())
        same_file = [one for one in found if one.source == near.source]
        return next(iter((*same_file, *found)), None)

    def why_absent(self, kind: str, name: str, *, near: Object) -> str:
        """Return why there is no object that `near` could mean; empty if that is not known."""
        namespace = "" if kind in CLUSTER_WIDE else near.namespace
        return self._absent.get(ObjectKey(kind, namespace, name), "")

    def names(self, kind: str, namespace: str) -> list[str]:
        """Return the names of the objects of a kind in a namespace."""
        return [key.name for key in self._found if (key.kind, key.namespace) == (kind, namespace)]

    def namespaces(self, kind: str, name: str) -> list[str]:
        """Return the namespaces in which there is an object of a name; none for cluster-wide."""
        found = (key for key in self._found if (key.kind, key.name) == (kind, name))
        return [key.namespace for key in found if key.namespace]

    def repeated(self) -> Iterator[tuple[Object, Object]]:
        """Yield each object whose name was taken, with the one that took it first."""
        for first, *others in self._found.values():
            yield from ((other, first) for other in others)


def inside(found: JsonObject, path: Path) -> JsonObject:
    """Return the object at a path, or an empty one."""
    value: Any = found
    for step in path:
        value = _child(value, step)
    return value if isinstance(value, dict) else {}


def _child(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return None
