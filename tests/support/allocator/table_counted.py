"""The kept table's rows about what is counted: capacities, policies, shares and counters.

Continues `allocator_table`; the answers show what was consumed too.
"""

from dataclasses import replace
from typing import Any

from tests.support.allocator.objects import (
    Case,
    Names,
    Object,
    counter_slice,
    device,
    exact,
    held_results,
    rule_object,
)
from tests.support.allocator.table import Entry, case, entry, first, local, one

STEPPED = {"default": "100M", "validRange": {"min": "50M", "max": "600M", "step": "50M"}}
LISTED = {"default": "1", "validValues": ["1", "4"]}


def link(name: str, policy: Object | None = STEPPED, value: str = "1G", **more: Any) -> Object:
    """Return a link that claims can share, with bandwidth."""
    bandwidth = {"value": value, **({"requestPolicy": policy} if policy else {})}
    capacity = {"bandwidth": bandwidth, **more.pop("capacity", {})}
    return device(name, allowMultipleAllocations=True, capacity=capacity, **more)


def ask(names: Names, amount: str, name: str = "r0", **fields: Any) -> Object:
    """Return a request for bandwidth."""
    return one(names, name=name, capacity={"requests": {"bandwidth": amount}}, **fields)


def shares(names: Names, name: str, *amounts: str) -> Object:
    """Return a claim that has shares of a link."""
    return held_results(
        names,
        [
            {
                "request": "r0",
                "pool": "pool",
                "device": name,
                "shareID": f"00000000-0000-4000-8000-{number:012}",
                "consumedCapacity": {"bandwidth": amount},
            }
            for number, amount in enumerate(amounts)
        ],
    )


def held_case(names: Names, slices: list[Object], held: Object, *requests: Object) -> Case:
    """Return a case of one claim beside one that has something."""
    made = case(names, slices, list(requests))
    return Case(made.slices, made.classes, made.claims, [held], made.nodes)


@entry("nothing asked consumes the default", a=[["r0=pool/d0 bandwidth=100M"]])
def _default(names: Names) -> Case:
    return case(names, [local(names, link("d0"))], [one(names)])


@entry("nothing asked and no policy consumes all", a=[["r0=pool/d1 bandwidth=1G"]])
def _whole(names: Names) -> Case:
    slices = [local(names, link("d0", None), link("d1", None))]
    return held_case(names, slices, shares(names, "d0", "1M"), one(names))


@entry("an amount is rounded up to the next step", a=[["r0=pool/d0 bandwidth=150M"]])
def _step(names: Names) -> Case:
    return case(names, [local(names, link("d0"))], [ask(names, "100000001")])


@entry("an amount below the range is rounded up to its minimum", a=[["r0=pool/d0 bandwidth=50M"]])
def _least(names: Names) -> Case:
    return case(names, [local(names, link("d0"))], [ask(names, "1")])


@entry("an amount above the range cannot be had", a=None)
def _most(names: Names) -> Case:
    return case(names, [local(names, link("d0"))], [ask(names, "601M")])


@entry("thousandths are rounded up to whole units", a=[["r0=pool/d0 bandwidth=1"]])
def _milli(names: Names) -> Case:
    policy = {"default": "250m", "validRange": {"min": "250m", "step": "250m"}}
    return case(names, [local(names, link("d0", policy, "2"))], [ask(names, "0.51")])


@entry("an amount beyond 64 bits fails the pod", a="error")
def _huge(names: Names) -> Case:
    return case(names, [local(names, link("d0"))], [ask(names, "20E")])


@entry("an amount is rounded up to the next valid value", a=[["r0=pool/d0 bandwidth=4"]])
def _value(names: Names) -> Case:
    return case(names, [local(names, link("d0", LISTED, "4"))], [ask(names, "2")])


@entry("shares add up to the whole", a=[["r0=pool/d0 bandwidth=300M"]])
def _exactly(names: Names) -> Case:
    held = shares(names, "d0", "600M", "100M")
    return held_case(names, [local(names, link("d0"))], held, ask(names, "300M"))


@entry("too little is left", a=None)
def _too_little(names: Names) -> Case:
    held = shares(names, "d0", "600M", "150M")
    return held_case(names, [local(names, link("d0"))], held, ask(names, "300M"))


@entry("too little left on one link, enough on the next", a=[["r0=pool/d1 bandwidth=300M"]])
def _next(names: Names) -> Case:
    slices = [local(names, link("d0"), link("d1"))]
    return held_case(names, slices, shares(names, "d0", "800M"), ask(names, "300M"))


@entry(
    "several requests share a device",
    a=[["r0=pool/d0 bandwidth=600M", "r1=pool/d0 bandwidth=400M"]],
)
def _several(names: Names) -> Case:
    requests = [ask(names, "600M"), ask(names, "400M", "r1")]
    return case(names, [local(names, link("d0"))], requests)


@entry("one request never has two shares of a device", a=None)
def _twice(names: Names) -> Case:
    return case(names, [local(names, link("d0"))], [ask(names, "100M", count=2)])


@entry("all that match are those that are large enough", a=[["r0=pool/d1 bandwidth=500M"]])
def _all(names: Names) -> Case:
    slices = [local(names, link("d0", None, "100M"), link("d1"))]
    return case(names, slices, [ask(names, "500M", everything=True)])


