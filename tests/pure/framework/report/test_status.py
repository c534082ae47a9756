"""A claim's status says what became of its devices, within the API's limits."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.framework.journal.records import Lease, Report
from netclaim.framework.report.claim_status import compose, device_statuses
from netclaim.model import Attachment, Interface, JsonObject, Plan, Prepared, Taint
from netclaim.model.api.dra.interface_data import interface_in
from netclaim.model.claims.claim import ReportedDevice
from tests.support.framework.parts import booking_of, claim_of, device_of, moved, plan_of, pod_of

RED = claim_of("red")
KEY = ("node-1", "eth1", "")
FIRST = datetime(2030, 1, 1, tzinfo=UTC)
LATER = datetime(2030, 1, 2, tzinfo=UTC)


def attached(pod: str = "pod-1", **facts: Any) -> Lease:
    """The claim's device in a pod."""
    facts = {"interface": Interface(name="net1")} | facts
    plan = plan_of(RED, RED.devices[0])
    return Lease(Attachment(plan=plan, pod=pod_of(pod, f"s-{pod}"), **facts), "attached")


def entry_of(*leases: Lease, failures: dict[Any, str] | None = None) -> JsonObject:
    """The one entry of the claim's status."""
    report = compose(booking_of(RED), leases, failures or {}, None, FIRST)
    (entry,) = device_statuses(report, "NetworkInterface")
    return entry


def test_ready() -> None:
    """An attached device is Ready, with the driver's data and the interface."""
    interface = Interface(name="net1", hardware_address="02:00", ips=("10.10.1.2/24",))
    assert entry_of(attached(interface=interface, data={"cniVersion": "1.0.0"})) == {
        "driver": "net.example.com",
        "pool": "node-1",
        "device": "eth1",
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "NetworkInterfaceReady",
                "message": "the device is in the pod as net1",
                "lastTransitionTime": "2030-01-01T00:00:00Z",
            }
        ],
        "data": {"cniVersion": "1.0.0"},
        "networkData": {
            "interfaceName": "net1",
            "hardwareAddress": "02:00",
            "ips": ["10.10.1.2/24"],
        },
    }


def test_not_ready() -> None:
    """A failed device says why, and has no data."""
    entry = entry_of(failures={KEY: "no addresses left"})
    (condition,) = entry["conditions"]
    assert (condition["status"], condition["reason"], condition["message"]) == (
        "False",
        "NetworkInterfaceNotReady",
        "no addresses left",
    )
    assert "data" not in entry
    assert "networkData" not in entry


def test_refused() -> None:
    """A device that failed for what its claim says has a reason of its own, until it is ready."""
    booking = booking_of(claim_of("red"))
    refused = compose(booking, [], {KEY: "no such key"}, None, FIRST, refused=True)
    (entry,) = device_statuses(refused, "NetworkInterface")
    assert entry["conditions"][0]["reason"] == "NetworkInterfaceRefused"
    again = compose(booking, [], {KEY: "no addresses left"}, refused, FIRST)
    (entry,) = device_statuses(again, "NetworkInterface")
    assert entry["conditions"][0]["reason"] == "NetworkInterfaceNotReady"


def test_share() -> None:
    """The entry of a shared device carries its share, or it would be another entry."""
    claim = claim_of("red", device_of(share_id="s1"))
    failures = {("node-1", "eth1", "s1"): "x"}
    report = compose(booking_of(claim), [], failures, None, FIRST)
    assert device_statuses(report, "NetworkInterface")[0]["shareID"] == "s1"


def test_transition_time_changes_with_the_status_only() -> None:
    """The time is kept while Ready stays what it was, and new when it changes."""
    booking = booking_of(RED)
    down = compose(booking, [], {KEY: "first"}, None, FIRST)
    still_down = compose(booking, [], {KEY: "second"}, down, LATER)
    up = compose(booking, [attached()], {}, still_down, LATER)
    times = [report.devices[0].since for report in (down, still_down, up)]
    assert times == ["2030-01-01T00:00:00Z", "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z"]
    assert still_down.devices[0].message == "second"


def test_nothing_known() -> None:
    """Of a device that is only prepared nothing is said; what was said before is kept."""
    booking = booking_of(RED)
    assert compose(booking, [], {}, None, FIRST).devices == ()
    before = compose(booking, [attached()], {}, None, FIRST)
    assert compose(booking, [], {}, before, LATER) == before
    detaching = Lease(attached().attachment, "detaching")
    assert compose(booking, [detaching], {}, None, FIRST).devices == ()


