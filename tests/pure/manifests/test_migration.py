"""Manifests of every age: what takes their place, and what is said of the rest."""

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.manifests.fields import ShapeError
from netclaim.manifests.kinds import KINDS
from netclaim.manifests.versions.conversion import VERSIONS, Version
from netclaim.manifests.versions.legacy import DEAD_KINDS, DEAD_VERSIONS
from netclaim.manifests.versions.migration import migrate
from netclaim.manifests.versions.remark import Migrated
from tests.support.kube.objects import objects
from tests.support.kube.schema import check_v1


def old(kind: str, version: str, **fields: Any) -> dict[str, Any]:
    """Return an object of resource.k8s.io."""
    meta = {"name": "x"}
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": meta, **fields}


def lost(migrated: Migrated) -> list[str]:
    """Return the paths of what is lost."""
    return [".".join(map(str, remark.path)) for remark in migrated.remarks if remark.lost]


@given(objects(), st.sampled_from(VERSIONS))
def test_what_is_not_lost_comes_back(made: tuple[str, dict[str, Any]], to: Version) -> None:
    """An object without a loss comes back the same from any version; with one, it still fits."""
    _, found = made
    there = migrate(found, to)
    assert there.object is not None
    back = migrate(there.object, "v1")
    assert back.object is not None
    if not lost(there):
        assert back.object == found
    check_v1(back.object)


def test_the_blogs_resource_class() -> None:
    """A ResourceClass becomes a DeviceClass that selects its driver's devices."""
    found = old("ResourceClass", "v1beta1", driverName="gpu.example.com")
    migrated = migrate(found, "v1")
    assert migrated.object == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "x"},
        "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]},
    }
    check_v1(migrated.object)
    (remark,) = migrated.remarks
    assert "DeviceClass in 1.31" in remark.text


def test_a_driver_that_cannot_be() -> None:
    """A driver's name with a slash, as in the blog, is converted and remarked on."""
    found = old("ResourceClass", "v1beta1", driverName="burntek.io/bun-toaster")
    migrated = migrate(found, "v1")
    assert [remark.path for remark in migrated.remarks] == [("kind",), ("driverName",)]
    assert lost(migrated) == []


def test_a_class_with_more_than_a_driver() -> None:
    """References to parameters and suitable nodes have no place in a DeviceClass: lost."""
    found = old(
        "ResourceClass",
        "v1alpha2",
        driverName="d",
        parametersRef={"name": "p"},
        suitableNodes={},
        structuredParameters=True,
    )
    assert lost(migrate(found, "v1")) == ["parametersRef", "suitableNodes"]


def test_a_class_to_an_older_version() -> None:
    """A revived object goes on to the version that was asked for."""
    migrated = migrate(old("ResourceClass", "v1alpha2", driverName="d"), "v1beta1")
    assert migrated.object is not None
    assert migrated.object["apiVersion"] == "resource.k8s.io/v1beta1"


@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
def test_a_claim_of_v1alpha2(kind: str) -> None:
    """A claim for a class becomes a claim with one request for that class."""
    spec = {"resourceClassName": "gpu", "allocationMode": "WaitForFirstConsumer"}
    wrapped = {"spec": spec} if kind == "ResourceClaimTemplate" else spec
    migrated = migrate(old(kind, "v1alpha2", spec=wrapped), "v1")
    assert migrated.object is not None
    check_v1(migrated.object)
    inner = migrated.object["spec"]
    inner = inner["spec"] if kind == "ResourceClaimTemplate" else inner
    request = {"name": "resource", "exactly": {"deviceClassName": "gpu"}}
    assert inner == {"devices": {"requests": [request]}}
    assert lost(migrated) == []


def test_a_claim_of_v1alpha2_with_parameters() -> None:
    """Parameters in another object and immediate allocation are lost; the status just goes."""
    spec = {"resourceClassName": "c", "parametersRef": {"name": "p"}, "allocationMode": "Immediate"}
    found = old("ResourceClaim", "v1alpha2", spec=spec, status={"driverName": "d"})
    migrated = migrate(found, "v1")
    assert lost(migrated) == ["spec.parametersRef", "spec.allocationMode"]
    assert migrated.object is not None
    assert "status" not in migrated.object


