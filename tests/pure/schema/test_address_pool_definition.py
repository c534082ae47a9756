"""The definitions of pools and leases in the chart, the model, the shapes and the rules agree."""

from typing import Any, get_args

import msgspec
import pytest

from netclaim.manifests.text.yaml_dialect import load_value
from netclaim.model.api.base import Base
from netclaim.model.api.own_kinds import address_pool
from netclaim.model.api.own_kinds.address_pool import (
    DOMAIN_MAX,
    EXCLUDED_MAX,
    NAME_MAX,
    RANGES_MAX,
    AddressLeaseSpec,
    AddressPoolSpec,
    AddressPoolStatus,
)
from netclaim.model.api.own_kinds.kept_address import KEPT_KINDS, WHEN_SCALED
from netclaim.model.api.own_kinds.pod_network import API_VERSION
from netclaim.schema.rules.address_pools import (
    DOMAIN_CEL,
    DOMAIN_MESSAGE,
    DOMAIN_PATTERN,
    FIXED_CEL,
    FIXED_MESSAGE,
    KEPT_CEL,
    KEPT_MESSAGE,
    LEASE_NAME_CEL,
    LEASE_NAME_MESSAGE,
    NAME_CEL,
    NAME_MESSAGE,
    OWNER_CEL,
    OWNER_MESSAGE,
    RANGE_RULES,
    check_address_lease,
    check_address_pool,
)
from netclaim.schema.shapes.read import shape_of
from netclaim.schema.shapes.shape import Fields, ListOf
from tests.support.address_pool_cases import LEASES, OWNER, RIGHT, WRONG, lease_of
from tests.support.doc_pages import ROOT


def definition_of(plural: str) -> dict[str, Any]:
    """The definition of a kind, as the chart has it."""
    path = ROOT / "charts" / "netclaim" / "files" / f"{plural}.yaml"
    found: dict[str, Any] = load_value(path.read_bytes())["spec"]
    return found


POOLS, LEASES_OF = definition_of("addresspools"), definition_of("addressleases")


def schema_of(definition: dict[str, Any]) -> dict[str, Any]:
    """The schema of its objects."""
    schema: dict[str, Any] = definition["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def rules_of(schema: dict[str, Any]) -> list[tuple[str, str]]:
    """The expressions at a place of a schema, and what they say."""
    return [(each["rule"], each["message"]) for each in schema["x-kubernetes-validations"]]


@pytest.mark.parametrize(
    ("definition", "kind", "plural"),
    [
        (POOLS, address_pool.KIND, address_pool.PLURAL),
        (LEASES_OF, address_pool.LEASE_KIND, address_pool.LEASE_PLURAL),
    ],
)
def test_the_definitions_are_of_our_kinds(
    definition: dict[str, Any], kind: str, plural: str
) -> None:
    """Both are the cluster's: a lease's name counts for all namespaces."""
    names = definition["names"]
    assert f"{definition['group']}/{definition['versions'][0]['name']}" == API_VERSION
    assert (names["kind"], names["plural"], definition["scope"]) == (kind, plural, "Cluster")


def test_the_definitions_have_the_rules() -> None:
    """Every rule of `check` and the embedded API server is in a definition, and no other."""
    pools, leases = schema_of(POOLS), schema_of(LEASES_OF)
    items = pools["properties"]["spec"]["properties"]["ranges"]["items"]
    assert rules_of(pools) == [(NAME_CEL, NAME_MESSAGE)]
    assert rules_of(pools["properties"]["spec"]) == [(DOMAIN_CEL, DOMAIN_MESSAGE)]
    assert rules_of(items) == [(rule.cel, rule.message) for rule in RANGE_RULES]
    assert rules_of(leases) == [(LEASE_NAME_CEL, LEASE_NAME_MESSAGE)]
    assert rules_of(leases["properties"]["spec"]) == [
        (FIXED_CEL, FIXED_MESSAGE),
        (OWNER_CEL, OWNER_MESSAGE),
        (KEPT_CEL, KEPT_MESSAGE),
    ]


def test_the_definitions_have_the_limits() -> None:
    """Numbers are the code's."""
    fields = schema_of(POOLS)["properties"]["spec"]["properties"]
    ranges = fields["ranges"]
    assert ranges["maxItems"] == RANGES_MAX
    assert ranges["items"]["properties"]["exclude"]["maxItems"] == EXCLUDED_MAX
    leases = schema_of(LEASES_OF)["properties"]["spec"]["properties"]
    for each in (fields["domain"], leases["domain"]):
        assert (each["minLength"], each["maxLength"], each["pattern"]) == (
            1,
            DOMAIN_MAX,
            DOMAIN_PATTERN,
        )
    assert leases["pool"]["maxLength"] == NAME_MAX
    kept = fields["keep"]["properties"]
    assert kept["kinds"]["maxItems"] == len(KEPT_KINDS)
    for kinds in (kept["kinds"]["items"], leases["owner"]["properties"]["kind"]):
        assert tuple(kinds["enum"]) == KEPT_KINDS
    assert tuple(kept["whenScaled"]["enum"]) == WHEN_SCALED


def _inner(annotation: Any) -> type[Base] | None:
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
    ("struct", "definition", "part"),
    [
        (AddressPoolSpec, POOLS, "spec"),
        (AddressPoolStatus, POOLS, "status"),
        (AddressLeaseSpec, LEASES_OF, "spec"),
    ],
)
def test_the_model_has_the_fields_of_the_definitions(
    struct: type[Base], definition: dict[str, Any], part: str
) -> None:
    """At every level."""
    _same_fields(struct, schema_of(definition)["properties"][part])


