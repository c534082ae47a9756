"""The rules for workloads, which create pods."""

from collections.abc import Iterator
from typing import Final

from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path
from netclaim.schema.refusal import Fault, invalid, missing, unsupported
from netclaim.schema.rules.metadata import check_labels
from netclaim.schema.rules.names import check_label_key, check_label_value
from netclaim.schema.rules.pods import RESTARTS, check_pod_spec, check_requirement
from netclaim.schema.selector import matches_labels

LASTING: Final = RESTARTS[0]  # of a pod that is kept running, and of one that names no policy
ENDING: Final = RESTARTS[1:]


def check_replicated(spec: JsonObject, old: JsonObject | None, at: Path) -> Iterator[Fault]:
    """The spec of a workload that keeps pods running: a Deployment or a set of any kind."""
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
    yield from _check_template(template, (*at, "template"))
    if (policy := _restart_policy(template)) in ENDING:
        yield unsupported((*at, "template", "spec", "restartPolicy"), policy, (LASTING,))
    if old is not None and selector != old.get("selector"):
        yield invalid((*at, "selector"), selector, "field is immutable")


def check_job(spec: JsonObject, at: Path) -> Iterator[Fault]:
    """The spec of a Job, whose selector the server writes."""
    for key in ("parallelism", "completions"):
        if spec.get(key, 0) < 0:
            yield invalid((*at, key), spec[key], "must be greater than or equal to 0")
    template = spec.get("template", {})
    yield from _check_template(template, (*at, "template"))
    if _restart_policy(template) == LASTING:
        where = (*at, "template", "spec", "restartPolicy")
        yield missing(where, 'valid values: "OnFailure", "Never"')


def _check_template(template: JsonObject, at: Path) -> Iterator[Fault]:
    yield from check_labels(template.get("metadata", {}), (*at, "metadata"))
    yield from check_pod_spec(template.get("spec", {}), (*at, "spec"))


def _restart_policy(template: JsonObject) -> str:
    policy: str = template.get("spec", {}).get("restartPolicy", LASTING)
    return policy


def _check_selector(selector: JsonObject | None, at: Path) -> Iterator[Fault]:
    if selector is None:
        yield missing(at)
        return
    for key, value in selector.get("matchLabels", {}).items():
        yield from check_label_key(key, (*at, "matchLabels"))
        yield from check_label_value(value, (*at, "matchLabels"))
    for index, wanted in enumerate(selector.get("matchExpressions", ())):
        yield from check_requirement(wanted, (*at, "matchExpressions", index))