@pytest.mark.parametrize("kind", ["PodSchedulingContext", "PodScheduling"])
def test_the_schedulers_notes_are_left_out(kind: str) -> None:
    """PodSchedulingContext was the scheduler's own; leaving it out loses nothing."""
    migrated = migrate(old(kind, "v1alpha3", spec={}), "v1")
    assert migrated.object is None
    assert lost(migrated) == []
    assert "scheduler allocates without it" in migrated.remarks[0].text


@pytest.mark.parametrize(
    ("kind", "successor"),
    [
        ("ResourceClaimParameters", "spec.devices.config[].opaque.parameters"),
        ("ResourceClassParameters", "spec.config[].opaque.parameters"),
        ("ResourceSlice", "the driver publishes its devices itself"),
    ],
)
def test_kinds_without_a_place(kind: str, successor: str) -> None:
    """Kinds that nothing replaces one to one are lost, with a word on where their content goes."""
    migrated = migrate(old(kind, "v1alpha2"), "v1")
    assert migrated.object is None
    assert lost(migrated) == ["kind"]
    assert successor in migrated.remarks[0].text


def test_a_claim_with_a_controller() -> None:
    """1.31's `controller` goes with a remark: since 1.32 the scheduler does its work."""
    spec = {"controller": "d", "devices": {"requests": []}}
    status = {"deallocationRequested": True, "allocation": {"controller": "d", "devices": {}}}
    migrated = migrate(old("ResourceClaim", "v1alpha3", spec=spec, status=status), "v1")
    assert migrated.object is not None
    assert migrated.object["spec"] == {"devices": {"requests": []}}
    assert migrated.object["status"] == {"allocation": {"devices": {}}}
    assert len(migrated.remarks) == 3
    assert lost(migrated) == []


def test_a_class_with_suitable_nodes() -> None:
    """1.31's `suitableNodes` asked for something that a DeviceClass cannot ask: lost."""
    migrated = migrate(old("DeviceClass", "v1alpha3", spec={"suitableNodes": {}}), "v1")
    assert lost(migrated) == ["spec.suitableNodes"]


def test_the_pocs_status() -> None:
    """The PoC's `deviceStatuses` become `devices` with the names that KEP-4817 settled on."""
    entry = {
        "conditions": None,
        "device": "cni",
        "deviceInfo": {"cniVersion": "1.0.0"},
        "driver": "poc.dra.networking",
        "networkDeviceInfo": {"interface": "net1", "ips": ["10.10.1.2/24"], "mac": "1e:32"},
        "pool": "kind-worker",
        "request": "macvlan-eth0",
    }
    found = old("ResourceClaim", "v1alpha3", spec={}, status={"deviceStatuses": [entry]})
    migrated = migrate(found, "v1")
    assert migrated.object is not None
    assert migrated.object["status"]["devices"] == [
        {
            "device": "cni",
            "data": {"cniVersion": "1.0.0"},
            "driver": "poc.dra.networking",
            "networkData": {
                "interfaceName": "net1",
                "ips": ["10.10.1.2/24"],
                "hardwareAddress": "1e:32",
            },
            "pool": "kind-worker",
        }
    ]


def test_fields_that_v1alpha3_never_had() -> None:
    """Going down to v1alpha3 names each newer field, and what stays is still valid."""
    device = {
        "name": "nic",
        "allowMultipleAllocations": True,
        "attributes": {"many": {"ints": [1]}, "one": {"int": 1}},
        "capacity": {"vfs": {"value": "8", "requestPolicy": {"default": "1"}}},
    }
    migrated = migrate(old("ResourceSlice", "v1", spec={"devices": [device]}), "v1alpha3")
    assert lost(migrated) == [
        "spec.devices.0.allowMultipleAllocations",
        "spec.devices.0.capacity.vfs.requestPolicy",
        "spec.devices.0.attributes.many.ints",
    ]
    assert migrated.object is not None
    basic = {"attributes": {"one": {"int": 1}}, "capacity": {"vfs": "8"}}
    assert migrated.object["spec"]["devices"] == [{"name": "nic", "basic": basic}]


