"""Claims are read from what the API server sends, of whatever version."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.errors import RequestError
from netclaim.model import Claim, ClaimError, ClaimRef, Plan, Prepared, parse_claim
from netclaim.model.claims.claim import ReportedDevice
from netclaim.model.claims.unreadable import LEVELS_MAX, stand_in

SEED: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1beta1",
    "kind": "ResourceClaim",
    "metadata": {
        "name": "demo-macvlan",
        "namespace": "default",
        "uid": "80067ad8",
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": "demo",
                "uid": "a2735b69",
                "controller": True,
            }
        ],
    },
    "spec": {"devices": {"requests": [{"name": "macvlan-eth1", "adminAccess": True}]}},
    "status": {
        "allocation": {
            "devices": {
                "config": [
                    {
                        "source": "FromClaim",
                        "requests": ["macvlan-eth1"],
                        "opaque": {"driver": "a.example.com", "parameters": {"ifName": "net1"}},
                    },
                    {
                        "source": "FromClass",
                        "opaque": {"driver": "a.example.com", "parameters": {"mtu": 9000}},
                    },
                    {
                        "source": "FromClass",
                        "opaque": {"driver": "b.example.com", "parameters": {}},
                    },
                ],
                "results": [
                    {
                        "request": "macvlan-eth1",
                        "driver": "a.example.com",
                        "pool": "kind-worker",
                        "device": "eth1",
                        "adminAccess": True,
                    },
                    {
                        "request": "gpu/large",
                        "driver": "b.example.com",
                        "pool": "kind-worker",
                        "device": "gpu-0",
                        "shareID": "s1",
                        "consumedCapacity": {"memory": "1Gi"},
                    },
                ],
            }
        },
        "reservedFor": [{"resource": "pods", "name": "demo", "uid": "a2735b69"}],
    },
}


def test_allocation() -> None:
    """Devices, configuration and users are taken from the status."""
    claim = parse_claim(SEED)
    assert claim.ref == ClaimRef("80067ad8", "default", "demo-macvlan")
    assert claim.allocated
    assert claim.requests == ("macvlan-eth1",)
    nic, gpu = claim.devices
    assert nic.admin_access
    assert nic.key == ("kind-worker", "eth1", "")
    assert gpu.base_request == "gpu"
    assert gpu.key == ("kind-worker", "gpu-0", "s1")
    assert gpu.consumed_capacity == {"memory": "1Gi"}
    assert claim.pod_uids == {"a2735b69"}
    assert claim.owner_pod_uid == "a2735b69"


def test_of_driver() -> None:
    """A driver sees its own devices and configuration only."""
    mine = parse_claim(SEED).of_driver("a.example.com")
    assert [device.device for device in mine.devices] == ["eth1"]
    assert {config.driver for config in mine.configs} == {"a.example.com"}


def test_class_configuration_comes_first() -> None:
    """Of what applies to a request the class's part is first, so that the claim's wins."""
    mine = parse_claim(SEED).of_driver("a.example.com")
    assert [c.parameters for c in mine.configs_for("macvlan-eth1")] == [
        {"mtu": 9000},
        {"ifName": "net1"},
    ]
    assert [c.parameters for c in mine.configs_for("other")] == [{"mtu": 9000}]


def test_configuration_of_a_subrequest() -> None:
    """Configuration for a request reaches its alternatives; that for one alternative only it."""
    opaque = {"driver": "d", "parameters": {}}
    obj = {"metadata": SEED["metadata"], "status": {"allocation": {"devices": {"config": [
        {"source": "FromClaim", "requests": ["nic"], "opaque": opaque},
        {"source": "FromClaim", "requests": ["nic/fast"], "opaque": opaque},
    ]}}}}  # fmt: skip
    claim = parse_claim(obj)
    assert len(claim.configs_for("nic/fast")) == 2
    assert len(claim.configs_for("nic/slow")) == 1


def test_owner_that_does_not_control() -> None:
    """An owner that only keeps the claim from outliving it does not make the claim its own."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "demo", "uid": "a2735b69"}
    meta = SEED["metadata"] | {"ownerReferences": [owner]}
    assert parse_claim(SEED | {"metadata": meta}).owner_pod_uid is None


POD = {"resource": "pods", "name": "demo", "uid": "a2735b69"}
OTHER_POD = {"resource": "pods", "name": "other", "uid": "99999999"}
GROUP = {"resource": "podgroups", "apiGroup": "scheduling.k8s.io", "name": "g", "uid": "g1"}


@pytest.mark.parametrize(
    ("consumers", "pods"),
    [
        ([], set()),
        ([OTHER_POD], {"99999999"}),
        ([POD, OTHER_POD], {"a2735b69", "99999999"}),
        ([POD, GROUP], {"a2735b69"}),
        ([POD | {"apiGroup": "example.com"}], set()),
    ],
    ids=["nobody", "another pod", "several pods", "a group, too", "pods of another group"],
)
def test_owner_that_is_not_confirmed(consumers: list[dict[str, str]], pods: set[str]) -> None:
    """An owner counts only if the claim is reserved for that very pod, and for nobody else."""
    claim = parse_claim(SEED | {"status": SEED["status"] | {"reservedFor": consumers}})
    assert claim.owner_pod_uid is None
    assert claim.pod_uids == pods


