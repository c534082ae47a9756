"""A claim is read from its text, with one driver's parameters."""

import json
from typing import Any

import pytest

from netclaim.json_text import UNREADABLE
from netclaim.model.claims.claim import Claim, ClaimError, parse_claim
from netclaim.model.claims.claim_text import claim_from_text

OURS, OTHERS = "d.example.com", "e.example.com"


def entry(driver: str, parameters: Any, *requests: str, source: str = "") -> dict[str, Any]:
    """A configuration."""
    said = {"source": source} if source else {}
    return {**said, "requests": requests, "opaque": {"driver": driver, "parameters": parameters}}


def claim_json(
    spec: list[dict[str, Any]], given: list[dict[str, Any]], **status: Any
) -> dict[str, Any]:
    """A claim with two devices, of two drivers."""
    results = [
        {"request": name, "driver": driver, "pool": "p", "device": name}
        for name, driver in (("a", OURS), ("b", OTHERS))
    ]
    allocation = {"devices": {"results": results, "config": given}}
    requests = [{"name": name, "exactly": {"deviceClassName": "c"}} for name in "ab"]
    return {
        "metadata": {"name": "c", "namespace": "n", "uid": "u", "creationTimestamp": None},
        "spec": {"devices": {"requests": requests, "config": spec}},
        "status": {"allocation": allocation, **status},
    }


def text(obj: dict[str, Any]) -> bytes:
    """What the API server sends."""
    return json.dumps(obj).encode()


def without_others(claim: Claim) -> Claim:
    """What is read for our driver of a claim that was read whole."""
    return Claim(
        **{name: getattr(claim, name) for name in Claim.__struct_fields__ if name != "configs"},
        configs=tuple(each for each in claim.configs if each.driver == OURS),
    )


SPEC = [
    entry(OURS, {"x": [[], {}]}),
    entry(OTHERS, {"y": None}, "b"),
    entry(OURS, {"x": [[], {}]}, "a"),
]
SAID: dict[str, dict[str, Any]] = {
    "as written": claim_json(SPEC, [{**each, "source": "FromClaim"} for each in SPEC]),
    "requests cleared": claim_json(
        SPEC, [{**each, "requests": [], "source": "FromClaim"} for each in SPEC]
    ),
    "of a class": claim_json([], [entry(OURS, {"z": 1}, source="FromClass"), *SPEC]),
    "spelt otherwise": claim_json(
        [entry(OURS, {"a": 1, "b": 2}, "a")], [entry(OURS, {"b": 2, "a": 1})]
    ),
    "reserved": claim_json([], [], reservedFor=[{"resource": "pods", "name": "p", "uid": "1"}]),
    "reported": claim_json(
        [],
        [],
        devices=[
            {
                "driver": OURS,
                "pool": "p",
                "device": "a",
                "conditions": [{"type": "Ready", "status": "True"}],
                "networkData": {"ips": ["10.0.0.1/24"]},
                "data": {"k": None},
            }
        ],
    ),
    "nulls": claim_json(SPEC, SPEC, reservedFor=None),
    "not allocated": {**claim_json(SPEC, []), "status": {}},
    "without a status": {"metadata": {"name": "c", "namespace": "n", "uid": "u"}},
}


@pytest.mark.parametrize("said", SAID)
def test_text_is_read_as_the_object_is(said: str) -> None:
    """A claim from its text is the claim from its object, but for others' parameters."""
    obj = SAID[said]
    assert claim_from_text(text(obj), OURS) == without_others(parse_claim(obj))
    assert claim_from_text(text(obj)).configs == ()
    assert claim_from_text(text(obj)).devices == parse_claim(obj).devices


def test_only_the_drivers_own_parameters_are_decoded() -> None:
    """What is in others' parameters does not matter to a driver, nor do its own to who asks not."""
    bad = text(claim_json([], [entry(OTHERS, "?", source="FromClaim")])).replace(b'"?"', b'"\xff"')
    assert claim_from_text(bad, OURS).uid == "u"
    mine = bad.replace(OTHERS.encode(), OURS.encode())
    assert claim_from_text(mine).uid == "u"
    (config,) = claim_from_text(mine, OURS).configs
    assert config.unreadable == "it is not UTF-8"


@pytest.mark.parametrize("written", [b"[" * 5000 + b"]" * 5000, rb'{"a":"\ud800"}'])
def test_parameters_that_cannot_be_looked_over(written: bytes) -> None:
    """The claim is read without them, and says which ones are missing."""
    entries = [entry(OTHERS, "?", source="FromClaim"), entry(OURS, {"x": 1}, source="FromClaim")]
    bad = text(claim_json([], entries)).replace(b'"?"', written)
    (config,) = claim_from_text(bad, OURS).configs
    assert (config.unreadable, config.parameters) == ("", {"x": 1})
    (theirs,) = claim_from_text(bad, OTHERS).configs
    assert theirs.unreadable


@pytest.mark.parametrize("parameters", [[1], "text", None])
def test_parameters_that_are_no_object(parameters: Any) -> None:
    """They are a mistake of the claim, where they are for the driver."""
    obj = claim_json([], [entry(OURS, parameters, source="FromClaim")])
    with pytest.raises(ClaimError, match="not an object"):
        claim_from_text(text(obj), OURS)
    assert claim_from_text(text(obj), OTHERS).configs == ()


def test_no_claim() -> None:
    """What is no claim is a ClaimError; what is no JSON is nothing that the claim could help."""
    with pytest.raises(ClaimError, match="uid"):
        claim_from_text(b'{"metadata":{"name":"c"}}')
    with pytest.raises(ClaimError):
        claim_from_text(b'{"metadata":[]}')
    for broken in (b"", b"{", b'{"metadata":' + b"[" * 5000 + b"]" * 5000 + b"}"):
        with pytest.raises(UNREADABLE):
            claim_from_text(broken)
