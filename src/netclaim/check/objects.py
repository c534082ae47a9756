"""Judge each object by itself, as an API server would.

The rules are those of `schema`, which the embedded API server uses too; here each fault gets its
line. Nothing here raises. Of an object with a value of the wrong type, only that is reported.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

import msgspec

from netclaim.allocator.cel import CompileError, compile_selector
from netclaim.check.unknown_fields import unknown_field
from netclaim.manifests.fields import edit
from netclaim.manifests.finding import Finding
from netclaim.manifests.kinds import GROUP, POD_SPECS
from netclaim.manifests.objects import Object, inside
from netclaim.manifests.reading import FAULTS_MAX
from netclaim.manifests.versions.legacy import DEAD_VERSIONS
from netclaim.manifests.versions.migration import APART
from netclaim.manifests.versions.remark import Remark
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Key, Path
from netclaim.schema.defaults import LISTS, with_defaults
from netclaim.schema.kinds import kind_of
from netclaim.schema.refusal import Fault, RefusedError, missing
from netclaim.schema.review import check_new
from netclaim.schema.rules.claims import ADMIN_LABEL
from netclaim.schema.rules.pods import check_pod_spec
from netclaim.schema.rules.workloads import check_job
from netclaim.schema.shapes.read import shape_of
from netclaim.schema.shapes.shape import Shape, fit

NOW: Final = "2025-01-01T00:00:00Z"  # when taints were added, which no rule looks at
BLOCK: Final = re.compile(r":\s+\|[-+1-9]*\s*(#.*)?$")  # text that keeps its lines
TAIL: Final = "xxxxx"  # five letters, as the server puts behind a generateName
ADMITTED: Final = {ADMIN_LABEL: "true"}  # `references` looks for the label in the files
ATTRIBUTES: Final = "spec.devices.*.attributes.*"  # of a ResourceSlice
LISTED: Final = (
    "a list of values needs the feature gate DRAListTypeAttributes, which is off by default;"
    " without it, the API server refuses the slice"
)
CRON_JOB_SPEC: Final = ("spec", "jobTemplate", "spec")  # of the Jobs that it creates


@dataclass(frozen=True, slots=True)
class Fitted:
    """An object with only the fields of its kind, and the paths of the others.

    There is no object if a field has the wrong type, or if nothing is known of its kind.
    """

    object: Object | None = None
    unknown: tuple[Path, ...] = ()
    findings: tuple[Finding, ...] = ()


def is_looked_at(one: Object) -> bool:
    """Whether an object is checked; the kinds of other groups are not."""
    return not one.object or _shape(one) is not None


def judged(one: Object) -> tuple[Object | None, list[Finding]]:
    """Return the object with only the fields of its kind, and what is wrong with it by itself.

    There is no object if a field has the wrong type, or if v1 has nothing in its place.
    """
    if one.kind in APART and not one.is_taint_rule:
        return None, []
    fitting = fitted(one)
    findings = [
        *_old_version(one),
        *_remarks(one, (r for r in _of_conversion(one) if r.path not in fitting.unknown)),
        *fitting.findings,
    ]
    if fitting.object is not None:
        subject = fitting.object
        if subject.kind == "ResourceSlice":
            subject, listed = _listed(subject)
            findings += [subject.warning(path, LISTED) for path in listed[:FAULTS_MAX]]
        faults = islice(_faults(subject), FAULTS_MAX)
        findings += [_finding(subject, fault) for fault in faults]
    return fitting.object, findings


def _of_conversion(one: Object) -> tuple[Remark, ...]:
    """What `netclaim upgrade` remarks on an object; that a rule stays as it is, is no finding."""
    return () if one.is_taint_rule else one.remarks


def fitted(one: Object) -> Fitted:
    """Fit an object to the shape of its kind; a field that the shape does not have is an error."""
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
    kept = one if fitting is one.object else replace(one, object=fitting)
    return Fitted(kept, unknown, tuple(findings))


def _shape(one: Object) -> Shape | None:
    if kind_of(one.object) is not None or one.is_known:
        return shape_of(one.kind)
    return None  # of another group, even if the kind has the same name


def _as_users_write(found: JsonObject) -> JsonObject:
    """The object without its status, and with the metadata that the rules expect."""
    if "status" not in found and found.get("metadata") is not None:
        return found
    metadata = {} if found.get("metadata") is None else found["metadata"]
    return {key: value for key, value in found.items() if key != "status"} | {"metadata": metadata}


def _listed(slice_: Object) -> tuple[Object, list[Path]]:
    """Return a slice with plain values for lists, and the paths of these attributes."""
    paths: list[Path] = []

    def plain(attribute: JsonObject, path: Path) -> JsonObject:
        if len(attribute) != 1 or not attribute.keys() <= LISTS:
            return attribute
        paths.append((*path[:-1], Key(str(path[-1]))))
        return {"bool": True}

    changed = edit(slice_.object, ATTRIBUTES, plain)
    return replace(slice_, object=changed), paths


def _faults(one: Object) -> Iterator[Fault]:
    kind = kind_of(one.object)
    if kind is not None:
        found = with_defaults(one.object, kind, NOW)
        prefix = found["metadata"].get("generateName")
        if prefix and not one.name:
            found = {**found, "metadata": {**found["metadata"], "name": f"{prefix}{TAIL}"}}
        yield from check_new(found, kind, ADMITTED, core=False)
    elif one.kind == "CronJob":
        if not one.object.get("spec", {}).get("schedule"):
            yield missing(("spec", "schedule"))
        yield from check_job(inside(one.object, CRON_JOB_SPEC), CRON_JOB_SPEC)
    else:
        path = POD_SPECS[one.kind]
        yield from check_pod_spec(inside(one.object, path), path)


def _finding(one: Object, fault: Fault) -> Finding:
    if fault.path[-2:] == ("cel", "expression"):
        return _selector_finding(one, fault)
    return one.error(fault.path, fault.message)


def _selector_finding(one: Object, fault: Fault) -> Finding:
    """The mistake in a selector at its own line, without quoting the selector."""
    expression = str(inside(one.object, fault.path[:-1]).get("expression", ""))
    try:
        compile_selector(expression)
    except CompileError as error:
        where = f"at {error.line}:{error.column} of the expression"
        finding = one.error(fault.path, f"{where}: {error.reason}")
        return msgspec.structs.replace(finding, line=finding.line + _lines_below(one, fault, error))
    return one.error(fault.path, fault.message)  # it compiles, but is too long or costs too much


def _lines_below(one: Object, fault: Fault, error: CompileError) -> int:
    """How many lines below its key a mistake in a selector is; a block begins on the next line."""
    if one.document is None:
        return 0
    row = one.line_of(fault.path) - one.document.first_line
    return error.line if BLOCK.search(one.document.text.split("\n")[row]) else 0


def _old_version(one: Object) -> Iterator[Finding]:
    group, _, version = str(one.written["apiVersion"]).partition("/")
    if group == GROUP and version in (*DEAD_VERSIONS, "v1alpha3") and not one.is_taint_rule:
        yield one.warning(
            ("apiVersion",),
            f"no Kubernetes since 1.34 serves {version}; `netclaim upgrade` converts it to v1",
        )


def _remarks(one: Object, remarks: Iterable[Remark]) -> Iterator[Finding]:
    """What the conversion to v1 loses: an error if it was asked for, otherwise a warning."""
    for remark in remarks:
        say = one.error if remark.lost else one.warning
        yield say(remark.path, remark.text)
