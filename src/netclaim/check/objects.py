"""Read the objects of a document, and judge each by itself as an API server would.

The rules are those of the embedded API server (`netclaim.local.api`), which a real one holds to
account; here each fault gets its line. Promise: never raises but for a ManifestError, which is for
a document that cannot be read. Limit: a value of a wrong type ends the look at its object.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final

import msgspec

from netclaim.allocator.cel import CompileError, compile_selector
from netclaim.check.finding import Finding
from netclaim.check.hints import hint
from netclaim.check.subject import POD_SPECS, Subject, inside
from netclaim.manifests.conversion import GROUP, KINDS
from netclaim.manifests.documents import NO_MANIFEST, Document
from netclaim.manifests.fields import ShapeError
from netclaim.manifests.json_only import not_json
from netclaim.manifests.legacy import DEAD_VERSIONS
from netclaim.manifests.migration import migrate
from netclaim.manifests.remark import Remark
from netclaim.model.claim import JsonObject
from netclaim.schema.claim_rules import ADMIN_LABEL
from netclaim.schema.expressions import CelExpressions
from netclaim.schema.kinds import Kind, kind_of
from netclaim.schema.refusal import Fault, RefusedError
from netclaim.schema.review import Review, with_defaults
from netclaim.schema.shape import Fields, Shape, fit
from netclaim.schema.shapes import POD_SPEC, shape_of
from netclaim.schema.shapes_meta import METADATA
from netclaim.schema.workload_rules import check_pod_spec

__all__ = ["read_document", "read_entry"]

# Kinds of which only the pods that they make are looked at.
OTHER_WORKLOADS: Final[Mapping[str, str]] = {
    "CronJob": "batch/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "ReplicationController": "v1",
    "StatefulSet": "apps/v1",
}
FAULTS_MAX: Final = 100  # of one object: who has more looks at the first anyway
NOW: Final = "2025-01-01T00:00:00Z"  # when taints were added, which no rule looks at
BLOCK: Final = re.compile(r":\s+\|[-+1-9]*\s*(#.*)?$")  # text that keeps its lines
TAIL: Final = "xxxxx"  # five letters, as the server puts behind a generateName
# Whether a namespace has the label is asked across the files.
ADMITTED: Final = {ADMIN_LABEL: "true"}


def read_document(document: Document) -> tuple[list[Subject], list[Finding]]:
    """Return the objects that can be looked at further, and what is wrong with each by itself."""
    subjects: list[Subject] = []
    findings: list[Finding] = []
    for at, item in document.entries():
        found = item if isinstance(item, dict) else {}
        read, faults = read_entry(Subject(document, at, found, found))
        subjects += read
        findings += faults
    return subjects, findings


def read_entry(entry: Subject) -> tuple[list[Subject], list[Finding]]:
    """Read one object as it is written; it is returned if all its fields have the right types."""
    subjects: list[Subject] = []
    findings: list[Finding] = []
    try:
        _read(entry, subjects, findings)
    except ShapeError as error:
        findings.append(entry.error(error.path, error.message))
    except RefusedError as refusal:
        findings.append(entry.error(refusal.path, refusal.message))
    return subjects, findings


def _read(entry: Subject, subjects: list[Subject], findings: list[Finding]) -> None:
    """Judge one object; it is a subject if all its fields have the right types."""
    odd = [entry.error(path, text) for path, text in islice(not_json(entry.written), FAULTS_MAX)]
    if odd:
        findings += odd
        return
    api_version, kind_name = entry.written.get("apiVersion"), entry.written.get("kind")
    if not all(isinstance(text, str) and text for text in (api_version, kind_name)):
        raise ShapeError(NO_MANIFEST, ())
    migrated = migrate(entry.written, "v1")
    findings += _old_version(entry)
    if migrated.object is None:
        findings += _remarks(entry, migrated.remarks)
        return
    subject = replace(entry, object=migrated.object)
    kind = kind_of(subject.object)
    shape = _shape(subject, kind)
    if shape is None:
        findings += _lost_group(entry)
        return
    fitting, unknown = fit(_as_users_write(subject.object), shape)
    subjects.append(subject := replace(subject, object=fitting))
    said = {remark.path: remark.text for remark in migrated.remarks}
    findings += _remarks(entry, (r for r in migrated.remarks if r.path not in unknown))
    for path in unknown[:FAULTS_MAX]:
        text = said.get(path) or f"{subject.kind} has no such field{hint(shape, path)}"
        findings.append(subject.error(path, text))
    findings += [_finding(subject, fault) for fault in islice(_faults(subject, kind), FAULTS_MAX)]


def _shape(subject: Subject, kind: Kind | None) -> Shape | None:
    """The fields to look at: all of a kind that has rules, or those of the pods it makes."""
    if kind is not None:
        return shape_of(kind, kind.addresses[0])
    if subject.object["apiVersion"] != OTHER_WORKLOADS.get(subject.kind):
        return None  # another's kind, whatever its name
    shape: Shape = POD_SPEC
    for step in reversed(POD_SPECS[subject.kind]):
        shape = Fields({"metadata": METADATA, str(step): shape}, open=True)
    return shape


def _lost_group(entry: Subject) -> Iterator[Finding]:
    if entry.kind in KINDS and "/" not in entry.written["apiVersion"]:
        yield entry.error(("apiVersion",), f"a {entry.kind} is of {GROUP}: write {GROUP}/v1")


def _as_users_write(found: JsonObject) -> JsonObject:
    """The object without what a cluster writes there, and with the metadata that rules expect."""
    metadata = {} if found.get("metadata") is None else found["metadata"]
    return {key: value for key, value in found.items() if key != "status"} | {"metadata": metadata}


def _faults(subject: Subject, kind: Kind | None) -> Iterator[Fault]:
    """What the API server would refuse."""
    if kind is not None:
        found = with_defaults(subject.object, kind, NOW)
        prefix = found["metadata"].get("generateName")
        if prefix and not subject.name:
            found = {**found, "metadata": {**found["metadata"], "name": f"{prefix}{TAIL}"}}
        yield from Review(CelExpressions()).new(found, kind, ADMITTED, core=False)
    else:
        path = POD_SPECS[subject.kind]
        yield from check_pod_spec(inside(subject.object, path), path)


def _finding(subject: Subject, fault: Fault) -> Finding:
    if fault.path[-2:] == ("cel", "expression"):
        return _selector_finding(subject, fault)
    return subject.error(fault.path, fault.message)


def _selector_finding(subject: Subject, fault: Fault) -> Finding:
    """The mistake in a selector without the selector: the reader is sent to its line."""
    path = fault.path
    expression = str(inside(subject.object, path[:-1]).get("expression", ""))
    try:
        compile_selector(expression)
    except CompileError as error:
        where = f"at {error.line}:{error.column} of the expression"
        finding = subject.error(path, f"{where}: {error.reason}")
        row = finding.line - subject.document.first_line
        is_block = BLOCK.search(subject.document.text.split("\n")[row])
        line = finding.line + (error.line if is_block else 0)  # a block begins on the next line
        return msgspec.structs.replace(finding, line=line)
    return subject.error(path, fault.message)  # too long, which is no matter of CEL


def _old_version(entry: Subject) -> Iterator[Finding]:
    group, _, version = str(entry.written["apiVersion"]).partition("/")
    if group == GROUP and version in (*DEAD_VERSIONS, "v1alpha3"):
        yield entry.warning(
            ("apiVersion",),
            f"no Kubernetes since 1.34 serves {version}: `netclaim upgrade` converts it to v1",
        )


def _remarks(entry: Subject, remarks: Iterable[Remark]) -> Iterator[Finding]:
    """What does not survive the way to v1: a mistake where it was asked for, else a remark."""
    for remark in remarks:
        say = entry.error if remark.lost else entry.warning
        yield say(remark.path, remark.text)
