"""The tables of fields can be read, for every kind in every version."""

import pytest

from netclaim.schema.kinds import KINDS
from netclaim.schema.shapes.read import shape_of
from netclaim.schema.shapes.shape import Fields, ListOf, fit

SERVED = [(kind.name, address.version) for kind in KINDS for address in kind.addresses]


@pytest.mark.parametrize(
    ("kind", "version"), [*SERVED, ("CronJob", "v1"), ("ReplicationController", "v1")]
)
def test_every_kind_has_a_shape(kind: str, version: str) -> None:
    """Every word of a table is a plain type or another entry."""
    shape = shape_of(kind, version)
    assert list(shape.known)[:3] == ["apiVersion", "kind", "metadata"]
    assert shape.open == (kind in ("Namespace", "Node"))


def test_an_older_version_has_fields_of_its_own() -> None:
    """A device of v1beta1 has its fields below `basic`, in the place where v1 has its devices."""
    new, old = (shape_of("ResourceSlice", version).known["spec"] for version in ("v1", "v1beta1"))
    assert isinstance(new, Fields)
    assert isinstance(old, Fields)
    assert list(new.known) == list(old.known)
    match new.known["devices"], old.known["devices"]:
        case ListOf(Fields(device)), ListOf(Fields({"name": _, "basic": Fields(basic)})):
            assert device == {"name": device["name"], **basic}
        case _:
            pytest.fail("devices are no lists of objects")


def test_what_is_not_in_a_table_is_unknown() -> None:
    """Known fields stay, and the path of another one is returned."""
    claims = [{"name": "a", "resourceClaim": "b"}]
    fitting, unknown = fit({"kind": "Pod", "spec": {"resourceClaims": claims}}, shape_of("Pod"))
    assert fitting == {"kind": "Pod", "spec": {"resourceClaims": [{"name": "a"}]}}
    assert unknown == (("spec", "resourceClaims", 0, "resourceClaim"),)