def test_device_without_a_network() -> None:
    """A device that is only handed to containers is ready once it is prepared."""
    plan = Plan(claim=RED.ref, device=RED.devices[0])
    booking = msgspec.structs.replace(booking_of(RED), prepared=Prepared(RED.ref, (plan,)))
    (entry,) = device_statuses(compose(booking, [], {}, None, FIRST), "Device")
    assert entry["conditions"][0]["reason"] == "DeviceReady"


def test_all_devices_in_one_report() -> None:
    """Every device of the claim of which something is known is in the report."""
    claim = claim_of("red", device_of("eth1"), device_of("eth2"))
    failures = {("node-1", "eth2", ""): "rolled back"}
    report = compose(booking_of(claim), [attached()], failures, None, FIRST)
    assert [(d.device.device, d.ready) for d in report.devices] == [("eth1", True), ("eth2", False)]


def test_large_data_is_left_out() -> None:
    """Data above the API's limit is replaced by a note of its size."""
    entry = entry_of(attached(data={"blob": "x" * 11_000}))
    assert "11011 bytes" in entry["data"]["omitted"]


def test_data_is_counted_as_the_server_writes_it() -> None:
    """It writes `<` as six bytes, and would refuse the status again and again."""
    entry = entry_of(attached(data={"blob": "<&\u2028" * 1_000}))
    assert "18011 bytes" in entry["data"]["omitted"]


def test_shared_claim() -> None:
    """Pods that share a claim are listed in its data; the first one's interface is shown."""
    leases = [attached(f"pod-{n}", interface=Interface(name=f"net{n}")) for n in (1, 2)]
    entry = entry_of(*leases)
    assert entry["data"] == {
        "pods": [
            {"name": "pod-1", "uid": "pod-1", "interfaceName": "net1"},
            {"name": "pod-2", "uid": "pod-2", "interfaceName": "net2"},
        ]
    }
    assert entry["networkData"] == {"interfaceName": "net1"}


def test_pods_of_a_shared_claim_are_listed_by_name() -> None:
    """In whichever order pods got the device, also after a restart, the status is the same."""
    leases = [attached(name, interface=Interface(name="net1")) for name in ("b", "a", "c")]
    assert [pod["name"] for pod in entry_of(*leases)["data"]["pods"]] == ["a", "b", "c"]
    assert entry_of(*leases) == entry_of(*reversed(leases))


def test_the_interface_shown_of_a_shared_claim_stays() -> None:
    """The pod whose interface is shown is named, and stays while it has the device."""
    b, a, c = (
        attached(name, interface=Interface(name="net1", ips=(f"10.1.0.{n}/24",)))
        for n, name in enumerate("bac")
    )
    booking = booking_of(RED)
    alone = compose(booking, [b], {}, None, FIRST)
    joined = compose(booking, [b, a, c], {}, alone, LATER)
    assert joined.devices[0].interface == b.attachment.interface
    assert joined.devices[0].since == alone.devices[0].since
    assert joined.devices[0].message == (
        "the device is in 3 pods as net1; networkData is that of pod b"
    )
    left = compose(booking, [a, c], {}, joined, LATER)
    assert left.devices[0].interface == a.attachment.interface
    last = compose(booking, [c], {}, left, LATER)
    assert last.devices[0].message == "the device is in the pod as net1"


def test_what_all_pods_of_a_claim_have_alike_is_said_once() -> None:
    """Beside the list of pods is what the driver's data say of all of them, unless it is long."""
    leases = [
        attached(name, data={"bandwidth": "100M", "ips": [name], "long": "x" * length})
        for name, length in (("a", 2), ("b", 2))
    ]
    assert entry_of(*leases)["data"].keys() == {"bandwidth", "long", "pods"}
    long = [attached(name, data={"bandwidth": "100M", "long": "x" * 2000}) for name in "ab"]
    assert entry_of(*long)["data"].keys() == {"pods"}


def test_listed_interfaces_are_read_again() -> None:
    """What is written of each pod can be read back; of a pod that is not listed, nothing."""
    interface = Interface("net1", "02:00:00:00:00:01", ("10.1.0.2/24",))
    data = entry_of(attached("a", interface=interface), attached("b"))["data"]
    reported = ReportedDevice("net.example.com", KEY, "2030-01-01T00:00:00Z", data=data)
    assert interface_in(reported, "a") == interface
    assert interface_in(reported, "c") is None
    for other in ({}, {"pods": "many"}, {"pods": [7]}, {"cniVersion": "1.0.0"}):
        assert interface_in(msgspec.structs.replace(reported, data=other), "a") is None


def test_many_pods_on_one_claim() -> None:
    """As many pods are listed as fit; the others are counted."""
    entry = entry_of(*(attached(f"pod-{n}") for n in range(256)))
    data = entry["data"]
    assert len(msgspec.json.encode(data)) <= 10 * 1024
    assert len(data["pods"]) + data["omitted"] == 256