@entry("all that match includes one of which too little is left", a=None)
def _all_left(names: Names) -> Case:
    slices = [local(names, link("d0"), link("d1"))]
    held = shares(names, "d0", "800M")
    return held_case(names, slices, held, ask(names, "500M", everything=True))


@entry("a capacity that a device does not have", a=[["r0=pool/d1 bandwidth=100M"]])
def _missing(names: Names) -> Case:
    other = device("d0", allowMultipleAllocations=True, capacity={"rings": {"value": "4"}})
    return case(names, [local(names, other, link("d1"))], [ask(names, "100M")])


@entry("a device for one claim has to be large enough", a=[["r0=pool/d1"]])
def _exclusive(names: Names) -> Case:
    devices = [
        device("d0", capacity={"bandwidth": {"value": "1G"}}),
        device("d1", capacity={"bandwidth": {"value": "25G"}}),
    ]
    return case(names, [local(names, *devices)], [ask(names, "10G")])


@entry("the first alternative that is left", a=[["r0/s1=pool/d0 bandwidth=200M"]])
def _alternative(names: Names) -> Case:
    ways = [exact(names, capacity={"requests": {"bandwidth": a}}) for a in ("500M", "200M")]
    held = shares(names, "d0", "600M")
    return held_case(names, [local(names, link("d0"))], held, first("r0", *ways))


@entry("admin access consumes too", a=None)
def _admin(names: Names) -> Case:
    held = shares(names, "d0", "800M")
    return held_case(names, [local(names, link("d0"))], held, ask(names, "300M", adminAccess=True))


@entry("a rule taints the devices that it selects", a=[["r0=pool/d1 bandwidth=100M"]])
def _rule(names: Names) -> Case:
    made = case(names, [local(names, link("d0"), link("d1"))], [one(names)])
    taint = {"key": "example.com/repair", "effect": "NoSchedule"}
    rules = [rule_object(names, 0, taint, pool="pool", device="d0")]
    return replace(made, rules=rules)


@entry("a rule's taint is tolerated as others", a=[["r0=pool/d0 bandwidth=100M"]])
def _rule_tolerated(names: Names) -> Case:
    tolerated = [{"key": "example.com/repair", "operator": "Exists"}]
    made = case(names, [local(names, link("d0"))], [one(names, tolerations=tolerated)])
    taint = {"key": "example.com/repair", "effect": "NoExecute"}
    return replace(made, rules=[rule_object(names, 0, taint)])


@entry("distinctAttribute keeps shares apart", a=None)
def _distinct(names: Names) -> Case:
    requests = [ask(names, "100M"), ask(names, "100M", "r1")]
    constraints = [{"distinctAttribute": f"{names.driver}/name"}]
    slices = [local(names, {**link("d0"), "attributes": {"name": {"string": "eth1"}}})]
    return case(names, slices, requests, constraints=constraints)


def board(names: Names, *devices: Object, memory: str = "40Gi") -> list[Object]:
    """Return a pool of node a with a counter that its devices share."""
    counters = [{"name": "board", "counters": {"memory": {"value": memory}}}]
    where = {"nodeName": names.node("a")}
    return [local(names, *devices, count=2), counter_slice(names, "pool", where, counters)]


def partition(name: str, memory: str, **fields: Any) -> Object:
    """Return a device that takes memory of the board."""
    takes = [{"counterSet": "board", "counters": {"memory": {"value": memory}}}]
    return device(name, consumesCounters=takes, **fields)


@entry("a counter is enough for some devices", a=[["r0=pool/d0", "r0=pool/d2"]])
def _counter(names: Names) -> Case:
    devices = [partition("d0", "20Gi"), partition("d1", "30Gi"), partition("d2", "20Gi")]
    return case(names, board(names, *devices), [one(names, count=2)])


@entry("a counter is exhausted by what another claim has", a=None)
def _exhausted(names: Names) -> Case:
    slices = board(names, partition("d0", "40Gi"), partition("d1", "10Gi"))
    return case(names, slices, [one(names)], held=[("pool", "d0")])


@entry("a device that takes no counters is free of them", a=[["r0=pool/d2"]])
def _uncounted(names: Names) -> Case:
    slices = board(names, partition("d0", "40Gi"), partition("d1", "10Gi"), device("d2"))
    return case(names, slices, [one(names)], held=[("pool", "d0")])


@entry("shares of a device take its counters once", a=[["r0=pool/d0 bandwidth=300M"]])
def _shared_counter(names: Names) -> Case:
    takes = [{"counterSet": "board", "counters": {"memory": {"value": "40Gi"}}}]
    slices = board(names, link("d0", consumesCounters=takes))
    return held_case(names, slices, shares(names, "d0", "600M"), ask(names, "300M"))


@entry("a pool with a counter that is not there lends nothing", a=None)
def _no_counter(names: Names) -> Case:
    takes = [{"counterSet": "other", "counters": {"memory": {"value": "1"}}}]
    slices = board(names, device("d0", consumesCounters=takes), device("d1"))
    return case(names, slices, [one(names)])


COUNTED = tuple(found for found in tuple(globals().values()) if isinstance(found, Entry))
