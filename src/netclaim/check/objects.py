"""Judge each object by itself, as an API server would.

The rules are those of `schema`, by which the embedded API server judges too and which a real one
holds to account; here each fault gets its line. Promise: never raises. Limit: a value of a wrong
type ends the look at its object.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

import msgspec

from netclaim.allocator.cel import CompileError, compile_selector
from netclaim.check.hints import unknown_field
from netclaim.manifests.finding import Finding
from netclaim.manifests.kinds import GROUP, POD_SPECS
from netclaim.manifests.legacy import DEAD_VERSIONS
from netclaim.manifests.migration import APART
from netclaim.manifests.objects import Object, inside
from netclaim.manifests.reading import FAULTS_MAX
from netclaim.manifests.remark import Remark
from netclaim.model.claim import JsonObject
from netclaim.paths import Path
from netclaim.schema.claim_rules import ADMIN_LABEL
from netclaim.schema.expressions import CelExpressions
from netclaim.schema.kinds import kind_of
from netclaim.schema.refusal import Fault, RefusedError, missing
from netclaim.schema.review import Review, with_defaults
from netclaim.schema.shape import Shape, fit
from netclaim.schema.shapes import shape_of, workload_shape
from netclaim.schema.workload_rules import check_job, check_pod_spec

__all__ = ["Fitted", "fitted", "is_looked_at", "judged"]

NOW: Final = "2025-01-01T00:00:00Z"  # when taints were added, which no rule looks at
BLOCK: Final = re.compile(r":\s+\|[-+1-9]*\s*(#.*)?$")  # text that keeps its lines
TAIL: Final = "xxxxx"  # five letters, as the server puts behind a generateName
# Whether a namespace has the label is asked across the files.
ADMITTED: Final = {ADMIN_LABEL: "true"}


@dataclass(frozen=True, slots=True)
class Fitted:
    """An object with only what its kind knows, and what that does not; none has a wrong type."""

    object: Object | None = None
    unknown: tuple[Path, ...] = ()
    findings: tuple[Finding, ...] = ()


def is_looked_at(one: Object) -> bool:
    """Whether there is anything to say of an object; a kind of another's passes unseen."""
    return not one.object or _shape(one) is not None


def judged(one: Object) -> tuple[Object | None, list[Finding]]:
    """Return the object with only what its kind knows, and what is wrong with it by itself.

    There is no object if a field has the wrong type, or if nothing takes its place any more.
    """
    if one.kind in APART:
        return None, []  # what upgrading would say of it is no doubt about it
    fitting = fitted(one)
    findings = [
        *_old_version(one),
        *_remarks(one, (r for r in one.remarks if r.path not in fitting.unknown)),
        *fitting.findings,
    ]
    if fitting.object is not None:
        faults = islice(_faults(fitting.object), FAULTS_MAX)
        findings += [_finding(fitting.object, fault) for fault in faults]
    return fitting.object, findings


def fitted(one: Object) -> Fitted:
    """Hold an object against the shape of its kind; a field that this does not have is an error."""
    shape = _shape(one)
    if shape is None:
        return Fitted()
    try:
        fitting, unknown = fit(_as_users_write(one.object), shape)
    except RefusedError as refusal:
        return Fitted(findings=(one.error(refusal.path, refusal.message),))
    said = {remark.path: remark.text for remark in one.remarks}
    findings = (
        one.error(path, said.get(path) or unknown_field(shape, path))
        for path in unknown[:FAULTS_MAX]
    )
    return Fitted(replace(one, object=fitting), unknown, tuple(findings))


def _shape(one: Object) -> Shape | None:
    """The fields of its kind, if it is one that is looked at."""
    kind = kind_of(one.object)
    if kind is not None:
        return shape_of(kind, kind.addresses[0])
    return workload_shape(one.kind) if one.is_known else None  # another's, whatever its name


def _as_users_write(found: JsonObject) -> JsonObject:
    """The object without what a cluster writes there, and with the metadata that rules expect."""
    metadata = {} if found.get("metadata") is None else found["metadata"]
    return {key: value for key, value in found.items() if key != "status"} | {"metadata": metadata}


def _faults(one: Object) -> Iterator[Fault]:
    """What the API server would refuse."""
    kind = kind_of(one.object)
    if kind is not None:
        found = with_defaults(one.object, kind, NOW)
        prefix = found["metadata"].get("generateName")
        if prefix and not one.name:
            found = {**found, "metadata": {**found["metadata"], "name": f"{prefix}{TAIL}"}}
        yield from Review(CelExpressions()).new(found, kind, ADMITTED, core=False)
    elif one.kind == "CronJob":
        if not one.object.get("spec", {}).get("schedule"):
            yield missing(("spec", "schedule"))
        path = POD_SPECS[one.kind][: -len(POD_SPECS["Job"]) + 1]
        yield from check_job(inside(one.object, path), path)
    else:
        path = POD_SPECS[one.kind]
        yield from check_pod_spec(inside(one.object, path), path)


def _finding(one: Object, fault: Fault) -> Finding:
    if fault.path[-2:] == ("cel", "expression"):
        return _selector_finding(one, fault)
    return one.error(fault.path, fault.message)


def _selector_finding(one: Object, fault: Fault) -> Finding:
    """The mistake in a selector without the selector: the reader is sent to its line."""
    expression = str(inside(one.object, fault.path[:-1]).get("expression", ""))
    try:
        compile_selector(expression)
    except CompileError as error:
        where = f"at {error.line}:{error.column} of the expression"
        finding = one.error(fault.path, f"{where}: {error.reason}")
        return msgspec.structs.replace(finding, line=finding.line + _lines_below(one, fault, error))
    return one.error(fault.path, fault.message)  # too long, which is no matter of CEL


def _lines_below(one: Object, fault: Fault, error: CompileError) -> int:
    """How far below its key a mistake in a selector stands; a block begins on the next line."""
    if one.document is None:
        return 0
    row = one.line_of(fault.path) - one.document.first_line
    return error.line if BLOCK.search(one.document.text.split("\n")[row]) else 0


def _old_version(one: Object) -> Iterator[Finding]:
    group, _, version = str(one.written["apiVersion"]).partition("/")
    if group == GROUP and version in (*DEAD_VERSIONS, "v1alpha3"):
        yield one.warning(
            ("apiVersion",),
            f"no Kubernetes since 1.34 serves {version}; `netclaim upgrade` converts it to v1",
        )


def _remarks(one: Object, remarks: Iterable[Remark]) -> Iterator[Finding]:
    """What does not survive the way to v1: a mistake where it was asked for, else a remark."""
    for remark in remarks:
        say = one.error if remark.lost else one.warning
        yield say(remark.path, remark.text)
