"""The explanation agrees with the allocation, and names what is in the way."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given

from netclaim.allocator import NodeReport, RequestReport, explain
from netclaim.model.api.dra.claim import AllocationResult
from tests.support.allocator.cases import RANDOMS, random_case
from tests.support.allocator.counted import counted_case
from tests.support.allocator.objects import Case, Names, device, exact, in_zone
from tests.support.allocator.table import case, first, local, one, wide

NAMES = Names()
MINE = 'device.attributes["dra.example.com"]'


def report(given: Case) -> NodeReport:
    """What node a can do."""
    return explain(given.allocator(), given.read_claims(), given.read_nodes()[0])


def device_reasons(found: RequestReport) -> dict[str, list[str]]:
    """What is against each device of a request."""
    return {one.device.device: [str(why) for why in one.reasons] for one in found.devices}


@pytest.mark.parametrize("make", [random_case, counted_case])
@given(random=RANDOMS)
def test_report_agrees_with_the_allocator(make: Callable[[Random], Case], random: Random) -> None:
    """A node fits or fails as the allocator says, and one that does neither has a reason."""
    given = make(random)
    allocator, claims = given.allocator(), given.read_claims()
    nodes = given.read_nodes()
    decision = allocator.decide(claims, nodes)
    for node in nodes:
        found = explain(allocator, claims, node)
        assert found.fits == (node.name in decision.placements)
        assert found.error == str(decision.failures.get(node.name, ""))
        if not found.fits and not found.error:
            assert found.conflicts or not all(one.enough for one in found.requests)


def test_every_reason_against_a_device() -> None:
    """A device is reported with everything that is against it, not only the first thing."""
    taint = {"key": "example.org/bad", "value": "very", "effect": "NoSchedule"}
    devices = (
        device("d0", {"kind": "slow", "mtu": 1500}, taints=[taint]),
        device("d1", {"kind": "fast"}),
        device("d2", {"kind": "fast", "mtu": 9000}),
        device("d3", {"kind": "fast", "mtu": 9000}, capacity={"rings": {"value": "4"}}),
    )
    asked = {"requests": {"rings": "8"}}
    requests = [one(NAMES, "MINE.mtu >= 9000", of="fast", capacity=asked)]
    given = case(NAMES, [local(NAMES, *devices)], requests, held=[("pool", "d0"), ("pool", "d2")])
    found = report(given)
    assert device_reasons(found.requests[0]) == {
        "d0": [
            (
                f'selector #1 of class fast.dra.example.com: `{MINE}.kind == "fast"` is false'
                f' ({MINE}.kind is "slow")'
            ),
            f"selector #0 of request r0: `{MINE}.mtu >= 9000` is false ({MINE}.mtu is 1500)",
            "taken by claim default/held",
            "taint example.org/bad=very:NoSchedule is not tolerated",
            "capacity rings: the device has none",
        ],
        "d1": [
            (
                f"selector #0 of request r0 fails the pod: `{MINE}.mtu >= 9000` has no value:"
                " no such key: mtu"
                " (the device has no attribute 'mtu' in 'dra.example.com', only kind)"
            ),
            "capacity rings: the device has none",
        ],
        "d2": ["taken by claim default/held", "capacity rings: the device has none"],
        "d3": ["capacity rings: 8 is more than all, 4"],
    }
    assert str(found.requests[0]) == (
        "claim default/claim-0, request r0 needs 1: 0 of 4 devices usable"
    )
    assert "no such key: mtu" in found.error


def test_clause_without_a_value_is_not_blamed_beside_a_false_one() -> None:
    """Where one clause is false, another that has no value is not the reason."""
    slices = [local(NAMES, device("d0", {"kind": "slow"}))]
    given = case(NAMES, slices, [one(NAMES, 'MINE.kind == "fast" && MINE.mtu > 1')])
    (reasons,) = device_reasons(report(given).requests[0]).values()
    assert reasons == [
        f'selector #0 of request r0: `{MINE}.kind == "fast"` is false ({MINE}.kind is "slow")'
    ]


def test_pools_that_lend_nothing() -> None:
    """An incomplete or invalid pool is reported with what is wrong with it."""
    slices = [local(NAMES, device("d0"), generation=3, count=2)]
    twice = wide(NAMES, {"allNodes": True}, device("d0"), device("d0"))
    found = report(case(NAMES, [*slices, twice], [one(NAMES)]))
    assert [str(pool) for pool in found.pools] == [
        "pool dra.example.com/pool: 1 of 2 slices of generation 3",
        "pool dra.example.com/wide: duplicate device name d0",
    ]


def test_devices_of_other_nodes() -> None:
    """A device that chose other nodes says so."""
    devices = (device("d0", **in_zone("two")), device("d1", nodeName=NAMES.node("a")))
    slices = [wide(NAMES, {"perDeviceNodeSelection": True}, *devices)]
    found = report(case(NAMES, slices, [one(NAMES, count=2)]))
    assert device_reasons(found.requests[0]) == {"d0": ["not usable from this node"], "d1": []}


def test_constraint_in_the_way() -> None:
    """A constraint without which it would fit is named, with the values it found."""
    slices = [local(NAMES, device("d0", {"numa": 0}), device("d1", {"numa": 1}), device("d2"))]
    constraints = [{"matchAttribute": "dra.example.com/numa"}]
    found = report(case(NAMES, slices, [one(NAMES, count=2)], constraints=constraints))
    assert [str(conflict) for conflict in found.conflicts] == [
        (
            "matchAttribute dra.example.com/numa cannot be satisfied: "
            "dra.example.com/pool/d0 has 0,"
            " dra.example.com/pool/d1 has 1, dra.example.com/pool/d2 has none"
        )
    ]


def test_requests_in_each_others_way() -> None:
    """Requests that could each be satisfied, but need the same device, are told so."""
    slices = [local(NAMES, device("d0"))]
    found = report(case(NAMES, slices, [one(NAMES)], [one(NAMES)]))
    assert [one.enough for one in found.requests] == [True, True]
    assert [str(conflict) for conflict in found.conflicts] == [
        "each request can be satisfied alone, but they need the same devices"
    ]


def test_every_alternative_is_reported() -> None:
    """Alternatives are reported one by one; the request is served by any of them."""
    slices = [local(NAMES, device("d0", {"kind": "slow"}))]
    requests = [first("r0", exact(NAMES, of="fast"), exact(NAMES, everything=True))]
    found = report(case(NAMES, slices, requests))
    assert found.fits
    assert [str(request) for request in found.requests] == [
        "claim default/claim-0, request r0/s0 needs 1: 0 of 1 devices usable",
        "claim default/claim-0, request r0/s1 needs all that match: 1 of 1 devices usable",
    ]


def test_claim_that_is_allocated_elsewhere() -> None:
    """A claim that has devices on other nodes is what rules a node out."""
    given = case(NAMES, [local(NAMES, device("d0"))], [one(NAMES)])
    (claim,) = given.read_claims()
    allocation = AllocationResult.read({"devices": {}, **in_zone("two")})
    elsewhere = replace(claim, allocation=allocation)
    found = explain(given.allocator(), [elsewhere], given.read_nodes()[0])
    assert (found.fits, found.elsewhere, found.requests) == (False, (elsewhere,), ())


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"of": "none"}, "request r0: device class none.dra.example.com does not exist"),
        ({"count": 33}, "claim default/claim-0: number of requested devices 33 exceeds"),
    ],
)
def test_errors_are_the_allocators(fields: dict[str, Any], error: str) -> None:
    """What would fail the pod is reported in the allocator's words."""
    found = report(case(NAMES, [local(NAMES, device("d0"))], [one(NAMES, **fields)]))
    assert found.error.startswith(error)


def test_selector_that_does_not_compile() -> None:
    """A selector that does not compile is reported with the place of the mistake."""
    given = case(NAMES, [local(NAMES, device("d0"))], [one(NAMES, "device.drivr == 'x'")])
    found = report(given)
    assert found.error.endswith("1:7: undefined field 'drivr'")
    assert device_reasons(found.requests[0]) == {
        "d0": ["selector #0 of request r0 fails the pod: 1:7: undefined field 'drivr'"]
    }
