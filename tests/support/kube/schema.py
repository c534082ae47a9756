"""What an API server of Kubernetes 1.36 accepts in resource.k8s.io/v1, field by field.

A strict decode of the manifests' part of the API (statuses stay open): an unknown field, a missing
one or one of the wrong type is an error, as for `kubectl apply` with strict validation.
"""

from typing import Any

import msgspec

__all__ = ["check_v1"]


class Strict(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Base of every part: no unknown fields."""


class Cel(Strict):
    """A CEL selector."""

    expression: str


class Selector(Strict):
    """A selector."""

    cel: Cel


class Opaque(Strict):
    """Parameters for one driver."""

    driver: str
    parameters: dict[str, Any]


class ClassConfig(Strict):
    """A class's configuration."""

    opaque: Opaque


class ClaimConfig(ClassConfig):
    """A claim's configuration."""

    requests: list[str] | None = None


class CapacityRequirements(Strict):
    """A request's capacity."""

    requests: dict[str, str | int | float]


class SubRequest(Strict):
    """One of a request's alternatives."""

    name: str
    device_class_name: str
    selectors: list[Selector] | None = None
    allocation_mode: str | None = None
    count: int | None = None
    tolerations: list[dict[str, Any]] | None = None
    capacity: CapacityRequirements | None = None


class Exactly(Strict):
    """A request without alternatives."""

    device_class_name: str
    selectors: list[Selector] | None = None
    allocation_mode: str | None = None
    count: int | None = None
    admin_access: bool | None = None
    tolerations: list[dict[str, Any]] | None = None
    capacity: CapacityRequirements | None = None


class Request(Strict):
    """A request: its name and either form."""

    name: str
    exactly: Exactly | None = None
    first_available: list[SubRequest] | None = None


class Constraint(Strict):
    """A constraint over requests."""

    requests: list[str] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(Strict):
    """The devices of a claim."""

    requests: list[Request] | None = None
    constraints: list[Constraint] | None = None
    config: list[ClaimConfig] | None = None


class ClaimSpec(Strict):
    """A claim's spec."""

    devices: DeviceClaim


class TemplateSpec(Strict):
    """A template's spec."""

    spec: ClaimSpec
    metadata: dict[str, Any] | None = None


class ClassSpec(Strict):
    """A class's spec."""

    selectors: list[Selector] | None = None
    config: list[ClassConfig] | None = None
    extended_resource_name: str | None = None


class Attribute(Strict):
    """An attribute's value."""

    int_value: int | None = msgspec.field(default=None, name="int")
    bool_value: bool | None = msgspec.field(default=None, name="bool")
    string: str | None = None
    version: str | None = None
    ints: list[Any] | None = None
    bools: list[Any] | None = None
    strings: list[Any] | None = None
    versions: list[Any] | None = None


class Capacity(Strict):
    """A capacity."""

    value: str | int | float
    request_policy: dict[str, Any] | None = None


class Device(Strict):
    """A device of a slice."""

    name: str
    attributes: dict[str, Attribute] | None = None
    capacity: dict[str, Capacity] | None = None
    consumes_counters: list[dict[str, Any]] | None = None
    node_name: str | None = None
    node_selector: dict[str, Any] | None = None
    all_nodes: bool | None = None
    taints: list[dict[str, Any]] | None = None
    binds_to_node: bool | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None
    allow_multiple_allocations: bool | None = None
    node_allocatable_resource_mappings: dict[str, Any] | None = None


class Pool(Strict):
    """The pool of a slice."""

    name: str
    generation: int
    resource_slice_count: int


class SliceSpec(Strict):
    """A slice's spec."""

    driver: str
    pool: Pool
    node_name: str | None = None
    node_selector: dict[str, Any] | None = None
    all_nodes: bool | None = None
    devices: list[Device] | None = None
    per_device_node_selection: bool | None = None
    shared_counters: list[dict[str, Any]] | None = None


class Object(Strict):
    """What every kind has."""

    api_version: str
    metadata: dict[str, Any]


class DeviceClass(Object, tag_field="kind"):
    """A class."""

    spec: ClassSpec


class ResourceClaim(Object, tag_field="kind"):
    """A claim."""

    spec: ClaimSpec
    status: dict[str, Any] | None = None


class ResourceClaimTemplate(Object, tag_field="kind"):
    """A template."""

    spec: TemplateSpec


class ResourceSlice(Object, tag_field="kind"):
    """A slice."""

    spec: SliceSpec


def check_v1(found: Any) -> None:
    """Raise unless this is an object of resource.k8s.io/v1 that a server accepts."""
    kinds = DeviceClass | ResourceClaim | ResourceClaimTemplate | ResourceSlice
    decoded = msgspec.convert(found, type=kinds)
    assert decoded.api_version == "resource.k8s.io/v1"
