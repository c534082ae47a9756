"""The rules for pods, for what makes pods, and for events: those that a user of claims meets.

Limit: a pod has a hundred more rules; images, ports, volumes and probes are not looked at, since
nothing here runs them.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from netclaim.model.claim import JsonObject
from netclaim.paths import Path
from netclaim.schema.metadata import check_labels
from netclaim.schema.names import (
    check_label,
    check_label_key,
    check_label_value,
    check_subdomain,
)
from netclaim.schema.pod_rules import check_placement, check_resources, check_restart
from netclaim.schema.refusal import Fault, duplicate, forbidden, invalid, missing, unsupported
from netclaim.schema.selector import matches_labels

__all__ = [
    "check_event",
    "check_job",
    "check_pod_spec",
    "check_pod_update",
    "check_replicated",
]

NOTE_MAX: Final = 1024
SHORT_MAX: Final = 128
LASTING: Final = "Always"  # of a pod that is kept up
ENDING: Final = ("OnFailure", "Never")  # of a pod that is to end; by default pods do not
OPERATORS: Final = ("DoesNotExist", "Exists", "In", "NotIn")


def check_pod_spec(spec: JsonObject, at: Path) -> Iterator[Fault]:
    """The spec of a pod, or of the pods that a template makes."""
    claims = spec.get("resourceClaims", ())
    if not spec.get("containers"):
        yield missing((*at, "containers"))
    names: set[str] = set()
    known = {claim.get("name", "") for claim in claims}
    for key in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(key, ())):
            yield from _check_container(container, (*at, key, index), names, known)
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        yield from _check_pod_claim(claim, (*at, "resourceClaims", index), seen)
    yield from check_restart(spec, at)
    yield from check_placement(spec, at)


def _check_container(
    container: JsonObject, at: Path, names: set[str], claims: set[str]
) -> Iterator[Fault]:
    name = container.get("name", "")
    if not name:
        yield missing((*at, "name"))
    else:
        yield from check_label(name, (*at, "name"))
        if name in names:
            yield duplicate((*at, "name"), name)
        names.add(name)
    if not container.get("image"):
        yield missing((*at, "image"))
    yield from check_resources(container, at)
    seen = set()
    for index, used in enumerate(container.get("resources", {}).get("claims", ())):
        where = (*at, "resources", "claims", index)
        key = (used.get("name", ""), used.get("request", ""))
        if not key[0]:
            yield missing(where)
        elif key in seen:
            yield duplicate(where, key[0])
        elif key[0] not in claims:
            message = f"Not found: {key[0]!r}: it is not among the pod's resourceClaims"
            yield Fault(where, "FieldValueNotFound", message)
        seen.add(key)


def _check_pod_claim(claim: JsonObject, at: Path, seen: set[str]) -> Iterator[Fault]:
    name = claim.get("name", "")
    if not name:
        yield missing((*at, "name"))
    elif name in seen:
        yield duplicate((*at, "name"), name)
    else:
        yield from check_label(name, (*at, "name"))
        seen.add(name)
    given = [key for key in ("resourceClaimName", "resourceClaimTemplateName") if key in claim]
    one_of = "one of `resourceClaimName` and `resourceClaimTemplateName` must be specified"
    if not given:
        yield invalid(at, claim, one_of)
    elif len(given) > 1:
        yield invalid(at, claim, f"at most {one_of}")
    for key in given:
        yield from check_subdomain(claim[key], (*at, key))


def check_pod_update(spec: JsonObject, old: JsonObject) -> Iterator[Fault]:
    """A pod's spec stays as it is, but for its images."""
    if _without_images(spec) != _without_images(old):
        yield forbidden(("spec",), "pod updates may not change fields other than the images")


def _without_images(spec: JsonObject) -> JsonObject:
    def stripped(containers: Sequence[JsonObject]) -> list[JsonObject]:
        return [{key: c[key] for key in c if key != "image"} for c in containers]

    keys = ("containers", "initContainers")
    return {key: stripped(spec[key]) if key in keys else spec[key] for key in spec}


