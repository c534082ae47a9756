"""A device that exists can be published."""

from typing import Any

import pytest

from netclaim.model import (
    Capacity,
    CounterSet,
    CounterUse,
    Device,
    DeviceError,
    Quantity,
    RequestPolicy,
    Taint,
    ValidRange,
    Version,
)
from netclaim.model.devices.counter import counters_fault


def q(text: str) -> Quantity:
    """A quantity."""
    return Quantity.parse(text)


def test_at_the_limits() -> None:
    """A device may be as large as the API allows."""
    device = Device(
        name="a" * 63,
        attributes={f"example.com/a{n}": "é" * 32 for n in range(31)},
        capacity={"c" * 32: Capacity(q("1Gi"))},
        taints=tuple(Taint(key=f"k{n}", effect="NoSchedule") for n in range(16)),
        consumes=tuple(
            CounterUse(f"set-{n}", {f"c{m}": q("1") for m in range(32)}) for n in (0, 1)
        ),
        binding_conditions=tuple(f"example.com/ready-{n}" for n in range(4)),
        binding_failure_conditions=tuple(f"failed.{n}" for n in range(4)),
    )
    assert len(device.attributes) == 31


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"name": "Eth1"}, "DNS label"),
        ({"name": "a" * 64}, "DNS label"),
        ({"name": "eth.1"}, "DNS label"),
        ({"attributes": {f"a{n}": 1 for n in range(33)}}, "33 attributes"),
        ({"attributes": {"not-c": 1}}, "C identifier"),
        ({"attributes": {"a" * 33: 1}}, "C identifier"),
        ({"attributes": {"no_domain/a": 1}}, "domain"),
        ({"attributes": {f"{'d' * 64}/a": 1}}, "domain"),
        ({"attributes": {"a": "x" * 65}}, "longer than 64"),
        ({"attributes": {"a": 2**63}}, "64 bits"),
        ({"taints": tuple(Taint(key="k", effect="NoExecute") for _ in range(17))}, "17 taints"),
        ({"taints": (Taint(key="a/b/c", effect="NoExecute"),)}, "named as a label"),
        ({"taints": (Taint(key="k", effect="NoExecute", value="a b"),)}, "value of a label"),
        ({"consumes": tuple(CounterUse(f"s{n}", {"c": q("1")}) for n in range(3))}, "3 counter"),
        ({"consumes": (CounterUse("s", {"c": q("1")}),) * 2}, "twice"),
        ({"binding_conditions": ("Ready",)}, "need each other"),
        ({"binding_failure_conditions": ("Failed",)}, "need each other"),
        ({"binding_conditions": ("A",), "binding_failure_conditions": ("A",)}, "named twice"),
        ({"binding_conditions": ("A b",), "binding_failure_conditions": ("B",)}, "as a label"),
        (
            {"binding_conditions": tuple("ABCDE"), "binding_failure_conditions": ("F",)},
            "more than 4",
        ),
    ],
)
def test_refused(facts: dict[str, Any], message: str) -> None:
    """What the API server would refuse is refused when the device is made."""
    with pytest.raises(DeviceError, match=message):
        Device(**({"name": "eth1"} | facts))


@pytest.mark.parametrize(
    ("name", "counters", "message"),
    [
        ("Set", {"a": "1"}, "DNS label"),
        ("set", {}, "0 counters"),
        ("set", {f"a{n}": "1" for n in range(33)}, "33 counters"),
        ("set", {"A": "1"}, "counter 'A' is not a DNS label"),
    ],
)
def test_counters_refused(name: str, counters: dict[str, str], message: str) -> None:
    """A set of counters, and the use of one, are refused as the API server would."""
    amounts = {counter: q(amount) for counter, amount in counters.items()}
    for kind in (CounterSet, CounterUse):
        with pytest.raises(DeviceError, match=message):
            kind(name, amounts)


def test_counters_that_nobody_offers() -> None:
    """An offer in which a device uses counters that are not offered says which."""
    sets = [CounterSet("set", {"a": q("1")})]
    uses = [("gpu", [CounterUse("set", {"a": q("1")})])]
    assert counters_fault(sets, uses) == ""
    assert "several counter sets are called set" in counters_fault(sets * 2, uses)
    assert "device gpu uses counter set set, which" in counters_fault([], uses)
    assert "uses b of counter set set" in counters_fault(
        sets, [("gpu", [CounterUse("set", {"b": q("1")})])]
    )


@pytest.mark.parametrize("text", ["1.2", "v1.2.3", "1.2.3 ", "01.2.3", "1.2.3-" + "x" * 64])
def test_version_refused(text: str) -> None:
    """A version attribute is a semantic version of at most 64 bytes."""
    with pytest.raises(DeviceError):
        Version(text)


def shared(policy: RequestPolicy, *, allow: bool = True) -> Device:
    """A device whose bandwidth of 10G is shared out by a policy."""
    capacity = {"bandwidth": Capacity(q("10G"), policy)}
    return Device(name="eth1", capacity=capacity, allow_multiple_allocations=allow)


@pytest.mark.parametrize(
    "policy",
    [
        RequestPolicy(default=q("1G")),
        RequestPolicy(default=q("1G"), valid_values=(q("1G"), q("10G"))),
        RequestPolicy(default=q("1G"), valid_range=ValidRange(q("1G"))),
        RequestPolicy(
            default=q("1G"), valid_range=ValidRange(q("100M"), maximum=q("10G"), step=q("100M"))
        ),
    ],
)
def test_policies(policy: RequestPolicy) -> None:
    """A capacity may be shared by default, by listed values, or by a range with steps."""
    assert shared(policy).capacity["bandwidth"].policy == policy


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (RequestPolicy(default=q("1G"), valid_values=(q("2G"),)), "default is not one"),
        (RequestPolicy(default=q("1G"), valid_values=(q("2G"), q("1G"))), "ascending"),
        (
            RequestPolicy(default=q("1"), valid_values=tuple(q(str(n)) for n in range(1, 12))),
            "11 valid values",
        ),
        (RequestPolicy(default=q("1G"), valid_range=ValidRange(q("2G"))), "minimum <= default"),
        (
            RequestPolicy(default=q("1G"), valid_range=ValidRange(q("1G"), maximum=q("20G"))),
            "maximum <= capacity",
        ),
        (
            RequestPolicy(default=q("1G"), valid_range=ValidRange(q("1G"), step=q("10G"))),
            "exceeds the capacity",
        ),
        (
            RequestPolicy(default=q("3G"), valid_range=ValidRange(q("1G"), step=q("4G"))),
            "whole steps",
        ),
        (
            RequestPolicy(
                default=q("1G"), valid_values=(q("1G"),), valid_range=ValidRange(q("1G"))
            ),
            "both",
        ),
    ],
)
def test_policies_refused(policy: RequestPolicy, message: str) -> None:
    """A policy that the API server would refuse is refused."""
    with pytest.raises(DeviceError, match=message):
        shared(policy)


def test_policy_needs_a_shareable_device() -> None:
    """A policy on a device that only one claim can have is refused."""
    with pytest.raises(DeviceError, match="cannot be shared"):
        shared(RequestPolicy(default=q("1G")), allow=False)
