"""The kept table: one case for each rule of allocation, with the answer for each node.

Our allocator is held to it here, the real kube-scheduler on the lab; see docs/allocator.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.allocator.objects import (
    Answer,
    Case,
    Names,
    Object,
    claim_object,
    classes,
    device,
    exact,
    held_claim,
    in_zone,
    slice_object,
)


@dataclass(frozen=True)
class Entry:
    """A rule, a case that shows it, and the answers for nodes a and c."""

    rule: str
    build: Callable[[Names], Case]
    a: Answer
    c: Answer


def entry(rule: str, *, a: Answer, c: Answer = None) -> Callable[[Callable[[Names], Case]], Entry]:
    """Make a case an entry of the table."""
    return lambda build: Entry(rule, build, a, c)


def case(
    names: Names,
    slices: Sequence[Object],
    *claims: Sequence[Object],
    held: Sequence[tuple[str, str]] = (),
    **devices: Any,
) -> Case:
    """Return a case of one claim for each list of requests; `devices` go into the first one."""
    made = [
        claim_object(names, requests, index, **(devices if index == 0 else {}))
        for index, requests in enumerate(claims)
    ]
    taken = [held_claim(names, held)] if held else []
    return Case(slices, classes(names), made, taken, names.nodes())


def local(names: Names, *devices: Object, **fields: Any) -> Object:
    """Return a slice of node a."""
    return slice_object(names, "pool", {"nodeName": names.node("a")}, devices, **fields)


def wide(names: Names, where: Object, *devices: Object) -> Object:
    """Return a slice for several nodes."""
    return slice_object(names, "wide", where, devices)


def one(names: Names, *expressions: str, name: str = "r0", **fields: Any) -> Object:
    """Return a request that has no alternatives."""
    return {"name": name, "exactly": exact(names, *expressions, **fields)}


def first(name: str, *alternatives: Object) -> Object:
    """Return a request with alternatives s0, s1, ..."""
    named = [{"name": f"s{index}", **body} for index, body in enumerate(alternatives)]
    return {"name": name, "firstAvailable": named}


@entry("the first device that matches is taken", a=[["r0=pool/d1"]])
def _first_match(names: Names) -> Case:
    devices = (
        device("d0", {"speed": 10}),
        device("d1", {"speed": 25}),
        device("d2", {"speed": 25}),
    )
    return case(names, [local(names, *devices)], [one(names, "MINE.speed >= 25")])


@entry("slices are tried by name, devices as published", a=[["r0=pool/z"]])
def _slice_order(names: Names) -> Case:
    slices = [local(names, device("a"), order=2, count=2)]
    slices += [local(names, device("z"), device("b"), order=1, count=2)]
    return case(names, slices, [one(names)])


@entry("pools are tried by name", a=[["r0=aaa/d1"]], c=[["r0=aaa/d1"]])
def _pool_order(names: Names) -> Case:
    everywhere = {"allNodes": True}
    slices = [local(names, device("d0")), slice_object(names, "aaa", everywhere, [device("d1")])]
    return case(names, slices, [one(names)])


@entry("a device that another claim has is passed over", a=[["r0=pool/d1"]])
def _held(names: Names) -> Case:
    slices = [local(names, device("d0"), device("d1"))]
    return case(names, slices, [one(names)], held=[("pool", "d0")])


@entry("admin access takes what another claim has", a=[["r0=pool/d0"]])
def _admin(names: Names) -> Case:
    slices = [local(names, device("d0"))]
    return case(names, slices, [one(names, adminAccess=True)], held=[("pool", "d0")])


@entry("admin access does not take a device twice for one claim", a=None)
def _admin_twice(names: Names) -> Case:
    requests = [one(names, adminAccess=True), one(names, name="r1", adminAccess=True)]
    return case(names, [local(names, device("d0"))], requests)


@entry("two claims can have one device with admin access", a=[["r0=pool/d0"], ["r0=pool/d0"]])
def _admin_claims(names: Names) -> Case:
    requests = [one(names, adminAccess=True)]
    return case(names, [local(names, device("d0"))], requests, requests)


@entry("a count takes so many different devices", a=[["r0=pool/d0", "r0=pool/d1"]])
def _count(names: Names) -> Case:
    slices = [local(names, device("d0"), device("d1"), device("d2"))]
    return case(names, slices, [one(names, count=2)])


@entry("too few devices are none", a=None)
def _too_few(names: Names) -> Case:
    return case(names, [local(names, device("d0"))], [one(names, count=2)])


@entry("a choice is taken back when it leads nowhere", a=[["r0=pool/d1", "r1=pool/d0"]])
def _backtracking(names: Names) -> Case:
    devices = (device("d0", {"kind": "fast"}), device("d1", {"kind": "slow"}))
    requests = [one(names), one(names, name="r1", of="fast")]
    return case(names, [local(names, *devices)], requests)


@entry("claims of a pod share what there is", a=[["r0=pool/d1"], ["r0=pool/d0"]])
def _claims(names: Names) -> Case:
    devices = (device("d0", {"kind": "fast"}), device("d1", {"kind": "slow"}))
    return case(names, [local(names, *devices)], [one(names)], [one(names, of="fast")])


@entry("all devices that match are taken", a=[["r0=pool/d0", "r0=pool/d2"]])
def _all(names: Names) -> Case:
    devices = [device(f"d{n}", {"numa": n % 2}) for n in range(3)]
    return case(names, [local(names, *devices)], [one(names, "MINE.numa == 0", everything=True)])


@entry("all devices cannot be had when one of them is taken", a=None)
def _all_held(names: Names) -> Case:
    slices = [local(names, device("d0"), device("d1"))]
    return case(names, slices, [one(names, everything=True)], held=[("pool", "d1")])


@entry("all of no device is none", a=None)
def _all_of_none(names: Names) -> Case:
    slices = [local(names, device("d0", {"numa": 0}))]
    return case(names, slices, [one(names, "MINE.numa == 1", everything=True)])


@entry("all devices of a pool that lacks slices fail the pod", a="error")
def _all_incomplete(names: Names) -> Case:
    return case(names, [local(names, device("d0"), count=2)], [one(names, everything=True)])


@entry("a pool that lacks slices lends nothing", a=[["r0=wide/d1"]], c=[["r0=wide/d1"]])
def _incomplete(names: Names) -> Case:
    slices = [local(names, device("d0"), count=2), wide(names, {"allNodes": True}, device("d1"))]
    return case(names, slices, [one(names)])


@entry("a slice for another node completes a pool", a=[["r0=pool/d0"]], c=[["r0=pool/d1"]])
def _completed_elsewhere(names: Names) -> Case:
    here, there = ({"nodeName": names.node(letter)} for letter in "ac")
    slices = [
        slice_object(names, "pool", here, [device("d0")], order=0, count=2),
        slice_object(names, "pool", there, [device("d1")], order=1, count=2),
    ]
    return case(names, slices, [one(names)])


@entry("only the highest generation counts", a=[["r0=pool/new"]])
def _generation(names: Names) -> Case:
    old = local(names, device("old"), order=0, generation=1)
    new = local(names, device("new"), order=1, generation=2)
    return case(names, [old, new], [one(names)])


@entry("two devices of one name spoil a pool", a=None)
def _duplicate(names: Names) -> Case:
    slices = [local(names, device("d0"), order=n, count=2) for n in range(2)]
    return case(names, slices, [one(names)])


@entry("a missing attribute fails the pod when the search gets there", a="error")
def _missing_attribute(names: Names) -> Case:
    slices = [local(names, device("d0", {"kind": "fast"}), device("d1", {"speed": 25}))]
    return case(names, slices, [one(names, "MINE.speed >= 25")])


@entry("a missing attribute behind the first match is never met", a=[["r0=pool/d0"]])
def _missing_later(names: Names) -> Case:
    slices = [local(names, device("d0", {"speed": 25}), device("d1", {"kind": "fast"}))]
    return case(names, slices, [one(names, "MINE.speed >= 25")])


@entry("a taken device is not asked for its attributes", a=[["r0=pool/d1"]])
def _missing_held(names: Names) -> Case:
    slices = [local(names, device("d0", {"kind": "fast"}), device("d1", {"speed": 25}))]
    return case(names, slices, [one(names, "MINE.speed >= 25")], held=[("pool", "d0")])


@entry("the first alternative that can be had is chosen", a=[["r0/s1=pool/d0"]])
def _alternatives(names: Names) -> Case:
    slices = [local(names, device("d0", {"kind": "slow"}))]
    return case(names, slices, [first("r0", exact(names, of="fast"), exact(names))])


@entry("a later request may force another alternative", a=[["r0/s1=pool/d1", "r1=pool/d0"]])
def _alternatives_back(names: Names) -> Case:
    slices = [local(names, device("d0", {"kind": "fast"}), device("d1", {"kind": "slow"}))]
    requests = [
        first("r0", exact(names, of="fast"), exact(names)),
        one(names, name="r1", of="fast"),
    ]
    return case(names, slices, requests)


@entry("matching attributes choose the pair", a=[["r0=pool/d1", "r1=pool/d2"]])
def _match(names: Names) -> Case:
    numas = {"d0": 0, "d1": 1, "d2": 1}
    devices = [device(name, {"numa": numa, "name": name}) for name, numa in numas.items()]
    requests = [one(names), one(names, 'MINE.name == "d2"', name="r1")]
    constraints = [{"matchAttribute": f"{names.driver}/numa"}]
    return case(names, [local(names, *devices)], requests, constraints=constraints)


@entry("a constraint refuses devices without the attribute", a=None)
def _match_missing(names: Names) -> Case:
    constraints = [{"matchAttribute": "example.org/root"}]
    return case(names, [local(names, device("d0"))], [one(names)], constraints=constraints)


@entry("a constraint binds only the requests it names", a=[["r0=pool/d0", "r1=pool/d1"]])
def _match_named(names: Names) -> Case:
    slices = [local(names, device("d0", {"numa": 0}), device("d1", {"numa": 1}))]
    constraints = [{"requests": ["r0"], "matchAttribute": f"{names.driver}/numa"}]
    requests = [one(names), one(names, name="r1")]
    return case(names, slices, requests, constraints=constraints)


@entry("all devices against a constraint fail the pod", a="error")
def _match_all(names: Names) -> Case:
    slices = [local(names, device("d0", {"numa": 0}), device("d1", {"numa": 1}))]
    constraints = [{"matchAttribute": f"{names.driver}/numa"}]
    return case(names, slices, [one(names, everything=True)], constraints=constraints)


@entry("distinct attributes keep requests apart", a=[["r0=pool/d0", "r1=pool/d2"]])
def _distinct(names: Names) -> Case:
    numas = {"d0": 0, "d1": 0, "d2": 1}
    devices = [device(name, {"numa": numa}) for name, numa in numas.items()]
    requests = [one(names), one(names, name="r1")]
    constraints = [{"distinctAttribute": f"{names.driver}/numa"}]
    return case(names, [local(names, *devices)], requests, constraints=constraints)


@entry("distinct attributes keep one request's devices apart", a=[["r0=pool/d0", "r0=pool/d3"]])
def _distinct_within(names: Names) -> Case:
    devices = [device(f"d{n}", {"numa": n // 3}) for n in range(4)]
    constraints = [{"distinctAttribute": f"{names.driver}/numa"}]
    return case(names, [local(names, *devices)], [one(names, count=2)], constraints=constraints)


@entry("more devices than there are distinct values cannot be had", a=None)
def _distinct_exhausted(names: Names) -> Case:
    devices = [device(f"d{n}", {"numa": n % 2}) for n in range(3)]
    constraints = [{"distinctAttribute": f"{names.driver}/numa"}]
    return case(names, [local(names, *devices)], [one(names, count=3)], constraints=constraints)


@entry("a taint keeps requests away", a=[["r0=pool/d2"]])
def _taint(names: Names) -> Case:
    effects = ("NoSchedule", "NoExecute", "None")
    devices = [
        device(f"d{n}", taints=[{"key": f"{names.driver}/bad", "effect": effect}])
        for n, effect in enumerate(effects)
    ]
    return case(names, [local(names, *devices)], [one(names)])


@entry("a tolerated taint does not", a=[["r0=pool/d1"]])
def _tolerated(names: Names) -> Case:
    key = f"{names.driver}/bad"
    devices = [
        device(f"d{n}", taints=[{"key": key, "effect": "NoSchedule", "value": value}])
        for n, value in enumerate(("much", "little"))
    ]
    toleration = {"key": key, "operator": "Equal", "value": "little"}
    return case(names, [local(names, *devices)], [one(names, tolerations=[toleration])])


@entry("a node selector lends devices to its nodes", a=[["r0=wide/d0"]])
def _node_selector(names: Names) -> Case:
    return case(names, [wide(names, in_zone("one"), device("d0"))], [one(names)])


@entry("each device may choose its nodes", a=[["r0=wide/d1"]], c=[["r0=wide/d0"]])
def _own_nodes(names: Names) -> Case:
    devices = (device("d0", **in_zone("two")), device("d1", nodeName=names.node("a")))
    slices = [wide(names, {"perDeviceNodeSelection": True}, *devices)]
    return case(names, slices, [one(names)])


@entry("a device that can be shared is given again", a=[["r0=pool/d0", "r1=pool/d0"]])
def _shared(names: Names) -> Case:
    slices = [local(names, device("d0", allowMultipleAllocations=True))]
    return case(names, slices, [one(names), one(names, name="r1")])


@entry("a count takes a shared device once", a=None)
def _shared_count(names: Names) -> Case:
    slices = [local(names, device("d0", allowMultipleAllocations=True))]
    return case(names, slices, [one(names, count=2)])


@entry("a claim cannot have more than 32 devices", a="error", c="error")
def _too_many(names: Names) -> Case:
    return case(names, [local(names, device("d0"))], [one(names, count=33)])


@entry(
    "an alternative beyond 32 devices is passed over",
    a=[[f"r0=pool/d{n}" for n in range(30)] + ["r1/s1=pool/d30"]],
)
def _too_many_alternative(names: Names) -> Case:
    devices = [device(f"d{n}") for n in range(40)]
    requests = [one(names, count=30), first("r1", exact(names, count=3), exact(names))]
    return case(names, [local(names, *devices)], requests)


TABLE = tuple(found for found in tuple(globals().values()) if isinstance(found, Entry))
