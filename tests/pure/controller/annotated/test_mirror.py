"""What a pod's annotation says of its networks, whatever tenants wrote beside it."""

import json
from typing import Any

import pytest

from netclaim.controller.annotated.mirror import TEXT_MAX, THERE_MAX, mirrored
from netclaim.controller.annotated.names import CLAIM_NETWORKS, STATUS_ANNOTATION
from netclaim.model.claims.claim import JsonObject

DEVICE = {"driver": "d", "pool": "node-a", "device": "eth1"}


def claim(networks: str, data: Any = None) -> JsonObject:
    """A claim of one network, which is attached."""
    ready = {"type": "Ready", "status": "True", "reason": "R", "message": ""}
    report = {**DEVICE, "conditions": [ready], "networkData": {"interfaceName": "net1"}}
    if data is not None:
        report["data"] = data
    request = {"name": "net-1", "exactly": {"deviceClassName": "c"}}
    return {
        "metadata": {"name": "a", "namespace": "n", "annotations": {CLAIM_NETWORKS: networks}},
        "spec": {"devices": {"requests": [request]}},
        "status": {
            "allocation": {"devices": {"results": [{"request": "net-1", **DEVICE}]}},
            "devices": [report],
        },
    }


def names(networks: str, there: Any) -> list[str]:
    """The names of the entries, after somebody wrote something there."""
    text = mirrored(claim(networks), {STATUS_ANNOTATION: json.dumps(there)})
    assert text is not None
    assert len(text) <= TEXT_MAX
    return [each["name"] for each in json.loads(text)]


def test_entries_of_others_stay() -> None:
    """Those of the claim's own networks are written anew."""
    there = [{"name": "cluster"}, {"name": "n/media"}]
    assert names("n/media", there) == ["cluster", "n/media"]


def test_an_address_of_a_pool_is_no_network() -> None:
    """The claim asks for it beside the link, and no interface comes of it."""
    found = claim("n/media")
    exactly = {"deviceClassName": "addresses.media"}
    found["spec"]["devices"]["requests"].append({"name": "net-1-address", "exactly": exactly})
    result = {"request": "net-1-address", "driver": "d", "pool": "addresses/media", "device": "m"}
    found["status"]["allocation"]["devices"]["results"].append(result)
    text = mirrored(found, {})
    assert text is not None
    assert [each["name"] for each in json.loads(text)] == ["n/media"]


@pytest.mark.parametrize(
    "there",
    [
        [{"name": "x" * THERE_MAX}],
        [{"name": "x", "deep": json.loads("[" * 90 + "]" * 90)}] * 40,
    ],
)
def test_what_is_too_long_goes(there: Any) -> None:
    """Neither the annotation nor the request to write it grows with what a tenant wrote."""
    assert names("n/media", there)[-1] == "n/media"


def test_a_claim_has_no_more_networks_than_requests() -> None:
    """A tenant who changes the claim's annotation changes the names of its own networks alone."""
    assert names("n/media" + "," * 250_000, [{"name": ""}, {"name": "cluster"}]) == [
        "",
        "cluster",
        "n/media",
    ]


@pytest.mark.parametrize(
    "data",
    [
        [],
        {"mtu": "9000", "routes": {"dst": "::/0"}, "pciAddress": 7},
        {"mtu": 0, "routes": ["::/0", {"dst": "0.0.0.0/0"}], "pciAddress": ""},
    ],
)
def test_what_is_not_known_is_left_out(data: Any) -> None:
    """As Multus leaves it out; a driver's data can be anything."""
    text = mirrored(claim("n/media", data), {})
    assert json.loads(text or "") == [
        {"name": "n/media", "interface": "net1", "default": False, "dns": {}}
    ]
