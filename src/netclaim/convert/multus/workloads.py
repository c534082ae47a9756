"""Read which networks a pod, or a workload's pods, ask Multus for, and write claims instead.

Promise: of a pod only its annotations, its `resourceClaims` and what a server wrote are changed.
What is left to Multus stays in the annotation, each interface with the name that it had, so that
no other one moves up. No I/O.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from netclaim.convert.multus.annotation import (
    ANNOTATION,
    EARLY_ANNOTATION,
    Selection,
    default_ifnames,
    read_annotation,
)
from netclaim.convert.places import TextField
from netclaim.errors import RequestError
from netclaim.manifests.kinds import POD_SPECS
from netclaim.manifests.objects import Object, inside
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Key, Path

DEFAULT_NETWORK: Final = "v1.multus-cni.io/default-network"
# What Multus, a server or kubectl wrote into an object that was read from a cluster.
WRITTEN_ANNOTATIONS: Final = (
    "k8s.v1.cni.cncf.io/network-status",
    "k8s.v1.cni.cncf.io/networks-status",
    "kubectl.kubernetes.io/last-applied-configuration",
)
WRITTEN_META: Final = (
    "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pod, or a workload, and the networks that its pods want."""

    one: Object
    text: TextField  # the annotation
    selections: tuple[Selection, ...]
    ifnames: tuple[str, ...]  # of the selections, as Multus names them

    @property
    def pod_spec(self) -> Path:
        return POD_SPECS[self.one.kind]

    @property
    def networks(self) -> tuple[tuple[str, str], ...]:
        """The namespace and name of the network of each selection."""
        return tuple((one.namespace or self.one.namespace, one.name) for one in self.selections)


def annotations_of(one: Object) -> Path:
    """Return the path of the annotations of a workload's pods."""
    return (*POD_SPECS[one.kind][:-1], "metadata", "annotations")


def read_wanted(one: Object) -> Wanted | None:
    """Return the networks that a workload's pods want; None if it names none."""
    path = annotations_of(one)
    found = inside(one.object, path)
    key = next((key for key in (ANNOTATION, EARLY_ANNOTATION) if key in found), "")
    if not key:
        return None
    text = TextField(one, (*path, Key(key)))
    value = found[key]
    if not isinstance(value, str):
        raise RequestError("is not a string; put it in quotes")
    selections = read_annotation(value)
    return Wanted(one, text, selections, default_ifnames(selections)) if selections else None


def with_claims(wanted: Wanted, claims: Sequence[JsonObject], left: Sequence[int]) -> JsonObject:
    """Return the workload with claims, and with an annotation only for what is left to Multus."""
    changed = _at(wanted.one.written, annotations_of(wanted.one)[:-1], _without_written)
    changed = _at(changed, ("metadata",), _without_written)
    changed = {key: value for key, value in changed.items() if key != "status"}
    rest = _annotation(wanted, left)

    def edit_meta(meta: JsonObject) -> JsonObject:
        annotations = dict(meta.get("annotations") or {})
        for key in (ANNOTATION, EARLY_ANNOTATION):
            annotations.pop(key, None)
        if rest:
            annotations[ANNOTATION] = rest
        return _with(meta, "annotations", annotations)

    def edit_spec(spec: JsonObject) -> JsonObject:
        held = spec.get("resourceClaims")
        there = held if isinstance(held, list) else []
        kept = {key: value for key, value in spec.items() if key != "nodeName" or not claims}
        return _with(kept, "resourceClaims", [*there, *claims])

    changed = _at(changed, annotations_of(wanted.one)[:-1], edit_meta)
    return _at(changed, wanted.pod_spec, edit_spec)


def without_written(found: JsonObject) -> JsonObject:
    """Return an object without what only a server writes, as in the output of `kubectl get`."""
    kept = {key: value for key, value in found.items() if key != "status"}
    return _at(kept, ("metadata",), _without_written)


def _annotation(wanted: Wanted, left: Sequence[int]) -> str:
    """Return the annotation for some of the networks, with the names of their interfaces."""
    if not left:
        return ""
    found: list[Mapping[str, Any]] = []
    for index in left:
        one = wanted.selections[index]
        namespace = {"namespace": one.namespace} if one.namespace else {}
        chosen = {**one.choices, "interface": wanted.ifnames[index]}
        found.append({"name": one.name, **namespace, **chosen})
    return json.dumps(found)


def _without_written(meta: JsonObject) -> JsonObject:
    kept = {key: value for key, value in meta.items() if key not in WRITTEN_META}
    annotations = meta.get("annotations")
    if not isinstance(annotations, dict):
        return kept
    return _with(
        kept,
        "annotations",
        {key: value for key, value in annotations.items() if key not in WRITTEN_ANNOTATIONS},
    )


def _with(found: JsonObject, key: str, value: Any) -> JsonObject:
    """Return an object with a key set, where it was; without it if there is nothing in it."""
    if value:
        return {**found, key: value}
    return {name: item for name, item in found.items() if name != key}


def _at(found: JsonObject, path: Path, edit: Any) -> JsonObject:
    """Return an object with the object at a path edited; as it is if there is none."""
    if not path:
        changed: JsonObject = edit(found)
        return changed
    step = str(path[0])
    inner = found.get(step)
    return {**found, step: _at(inner, path[1:], edit)} if isinstance(inner, dict) else found
