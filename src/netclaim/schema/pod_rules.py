"""The rules for what a pod says of its nodes, its restarts and the resources that it counts.

Promise: a value that is refused here is refused by every API server from 1.34 on. Operators that a
feature may add are let through. Limit: no I/O; affinity between pods is not looked at.
"""

from collections.abc import Iterator
from typing import Final

from netclaim.model.claim import JsonObject
from netclaim.model.quantity import Quantity
from netclaim.paths import Key, Path
from netclaim.schema.names import SUBDOMAIN, check_label_key, check_label_value
from netclaim.schema.refusal import Fault, forbidden, invalid, missing, unsupported

__all__ = ["check_placement", "check_resources", "check_restart", "is_extended_resource"]

QUOTA: Final = "requests."  # before a resource's name in a ResourceQuota, so that none begins so
RESTARTS: Final = ("Always", "OnFailure", "Never")
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
COMPARING: Final = ("Gt", "Lt")  # of tolerations behind a feature gate
LISTED: Final = ("In", "NotIn")
PRESENT: Final = ("Exists", "DoesNotExist")
REQUIRED: Final = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
PREFERRED: Final = ("affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")


def check_restart(spec: JsonObject, at: Path) -> Iterator[Fault]:
    """Which policies there are; what makes pods may allow fewer."""
    policy = spec.get("restartPolicy") or "Always"
    if policy not in RESTARTS:
        yield unsupported((*at, "restartPolicy"), policy, RESTARTS)


def check_placement(spec: JsonObject, at: Path) -> Iterator[Fault]:
    """Which nodes a pod may have: tolerations and node affinity."""
    for index, toleration in enumerate(spec.get("tolerations", ())):
        yield from _check_toleration(toleration, (*at, "tolerations", index))
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get(REQUIRED[-1])
    if required is not None:
        where = (*at, *REQUIRED, "nodeSelectorTerms")
        terms = required.get("nodeSelectorTerms", ())
        if not terms:
            yield missing(where, "must have at least one node selector term")
        for index, term in enumerate(terms):
            yield from _check_term(term, (*where, index))
    for index, preferred in enumerate(affinity.get(PREFERRED[-1], ())):
        where = (*at, *PREFERRED, index, "preference")
        yield from _check_term(preferred.get("preference", {}), where)


def _check_toleration(toleration: JsonObject, at: Path) -> Iterator[Fault]:
    key, value = toleration.get("key", ""), toleration.get("value", "")
    operator, effect = toleration.get("operator", ""), toleration.get("effect", "")
    if key:
        yield from check_label_key(key, (*at, "key"))
    elif operator != "Exists":
        yield invalid((*at, "operator"), operator, "must be Exists when `key` is empty")
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        message = "must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid((*at, "effect"), effect, message)
    if operator in ("", "Equal"):
        yield from check_label_value(value, (*at, "value"))
    elif operator == "Exists" and value:
        message = "value must be empty when `operator` is 'Exists'"
        yield invalid((*at, "operator"), operator, message)
    elif operator not in ("Exists", *COMPARING):
        yield unsupported((*at, "operator"), operator, ("Equal", "Exists"))
    if effect and effect not in EFFECTS:
        yield unsupported((*at, "effect"), effect, EFFECTS)


def _check_term(term: JsonObject, at: Path) -> Iterator[Fault]:
    for index, wanted in enumerate(term.get("matchExpressions", ())):
        where = (*at, "matchExpressions", index)
        yield from check_label_key(wanted.get("key", ""), (*where, "key"))
        yield from _check_operator(wanted, where)


def _check_operator(wanted: JsonObject, at: Path) -> Iterator[Fault]:
    operator, values = wanted.get("operator", ""), wanted.get("values", ())
    if operator in LISTED and not values:
        yield missing((*at, "values"), "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in PRESENT and values:
        yield forbidden((*at, "values"), "may not be specified with this operator")
    elif operator in COMPARING and len(values) != 1:
        yield missing((*at, "values"), "must be a single value when `operator` is 'Lt' or 'Gt'")
    elif operator not in (*LISTED, *PRESENT, *COMPARING):
        yield invalid((*at, "operator"), operator, "not a valid selector operator")


def check_resources(container: JsonObject, at: Path) -> Iterator[Fault]:
    """Extended resources are whole, and requested as they are limited; the rest is compared."""
    resources = container.get("resources", {})
    limits = resources.get("limits", {})
    for key in ("limits", "requests"):
        for name, written in resources.get(key, {}).items():
            where = (*at, "resources", key, Key(name))
            amount = Quantity.parse(written).value
            if amount < 0:
                yield invalid(where, written, "must be greater than or equal to 0")
            elif is_extended_resource(name) and amount.denominator != 1:
                yield invalid(where, written, "must be an integer")
    for name, written in resources.get("requests", {}).items():
        where = (*at, "resources", "requests")
        if name in limits:
            wanted, limit = (Quantity.parse(one).value for one in (written, limits[name]))
            if is_extended_resource(name) and wanted != limit:
                yield invalid(where, written, f"must be equal to {name} limit of {limits[name]}")
            elif wanted > limit:
                message = f"must be less than or equal to {name} limit of {limits[name]}"
                yield invalid(where, written, message)
        elif is_extended_resource(name):
            message = "limit must be set for non overcommitable resources"
            yield missing((*at, "resources", "limits"), message)


def is_extended_resource(name: str) -> bool:
    """Whether a resource is one that Kubernetes itself does not define."""
    domain, slash, _ = name.rpartition("/")
    native = "kubernetes.io/" in name or name.startswith(QUOTA)
    return bool(slash and SUBDOMAIN.fullmatch(domain) and not native) and not [
        *check_label_key(f"{QUOTA}{name}", ())
    ]
