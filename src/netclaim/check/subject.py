"""One object of a file: what it is, whom it names, and on which line each of its fields stands.

An object is read in v1's form, whatever its file has. Promise: a finding's path and line are those
of the file, so that a request of v1beta1 is not said to have an `exactly`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from netclaim.check.finding import Finding, Severity
from netclaim.manifests.conversion import FLAT_VERSIONS
from netclaim.manifests.documents import Document
from netclaim.model.claim import JsonObject
from netclaim.paths import Path, show

__all__ = ["CLAIM_SPECS", "POD_SPECS", "Index", "Subject", "Wanted", "inside", "steps", "wanted"]

CLAIM_SPECS: Final[Mapping[str, Path]] = {
    "ResourceClaim": ("spec",),
    "ResourceClaimTemplate": ("spec", "spec"),
}
_TEMPLATED: Final = ("spec", "template", "spec")
POD_SPECS: Final[Mapping[str, Path]] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", *_TEMPLATED),
    **dict.fromkeys(
        ("DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"),
        _TEMPLATED,
    ),
}
CLUSTER_WIDE: Final = ("DeviceClass", "Namespace", "Node", "ResourceSlice")
STEP: Final = re.compile(r"\[(\d+)\]|\[([^\]]*)\]|([^.\[\]]+)")


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """An object to check."""

    document: Document
    at: Path  # where in its document it is: nowhere, or in the items of a List
    written: JsonObject  # as the file has it
    object: JsonObject  # in v1's form

    @property
    def kind(self) -> str:
        """What it is, such as `Pod`."""
        return str(self.object["kind"])

    @property
    def name(self) -> str:
        """Its name; empty if the server is to make one up."""
        return str(inside(self.object, ("metadata",)).get("name", ""))

    @property
    def namespace(self) -> str:
        """Where it will be; empty for kinds that are in none."""
        given = str(inside(self.object, ("metadata",)).get("namespace", ""))
        return "" if self.kind in CLUSTER_WIDE else given or "default"

    def error(self, path: Path, message: str) -> Finding:
        """A mistake at a field, which is given in v1's form."""
        return self._finding(Severity.ERROR, path, message)

    def warning(self, path: Path, message: str) -> Finding:
        """A doubt about a field, which is given in v1's form."""
        return self._finding(Severity.WARNING, path, message)

    def _finding(self, severity: Severity, path: Path, message: str) -> Finding:
        place = (*self.at, *self._as_written(path))
        line = self.document.line_of(place)
        return Finding(severity, self.document.source, line, show(place), message)

    def _as_written(self, path: Path) -> Path:
        """The path in the file's own version: the older ones have no `exactly`."""
        flat = str(self.written.get("apiVersion")).endswith(FLAT_VERSIONS)
        value: Any = self.written
        found: list[str | int] = []
        for step in path:
            if flat and step == "exactly" and isinstance(value, dict) and step not in value:
                continue
            found.append(step)
            value = _child(value, step)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One request of a claim, or one of a request's alternatives."""

    name: str  # as configurations name it: `nic`, or `nic/fast` for an alternative
    path: Path
    fields: JsonObject

    @property
    def class_name(self) -> str:
        """The DeviceClass it names."""
        return str(self.fields.get("deviceClassName", ""))


def wanted(claim: Subject) -> Iterator[tuple[Wanted, ...]]:
    """Each request of a claim or template, as the alternatives that it has; none if it is empty."""
    spec = CLAIM_SPECS[claim.kind]
    devices = inside(claim.object, (*spec, "devices"))
    for number, request in enumerate(devices.get("requests", ())):
        name = request.get("name", "")
        path: Path = (*spec, "devices", "requests", number)
        if "exactly" in request:
            yield (Wanted(name, (*path, "exactly"), request["exactly"]),)
        else:
            yield tuple(
                Wanted(f"{name}/{one.get('name', '')}", (*path, "firstAvailable", index), one)
                for index, one in enumerate(request.get("firstAvailable", ()))
            )


class Index:
    """The objects of all files, by kind, namespace and name."""

    def __init__(self, subjects: Iterable[Subject]) -> None:
        self._found: dict[tuple[str, str, str], list[Subject]] = {}
        for subject in subjects:
            if subject.name:
                key = (subject.kind, subject.namespace, subject.name)
                self._found.setdefault(key, []).append(subject)

    def find(self, kind: str, name: str, *, near: Subject) -> Subject | None:
        """Return the object that `near` means by a name; of several, the one in its own file."""
        namespace = "" if kind in CLUSTER_WIDE else near.namespace
        found = self._found.get((kind, namespace, name), ())
        same_file = [one for one in found if one.document.source == near.document.source]
        return next(iter((*same_file, *found)), None)

    def names(self, kind: str, namespace: str) -> list[str]:
        """The names of a kind that there are in a namespace."""
        return [name for of, where, name in self._found if (of, where) == (kind, namespace)]

    def repeated(self) -> Iterator[tuple[Subject, Subject]]:
        """Yield each object whose name was taken, with the one that took it first."""
        for first, *others in self._found.values():
            yield from ((other, first) for other in others)


def inside(found: JsonObject, path: Path) -> JsonObject:
    """Return the object at a path, or an empty one."""
    value: Any = found
    for step in path:
        value = _child(value, step)
    return value if isinstance(value, dict) else {}


def steps(field: str) -> Path:
    """Read a path in words, such as `spec.devices.requests[0].name`."""
    found = STEP.findall(field)
    return tuple(int(number) if number else key or name for number, key, name in found)


def _child(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return value[step]
    return None
