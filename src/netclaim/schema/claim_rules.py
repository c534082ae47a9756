"""The rules for what a claim asks for: requests, constraints, configuration; and for classes.

Each function yields what is wrong, in the order in which the real server tells it. Limit: the cost
of a CEL expression is not estimated.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from netclaim.model.claim import JsonObject
from netclaim.paths import Path
from netclaim.schema.names import (
    check_driver,
    check_label,
    check_qualified,
    check_subdomain,
)
from netclaim.schema.pod_rules import is_extended_resource
from netclaim.schema.refusal import (
    Fault,
    forbidden,
    invalid,
    missing,
    too_long,
    unsupported,
)
from netclaim.schema.rules import check_each, check_raw, check_set, check_toleration

__all__ = [
    "ADMIN_LABEL",
    "Expressions",
    "RequestNames",
    "check_admin_access",
    "check_claim_spec",
    "check_class_spec",
    "check_config",
    "check_request_ref",
    "request_names",
]

REQUESTS_MAX: Final = 32
CONSTRAINTS_MAX: Final = 32
CONFIGS_MAX: Final = 32
SELECTORS_MAX: Final = 32
ALTERNATIVES_MAX: Final = 8
TOLERATIONS_MAX: Final = 16
EXPRESSION_MAX: Final = 10 << 10
ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"
MODES: Final = ("All", "ExactCount")
NO_SUCH_REQUEST: Final = (
    "must be the name of a request in the claim,"
    " or of a request and a subrequest with a '/' between"
)

RequestNames = dict[str, frozenset[str]]  # a request's name, and those of its alternatives


class Expressions(Protocol):
    """Whoever can read CEL."""

    def fault(self, expression: str) -> str:
        """What is wrong with an expression; nothing if it compiles."""
        ...


def check_claim_spec(spec: JsonObject, at: Path, cel: Expressions) -> Iterator[Fault]:
    """The spec of a claim, or of the claims that a template makes."""
    devices = spec.get("devices", {})
    at = (*at, "devices")
    names = request_names(devices)
    yield from check_set(
        devices.get("requests", ()),
        REQUESTS_MAX,
        (*at, "requests"),
        lambda request, where: _check_request(request, where, cel),
        key=lambda request: str(request.get("name", "")),
    )
    yield from check_each(
        devices.get("constraints", ()),
        CONSTRAINTS_MAX,
        (*at, "constraints"),
        lambda constraint, where: _check_constraint(constraint, where, names),
    )
    yield from check_each(
        devices.get("config", ()),
        CONFIGS_MAX,
        (*at, "config"),
        lambda config, where: check_config(config, where, names),
    )


def request_names(devices: JsonObject) -> RequestNames:
    """The names by which a claim's other parts may refer to its requests."""
    return {
        request.get("name", ""): frozenset(
            alternative.get("name", "") for alternative in request.get("firstAvailable", ())
        )
        for request in devices.get("requests", ())
    }


def _check_request(request: JsonObject, at: Path, cel: Expressions) -> Iterator[Fault]:
    yield from check_label(request.get("name", ""), (*at, "name"))
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable", ())
    one_of = "exactly one of `exactly` or `firstAvailable` is required"
    if exactly is None and not alternatives:
        yield missing(at, one_of)
    elif exactly is not None and alternatives:
        yield invalid(at, None, f"{one_of}, but multiple fields are set")
    elif exactly is not None:
        yield from _check_wanted(exactly, (*at, "exactly"), cel)
    else:
        yield from check_set(
            alternatives,
            ALTERNATIVES_MAX,
            (*at, "firstAvailable"),
            lambda alternative, where: _check_alternative(alternative, where, cel),
            key=lambda alternative: str(alternative.get("name", "")),
        )


def _check_alternative(wanted: JsonObject, at: Path, cel: Expressions) -> Iterator[Fault]:
    yield from check_label(wanted.get("name", ""), (*at, "name"))
    yield from _check_wanted(wanted, at, cel)


