"""The rules for pods that a user of claims meets: claims, resources, restarts, choice of nodes.

A value that is refused here is refused by every API server from 1.34 on; operators that a feature
may add are let through. A real server has a hundred more rules. Images, ports, volumes and probes
are not looked at, since nothing here runs them, and neither is affinity between pods.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from netclaim.model.claims.claim import JsonObject
from netclaim.model.quantity import Quantity
from netclaim.paths import Key, Path
from netclaim.schema.refusal import Fault, duplicate, forbidden, invalid, missing, unsupported
from netclaim.schema.rules.names import (
    SUBDOMAIN,
    check_label,
    check_label_key,
    check_label_value,
    check_subdomain,
)

QUOTA: Final = "requests."  # before a resource's name in a ResourceQuota, so that none begins so
RESTARTS: Final = ("Always", "OnFailure", "Never")  # the first is the default
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
COMPARING: Final = ("Gt", "Lt")  # behind a feature gate for tolerations
LISTED: Final = ("In", "NotIn")
PRESENT: Final = ("Exists", "DoesNotExist")
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def check_pod_spec(spec: JsonObject, at: Path) -> Iterator[Fault]:
    """The spec of a pod, or of a pod template."""
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
    policy = spec.get("restartPolicy") or RESTARTS[0]
    if policy not in RESTARTS:
        yield unsupported((*at, "restartPolicy"), policy, RESTARTS)
    for index, toleration in enumerate(spec.get("tolerations", ())):
        yield from _check_toleration(toleration, (*at, "tolerations", index))
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    yield from _check_affinity(affinity, (*at, "affinity", "nodeAffinity"))


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
    yield from _check_resources(container.get("resources", {}), (*at, "resources"))
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
    """Only the images in a pod's spec may change."""
    if _without_images(spec) != _without_images(old):
        yield forbidden(("spec",), "pod updates may not change fields other than the images")


def _without_images(spec: JsonObject) -> JsonObject:
    def stripped(containers: Sequence[JsonObject]) -> list[JsonObject]:
        return [{key: c[key] for key in c if key != "image"} for c in containers]

    keys = ("containers", "initContainers")
    return {key: stripped(spec[key]) if key in keys else spec[key] for key in spec}


def _check_affinity(affinity: JsonObject, at: Path) -> Iterator[Fault]:
    required = affinity.get(REQUIRED)
    if required is not None:
        where = (*at, REQUIRED, "nodeSelectorTerms")
        terms = required.get("nodeSelectorTerms", ())
        if not terms:
            yield missing(where, "must have at least one node selector term")
        for index, term in enumerate(terms):
            yield from _check_term(term, (*where, index))
    for index, preferred in enumerate(affinity.get(PREFERRED, ())):
        where = (*at, PREFERRED, index, "preference")
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
        yield from check_requirement(wanted, where, comparing=COMPARING)


def check_requirement(
    wanted: JsonObject, at: Path, *, comparing: Sequence[str] = ()
) -> Iterator[Fault]:
    """An entry of `matchExpressions`; those for nodes may have operators that are `comparing`."""
    operator, values = wanted.get("operator", ""), wanted.get("values", ())
    yield from check_label_key(wanted.get("key", ""), (*at, "key"))
    if operator in LISTED and not values:
        yield missing((*at, "values"), "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in PRESENT and values:
        yield forbidden((*at, "values"), "may not be specified with this operator")
    elif operator in comparing and len(values) != 1:
        yield missing((*at, "values"), "must be a single value when `operator` is 'Lt' or 'Gt'")
    elif operator not in (*LISTED, *PRESENT, *comparing):
        yield invalid((*at, "operator"), operator, "not a valid selector operator")


def _check_resources(resources: JsonObject, at: Path) -> Iterator[Fault]:
    """Extended resources must be whole, and their requests equal to their limits."""
    limits = resources.get("limits", {})
    for key in ("limits", "requests"):
        for name, written in resources.get(key, {}).items():
            where = (*at, key, Key(name))
            amount = Quantity.parse(written).value
            if amount < 0:
                yield invalid(where, written, "must be greater than or equal to 0")
            elif is_extended_resource(name) and amount.denominator != 1:
                yield invalid(where, written, "must be an integer")
    for name, written in resources.get("requests", {}).items():
        where = (*at, "requests")
        if name in limits:
            wanted, limit = (Quantity.parse(one).value for one in (written, limits[name]))
            if is_extended_resource(name) and wanted != limit:
                yield invalid(where, written, f"must be equal to {name} limit of {limits[name]}")
            elif wanted > limit:
                message = f"must be less than or equal to {name} limit of {limits[name]}"
                yield invalid(where, written, message)
        elif is_extended_resource(name):
            message = "limit must be set for non overcommitable resources"
            yield missing((*at, "limits"), message)


def is_extended_resource(name: str) -> bool:
    """Whether Kubernetes itself does not define the resource."""
    domain, slash, _ = name.rpartition("/")
    native = "kubernetes.io/" in name or name.startswith(QUOTA)
    return bool(slash and SUBDOMAIN.fullmatch(domain) and not native) and not [
        *check_label_key(f"{QUOTA}{name}", ())
    ]
