"""Whatever there is and whatever is asked for, an answer of `explain` agrees with itself."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from netclaim.explain.answer import Answer, answer_all
from netclaim.explain.lines import Line
from netclaim.explain.show import as_json
from netclaim.explain.subject import choose
from netclaim.explain.world import read_world
from netclaim.manifests.objects import Object
from tests.support.explain_objects import (
    ATTRIBUTES,
    DRIVER,
    claim,
    deployment,
    device_class,
    link,
    links,
    node,
    pod,
    template,
)

SELECTORS = (
    f'{ATTRIBUTES}.name == "eth0"',
    f"{ATTRIBUTES}.mtu > 1500",
    f'{ATTRIBUTES}.speed == "fast"',  # no device has it, which fails the pod
    "true",
)
CAPACITIES = ({"bandwidth": "1G"}, {"bandwidth": "6G"}, {"bandwidth": "15500M"}, {"rings": "1"})
COUNTER = {"counterSet": "a", "counters": {"b": {"value": "2"}}}


@st.composite
def some_devices(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Devices of a node: free, tainted, with counters, with capacity that several may share."""
    return [
        link(f"eth{number}", draw(st.sampled_from((1500, 9000))), **draw(st.sampled_from(MORE)))
        for number in range(draw(st.integers(0, 3)))
    ]


MORE: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"capacity": {"bandwidth": {"value": "10G"}}, "allowMultipleAllocations": True},
    {
        "capacity": {
            "bandwidth": {
                "value": "20G",
                "requestPolicy": {"default": "2G", "validRange": {"min": "1G", "step": "1G"}},
            }
        },
        "allowMultipleAllocations": True,
    },
    {"taints": [{"key": "broken", "effect": "NoSchedule"}]},
    {"consumesCounters": [COUNTER]},
    {"consumesCounters": [COUNTER], "allowMultipleAllocations": True},
)


@st.composite
def asked(draw: st.DrawFn) -> dict[str, Any]:
    """What a request asks for."""
    many: dict[str, Any] = draw(
        st.sampled_from(({}, {}, {"count": 2}, {"count": 33}, {"allocationMode": "All"}))
    )
    capacity = (
        {"capacity": {"requests": draw(st.sampled_from(CAPACITIES))}}
        if draw(st.integers(0, 2)) == 0
        else {}
    )
    named = {"deviceClassName": draw(st.sampled_from(("nics", "nics", "nics", "none")))}
    return {**named, **many, **capacity, "selectors": _selectors(draw(st.sets(SELECTOR)))}


SELECTOR = st.sampled_from(SELECTORS)


def _selectors(expressions: set[str]) -> list[dict[str, Any]]:
    return [{"cel": {"expression": one}} for one in sorted(expressions)]


@st.composite
def some_spec(draw: st.DrawFn) -> dict[str, Any]:
    """What a claim asks for: a few requests, some with alternatives, and perhaps a constraint."""
    requests: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 2))):
        if draw(st.booleans()):
            requests.append({"name": f"r{number}", "exactly": draw(asked())})
        else:
            ways = [{"name": f"w{way}", **draw(asked())} for way in range(2)]
            requests.append({"name": f"r{number}", "firstAvailable": ways})
    rules: tuple[list[dict[str, str]], ...] = (
        [],
        [{"matchAttribute": f"{DRIVER}/mtu"}],
        [{"distinctAttribute": f"{DRIVER}/mtu"}],
    )
    return {"devices": {"requests": requests, "constraints": draw(st.sampled_from(rules))}}


@st.composite
def worlds(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Nodes with devices, and claims, templates and what uses them."""
    objects: list[dict[str, Any]] = [device_class()]
    for name in ("one", "two")[: draw(st.integers(1, 2))]:
        slices = draw(st.sampled_from((1, 1, 1, 2)))  # a second one is never there
        objects += _pool(name, draw(some_devices()), slices)
        objects.append(node(name, unschedulable=draw(st.integers(0, 4)) == 0))
    objects += [
        {**claim(f"c{number}"), "spec": draw(some_spec())}
        for number in range(draw(st.integers(1, 2)))
    ]
    objects.append({**template("t"), "spec": {"spec": draw(some_spec())}})
    objects.append(pod("p", a="c0", b=draw(st.sampled_from(("c1", "c0")))))
    objects.append(deployment("d", draw(st.integers(0, 3)), net="t"))
    objects.append({**deployment("e", 1, net="t"), "kind": "DaemonSet"})
    objects.append({**template("alone"), "spec": {"spec": draw(some_spec())}})
    return objects


def _pool(name: str, devices: list[dict[str, Any]], slices: int) -> list[dict[str, Any]]:
    """A node's slice, and beside it one with counters if a device takes some."""
    if not any("consumesCounters" in device for device in devices):
        return [links(name, *devices, slices=slices)]
    counters = links(name, slices=slices + 1)
    counters["metadata"]["name"] += "-counters"
    del counters["spec"]["devices"]
    counters["spec"]["sharedCounters"] = [{"name": "a", "counters": {"b": {"value": "3"}}}]
    return [links(name, *devices, slices=slices + 1), counters]


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_an_answer_agrees_with_itself(objects: list[dict[str, Any]]) -> None:
    """What cannot be says why for every node and `fits` on none; what fits, fits somewhere."""
    world = read_world(Object(one, one) for one in objects)
    answers = answer_all(world, choose(world, "", "", among=lambda _: True))
    assert answers
    for answer in answers:
        nodes = {place.node.name for place in world.places}
        if answer.outcome == "cannot be allocated":
            assert {line.node for line in answer.lines if not line.fits} == nodes
            assert not [line for line in answer.lines if line.fits]
            assert answer.nearest is None or answer.nearest in answer.lines
        elif answer.outcome == "fits" and answer.subject.replicas:
            assert any(_serves(answer, name) for name in nodes)
            assert answer.nearest is None
    assert as_json(answers, ())


def _serves(answer: Answer, node_name: str) -> bool:
    """Whether a node has a device that fits for each request, or for an alternative of it."""
    asked_for = {
        (str(claim), group[0].name)
        for claim in (*answer.subject.claims, *answer.subject.made)
        if claim.allocation is None
        for group in claim.requests
    }
    fitting = {_group(line) for line in answer.lines if line.node == node_name and line.fits}
    return {request for _, request in asked_for} <= fitting


def _group(line: Line) -> str:
    return line.request.partition("/")[0]
