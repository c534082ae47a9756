"""Judge objects before they are stored: each kind's rules, and the defaults that come before them.

Pure, but for the look at the namespace's labels that the caller does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netclaim.manifests.fields import edit
from netclaim.model.claim import JsonObject
from netclaim.schema.claim_rules import (
    Expressions,
    check_admin_access,
    check_claim_spec,
    check_class_spec,
)
from netclaim.schema.kinds import (
    CLAIM,
    CLASS,
    DAEMON_SET,
    DEPLOYMENT,
    EVENT,
    JOB,
    POD,
    REPLICA_SET,
    RULE,
    SLICE,
    STATEFUL_SET,
    TEMPLATE,
    Kind,
)
from netclaim.schema.metadata import check_labels, check_metadata, check_metadata_update
from netclaim.schema.refusal import Fault, invalid
from netclaim.schema.slice_rules import check_rule_spec, check_slice_spec
from netclaim.schema.status_rules import check_claim_status
from netclaim.schema.workload_rules import (
    check_event,
    check_job,
    check_pod_spec,
    check_pod_update,
    check_replicated,
)

__all__ = ["Review", "restamped", "with_defaults"]

SPEC: Final = ("spec",)
DEVICES: Final = (*SPEC, "devices")
EQUAL: Final = {"operator": "Equal"}
LISTS: Final = ("bools", "ints", "strings", "versions")


def with_defaults(obj: JsonObject, kind: Kind, now: str) -> JsonObject:  # noqa: PLR0911 - a table
    """The object with what the API adds to it."""
    match kind.name:
        case "ResourceClaim":
            return _with_request_defaults(obj, "spec")
        case "ResourceClaimTemplate":
            return _with_request_defaults(obj, "spec.spec")
        case "ResourceSlice":
            kept = edit(obj, "spec.devices.*.attributes.*", _without_lists)
            return _with_times(kept, "spec.devices.*.taints.*", now)
        case "DeviceTaintRule":
            return _with_times(obj, "spec.taint", now)
        case "Deployment" | "ReplicaSet" | "StatefulSet":
            return {**obj, "spec": {"replicas": 1, **obj.get("spec", {})}}
        case "Job":
            spec = obj.get("spec", {})
            once = {} if "parallelism" in spec or "completions" in spec else {"completions": 1}
            return {**obj, "spec": {"parallelism": 1, **once, **spec}}
    return obj


def _with_times(obj: JsonObject, taints: str, now: str) -> JsonObject:
    return dict(edit(obj, taints, lambda taint, _: {"timeAdded": now, **taint}))


def restamped(obj: JsonObject, old: JsonObject, kind: Kind) -> JsonObject:
    """A changed object without a time at which its taint did not have its effect yet."""
    if kind is not RULE:
        return obj
    taint, before = (one.get("spec", {}).get("taint", {}) for one in (obj, old))
    same_time = taint.get("timeAdded") == before.get("timeAdded")
    if taint.get("effect") == before.get("effect") or not same_time:
        return obj
    kept = {key: value for key, value in taint.items() if key != "timeAdded"}
    return {**obj, "spec": {**obj["spec"], "taint": kept}}


def _with_request_defaults(obj: JsonObject, spec: str) -> JsonObject:
    def complete(wanted: JsonObject, _: object) -> JsonObject:
        mode = wanted.get("allocationMode") or "ExactCount"
        count = {} if mode != "ExactCount" or wanted.get("count") else {"count": 1}
        tolerated: JsonObject = edit(wanted, "tolerations.*", lambda one, _: {**EQUAL, **one})
        return {**tolerated, "allocationMode": mode, **count}

    for pattern in ("exactly", "firstAvailable.*"):
        obj = edit(obj, f"{spec}.devices.requests.*.{pattern}", complete)
    return obj


def _without_lists(attribute: JsonObject, _: object) -> JsonObject:
    """A server of 1.36 drops attributes that are lists unless their gate was opened."""
    return {key: value for key, value in attribute.items() if key not in LISTS}


@dataclass(frozen=True, slots=True)
class Review:
    """The rules of all kinds."""

    cel: Expressions

    def new(
        self, obj: JsonObject, kind: Kind, namespace_labels: JsonObject, *, core: bool
    ) -> Iterator[Fault]:
        """What is wrong with an object that is to be made."""
        spec = obj.get("spec", {})
        if kind is CLAIM:
            yield from check_admin_access(spec.get("devices", {}), namespace_labels, DEVICES)
        if kind is TEMPLATE:
            inner = spec.get("spec", {}).get("devices", {})
            yield from check_admin_access(inner, namespace_labels, DEVICES)
        yield from check_metadata(obj["metadata"], kind)
        match kind.name:
            case "ResourceClaim":
                yield from check_claim_spec(spec, SPEC, self.cel)
            case "ResourceClaimTemplate":
                yield from check_labels(spec.get("metadata", {}), (*SPEC, "metadata"))
                yield from check_claim_spec(spec.get("spec", {}), (*SPEC, "spec"), self.cel)
            case "Pod":
                yield from check_pod_spec(spec, SPEC)
            case "Event":
                yield from check_event(obj, core=core)
            case _:
                yield from self._either(kind, spec, None)

    def changed(self, obj: JsonObject, old: JsonObject, kind: Kind) -> Iterator[Fault]:
        """What is wrong with an object that is to take the place of another."""
        yield from check_metadata(obj["metadata"], kind)
        yield from check_metadata_update(obj["metadata"], old["metadata"])
        spec, before = obj.get("spec", {}), old.get("spec", {})
        if kind in (CLAIM, TEMPLATE):
            if spec != before:
                yield invalid(SPEC, "<omitted>", "field is immutable")
        elif kind is POD:
            yield from check_pod_update(spec, before)
        elif kind is not EVENT:
            yield from self._either(kind, spec, before)

    def changed_status(
        self, obj: JsonObject, old: JsonObject, kind: Kind, namespace_labels: JsonObject
    ) -> Iterator[Fault]:
        """What is wrong with an object's new status."""
        yield from check_metadata_update(obj["metadata"], old["metadata"])
        if kind is CLAIM:
            yield from check_claim_status(obj, old, namespace_labels)

    def _either(self, kind: Kind, spec: JsonObject, old: JsonObject | None) -> Iterator[Fault]:
        """The kinds whose spec is judged the same, new or changed."""
        if kind is CLASS:
            yield from check_class_spec(spec, SPEC, self.cel)
        elif kind is SLICE:
            yield from check_slice_spec(spec, old, SPEC)
        elif kind is RULE:
            yield from check_rule_spec(spec, SPEC)
        elif kind in (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET):
            yield from check_replicated(spec, old, SPEC)
        elif kind is JOB:
            yield from check_job(spec, SPEC)
