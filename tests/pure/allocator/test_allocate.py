"""Claims get the devices that kube-scheduler would give them, or none.

Answers come from the kept table, which the lab's scheduler is held to as well, and from cases made
by chance, which the scheduler's own allocator answered once.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given as hypothesis_given

from netclaim.allocator import (
    AllocationError,
    Claim,
    Device,
    Holders,
    Request,
    Slice,
)
from netclaim.model.api.dra.claim import AllocationResult
from netclaim.model.api.dra.ids import DeviceId
from tests.support.allocator.cases import RANDOMS, random_case
from tests.support.allocator.counted import counted_case
from tests.support.allocator.objects import Case, Names, device, exact, in_zone, results
from tests.support.allocator.table import TABLE, Entry, case, first, local, one, wide
from tests.support.allocator.table_counted import COUNTED

GOLDEN = Path(__file__).with_name("allocator_golden.jsonl").read_text().splitlines()
NAMES = Names()


def made_up(test: Any) -> Any:
    """Give a test cases made up by chance, without and with things that are counted."""
    by_chance = hypothesis_given(random=RANDOMS)(test)
    return pytest.mark.parametrize("make", [random_case, counted_case])(by_chance)


@pytest.mark.parametrize("rule", [*TABLE, *COUNTED], ids=lambda rule: rule.rule.replace(" ", "-"))
def test_table(rule: Entry) -> None:
    """Every rule of the table holds on the node that can and on the one that cannot."""
    answers = rule.build(NAMES).answers()
    assert {"a": answers["node-a"], "c": answers["node-c"]} == {"a": rule.a, "c": rule.c}


def test_answers_of_the_schedulers_allocator() -> None:
    """Results, configuration and node selectors are those of the scheduler, field by field."""
    for line in GOLDEN:
        kept = json.loads(line)
        expected = kept.pop("answers")
        assert full_answers(Case(**kept)) == expected


def full_answers(given: Case) -> dict[str, Any]:
    """Our answers with whole allocation objects; ids of shares are by chance and made one."""
    decision = given.allocator().decide(given.read_claims(), given.read_nodes())
    said: dict[str, Any] = {one["metadata"]["name"]: None for one in given.nodes}
    said |= dict.fromkeys(decision.failures, "error")
    for node, placement in decision.placements.items():
        said[node] = [allocation.object for allocation in placement.allocations()]
        for result in (r for got in said[node] for r in got["devices"]["results"]):
            result.update({"shareID": "share"} if "shareID" in result else {})
    return said


@made_up
def test_what_is_given_can_be_had(make: Callable[[Random], Case], random: Random) -> None:
    """No device is given twice or against a taint; every request gets its number, in one way."""
    given = make(random)
    allocator = given.allocator()
    slices = [Slice.read(one) for one in given.slices]
    offered = {device.id: device for one in slices for device in one.devices}
    decision = allocator.decide(given.read_claims(), given.read_nodes())
    for placement in decision.placements.values():
        seen: list[Device] = []
        for claim, found in zip(placement.claims, placement.found, strict=True):
            for pick in found.picks:
                request = claim.requests[pick.group][pick.alternative]
                assert pick.device.id in offered
                assert all(request.tolerates(taint) for taint in pick.device.taints)
                if not pick.device.shareable and not request.admin_access:
                    assert pick.device not in seen
                    assert allocator.holders.holder(pick.device.id) is None
                seen.append(pick.device)
            for group, alternative in enumerate(found.chosen):
                check_number(claim.requests[group][alternative], group, found.picks)


def check_number(request: Request, group: int, picks: Any) -> None:
    """A request has got as many devices as it asks for."""
    got = [pick for pick in picks if pick.group == group]
    assert len(got) == request.count if request.mode == "ExactCount" else got


@made_up
def test_asking_changes_nothing(make: Callable[[Random], Case], random: Random) -> None:
    """Asking again has the same answer."""
    given = make(random)
    allocator = given.allocator()
    claims, nodes = given.read_claims(), given.read_nodes()
    before = allocator.decide(claims, nodes).placements
    assert allocator.decide(claims, nodes).placements == before


@hypothesis_given(random=RANDOMS)
def test_no_more_is_given_than_there_is(random: Random) -> None:
    """Shares never consume more than a capacity, nor devices more than a counter of their pool.

    Claims that are made up may hold too much of a counter; nothing more is given of it then.
    """
    given = counted_case(random)
    slices = [Slice.read(obj) for obj in given.slices]
    decision = given.allocator().decide(given.read_claims(), given.read_nodes())
    before = Holders(Claim.read(obj) for obj in given.held)
    for placement in decision.placements.values():
        holders = Holders(Claim.read(obj) for obj in given.held)
        for allocation in placement.allocations():
            holders.hold(allocation.claim, allocation.result)
        for got in {pick.device for found in placement.found for pick in found.picks}:
            for name, nanos in holders.consumed(got.id).items():
                assert nanos <= got.capacities[name].value.nanos
            if got.consumes:
                pool = [part for part in slices if part.pool == got.id.in_pool]
                check_counters(pool, before, holders)


def check_counters(slices: list[Slice], before: Holders, holders: Holders) -> None:
    """Devices in use take no more than the counters of their pool, or no more than before."""
    newest = max(part.generation for part in slices)
    parts = [part for part in slices if part.generation == newest]
    devices = [device for part in parts for device in part.devices]
    for counter, amount in ((k, v) for part in parts for k, v in part.counters.items()):
        taking = [device for device in devices if counter in device.consumes]
        had, used = (
            sum(device.consumes[counter].nanos for device in taking if each.in_use(device.id))
            for each in (before, holders)
        )
        assert used <= max(amount.nanos, had)


def test_answers_follow_the_holders() -> None:
    """A remembered answer is forgotten once a device of the node's pools is taken."""
    given = case(NAMES, [local(NAMES, device("d0"), device("d1"))], [one(NAMES)])
    allocator, (claim,), (node, *_) = given.allocator(), given.read_claims(), given.read_nodes()
    got = []
    while (allocations := allocator.allocate([claim], node)) is not None:
        allocator.holders.hold(claim, allocations[0].result)
        got += results(allocations[0].object)
    assert got == ["r0=pool/d0", "r0=pool/d1"]


