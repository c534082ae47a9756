"""For which requests a configuration was written is known whatever the scheduler made of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.model import parse_claim
from netclaim.network.request.parameters import read_claim
from tests.support.network_parts import DRIVER, MACVLAN, TYPED

META = {"uid": "u1", "namespace": "default", "name": "red"}
Entry = dict[str, Any]


def entry(parameters: dict[str, Any], *requests: str) -> Entry:
    """An entry of `spec.devices.config`."""
    named = {"requests": list(requests)} if requests else {}
    return {**named, "opaque": {"driver": DRIVER, "parameters": parameters}}


def allocated_by_1_36(config: list[Entry], chosen: list[str]) -> list[Entry]:
    """The claim's configuration in an allocation: once for each request that it names."""
    written = []
    for one in config:
        named = one.get("requests", [])
        uses = [r for r in chosen if not named or r in named or r.partition("/")[0] in named]
        written += [{"source": "FromClaim", **one}] * (len(uses) if named else 1)
    return written


def allocated_by_1_37(config: list[Entry], chosen: list[str]) -> list[Entry]:
    """The same with each entry once, and for all requests if it names all that there are."""
    written = []
    for one in config:
        named = one.get("requests", [])
        uses = [r for r in chosen if not named or r in named or r.partition("/")[0] in named]
        body = {k: v for k, v in one.items() if k != "requests" or len(uses) < len(chosen)}
        written += [{"source": "FromClaim", **body}] if uses else []
    return written


SCHEDULERS = [allocated_by_1_36, allocated_by_1_37]


def claim_object(config: list[Entry], chosen: list[str], allocated: list[Entry]) -> dict[str, Any]:
    """A claim with one device of ours for each request, and an entry of its class."""
    results = [
        {"request": name, "driver": DRIVER, "pool": "kind-worker", "device": f"eth{number}"}
        for number, name in enumerate(chosen, 1)
    ]
    of_class = {"source": "FromClass", **entry({**TYPED, "ifName": "class0"}, *chosen)}
    requests = [{"name": name.partition("/")[0]} for name in chosen]
    got = {"results": results, "config": [of_class, *allocated]}
    return {
        "metadata": META,
        "spec": {"devices": {"requests": requests, "config": config}},
        "status": {"allocation": {"devices": got}},
    }


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize(
    ("requests", "chosen", "ifname"),
    [
        ([(), ("net",)], "net", "net1"),
        ([("net",), ()], "net", "net0"),
        ([(), ("net",), ("net/slow",)], "net/slow", "net2"),
        ([("net/slow",), ("net",), ()], "net/slow", "net0"),
        ([("net/fast",), ("net/slow",)], "net/slow", "net1"),
    ],
    ids=lambda given: str(given).replace(" ", ""),
)
def test_the_most_specific_entry_wins(
    scheduler: Any, requests: list[tuple[str, ...]], chosen: str, ifname: str
) -> None:
    """In a claim with one request, an entry for it goes over one for all, in whichever order."""
    config = [entry({**TYPED, "ifName": f"net{n}"}, *names) for n, names in enumerate(requests)]
    claim = parse_claim(claim_object(config, [chosen], scheduler(config, [chosen])))
    (interface,) = read_claim(claim)
    assert interface.ifname == ifname


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_entries_that_say_the_same(scheduler: Any) -> None:
    """Equal parameters do not make two entries one: their order in the claim tells them apart."""
    same = {**TYPED, "config": MACVLAN}
    config = [entry(same, "a"), entry({}, "b"), entry(same), entry(same, "a/x"), entry(same, "b")]
    chosen = ["a/x", "b"]
    claim = parse_claim(claim_object(config, chosen, scheduler(config, chosen)))
    found = [one.requests for one in claim.configs if one.source == "FromClaim"]
    assert found == [("a",), ("b",), (), ("a/x",), ("b",)]


def test_class_entries_are_not_looked_up() -> None:
    """An admin's entry is never taken for one of the claim, though it says the same."""
    obj = claim_object([entry(TYPED, "net")], ["net"], [])
    obj["status"]["allocation"]["devices"]["config"] = [{"source": "FromClass", **entry(TYPED)}]
    (of_class,) = parse_claim(obj).configs
    assert (of_class.source, of_class.requests) == ("FromClass", ())


names = st.sampled_from(["a", "a/x", "a/y", "b", "c/x"])
entries = st.lists(
    st.tuples(st.sampled_from([1, 2]), st.lists(names, max_size=3, unique=True)), max_size=6
)


@given(entries, st.sampled_from([["a/x"], ["b"], ["a/y", "b"], ["a/x", "b", "c/x"]]))
def test_whatever_is_written_is_found_again(
    given_entries: list[tuple[int, list[str]]], chosen: list[str]
) -> None:
    """Every entry that is for a chosen request comes out with the requests of the spec, once."""
    config = [entry({"n": number}, *requests) for number, requests in given_entries]
    kept = [
        (number, tuple(requests))
        for number, requests in given_entries
        if not requests or any(r in requests or r.partition("/")[0] in requests for r in chosen)
    ]
    claim = parse_claim(claim_object(config, chosen, allocated_by_1_37(config, chosen)))
    found = [(c.parameters["n"], c.requests) for c in claim.configs if c.source == "FromClaim"]
    assert found == kept