def test_without_status() -> None:
    """A claim that was just made is not allocated, and that is no error."""
    claim = parse_claim({"metadata": SEED["metadata"], "spec": {}, "status": None})
    assert not claim.allocated
    assert claim.devices == ()


@pytest.mark.parametrize(
    "obj",
    [
        {},
        {"metadata": {"name": "x"}},
        {"metadata": SEED["metadata"], "status": {"allocation": {"devices": {"results": [{}]}}}},
        {"metadata": SEED["metadata"], "status": {"allocation": {"devices": {"config": [
            {"opaque": {"driver": "d", "parameters": "text"}}]}}}},
    ],
)  # fmt: skip
def test_not_a_claim(obj: dict[str, Any]) -> None:
    """What is no claim is refused, and not half read."""
    with pytest.raises(ClaimError):
        parse_claim(obj)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON))
def test_plans_survive_the_journal(network: dict[str, Any]) -> None:
    """A plan read back from its JSON is the plan that was written, whatever the driver put in."""
    claim = parse_claim(SEED)
    plans = tuple(Plan(claim.ref, device, network=network) for device in claim.devices)
    prepared = Prepared(claim.ref, plans)
    assert msgspec.json.decode(msgspec.json.encode(prepared), type=Prepared) == prepared
    assert msgspec.json.decode(msgspec.json.encode(claim), type=Claim) == claim


def test_what_was_reported_is_read() -> None:
    """Of the status, the devices that are ready are kept; others and foreign conditions are not."""
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    devices = [
        {
            "driver": "net.example.com",
            "pool": "node-1",
            "device": "eth1",
            "conditions": [{"type": "Other", "status": "True"}, ready],
            "networkData": {"interfaceName": "net1", "ips": ["192.0.2.5/24"]},
            "data": {"cniVersion": "1.0.0"},
        },
        {"driver": "net.example.com", "pool": "node-1", "device": "eth2"},
        {
            "driver": "net.example.com",
            "pool": "node-1",
            "device": "eth3",
            "conditions": [{**ready, "status": "False"}],
        },
    ]
    metadata = {"uid": "u", "namespace": "default", "name": "red"}
    (found,) = parse_claim({"metadata": metadata, "status": {"devices": devices}}).reported
    assert found.key == ("node-1", "eth1", "")
    assert (found.since, found.interface_name) == ("2026-01-01T00:00:00Z", "net1")
    assert (found.ips, found.data) == (("192.0.2.5/24",), {"cniVersion": "1.0.0"})


def nested(levels: int) -> Any:
    """An object in which there are so many lists, each in the one before."""
    value: Any = "x"
    for _ in range(levels - 1):
        value = [value]
    return {"a": value}


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        (nested(LEVELS_MAX), ""),
        (nested(LEVELS_MAX + 1), "nested too deeply"),
        (nested(900), "nested too deeply"),
        (stand_in("it is not UTF-8"), "it is not UTF-8"),
    ],
)
def test_parameters_that_cannot_be_read_are_refused(parameters: Any, fault: str) -> None:
    """The claim has its devices all the same; only who acts on the parameters is stopped."""
    written = {"requests": ["nic"], "opaque": {"driver": "d", "parameters": parameters}}
    device = {"request": "nic", "driver": "d", "pool": "p", "device": "eth1"}
    allocated = {"results": [device], "config": [{**written, "source": "FromClaim"}]}
    claim = parse_claim(
        {
            "metadata": {"name": "c", "namespace": "n", "uid": "u"},
            "spec": {"devices": {"config": [written]}},
            "status": {"allocation": {"devices": allocated}},
        }
    )
    assert [each.device for each in claim.devices] == ["eth1"]
    if not fault:
        claim.check_readable()
        return
    with pytest.raises(RequestError, match=f"claim's opaque.parameters for d .*: .*{fault}; write"):
        claim.check_readable()


def test_a_driver_believes_its_own_reports() -> None:
    """Another driver of the claim has devices and names of its own, and says what it likes."""
    since = "2026-11-17T08:00:00Z"
    mine = ReportedDevice("a.example.com", ("node-1", "eth1", ""), since)
    other = ReportedDevice("b.example.com", ("node-1", "eth1", ""), since, ips=("10.1.0.7/24",))
    claim = Claim("uid", "default", "red", reported=(other, mine))
    assert claim.of_driver("a.example.com").reported == (mine,)


def test_reported_data_that_is_nested_too_deeply_is_left_out() -> None:
    """What else a device's status says is there."""
    reported = {
        "driver": "d",
        "pool": "p",
        "device": "eth1",
        "data": nested(900),
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    meta = {"name": "c", "namespace": "n", "uid": "u"}
    (read,) = parse_claim({"metadata": meta, "status": {"devices": [reported]}}).reported
    assert (read.key, read.data) == (("p", "eth1", ""), {})
