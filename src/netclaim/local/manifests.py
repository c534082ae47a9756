"""A user's manifests, read and judged before anything starts.

Promise: what an API server would refuse is one line a fault, with file and line; so is what is no
manifest at all. Objects of any version of resource.k8s.io since the first come out as v1. What is
left out, and what a real cluster would want in addition, is said in notes. Limit: kinds that the
embedded cluster does not have are left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from netclaim.errors import RequestError
from netclaim.local.api import Store, Verbs
from netclaim.manifests.documents import NO_MANIFEST, Document, ManifestError
from netclaim.manifests.fields import ShapeError
from netclaim.manifests.files import raise_faults, read_files
from netclaim.manifests.migration import migrate
from netclaim.model.claim import JsonObject
from netclaim.paths import Path, show
from netclaim.schema.claim_rules import ADMIN_LABEL
from netclaim.schema.expressions import CelExpressions
from netclaim.schema.kinds import NAMESPACE, Kind, kind_of
from netclaim.schema.refusal import RefusedError
from netclaim.schema.review import Review
from netclaim.schema.shape import fit
from netclaim.schema.shapes import shape_of

__all__ = ["Item", "Manifests", "create_all", "read_manifests"]

# What `kubectl get -o yaml` prints and only a server writes.
SERVER_META: Final = (
    "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
)  # fmt: skip
SPECS_OF_PODS: Final = ("Pod", "Deployment", "ReplicaSet")
OTHER_WORKLOADS: Final = ("DaemonSet", "StatefulSet", "Job", "CronJob", "ReplicationController")


class _FaultsError(Exception):
    """What is wrong with a document, a line each."""

    def __init__(self, lines: Iterable[str]) -> None:
        super().__init__()
        self.lines = tuple(lines)


@dataclass(frozen=True, slots=True)
class Item:
    """One object of a file, in the form to create it."""

    document: Document
    at: Path  # where in the document it is: nowhere, or in the items of a List
    kind: Kind
    object: JsonObject

    @property
    def namespace(self) -> str:
        """Where it will be."""
        given: str = self.object["metadata"].get("namespace", "")
        return given or ("default" if self.kind.namespaced else "")

    def line(self, field: Path) -> str:
        """The file and line of a field."""
        path = (*self.at, *field)
        # Older versions have no `exactly` and more than `basic` between a name and its fields.
        flat = tuple(step for step in path if step != "exactly")
        line = max(self.document.line_of(path), self.document.line_of(flat))
        return f"{self.document.source}:{line}"


@dataclass(frozen=True, slots=True)
class Manifests:
    """What the files hold, and what there is to say about it."""

    items: tuple[Item, ...]
    notes: tuple[str, ...]


def read_manifests(sources: Sequence[str], *, recursive: bool = False) -> Manifests:
    """Read files, directories and standard input (`-`).

    Each fault is a RequestError of one line; several are an ExceptionGroup of them.
    """
    items: list[Item] = []
    notes: list[str] = []
    faults: list[str] = []
    for file in read_files(sources, recursive=recursive):
        try:
            for document in file.documents:
                for at, entry in document.entries():
                    items += _read_entry(document, at, entry, notes)
        except _FaultsError as error:
            faults += error.lines
        except ManifestError as error:
            faults.append(str(error))
    raise_faults([RequestError(fault) for fault in faults or _refusals(items)])
    if not any(item.kind.name in SPECS_OF_PODS for item in items):
        raise RequestError(f"{', '.join(sources)}: no Pod or Deployment in there, nothing to run")
    return Manifests(tuple(items), (*notes, *_admin_notes(items)))


def create_all(verbs: Verbs, items: Iterable[Item]) -> Iterator[str]:
    """Create the objects, namespaces first; yields the faults of those that are refused."""
    for item in sorted(items, key=lambda item: item.kind is not NAMESPACE):  # otherwise as they are
        try:
            verbs.create(item.kind, item.object, manager="kubectl", namespace=item.namespace)
        except RefusedError as refusal:
            yield from _located(item, refusal)


def _read_entry(document: Document, at: Path, data: Any, notes: list[str]) -> Iterator[Item]:
    """One object; none if the embedded cluster has no use for it."""
    if not isinstance(data, dict) or not data.get("apiVersion") or not data.get("kind"):
        raise document.fault_at(at, NO_MANIFEST)
    try:
        migrated = migrate(data, "v1")
    except ShapeError as error:
        raise document.fault_at((*at, *error.path), str(error)) from error
    remarks = {remark.path: remark.text for remark in migrated.remarks}
    for remark in migrated.remarks:
        line = document.line_of((*at, *remark.path))
        notes.append(f"{document.source}:{line}: {show(remark.path)}: {remark.text}")
    if migrated.object is None:
        return
    kind = kind_of(migrated.object)
    if kind is None:
        notes.append(_left_out(document, at, migrated.object))
    else:
        yield _item(Item(document, at, kind, migrated.object), remarks)


def _item(item: Item, remarks: Mapping[Path, str]) -> Item:
    """The object with only what a user writes, checked against the shape of its kind."""
    kind, found = item.kind, item.object
    meta = found.get("metadata") or {}
    if isinstance(meta, dict):
        meta = {key: value for key, value in meta.items() if key not in SERVER_META}
    bare = {key: value for key, value in found.items() if key != "status"} | {"metadata": meta}
    try:
        fitting, unknown = fit(bare, shape_of(kind, kind.addresses[0]))
    except RefusedError as refusal:
        raise _FaultsError(_located(item, refusal)) from refusal
    if unknown:
        unheard = f"{kind.name} has no such field"
        raise _FaultsError(
            f"{item.line(path)}: {show(path)}: {remarks.get(path, unheard)}" for path in unknown
        )
    return replace(item, object=fitting)


def _refusals(items: Sequence[Item]) -> Iterator[str]:
    """What an API server would refuse, found by asking one that is thrown away."""
    verbs = Verbs(Store(), Review(CelExpressions()))
    made = {item.object["metadata"].get("name") for item in items if item.kind is NAMESPACE}
    labels = {ADMIN_LABEL: "true"}
    for namespace in {item.namespace for item in items if item.namespace} - made:
        verbs.create(
            NAMESPACE, {"metadata": {"name": namespace, "labels": labels}}, manager="netclaim"
        )
    yield from create_all(verbs, items)


def _located(item: Item, refusal: RefusedError) -> Iterator[str]:
    """A refusal as lines that begin with file and line."""
    for fault in refusal.faults:
        yield f"{item.line(fault.path)}: {fault}"
    if not refusal.faults:
        yield f"{item.line(refusal.path)}: {refusal}"


def _admin_notes(items: Sequence[Item]) -> Iterator[str]:
    """What a real cluster asks of namespaces that we made up, and so of their owner."""
    made = {item.object["metadata"].get("name") for item in items if item.kind is NAMESPACE}
    for item in items:
        inner = item.object.get("spec", {})
        devices = inner.get("devices") or inner.get("spec", {}).get("devices", {})
        for number, request in enumerate(devices.get("requests", ()) if devices else ()):
            if request.get("exactly", {}).get("adminAccess") and item.namespace not in made:
                spec: Path = ("spec", "spec") if "spec" in inner else ("spec",)
                where = item.line((*spec, "devices", "requests", number, "exactly", "adminAccess"))
                yield (
                    f"{where}: adminAccess: on Kubernetes 1.34 and newer, namespace"
                    f" {item.namespace} needs the label {ADMIN_LABEL}=true"
                )


def _left_out(document: Document, at: Path, found: JsonObject) -> str:
    line = document.line_of((*at, "kind"))
    what = f"{document.source}:{line}: {found['kind']} left out"
    if found["kind"] in OTHER_WORKLOADS:
        return f"{what}: of workloads, only {', '.join(SPECS_OF_PODS)} are run"
    return f"{what}: the embedded cluster has no use for it"