def check_replicated(spec: JsonObject, old: JsonObject | None, at: Path) -> Iterator[Fault]:
    """The spec of what keeps up a number of pods: a Deployment, a set of any kind."""
    if spec.get("replicas", 1) < 0:
        yield invalid((*at, "replicas"), spec["replicas"], "must be greater than or equal to 0")
    template = spec.get("template", {})
    labels = template.get("metadata", {}).get("labels", {})
    selector = spec.get("selector")
    faults = list(_check_selector(selector, (*at, "selector")))
    yield from faults
    if selector == {} or (selector is not None and faults):
        yield invalid((*at, "selector"), selector, "must be valid and must not be empty")
    elif selector is None or not matches_labels(selector, labels):
        where = (*at, "template", "metadata", "labels")
        yield invalid(where, labels, "`selector` does not match template `labels`")
    yield from check_labels(template.get("metadata", {}), (*at, "template", "metadata"))
    inner = template.get("spec", {})
    yield from check_pod_spec(inner, (*at, "template", "spec"))
    if (policy := inner.get("restartPolicy", LASTING)) in ENDING:
        yield unsupported((*at, "template", "spec", "restartPolicy"), policy, (LASTING,))
    if old is not None and selector != old.get("selector"):
        yield invalid((*at, "selector"), selector, "field is immutable")


def check_job(spec: JsonObject, at: Path) -> Iterator[Fault]:
    """The spec of a Job; its selector is the server's to make."""
    for key in ("parallelism", "completions"):
        if spec.get(key, 0) < 0:
            yield invalid((*at, key), spec[key], "must be greater than or equal to 0")
    template = spec.get("template", {})
    yield from check_labels(template.get("metadata", {}), (*at, "template", "metadata"))
    inner = template.get("spec", {})
    yield from check_pod_spec(inner, (*at, "template", "spec"))
    if inner.get("restartPolicy", LASTING) == LASTING:
        where = (*at, "template", "spec", "restartPolicy")
        yield missing(where, 'valid values: "OnFailure", "Never"')


def _check_selector(selector: JsonObject | None, at: Path) -> Iterator[Fault]:
    if selector is None:
        yield missing(at)
        return
    for key, value in selector.get("matchLabels", {}).items():
        yield from check_label_key(key, (*at, "matchLabels"))
        yield from check_label_value(value, (*at, "matchLabels"))
    for index, expression in enumerate(selector.get("matchExpressions", ())):
        where = (*at, "matchExpressions", index)
        operator, values = expression.get("operator", ""), expression.get("values", ())
        yield from check_label_key(expression.get("key", ""), (*where, "key"))
        if operator in ("In", "NotIn") and not values:
            yield missing(
                (*where, "values"), "must be specified when `operator` is 'In' or 'NotIn'"
            )
        elif operator in ("Exists", "DoesNotExist") and values:
            yield forbidden((*where, "values"), "may not be specified with this operator")
        elif operator not in OPERATORS:
            yield invalid((*where, "operator"), operator, "not a valid selector operator")


def check_event(event: JsonObject, *, core: bool) -> Iterator[Fault]:
    """An event, in the form of events.k8s.io/v1; `core` says that it came by the older group."""
    if event.get("eventTime"):
        for key in ("reportingController", "reportingInstance", "action", "reason"):
            if not event.get(key):
                yield missing((key,))
            elif key != "reportingController" and len(event[key].encode()) > SHORT_MAX:
                yield invalid((key,), "", f"can have at most {SHORT_MAX} characters")
        yield from check_label_key(event.get("reportingController", ""), ("reportingController",))
        if len(str(event.get("note", "")).encode()) > NOTE_MAX:
            yield invalid(("message",), "", f"can have at most {NOTE_MAX} characters")
    elif not core:
        yield missing(("eventTime",))
    if not core and event.get("type") not in ("Normal", "Warning"):
        yield invalid(("type",), "", f"has invalid value: {event.get('type', '')}")