def _same_shape(shape: Any, schema: dict[str, Any]) -> None:
    shape = shape.item if isinstance(shape, ListOf) else shape
    schema = schema.get("items", schema)
    if isinstance(shape, Fields):
        assert shape.known.keys() == schema["properties"].keys()
        for name, inner in shape.known.items():
            _same_shape(inner, schema["properties"][name])


@pytest.mark.parametrize(
    ("kind", "definition"),
    [(address_pool.KIND, POOLS), (address_pool.LEASE_KIND, LEASES_OF)],
)
def test_the_shapes_have_the_fields_of_the_definitions(
    kind: str, definition: dict[str, Any]
) -> None:
    """So that `check` reports what an API server would drop."""
    _same_shape(shape_of(kind).known["spec"], schema_of(definition)["properties"]["spec"])


@pytest.mark.parametrize(("spec", "field"), WRONG)
def test_a_mistake_is_found_at_its_field(spec: dict[str, Any], field: str) -> None:
    """Each rule and each limit."""
    found = check_address_pool({"metadata": {"name": "media"}, "spec": spec}, ("spec",))
    assert field in [fault.field for fault in found]


@pytest.mark.parametrize("spec", RIGHT)
def test_what_is_right_is_accepted(spec: dict[str, Any]) -> None:
    """Of one family or both."""
    found = check_address_pool({"metadata": {"name": "media"}, "spec": spec}, ("spec",))
    assert list(found) == []


@pytest.mark.parametrize(("name", "domain", "address", "right"), LEASES)
def test_a_lease_has_the_name_of_its_address(
    name: str, domain: str, address: str, *, right: bool
) -> None:
    """One for each address, or the name would be no lock."""
    found = list(check_address_lease(lease_of(name, domain, address), ("spec",), None))
    assert (found == []) == right


def test_a_lease_stays_that_of_its_address() -> None:
    """It is renewed for who has it, and not for another address or pool."""
    old = lease_of("10.1.0.7", "", "10.1.0.7")
    new = lease_of("10.1.0.8", "", "10.1.0.8")
    assert list(check_address_lease(new, ("spec",), old))
    new = lease_of("10.1.0.7", "", "10.1.0.7")
    new["spec"]["pool"] = "other"
    assert list(check_address_lease(new, ("spec",), old))


@pytest.mark.parametrize(("before", "after"), [({}, {"domain": "a"}), ({"domain": "a"}, {})])
def test_a_pool_stays_in_its_domain(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Its leases would be no locks for those that are made afterwards."""
    old, new = ({"metadata": {"name": "p"}, "spec": {**RIGHT[0], **s}} for s in (before, after))
    assert [fault.field for fault in check_address_pool(new, ("spec",), old)] == ["spec.domain"]
    assert list(check_address_pool(old, ("spec",), old)) == []


def test_whom_a_lease_is_kept_for_does_not_change() -> None:
    """And only a lease with an owner is kept."""
    lease = lease_of("10.1.0.7", "", "10.1.0.7")
    owned = {**lease, "spec": {**lease["spec"], "owner": OWNER}}
    other = {**lease, "spec": {**lease["spec"], "owner": {**OWNER, "replica": "db-1"}}}
    kept = {**owned, "spec": {**owned["spec"], "kept": True}}
    ownerless = {**lease, "spec": {**lease["spec"], "kept": True}}
    wrong_kind = {**lease, "spec": {**lease["spec"], "owner": {**OWNER, "kind": "Pod"}}}
    assert list(check_address_lease(kept, ("spec",), owned)) == []
    assert list(check_address_lease(owned, ("spec",), kept)) == []
    for new, old in ((owned, lease), (lease, owned), (other, owned), (ownerless, lease)):
        assert list(check_address_lease(new, ("spec",), old))
    assert list(check_address_lease(wrong_kind, ("spec",), None))
