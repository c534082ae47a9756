"""Judge objects before they are stored, by the rules of their kind. No I/O."""

from collections.abc import Iterator
from typing import Final

from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import (
    ADDRESS_LEASE,
    ADDRESS_POOL,
    CLAIM,
    CLASS,
    DAEMON_SET,
    DEPLOYMENT,
    EVENT,
    JOB,
    POD,
    POD_NETWORK,
    REPLICA_SET,
    RULE,
    SLICE,
    STATEFUL_SET,
    TEMPLATE,
    Kind,
)
from netclaim.schema.refusal import Fault, invalid
from netclaim.schema.rules.address_pools import check_address_lease, check_address_pool
from netclaim.schema.rules.claim_status import check_claim_status
from netclaim.schema.rules.claims import check_admin_access, check_claim_spec, check_class_spec
from netclaim.schema.rules.events import check_event
from netclaim.schema.rules.metadata import check_labels, check_metadata, check_metadata_update
from netclaim.schema.rules.pod_networks import check_pod_network
from netclaim.schema.rules.pods import check_pod_spec, check_pod_update
from netclaim.schema.rules.slices import check_slice_spec
from netclaim.schema.rules.taints import check_rule_spec
from netclaim.schema.rules.workloads import check_job, check_replicated

SPEC: Final = ("spec",)


def check_new(
    obj: JsonObject, kind: Kind, namespace_labels: JsonObject, *, core: bool
) -> Iterator[Fault]:
    """What is wrong with an object that is to be created; `core` as for `check_event`."""
    spec = obj.get("spec", {})
    if kind in (CLAIM, TEMPLATE):
        claim = spec if kind is CLAIM else spec.get("spec", {})
        devices = claim.get("devices", {})
        yield from check_admin_access(devices, namespace_labels, (*SPEC, "devices"))
    yield from check_metadata(obj["metadata"], kind)
    match kind.name:
        case "ResourceClaim":
            yield from check_claim_spec(spec, SPEC)
        case "ResourceClaimTemplate":
            yield from check_labels(spec.get("metadata", {}), (*SPEC, "metadata"))
            yield from check_claim_spec(spec.get("spec", {}), (*SPEC, "spec"))
        case "Pod":
            yield from check_pod_spec(spec, SPEC)
        case "Event":
            yield from check_event(obj, core=core)
        case "PodNetwork":
            yield from check_pod_network(obj, SPEC)
        case "AddressPool":
            yield from check_address_pool(obj, SPEC)
        case "AddressLease":
            yield from check_address_lease(obj, SPEC, None)
        case _:
            yield from _check_spec(kind, spec, None)


def check_changed(obj: JsonObject, old: JsonObject, kind: Kind) -> Iterator[Fault]:
    """What is wrong with an object that is to replace another."""
    yield from check_metadata(obj["metadata"], kind)
    yield from check_metadata_update(obj["metadata"], old["metadata"])
    spec, before = obj.get("spec", {}), old.get("spec", {})
    if kind in (CLAIM, TEMPLATE):
        if spec != before:
            yield invalid(SPEC, "<omitted>", "field is immutable")
    elif kind is POD:
        yield from check_pod_update(spec, before)
    elif kind is POD_NETWORK:
        yield from check_pod_network(obj, SPEC)
    elif kind is ADDRESS_POOL:
        yield from check_address_pool(obj, SPEC, old)
    elif kind is ADDRESS_LEASE:
        yield from check_address_lease(obj, SPEC, old)
    elif kind is not EVENT:
        yield from _check_spec(kind, spec, before)


def check_changed_status(
    obj: JsonObject, old: JsonObject, kind: Kind, namespace_labels: JsonObject
) -> Iterator[Fault]:
    """What is wrong with the new status of an object."""
    yield from check_metadata_update(obj["metadata"], old["metadata"])
    if kind is CLAIM:
        yield from check_claim_status(obj, old, namespace_labels)


def _check_spec(kind: Kind, spec: JsonObject, old: JsonObject | None) -> Iterator[Fault]:
    """The kinds that have the same rules for new and for changed objects."""
    if kind is CLASS:
        yield from check_class_spec(spec, SPEC)
    elif kind is SLICE:
        yield from check_slice_spec(spec, old, SPEC)
    elif kind is RULE:
        yield from check_rule_spec(spec, SPEC)
    elif kind in (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, DAEMON_SET):
        yield from check_replicated(spec, old, SPEC)
    elif kind is JOB:
        yield from check_job(spec, SPEC)
