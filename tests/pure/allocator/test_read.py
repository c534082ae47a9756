"""Objects are read with the API's defaults; node selectors mean what the API says."""

from typing import Any

import pytest

from netclaim.allocator import (
    AllocationError,
    Claim,
    Node,
    Slice,
)
from netclaim.allocator.objects.node import NodeChoice
from netclaim.manifests.versions.conversion import to_v1
from netclaim.model.api.base import ObjectError
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.api.dra.taint import Toleration
from netclaim.model.devices.device import Taint

NODE = Node("node-a", {"zone": "one", "rack": "7"})


def test_defaults_of_a_manifest() -> None:
    """A request that says nothing else is for exactly one device."""
    exactly = {"deviceClassName": "net"}
    spec = {"devices": {"requests": [{"name": "nic", "exactly": exactly}]}}
    claim = Claim.read({"metadata": {"name": "c"}, "spec": spec})
    ((request,),) = claim.requests
    assert (request.mode, request.count, request.admin_access) == ("ExactCount", 1, False)
    assert str(claim) == "default/c"


def test_older_versions_are_read_after_conversion() -> None:
    """A v1beta1 claim and slice say the same as in v1."""
    flat = {"name": "nic", "deviceClassName": "net", "count": 2}
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [flat]}}}
    ((request,),) = Claim.read(to_v1(claim, "ResourceClaim", "v1beta1")).requests
    assert (request.class_name, request.count) == ("net", 2)
    basic = {"name": "eth1", "basic": {"attributes": {"mtu": {"int": 1500}}}}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d", "nodeName": "n", "pool": pool, "devices": [basic]}
    old = to_v1({"metadata": {"name": "s"}, "spec": spec}, "ResourceSlice", "v1beta1")
    (device,) = Slice.read(old).devices
    assert device.attribute("d/mtu") == ("int", 1500)
    assert device.attribute("mtu") == ("int", 1500)
    assert device.attribute("other/mtu") is None


@pytest.mark.parametrize(
    ("read", "obj"),
    [
        (Slice.read, {"metadata": {"name": "s"}, "spec": {"driver": "d"}}),
        (Claim.read, {"spec": {}}),
        (DeviceClass.read, {"spec": {}}),
        (Node.read, {}),
    ],
)
def test_no_such_object(read: Any, obj: Any) -> None:
    """What cannot be such an object is refused by its kind."""
    with pytest.raises(ObjectError, match=r"^not a "):
        read(obj)


@pytest.mark.parametrize(
    "devices",
    [
        {"requests": [{"name": "nic"}]},
        {"requests": [{"name": "nic", "exactly": {"deviceClassName": "x", "allocationMode": "Y"}}]},
        {"requests": [{"name": "n", "exactly": {"deviceClassName": "x", "selectors": [{}]}}]},
        {"constraints": [{"requests": ["nic"]}]},
    ],
)
def test_things_of_the_future(devices: Any) -> None:
    """Kinds of requests, modes, selectors and constraints that we do not know fail the pod."""
    with pytest.raises(AllocationError):
        Claim.read({"metadata": {"name": "c"}, "spec": {"devices": devices}})


def term(**requirement: Any) -> dict[str, Any]:
    """A node selector of one requirement on labels."""
    return {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        (term(key="zone", operator="In", values=["one", "two"]), True),
        (term(key="zone", operator="NotIn", values=["one"]), False),
        (term(key="none", operator="NotIn", values=["one"]), True),
        (term(key="zone", operator="Exists"), True),
        (term(key="none", operator="Exists"), False),
        (term(key="zone", operator="DoesNotExist"), False),
        (term(key="rack", operator="Gt", values=["6"]), True),
        (term(key="rack", operator="Lt", values=["6"]), False),
        (term(key="zone", operator="Gt", values=["6"]), False),
        ({"nodeSelectorTerms": [{}]}, False),
        ({"nodeSelectorTerms": []}, False),
        (
            {"nodeSelectorTerms": [{}, *term(key="rack", operator="Exists")["nodeSelectorTerms"]]},
            True,
        ),
        (
            {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
                ]
            },
            False,
        ),
    ],
)
def test_node_selectors(selector: dict[str, Any], chosen: bool) -> None:
    """Terms are alternatives, an empty one chooses nothing, each operator has its meaning."""
    assert NodeChoice(selector=selector).matches(NODE) is chosen


def test_unknown_operator_fails_the_pod() -> None:
    """An operator that we do not know is an error, not a guess."""
    with pytest.raises(AllocationError, match="unknown operator 'Near'"):
        NodeChoice(selector=term(key="zone", operator="Near")).matches(NODE)


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration(operator="Exists"), True),
        (Toleration(key="k", operator="Exists"), True),
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(key="k", value="v"), True),
        (Toleration(key="k", value="w"), False),
        (Toleration(key="k", value="v", effect="NoExecute"), False),
        (Toleration(key="k", operator="Exists", effect="NoSchedule"), True),
        (Toleration(key="k", operator="Like", value="v"), False),
    ],
)
def test_tolerations(toleration: Toleration, tolerated: bool) -> None:
    """An empty key or effect means every one; an unknown operator none."""
    assert toleration.tolerates(Taint(key="k", effect="NoSchedule", value="v")) is tolerated
