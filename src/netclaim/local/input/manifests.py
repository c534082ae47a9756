"""A user's manifests, read and checked before anything starts.

Promise: what an API server would refuse is one line per fault, with file and line; so is what is no
manifest at all. Objects of any version of resource.k8s.io since the first come out as v1, and what
Multus reads as networks and claims. What is left out, and what a real cluster would need in
addition, is reported in notes. Limit: kinds that the embedded cluster does not have are left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from netclaim.allocator.objects.extended import extended_resources, offered
from netclaim.check.claims.wanted import wanted
from netclaim.check.objects import fitted
from netclaim.convert.multus.annotation import NETWORK
from netclaim.errors import RequestError
from netclaim.local.api import Store, Verbs
from netclaim.local.input.from_multus import with_claims
from netclaim.local.result.multus import CLAIM_INSTEAD
from netclaim.manifests.finding import Finding
from netclaim.manifests.kinds import CLAIM_SPECS, POD_SPECS
from netclaim.manifests.objects import Object, inside
from netclaim.manifests.reading import read_objects
from netclaim.manifests.text.files import raise_faults, read_files
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.paths import show
from netclaim.schema.kinds import CLASS, DEFINITION, KINDS, NAMESPACE, RULE, kind_of
from netclaim.schema.refusal import RefusedError
from netclaim.schema.rules.claims import ADMIN_LABEL

# What `kubectl get -o yaml` prints and only a server or a controller writes.
SERVER_META: Final = (
    "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
    "ownerReferences",  # to objects that are not here; with them, it would be deleted as garbage
)  # fmt: skip
SPECS_OF_PODS: Final = tuple(kind.name for kind in KINDS if kind.name in POD_SPECS)


@dataclass(frozen=True, slots=True)
class Manifests:
    """The objects of the files, and the notes about them."""

    items: tuple[Object, ...]
    notes: tuple[str, ...]


def read_manifests(sources: Sequence[str], *, recursive: bool = False) -> Manifests:
    """Read files, directories and standard input (`-`).

    Each fault is a RequestError of one line; several are an ExceptionGroup of them.
    """
    read, faults = read_objects(read_files(sources, recursive=recursive))
    items: list[Object] = []
    findings = list(faults)
    objects, notes = with_claims(read)
    for one in objects:
        kind = kind_of(one.object) if one.object else None
        if kind is not RULE:  # every version of it is converted
            notes += [f"{one.where(r.path)}: {show(r.path)}: {r.text}" for r in one.remarks]
        if one.object and kind in (None, DEFINITION):  # one that could not be converted
            notes.append(_left_out(one))
            continue
        fitting = fitted(_without_server_meta(one))
        findings += fitting.findings
        items += [fitting.object] if fitting.object is not None else []
    raise_faults([fault.as_error() for fault in findings or _refusals(items)])
    if not any(item.kind in SPECS_OF_PODS for item in items):
        raise RequestError(
            f"{', '.join(sources)}: no Pod, Deployment or other workload found, nothing to run"
        )
    return Manifests(tuple(items), (*notes, *_admin_notes(items), *_resource_notes(items)))


def create_all(verbs: Verbs, items: Iterable[Object]) -> Iterator[Finding]:
    """Create the objects, namespaces first; yields the faults of those that are refused."""
    for item in sorted(items, key=lambda item: item.kind != NAMESPACE.name):
        kind = kind_of(item.object)
        assert kind is not None  # others are left out
        try:
            body = {**item.object, "apiVersion": kind.addresses[0].api_version}
            verbs.create(kind, body, manager="kubectl", namespace=item.namespace)
        except RefusedError as refusal:
            for fault in refusal.faults:
                yield item.error(fault.path, fault.message)
            if not refusal.faults:
                yield item.error(refusal.path, refusal.message)


def _without_server_meta(one: Object) -> Object:
    """Return the object with only the metadata that a user writes."""
    meta = one.object.get("metadata")
    if not isinstance(meta, dict):
        return one
    kept = {key: value for key, value in meta.items() if key not in SERVER_META}
    return replace(one, object={**one.object, "metadata": kept})


def _refusals(items: Sequence[Object]) -> Iterator[Finding]:
    """Yield what an API server would refuse, found by asking one that is thrown away."""
    verbs = Verbs(Store())
    labels = {ADMIN_LABEL: "true"}
    for namespace in unmade_namespaces(items):
        verbs.create(
            NAMESPACE, {"metadata": {"name": namespace, "labels": labels}}, manager="netclaim"
        )
    yield from create_all(verbs, items)


def unmade_namespaces(items: Iterable[Object]) -> set[str]:
    """Return the namespaces that objects are in but none of them creates."""
    made = {item.name for item in items if item.kind == NAMESPACE.name}
    return {item.namespace for item in items if item.namespace} - made


def _admin_notes(items: Sequence[Object]) -> Iterator[str]:
    """Yield what a real cluster requires of namespaces that we create here by ourselves."""
    unmade = unmade_namespaces(items)
    for item in items:
        requests = wanted(item) if item.kind in CLAIM_SPECS else ()
        for one in requests:
            if one.fields.get("adminAccess") and item.namespace in unmade:
                yield (
                    f"{item.where((*one.path, 'adminAccess'))}: adminAccess: on Kubernetes 1.34"
                    f" and newer, namespace {item.namespace} needs the label {ADMIN_LABEL}=true"
                )


def _resource_notes(items: Sequence[Object]) -> Iterator[str]:
    """Yield extended resources that no node here has; a real pod would not be scheduled."""
    classes = (DeviceClass.read(item.object) for item in items if item.kind == CLASS.name)
    known = set(offered(classes))
    for item in items:
        if item.kind not in SPECS_OF_PODS:
            continue
        path = POD_SPECS[item.kind]
        for wish in extended_resources(inside(item.object, path)):
            if wish.resource not in known:
                known.add(wish.resource)
                yield (
                    f"{item.where(path)}: resource {wish.resource} ignored: no DeviceClass in the"
                    " manifests offers it (extendedResourceName)"
                )


def _left_out(one: Object) -> str:
    what = f"{one.where(('kind',))}: {one.kind} ignored"
    if one.is_known and one.kind in POD_SPECS:
        return f"{what}: the only workloads that run here are {', '.join(SPECS_OF_PODS)}"
    if one.kind == NETWORK:
        return f"{what}: {CLAIM_INSTEAD}"
    return f"{what}: the embedded cluster does not use it"
