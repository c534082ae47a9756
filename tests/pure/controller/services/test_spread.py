"""Endpoints over slices: at most a hundred in each, and few slices change."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from netclaim.controller.services.endpoints import Endpoint
from netclaim.controller.services.spread import ENDPOINTS_MAX, Writes, spread
from netclaim.model.api.service import Service
from netclaim.model.claims.claim import JsonObject

SERVICE = Service.read(
    {"metadata": {"name": "web", "namespace": "default", "uid": "0123456789"}, "spec": {}}
)
PORTS = ((("name", ""), ("port", 80), ("protocol", "TCP")),)


def endpoint(number: int, *, family: str = "IPv4", ports: Any = PORTS, **more: Any) -> Endpoint:
    """The endpoint of a pod."""
    address = f"10.0.{number // 256}.{number % 256}"
    body = {"addresses": [address], "targetRef": {"uid": f"u{number}"}, **more}
    return Endpoint((family, ports), (f"u{number}", address), body)


def after(live: list[JsonObject], writes: Writes) -> list[JsonObject]:
    """The slices as a server has them after the writes."""
    changed = {each["metadata"]["name"]: each for each in writes.update}
    gone = {each["metadata"]["name"] for each in writes.delete}
    kept = [changed.get(each["metadata"]["name"], each) for each in live]
    return [*(each for each in kept if each["metadata"]["name"] not in gone), *writes.create]


def counts(writes: Writes) -> tuple[int, int, int]:
    """How many slices are created, updated, deleted."""
    return len(writes.create), len(writes.update), len(writes.delete)


def addresses(live: list[JsonObject]) -> list[str]:
    """All addresses, in order."""
    return sorted(each["addresses"][0] for found in live for each in found["endpoints"])


def test_a_thousand_endpoints_are_ten_slices_and_one_more_changes_one() -> None:
    """One that is gone changes the one that it was in, and the next new one takes its place."""
    many = [endpoint(number) for number in range(1000)]
    live = after([], spread(SERVICE, [], many))
    assert [len(each["endpoints"]) for each in live] == [ENDPOINTS_MAX] * 10
    assert counts(spread(SERVICE, live, many)) == (0, 0, 0)
    assert counts(spread(SERVICE, live, many[1:])) == (0, 1, 0)
    live = after(live, spread(SERVICE, live, many[1:]))
    assert counts(spread(SERVICE, live, [*many[1:], endpoint(1000)])) == (0, 1, 0)
    assert counts(spread(SERVICE, live, many)) == (0, 1, 0)
    assert counts(spread(SERVICE, live, [*many, endpoint(1000)])) == (1, 1, 0)


def test_a_changed_pod_changes_its_own_slice() -> None:
    """Where it was stays where it is."""
    many = [endpoint(number) for number in range(250)]
    live = after([], spread(SERVICE, [], many))
    many[120] = endpoint(120, hostname="a")
    (changed,) = spread(SERVICE, live, many).update
    assert {"u120"} <= {each["targetRef"]["uid"] for each in changed["endpoints"]}


def test_ports_and_families_have_slices_of_their_own() -> None:
    """Also where a rollout changes the port of one pod after the other."""
    other = ((("name", ""), ("port", 81), ("protocol", "TCP")),)
    first = [endpoint(1), endpoint(2), endpoint(3, family="IPv6")]
    live = after([], spread(SERVICE, [], first))
    assert len(live) == 2
    writes = spread(SERVICE, live, [endpoint(1), endpoint(2, ports=other), first[2]])
    assert counts(writes) == (1, 1, 0)


def test_slices_of_an_earlier_service_are_replaced() -> None:
    """They belong to another UID, and would go with it."""
    live = after([], spread(SERVICE, [], [endpoint(1)]))
    live[0]["metadata"]["ownerReferences"][0]["uid"] = "earlier"
    writes = spread(SERVICE, live, [endpoint(1)])
    assert counts(writes) == (1, 0, 1)
    assert writes.create[0]["metadata"]["name"] != live[0]["metadata"]["name"]


def test_names_that_others_have_are_passed_over() -> None:
    """A slice of ours comes under the next one."""
    (made,) = spread(SERVICE, [], [endpoint(1)]).create
    (other,) = spread(SERVICE, [], [endpoint(1)], {made["metadata"]["name"]}).create
    assert other["metadata"]["name"] != made["metadata"]["name"]


@given(st.lists(st.sets(st.integers(0, 600), max_size=400), max_size=6))
def test_slices_follow_any_history(history: list[set[int]]) -> None:
    """Every endpoint is there once, no slice is too full, and a second look changes nothing."""
    live: list[JsonObject] = []
    for numbers in history:
        wanted = [endpoint(number) for number in sorted(numbers)]
        writes = spread(SERVICE, live, wanted)
        live = after(live, writes)
        assert addresses(live) == sorted(each.key[1] for each in wanted)
        assert all(0 < len(each["endpoints"]) <= ENDPOINTS_MAX for each in live)
        assert counts(spread(SERVICE, live, wanted)) == (0, 0, 0)