def opaque(who: str) -> dict[str, Any]:
    """Parameters that say whose they are."""
    return {"opaque": {"driver": NAMES.driver, "parameters": {"by": who}}}


def configuration(config: list[dict[str, Any]]) -> Any:
    """What an allocation says of a claim's configuration: r0/s1 and r1 of a class, r2 of none."""
    alternatives = first("r0", exact(NAMES, of="fast"), exact(NAMES))
    requests = [alternatives, one(NAMES, name="r1"), one(NAMES, name="r2", of="fast")]
    kinds = {"d0": "slow", "d1": "slow", "d2": "fast"}
    devices = [device(name, {"kind": kind}) for name, kind in kinds.items()]
    requests[0]["firstAvailable"][0]["count"] = 2  # there is one fast device
    given = case(NAMES, [local(NAMES, *devices)], requests, config=config)
    allocations = given.allocator().allocate(given.read_claims(), given.read_nodes()[0])
    assert allocations is not None
    return allocations[0].object["devices"]["config"]


def test_configuration_is_for_the_chosen_alternative() -> None:
    """Configuration for an alternative that was not chosen is left out; the class's comes first."""
    config = [
        {"requests": ["r0/s0"], **opaque("the other")},
        {"requests": ["r0/s1"], **opaque("the chosen")},
        opaque("everyone"),
    ]
    assert configuration(config) == [
        {"source": "FromClass", "requests": ["r0/s1", "r1"], **opaque("class")},
        {"source": "FromClaim", "requests": ["r0/s1"], **opaque("the chosen")},
        {"source": "FromClaim", **opaque("everyone")},
    ]


def test_configuration_of_several_requests_comes_once() -> None:
    """An entry that names several requests comes once, and without `requests` if it names all."""
    config = [
        {"requests": ["r0", "r1"], **opaque("two")},
        {"requests": ["r2", "r1", "r0/s1"], **opaque("all")},
        {"requests": ["r2", "r1", "r0/s0"], **opaque("not the chosen one")},
    ]
    assert configuration(config)[1:] == [
        {"source": "FromClaim", "requests": ["r0", "r1"], **opaque("two")},
        {"source": "FromClaim", **opaque("all")},
        {"source": "FromClaim", "requests": ["r2", "r1", "r0/s0"], **opaque("not the chosen one")},
    ]


def node_selector(given: Case) -> Any:
    """The node selector of the first claim's allocation on node a."""
    allocations = given.allocator().allocate(given.read_claims(), given.read_nodes()[0])
    assert allocations is not None
    return allocations[0].object.get("nodeSelector")