def test_a_constraint_goes_whole() -> None:
    """A constraint without its kind would be invalid, so the whole constraint goes."""
    constraints = [{"distinctAttribute": "a/b"}, {"matchAttribute": "a/c"}]
    spec = {"devices": {"requests": [], "constraints": constraints}}
    migrated = migrate(old("ResourceClaim", "v1", spec=spec), "v1alpha3")
    assert lost(migrated) == ["spec.devices.constraints.0.distinctAttribute"]
    assert migrated.object is not None
    assert migrated.object["spec"]["devices"]["constraints"] == [{"matchAttribute": "a/c"}]


def test_lists_as_kubectl_prints_them() -> None:
    """A List is converted item by item; what is not ours in it stays, remarks say which item."""
    pod = {"apiVersion": "v1", "kind": "Pod"}
    items = [pod, old("PodSchedulingContext", "v1alpha2"), old("DeviceClass", "v1beta1", spec={})]
    migrated = migrate({"apiVersion": "v1", "kind": "List", "items": items}, "v1")
    assert migrated.object is not None
    assert migrated.object["items"] == [pod, old("DeviceClass", "v1", spec={})]
    assert migrated.remarks[0].path == ("items", 1, "kind")


@pytest.mark.parametrize(
    ("item", "complaint"),
    [
        (old("ResourceClaim", "v1beta1", spec=5), "items[0].spec: is a number, not an object"),
        ("text", "items[0]: is not an object"),
    ],
)
def test_a_fault_in_a_list_says_where(item: Any, complaint: str) -> None:
    """A broken item of a list is named with its place."""
    with pytest.raises(ShapeError) as caught:
        migrate({"apiVersion": "v1", "kind": "List", "items": [item]}, "v1")
    assert str(caught.value) == complaint


def test_an_empty_list() -> None:
    """A list of nothing is as it was, whatever form its nothing has."""
    for found in ({"kind": "List"}, {"kind": "List", "items": None}, {"kind": "List", "items": []}):
        assert migrate(found, "v1") == Migrated(found)
    dead = {"kind": "List", "items": [old("PodScheduling", "v1alpha1")]}
    assert migrate(dead, "v1").object == {"kind": "List", "items": []}


def test_pods_of_before_1_31() -> None:
    """A pod that names its claim under `source` names it next to the name, with a remark."""
    claims = [{"name": "gpu", "source": {"resourceClaimName": "x"}}]
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"resourceClaims": claims}}
    migrated = migrate(pod, "v1")
    assert migrated.object == {
        **pod,
        "spec": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "x"}]},
    }
    assert migrated.remarks[0].path == ("spec", "resourceClaims", 0, "source")
    broken = {"kind": "Pod", "spec": {"resourceClaims": [{"name": "gpu", "source": "x"}]}}
    with pytest.raises(ShapeError, match=r"resourceClaims\[0\].source: is not an object"):
        migrate(broken, "v1")


def test_kinds_apart() -> None:
    """A DeviceTaintRule has no v1 and is left alone."""
    rule = old("DeviceTaintRule", "v1alpha3", spec={})
    assert migrate(rule, "v1").object is rule


@pytest.mark.parametrize(
    ("kind", "version", "complaint"),
    [
        (
            "ResourceKlaim",
            "v1",
            "kind: resource.k8s.io has no kind 'ResourceKlaim'; did you mean \"ResourceClaim\"?",
        ),
        ("Toaster", "v1", "kind: resource.k8s.io has no kind 'Toaster'; it has DeviceClass, "),
        ("DeviceClass", "v2", "apiVersion: resource.k8s.io has no version 'v2'; it has v1, "),
        ("DeviceClass", "v1alpha2", "apiVersion: v1alpha2 has no DeviceClass, but a Resource"),
        (None, "v1", "kind: kind is missing; resource.k8s.io has DeviceClass"),
    ],
)
def test_what_never_was(kind: Any, version: str, complaint: str) -> None:
    """A kind or version that resource.k8s.io never had is an error that says what to write."""
    with pytest.raises(ShapeError) as caught:
        migrate(old(kind, version), "v1")
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize("version", [*DEAD_VERSIONS, *VERSIONS])
@pytest.mark.parametrize("kind", [*KINDS, *DEAD_KINDS])
def test_every_kind_in_every_version(kind: str, version: str) -> None:
    """An object without content is converted, or refused in words, in any version."""
    with suppress(ShapeError):
        migrated = migrate(old(kind, version), "v1")
        assert migrated.object is not None or migrated.remarks