@pytest.mark.parametrize(
    ("ips", "shown"),
    [
        (("2001:DB8:0::5/64",), ["2001:db8::5/64"]),
        (("10.0.0.1/24", "10.0.0.1/24"), ["10.0.0.1/24"]),
        (("10.0.0.1",), ["10.0.0.1/32"]),
        (tuple(f"10.0.0.{n}/24" for n in range(1, 20)), [f"10.0.0.{n}/24" for n in range(1, 17)]),
    ],
)
def test_addresses(ips: tuple[str, ...], shown: list[str]) -> None:
    """Addresses are canonical, each once, at most sixteen."""
    entry = entry_of(attached(interface=Interface(name="net1", ips=ips)))
    assert entry["networkData"]["ips"] == shown


LONG = st.text(alphabet="aé猫", max_size=400)


@given(st.text(max_size=9000), LONG, LONG)
def test_any_text_fits(message: str, name: str, mac: str) -> None:
    """Whatever a driver says, the entry keeps the API's limits."""
    interface = Interface(name=name, hardware_address=mac)
    entry = entry_of(attached(interface=interface), failures={KEY: message})
    network = entry.get("networkData", {})
    assert len(network.get("interfaceName", "").encode()) <= 256
    assert len(network.get("hardwareAddress", "").encode()) <= 128
    assert len(entry["conditions"][0]["message"]) <= 32768


def test_report_is_the_same_after_the_journal() -> None:
    """A report read back from its JSON is the one that was written."""
    report = compose(booking_of(moved(RED)), [attached()], {}, None, FIRST)
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report


def tainted(*effects: Any, key: str = "net.example.com/no-carrier") -> dict[str, tuple[Taint, ...]]:
    """The claim's device with a taint of each effect."""
    return {"eth1": tuple(Taint(key=key, effect=effect) for effect in effects)}


def healths_of(report: Report) -> list[JsonObject]:
    """The conditions beside Ready."""
    return [
        each
        for entry in device_statuses(report, "NetworkInterface")
        for each in entry["conditions"]
        if each["type"] != "Ready"
    ]


def test_a_tainted_device_is_not_healthy_but_ready() -> None:
    """The pod still has its interface; a second condition says what is wrong, and since when."""
    booking, leases = booking_of(RED), [attached()]
    lost = compose(booking, leases, {}, None, FIRST, tainted=tainted("NoSchedule"))
    assert lost.devices[0].ready
    assert healths_of(lost) == [
        {
            "type": "Healthy",
            "status": "False",
            "reason": "NoCarrier",
            "message": "the device is tainted: net.example.com/no-carrier; no other pod gets it",
            "lastTransitionTime": "2030-01-01T00:00:00Z",
        }
    ]
    both = compose(booking, leases, {}, lost, LATER, tainted=tainted("NoSchedule", "NoExecute"))
    (condition,) = healths_of(both)
    assert condition["message"].endswith("/no-carrier; pods that use it are evicted")
    assert condition["lastTransitionTime"] == "2030-01-01T00:00:00Z"


def test_a_device_without_its_taint_is_healthy_again() -> None:
    """Once; a device that never had a taint has no such condition."""
    booking, leases = booking_of(RED), [attached()]
    assert healths_of(compose(booking, leases, {}, None, FIRST, tainted={})) == []
    lost = compose(booking, leases, {}, None, FIRST, tainted=tainted("NoSchedule"))
    back = compose(booking, leases, {}, lost, LATER, tainted={})
    (condition,) = healths_of(back)
    assert (condition["status"], condition["reason"]) == ("True", "NoTaint")
    assert condition["lastTransitionTime"] == "2030-01-02T00:00:00Z"
    assert compose(booking, leases, {}, back, FIRST, tainted={}) == back


def test_health_stays_while_nothing_is_known() -> None:
    """A driver that starts again does not take a device for healthy before it has looked."""
    booking, leases = booking_of(RED), [attached()]
    lost = compose(booking, leases, {}, None, FIRST, tainted=tainted("NoSchedule"))
    assert compose(booking, leases, {}, lost, LATER, tainted=None) == lost
    assert compose(booking, [], {}, lost, LATER, tainted=None) == lost


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("a.example/no-carrier", "NoCarrier"),
        ("hot", "Hot"),
        ("a.example/ECC_errors.many", "ECCErrorsMany"),
        ("a.example/4-lanes", "Tainted"),
    ],
)
def test_a_taint_is_a_reason(key: str, reason: str) -> None:
    """The API accepts letters, digits and a few signs, and a letter first."""
    report = compose(
        booking_of(RED), [attached()], {}, None, FIRST, tainted=tainted("NoExecute", key=key)
    )
    assert healths_of(report)[0]["reason"] == reason