def _check_wanted(wanted: JsonObject, at: Path, cel: Expressions) -> Iterator[Fault]:
    if not wanted.get("deviceClassName"):
        yield missing((*at, "deviceClassName"))
    else:
        yield from check_subdomain(wanted["deviceClassName"], (*at, "deviceClassName"))
    yield from _check_selectors(wanted.get("selectors", ()), (*at, "selectors"), cel)
    mode, count = wanted.get("allocationMode", ""), wanted.get("count", 0)
    if mode not in MODES:
        yield unsupported((*at, "allocationMode"), mode, MODES)
    elif mode == "All" and count:
        yield invalid((*at, "count"), count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount" and count <= 0:
        yield invalid((*at, "count"), count, "must be greater than zero")
    yield from check_each(
        wanted.get("tolerations", ()), TOLERATIONS_MAX, (*at, "tolerations"), check_toleration
    )
    for name in wanted.get("capacity", {}).get("requests", {}):
        yield from check_qualified(name, (*at, "capacity", "requests"))


def _check_selectors(
    selectors: Sequence[JsonObject], at: Path, cel: Expressions
) -> Iterator[Fault]:
    def check(selector: JsonObject, where: Path) -> Iterator[Fault]:
        if "cel" not in selector:
            yield missing((*where, "cel"))
            return
        expression = selector["cel"].get("expression", "")
        field = (*where, "cel", "expression")
        if len(expression.encode()) > EXPRESSION_MAX:
            yield too_long(field, EXPRESSION_MAX)
        elif fault := cel.fault(expression):
            yield invalid(field, expression, fault)

    yield from check_each(selectors, SELECTORS_MAX, at, check)


def _check_constraint(constraint: JsonObject, at: Path, names: RequestNames) -> Iterator[Fault]:
    yield from _check_refs(constraint.get("requests", ()), (*at, "requests"), names)
    for key in ("matchAttribute", "distinctAttribute"):
        if key in constraint:
            yield from check_qualified(constraint[key], (*at, key), fully=True)
            return  # with both, the real server looks at the first alone
    yield missing(at, "one of `matchAttribute` and `distinctAttribute` is required")


def check_config(config: JsonObject, at: Path, names: RequestNames) -> Iterator[Fault]:
    """Configuration for some requests of a claim."""
    yield from _check_refs(config.get("requests", ()), (*at, "requests"), names)
    yield from _check_opaque(config, at)


def _check_refs(refs: Sequence[str], at: Path, names: RequestNames) -> Iterator[Fault]:
    yield from check_set(
        refs, REQUESTS_MAX, at, lambda ref, where: check_request_ref(ref, where, names), key=str
    )


def check_request_ref(ref: str, at: Path, names: RequestNames) -> Iterator[Fault]:
    """A reference to a request, or to one of its alternatives."""
    parts = ref.split("/")
    if len(parts) > 2:
        yield invalid(at, ref, NO_SUCH_REQUEST)
        return
    for part in parts:
        yield from check_label(part, at)
    if parts[0] not in names or not names[parts[0]].issuperset(parts[1:]):
        yield invalid(at, ref, NO_SUCH_REQUEST)


def _check_opaque(config: JsonObject, at: Path) -> Iterator[Fault]:
    if "opaque" not in config:
        yield missing((*at, "opaque"))
        return
    opaque = config["opaque"]
    yield from check_driver(opaque.get("driver", ""), (*at, "opaque", "driver"))
    yield from check_raw(opaque.get("parameters"), (*at, "opaque", "parameters"))


def check_class_spec(spec: JsonObject, at: Path, cel: Expressions) -> Iterator[Fault]:
    """The spec of a DeviceClass."""
    yield from _check_selectors(spec.get("selectors", ()), (*at, "selectors"), cel)
    yield from check_each(spec.get("config", ()), CONFIGS_MAX, (*at, "config"), _check_opaque)
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended_resource(name):
        yield invalid((*at, "extendedResourceName"), name, "must be a valid extended resource name")


def check_admin_access(
    devices: JsonObject, namespace_labels: JsonObject, at: Path
) -> Iterator[Fault]:
    """Requests for devices that others use may be made only where an admin said so."""
    for index, request in enumerate(devices.get("requests", ())):
        if request.get("exactly", {}).get("adminAccess"):
            if namespace_labels.get(ADMIN_LABEL) != "true":
                yield forbidden(
                    (*at, "requests", index, "adminAccess"),
                    f"admin access to devices requires the `{ADMIN_LABEL}: true` label on the"
                    " containing namespace",
                )
            return