def test_a_name_beside_the_metadata_is_moved_into_it() -> None:
    """A class whose name stands one level too high keeps it; without any, there is no metadata."""
    found = old("ResourceClass", "v1alpha1", driverName="d", name="top")
    migrated = migrate({**found, "metadata": {"labels": {"a": "b"}}}, "v1")
    assert migrated.object is not None
    assert migrated.object["metadata"] == {"labels": {"a": "b"}, "name": "top"}
    assert lost(migrated) == []
    assert lost(migrate(found, "v1")) == ["name"]  # it has another
    bare = migrate({key: found[key] for key in ("apiVersion", "kind", "driverName")}, "v1")
    assert bare.object is not None
    assert "metadata" not in bare.object


def test_one_field_in_two_places_is_refused() -> None:
    """Where a version has one place for what another has two, neither value is dropped."""
    device = {"name": "e", "basic": {"attributes": {}}, "attributes": {}}
    with pytest.raises(ShapeError, match=r"^spec\.devices\[0\]\.basic\.attributes: is set twice"):
        migrate(old("ResourceSlice", "v1beta1", spec={"devices": [device]}), "v1")
    request = {"name": "a", "exactly": {"name": "b"}}
    spec = {"devices": {"requests": [request]}}
    with pytest.raises(ShapeError, match=r"exactly\.name: is set twice"):
        migrate(old("ResourceClaim", "v1", spec=spec), "v1beta1")


def places(value: Any) -> list[dict[str, Any]]:
    """Every object within a value, itself too."""
    if isinstance(value, list):
        return [one for child in value for one in places(child)]
    if not isinstance(value, dict):
        return []
    return [value, *(one for child in value.values() for one in places(child))]


REQUEST = {"name": "r", "deviceClassName": "c", "selectors": [{"cel": {"expression": "true"}}]}
DEVICE = {"name": "e", "basic": {"attributes": {"a": {"int": 1}}, "capacity": {"b": {"value": 1}}}}
STATUS = {"request": "r", "device": "e", "networkDeviceInfo": {"interface": "net1"}}
OF_ALL_AGES = [
    old("ResourceClass", "v1alpha1", driverName="d"),
    old("ResourceClass", "v1alpha2", driverName="d", parametersRef={"name": "p"}),
    old("ResourceClaim", "v1alpha2", spec={"resourceClassName": "c", "allocationMode": "X"}),
    old("ResourceClaimTemplate", "v1alpha2", spec={"spec": {"resourceClassName": "c"}}),
    old("ResourceClaim", "v1alpha3", spec={"devices": {"requests": [REQUEST]}}),
    old("ResourceClaim", "v1alpha3", spec={}, status={"deviceStatuses": [STATUS]}),
    old("ResourceClaimTemplate", "v1beta1", spec={"spec": {"devices": {"requests": [REQUEST]}}}),
    old("ResourceSlice", "v1beta1", spec={"devices": [DEVICE]}),
    old("DeviceClass", "v1alpha3", spec={"suitableNodes": {}}),
]


@pytest.mark.parametrize("to", VERSIONS)
@pytest.mark.parametrize("found", OF_ALL_AGES, ids=lambda one: f"{one['kind']}-{one['apiVersion']}")
def test_nothing_is_dropped_in_silence(found: dict[str, Any], to: Version) -> None:
    """A field that nobody knows, anywhere in an object, is kept, named as lost, or refused."""
    for number in range(len(places(found))):
        odd = copy.deepcopy(found)
        places(odd)[number]["odd"] = "kept?"
        (path,) = [p for p in walk(odd) if p[-1] == "odd"]
        try:
            migrated = migrate(odd, to)
        except ShapeError:
            continue
        named = any(path[: len(one.path)] == one.path for one in migrated.remarks if one.lost)
        assert named or "kept?" in str(migrated.object), path


def walk(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The path of every field in a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, child in items:
        found.append((*at, key))
        if isinstance(child, dict | list):
            found += walk(child, (*at, key))
    return found
