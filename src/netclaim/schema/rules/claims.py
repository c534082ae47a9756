"""The rules for the specs of claims, of claim templates and of classes."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from netclaim.allocator.cel import CelError, compile_selector
from netclaim.model.api.limits import (
    ALTERNATIVES_MAX,
    CONFIGS_MAX,
    CONSTRAINTS_MAX,
    EXPRESSION_MAX,
    RAW_MAX,
    REQUESTS_MAX,
    SELECTORS_MAX,
    TOLERATIONS_MAX,
)
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Path
from netclaim.schema.refusal import Fault, forbidden, invalid, missing, too_long, unsupported
from netclaim.schema.rules.lists import check_each, check_set
from netclaim.schema.rules.names import check_driver, check_label, check_qualified, check_subdomain
from netclaim.schema.rules.pods import is_extended_resource
from netclaim.schema.rules.taints import check_toleration

ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"
MODES: Final = ("All", "ExactCount")
TOO_COMPLEX: Final = "too complex, exceeds cost limit"
NO_SUCH_REQUEST: Final = (
    "must be the name of a request in the claim,"
    " or of a request and a subrequest with a '/' between"
)

RequestNames = dict[str, frozenset[str]]  # a request's name, and those of its alternatives


def check_claim_spec(spec: JsonObject, at: Path) -> Iterator[Fault]:
    """The spec of a claim, or the one inside a template."""
    devices = spec.get("devices", {})
    at = (*at, "devices")
    names = request_names(devices)
    yield from check_set(
        devices.get("requests", ()),
        REQUESTS_MAX,
        (*at, "requests"),
        _check_request,
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
    """The names by which other parts of a claim refer to its requests."""
    return {
        request.get("name", ""): frozenset(
            alternative.get("name", "") for alternative in request.get("firstAvailable", ())
        )
        for request in devices.get("requests", ())
    }


def _check_request(request: JsonObject, at: Path) -> Iterator[Fault]:
    yield from check_label(request.get("name", ""), (*at, "name"))
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable", ())
    one_of = "exactly one of `exactly` or `firstAvailable` is required"
    if exactly is None and not alternatives:
        yield missing(at, one_of)
    elif exactly is not None and alternatives:
        yield invalid(at, None, f"{one_of}, but multiple fields are set")
    elif exactly is not None:
        yield from _check_wanted(exactly, (*at, "exactly"))
    else:
        yield from check_set(
            alternatives,
            ALTERNATIVES_MAX,
            (*at, "firstAvailable"),
            _check_alternative,
            key=lambda alternative: str(alternative.get("name", "")),
        )


def _check_alternative(wanted: JsonObject, at: Path) -> Iterator[Fault]:
    yield from check_label(wanted.get("name", ""), (*at, "name"))
    yield from _check_wanted(wanted, at)


def _check_wanted(wanted: JsonObject, at: Path) -> Iterator[Fault]:
    if not wanted.get("deviceClassName"):
        yield missing((*at, "deviceClassName"))
    else:
        yield from check_subdomain(wanted["deviceClassName"], (*at, "deviceClassName"))
    yield from _check_selectors(wanted.get("selectors", ()), (*at, "selectors"))
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


def _check_selectors(selectors: Sequence[JsonObject], at: Path) -> Iterator[Fault]:
    yield from check_each(selectors, SELECTORS_MAX, at, _check_selector)


def _check_selector(selector: JsonObject, at: Path) -> Iterator[Fault]:
    if "cel" not in selector:
        yield missing((*at, "cel"))
        return
    yield from check_expression(selector["cel"].get("expression", ""), (*at, "cel", "expression"))


def check_expression(expression: str, at: Path) -> Iterator[Fault]:
    """An expression in CEL that selects devices."""
    if len(expression.encode()) > EXPRESSION_MAX:
        yield too_long(at, EXPRESSION_MAX)
        return
    try:
        if compile_selector(expression).too_complex:
            yield forbidden(at, TOO_COMPLEX)
    except CelError as error:
        yield invalid(at, expression, f"compilation failed: {error}")


def _check_constraint(constraint: JsonObject, at: Path, names: RequestNames) -> Iterator[Fault]:
    yield from _check_refs(constraint.get("requests", ()), (*at, "requests"), names)
    for key in ("matchAttribute", "distinctAttribute"):
        if key in constraint:
            yield from check_qualified(constraint[key], (*at, key), fully=True)
            return  # with both, the real server looks at the first alone
    yield missing(at, "one of `matchAttribute` and `distinctAttribute` is required")


def check_config(config: JsonObject, at: Path, names: RequestNames) -> Iterator[Fault]:
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


def check_raw(value: Any, at: Path) -> Iterator[Fault]:
    """JSON for a driver, or of one."""
    if value is None:
        yield missing(at)
    elif len(msgspec.json.encode(value)) > RAW_MAX:
        yield too_long(at, RAW_MAX)
    elif not isinstance(value, dict):
        yield invalid(at, "<value omitted>", "must be a valid JSON object")


def check_class_spec(spec: JsonObject, at: Path) -> Iterator[Fault]:
    yield from _check_selectors(spec.get("selectors", ()), (*at, "selectors"))
    yield from check_each(spec.get("config", ()), CONFIGS_MAX, (*at, "config"), _check_opaque)
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended_resource(name):
        yield invalid((*at, "extendedResourceName"), name, "must be a valid extended resource name")


def check_admin_access(
    devices: JsonObject, namespace_labels: JsonObject, at: Path
) -> Iterator[Fault]:
    """Only a namespace with the admin's label may ask for devices that others use."""
    for index, request in enumerate(devices.get("requests", ())):
        if request.get("exactly", {}).get("adminAccess"):
            if namespace_labels.get(ADMIN_LABEL) != "true":
                yield forbidden(
                    (*at, "requests", index, "adminAccess"),
                    f"admin access to devices requires the `{ADMIN_LABEL}: true` label on the"
                    " containing namespace",
                )
            return