def test_node_selector_keeps_the_pod_where_its_devices_are() -> None:
    """A local device binds to its node, others to their nodes, one for all to none."""
    everywhere = case(NAMES, [wide(NAMES, {"allNodes": True}, device("d0"))], [one(NAMES)])
    assert node_selector(everywhere) is None
    zone = in_zone("one")
    requests = [one(NAMES), one(NAMES, name="r1")]
    zonal = case(NAMES, [wide(NAMES, zone, device("d0"), device("d1"))], requests)
    assert node_selector(zonal) == zone["nodeSelector"]
    slices = [local(NAMES, device("d9")), wide(NAMES, zone, device("d0"))]
    here = {"key": "metadata.name", "operator": "In", "values": ["node-a"]}
    assert node_selector(case(NAMES, slices, requests)) == {
        "nodeSelectorTerms": [{"matchFields": [here]}]
    }


def test_devices_that_wait_for_binding_come_last() -> None:
    """Pools with binding conditions are tried after all others; the result carries them."""
    conditions: dict[str, Any] = {
        "bindingConditions": ["ready"],
        "bindingFailureConditions": ["broken"],
    }
    waiting = wide(NAMES, {"allNodes": True}, device("d0", **conditions, bindsToNode=True))
    waiting["spec"]["pool"]["name"] = "aaa"
    given = case(NAMES, [waiting, local(NAMES, device("d1"))], [one(NAMES, count=2)])
    allocations = given.allocator().allocate(given.read_claims(), given.read_nodes()[0])
    assert allocations is not None
    assert results(allocations[0].object) == ["r0=pool/d1", "r0=aaa/d0"]
    assert conditions.items() <= allocations[0].object["devices"]["results"][1].items()


def test_allocated_claim_binds_the_pod_to_its_nodes() -> None:
    """A claim that has its devices already needs none, but can rule out nodes."""
    given = case(NAMES, [wide(NAMES, {"allNodes": True}, device("d0"))], [one(NAMES)])
    nodes = given.read_nodes()
    (claim,) = given.read_claims()
    allocation = AllocationResult.read({"devices": {"results": []}, **in_zone("two")})
    allocated = replace(claim, name="other", allocation=allocation)
    decision = given.allocator().decide([allocated, claim], nodes)
    assert list(decision.placements) == ["node-c"]
    assert [found.claim for found in decision.placements["node-c"].allocations()] == [claim]


def test_enough_nodes_end_the_search() -> None:
    """Nodes are tried in order, and no longer than asked for."""
    given = case(NAMES, [wide(NAMES, {"allNodes": True}, device("d0"))], [one(NAMES)])
    decision = given.allocator().decide(given.read_claims(), given.read_nodes(), enough=2)
    assert list(decision.placements) == ["node-a", "node-b"]
    assert decision.schedulable


def test_failure_on_one_node_fails_the_pod() -> None:
    """A pod is not schedulable when a node failed, though another could serve it."""
    slices = [
        local(NAMES, device("d0", {"kind": "fast"})),
        wide(NAMES, in_zone("two"), device("d1", {"speed": 25})),
    ]
    given = case(NAMES, slices, [one(NAMES, "MINE.speed > 10")])
    decision = given.allocator().decide(given.read_claims(), given.read_nodes())
    assert list(decision.placements) == ["node-c"]
    assert list(decision.failures) == ["node-a"]
    assert not decision.schedulable
    with pytest.raises(AllocationError, match=r"selector #0 of request r0, on device .*/pool/d0"):
        given.allocator().allocate(given.read_claims(), given.read_nodes()[0])


def test_missing_class_fails_the_pod_everywhere() -> None:
    """A missing class is an error whatever the nodes."""
    given = case(NAMES, [local(NAMES, device("d0"))], [one(NAMES, of="no")])
    with pytest.raises(AllocationError, match=r"device class no\.dra\.example\.com does not exist"):
        given.allocator().decide(given.read_claims(), [])


def test_what_holds_a_device() -> None:
    """A device is held alone or as a share; admin access holds nothing."""
    base = {"request": "r", "driver": "d", "pool": "p"}
    given: list[dict[str, Any]] = [
        {**base, "device": "own"},
        {**base, "device": "share", "shareID": "1", "consumedCapacity": {"bandwidth": "1500m"}},
        {**base, "device": "share", "shareID": "2", "consumedCapacity": {"bandwidth": "1"}},
        {**base, "device": "admin", "adminAccess": True},
    ]
    allocation = AllocationResult.read({"devices": {"results": given}})
    claim = Claim("default", "c", allocation=allocation)
    holders = Holders([claim])
    ids = {got["device"]: DeviceId("d", "p", got["device"]) for got in given}
    assert [name for name, one in ids.items() if one in holders] == ["own"]
    assert [name for name, one in ids.items() if holders.in_use(one)] == ["own", "share"]
    assert holders.consumed(ids["share"]) == {"bandwidth": 2_500_000_000}
    holders.hold(claim, allocation)
    assert holders.consumed(ids["share"]) == {"bandwidth": 2_500_000_000}
