"""The same object in another version: there and back is what was there."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.manifests.fields import ShapeError
from netclaim.manifests.versions.conversion import VERSIONS, Version, from_v1, to_v1
from tests.support.kube.objects import objects
from tests.support.kube.schema import check_v1

SERVED: tuple[Version, ...] = ("v1", "v1beta2", "v1beta1")


@given(objects(), st.sampled_from(SERVED))
def test_there_and_back(made: tuple[str, dict[str, Any]], version: Version) -> None:
    """Every v1 object survives the way to a served version and back, and is not touched by it."""
    kind, found = made
    before = copy.deepcopy(found)
    there = from_v1(found, kind, version)
    assert there["apiVersion"] == f"resource.k8s.io/{version}"
    assert to_v1(there, kind, version) == before
    assert found == before


@given(objects(newer=False), st.sampled_from(VERSIONS), st.sampled_from(VERSIONS))
def test_by_way_of_any_two(made: tuple[str, dict[str, Any]], one: Version, two: Version) -> None:
    """An object of v1alpha3's time survives any chain of versions."""
    kind, found = made
    older = from_v1(found, kind, one)
    other = from_v1(to_v1(older, kind, one), kind, two)
    assert to_v1(other, kind, two) == found


@given(objects())
def test_v1_fits_the_schema(made: tuple[str, dict[str, Any]]) -> None:
    """What comes back from v1beta1 is what an API server's v1 accepts, field by field."""
    kind, found = made
    check_v1(to_v1(from_v1(found, kind, "v1beta1"), kind, "v1beta1"))


def test_a_flat_request() -> None:
    """v1beta1's request fields go under `exactly`; the name and alternatives stay outside."""
    flat = {"allocationMode": "ExactCount", "count": 1, "deviceClassName": "c", "name": "n"}
    choice = {"name": "m", "firstAvailable": [{"name": "a", "deviceClassName": "c"}]}
    claim = {"spec": {"devices": {"requests": [flat, choice]}}}
    converted = to_v1(claim, "ResourceClaim", "v1beta1")["spec"]["devices"]["requests"]
    inner = {"allocationMode": "ExactCount", "count": 1, "deviceClassName": "c"}
    assert converted == [{"name": "n", "exactly": inner}, choice]
    assert list(converted[0]) == ["name", "exactly"]


def test_a_device_of_v1alpha3() -> None:
    """A device of 1.31 loses `basic`, and its plain quantities become values."""
    device = {
        "basic": {"attributes": {"model": {"string": "A770"}}, "capacity": {"memory": "16288Mi"}},
        "name": "gpu-0",
    }
    found = {"spec": {"devices": [device]}}
    (converted,) = to_v1(found, "ResourceSlice", "v1alpha3")["spec"]["devices"]
    assert converted == {
        "name": "gpu-0",
        "attributes": {"model": {"string": "A770"}},
        "capacity": {"memory": {"value": "16288Mi"}},
    }
    assert from_v1({"spec": {"devices": [converted]}}, "ResourceSlice", "v1alpha3")["spec"] == {
        "devices": [device]
    }


def test_a_device_without_anything() -> None:
    """v1beta1 requires `basic`, so a bare device gets an empty one."""
    found = {"spec": {"devices": [{"name": "a"}]}}
    older = from_v1(found, "ResourceSlice", "v1beta1")
    assert older["spec"]["devices"] == [{"name": "a", "basic": {}}]


def test_a_listed_object_gets_its_kind() -> None:
    """Items of a list come without kind and version; conversion sets both."""
    assert to_v1({"metadata": {}}, "ResourceSlice", "v1beta2") == {
        "metadata": {},
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
    }


@pytest.mark.parametrize(
    ("kind", "found", "complaint"),
    [
        ("ResourceClaim", {"spec": 5}, "spec: is a number, not an object"),
        (
            "ResourceClaim",
            {"spec": {"devices": {"requests": "x"}}},
            "spec.devices.requests: is a string, not a list",
        ),
        (
            "ResourceClaimTemplate",
            {"spec": {"spec": {"devices": {"requests": [1]}}}},
            "spec.spec.devices.requests[0]: is not an object",
        ),
        (
            "ResourceClaim",
            {"spec": {"devices": {"requests": [{"name": "a", "exactly": {}, "count": 1}]}}},
            "spec.devices.requests[0]: has `exactly` and, next to it, fields that belong in it",
        ),
        (
            "ResourceSlice",
            {"spec": {"devices": [{"basic": {"capacity": {"m": ["1"]}}}]}},
            "spec.devices[0].basic.capacity.m: is not a quantity",
        ),
    ],
)
def test_wrong_shapes(kind: str, found: dict[str, Any], complaint: str) -> None:
    """A field of the wrong shape is an error that names it, never a crash."""
    with pytest.raises(ShapeError) as caught:
        to_v1(found, kind, "v1alpha3")
    assert str(caught.value) == complaint
