"""The definition of PodNetworks in the chart, the model, the shapes and the rules agree."""

from typing import Any, get_args

import msgspec
import pytest

from netclaim.manifests.text.yaml_dialect import load_value
from netclaim.model.api.base import Base
from netclaim.model.api.own_kinds.pod_network import (
    ALLOWABLE,
    API_VERSION,
    IFNAME_MAX,
    KIND,
    PLURAL,
    TYPES,
    PodNetworkSpec,
    PodNetworkStatus,
)
from netclaim.schema.rules.pod_networks import (
    IFNAME_CEL,
    IFNAME_MESSAGE,
    MTU_MAX,
    MTU_MIN,
    NAME_CEL,
    NAME_MESSAGE,
    RULES,
    VLAN_MAX,
    check_pod_network,
)
from netclaim.schema.shapes.read import shape_of
from netclaim.schema.shapes.shape import Fields, ListOf
from tests.support.doc_pages import ROOT
from tests.support.pod_network_cases import GOOD, RIGHT, WRONG

DEFINITION: dict[str, Any] = load_value(
    (ROOT / "charts" / "netclaim" / "files" / "podnetworks.yaml").read_bytes()
)
VERSION: dict[str, Any] = DEFINITION["spec"]["versions"][0]
SCHEMA: dict[str, Any] = VERSION["schema"]["openAPIV3Schema"]
SPEC: dict[str, Any] = SCHEMA["properties"]["spec"]


def test_the_definition_is_of_our_kind() -> None:
    """Group, version, names and categories are those that the code and upstream's contract use."""
    spec = DEFINITION["spec"]
    assert f"{spec['group']}/{VERSION['name']}" == API_VERSION
    assert (spec["names"]["kind"], spec["names"]["plural"], spec["scope"]) == (
        KIND,
        PLURAL,
        "Cluster",
    )
    assert spec["names"]["categories"] == ["podnetwork", "podnetworks"]


def test_the_definition_has_the_rules() -> None:
    """Every rule of `check` and the embedded API server is in the definition, and no other."""
    assert [(each["rule"], each["message"]) for each in SPEC["x-kubernetes-validations"]] == [
        (rule.cel, rule.message) for rule in RULES
    ]
    assert [(each["rule"], each["message"]) for each in SCHEMA["x-kubernetes-validations"]] == [
        (NAME_CEL, NAME_MESSAGE),
        (IFNAME_CEL, IFNAME_MESSAGE),
    ]


def test_the_definition_has_the_limits() -> None:
    """Enumerations and numbers are the code's."""
    fields = SPEC["properties"]
    assert tuple(fields["type"]["enum"]) == TYPES
    assert tuple(fields["allow"]["items"]["enum"]) == ALLOWABLE
    assert fields["ifName"]["maxLength"] == IFNAME_MAX
    assert (fields["mtu"]["minimum"], fields["mtu"]["maximum"]) == (MTU_MIN, MTU_MAX)
    assert (fields["vlan"]["minimum"], fields["vlan"]["maximum"]) == (1, VLAN_MAX)


def _inner(annotation: Any) -> type[Base] | None:
    """The struct that a field holds, or a list of which it holds."""
    for each in (annotation, *get_args(annotation)):
        if isinstance(each, type) and issubclass(each, Base):
            return each
    return None


def _same_fields(struct: type[Base], schema: dict[str, Any]) -> None:
    known = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
    assert known.keys() == schema["properties"].keys(), struct.__name__
    for name, annotation in known.items():
        inner = _inner(annotation)
        if inner is not None:
            below = schema["properties"][name]
            _same_fields(inner, below.get("items", below))


@pytest.mark.parametrize(
    ("struct", "part"), [(PodNetworkSpec, "spec"), (PodNetworkStatus, "status")]
)
def test_the_model_has_the_fields_of_the_definition(struct: type[Base], part: str) -> None:
    """At every level."""
    _same_fields(struct, SCHEMA["properties"][part])


def _same_shape(shape: Any, schema: dict[str, Any]) -> None:
    shape = shape.item if isinstance(shape, ListOf) else shape
    schema = schema.get("items", schema)
    if isinstance(shape, Fields):
        assert shape.known.keys() == schema["properties"].keys()
        for name, inner in shape.known.items():
            _same_shape(inner, schema["properties"][name])


def test_the_shape_has_the_fields_of_the_definition() -> None:
    """So that `check` reports what an API server would drop."""
    _same_shape(shape_of(KIND).known["spec"], SPEC)


@pytest.mark.parametrize(
    ("spec", "field"),
    [*WRONG, ({**GOOD, "parent": {"selector": "device.driver =="}}, "spec.parent.selector")],
)
def test_a_mistake_is_found_at_its_field(spec: dict[str, Any], field: str) -> None:
    """Each rule and each limit."""
    found = check_pod_network({"metadata": {"name": "media-net"}, "spec": spec}, ("spec",))
    assert field in [fault.field for fault in found]


@pytest.mark.parametrize("spec", RIGHT)
def test_what_is_right_is_accepted(spec: dict[str, Any]) -> None:
    """Also a network of another provider, of which nothing is known."""
    found = check_pod_network({"metadata": {"name": "media-net"}, "spec": spec}, ("spec",))
    assert list(found) == []


def test_a_long_name_needs_an_interface_name() -> None:
    """The kernel's limit is 15."""
    long = {"metadata": {"name": "a-network-with-a-name"}, "spec": GOOD}
    assert [fault.field for fault in check_pod_network(long, ("spec",))] == ["spec.ifName"]
    named = {**long, "spec": {**GOOD, "ifName": "net1"}}
    assert list(check_pod_network(named, ("spec",))) == []
