"""What the page is sent: pieces of a status, and what changed since another."""

import json
from collections.abc import Sequence
from typing import Any

from netclaim.survey.follow import Moment
from netclaim.ui.view import Question, View, changes, view_of
from tests.support.pool_objects import pool as address_pool
from tests.support.status_objects import DRIVER, ready_node
from tests.support.ui_objects import claim, link, network, pod, scene, slice_of

QUESTION = Question("a test", frozenset({DRIVER}))


def view(objects: Sequence[dict[str, Any]]) -> View:
    """Put a view together."""
    return view_of(1, Moment(tuple(objects)), QUESTION)


def pieces(objects: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the pieces as the page has them."""
    return {key: json.loads(piece) for key, piece in view(objects).pieces.items()}


def test_everything_has_a_piece() -> None:
    """Nodes, links, networks, claims, pods and problems of a cluster are all in the picture."""
    found = pieces(scene())
    kinds = [key.partition("/")[0] for key in found]
    assert {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)} == {
        "head": 1, "node": 6, "link": 18, "network": 4, "claim": 31, "pod": 31, "problem": 5,
    }  # fmt: skip
    assert found["problem/pod media/encoder-wide/1"]["about"] == "pod/media/encoder-wide"
    assert found["problem/node rack1-c/1"]["about"] == "node/rack1-c"


def test_what_a_link_has_left() -> None:
    """A link says how much of its bandwidth and of its shares is in use."""
    found = pieces(scene())[f"link/{DRIVER}/rack1-a/eth1"]
    assert found["amounts"] == [
        {"name": "attachments", "total": "16", "used": "7", "part": 0.4375},
        {"name": "bandwidth", "total": "100G", "used": "66G", "part": 0.66},
    ]


def test_an_address_pool_beside_its_networks() -> None:
    """A pool says how many of its addresses are used, and which networks have it; a problem is its.

    Addresses that are kept for pods which come back are among the used ones.
    """
    offered = network("media-net", parent="eth1")
    offered["spec"]["ipam"] = {"type": "netclaim", "pool": "media"}
    status = {"size": 250, "used": 240, "kept": 40, "free": 10}
    conditions = [{"type": "Ready", "status": "True", "reason": "Valid"}]
    there = address_pool(status={"observedGeneration": 1, "conditions": conditions, **status})
    found = pieces([offered, there])
    assert found["pool/media"] == {
        "ready": True,
        "ranges": ["10.1.0.0/24"],
        "addresses": {"name": "addresses", "total": "250", "used": "240", "part": 0.96},
        "kept": 40,
        "free": 10,
        "networks": ["network/offered/media-net"],
    }
    assert found["network/offered/media-net"]["pool"] == "pool/media"
    assert found["problem/address pool media/1"]["about"] == "pool/media"


def test_what_a_claim_has_of_its_link() -> None:
    """A claim shows what it asked for, and nothing of what every claim consumes."""
    found = pieces([slice_of("one", link("eth1")), claim("a", "one/eth1", gigabits=3)])
    assert found["claim/default/a"]["devices"][0]["amounts"] == [
        ["attachments", "1"],
        ["bandwidth", "3G"],
    ]
    found = pieces([slice_of("one", link("eth1")), claim("a", "one/eth1")])
    assert found["claim/default/a"]["devices"][0]["amounts"] == [["attachments", "1"]]


def test_a_claim_leads_to_its_link_network_and_pod() -> None:
    """The page can follow a claim in every direction by keys alone."""
    found = pieces(scene())
    one = found["claim/media/encoder-0-net"]
    assert one["devices"][0]["link"] in found
    assert found[one["network"]]["kind"] == "PodNetwork"
    assert found[one["pods"][0]]["claims"] == ["claim/media/encoder-0-net"]


def test_a_tenant_names_a_network_as_an_admin_did() -> None:
    """A network that a claim names never passes for a PodNetwork of the same name."""
    own = claim("own", "one/eth1", network="media-net")
    found = pieces([network("media-net", parent="eth1"), slice_of("one", link("eth1")), own])
    assert found["claim/default/own"]["network"] == "network/named/media-net"
    assert "claims" not in found["network/offered/media-net"]


def test_a_link_in_a_pod() -> None:
    """A claim whose link was moved into its pod, and is published no more, still has its node."""
    moved = claim("moved", "one/eth7", pod="app")
    found = pieces([ready_node("one"), slice_of("one", link("eth1")), moved])
    assert found["claim/default/moved"]["devices"][0]["node"] == "one"


def test_texts_of_others() -> None:
    """Control characters and what turns the direction of writing come out as their codes."""
    fault = "no\u202ecarrier\x1b[2J\non eth1"
    broken = claim("a", "one/eth1", ready=False, message=fault)
    found = pieces([slice_of("one", link("eth1")), broken])
    assert found["claim/default/a"]["message"] == "no\\u202ecarrier\\x1b[2J on eth1"


def test_changes() -> None:
    """Who has one view gets what is new and what is gone, and nothing else."""
    objects = [slice_of("one", link("eth1")), claim("a", "one/eth1"), pod("app", "a", on="one")]
    before, after = view(objects), view([*objects[:2], claim("b")])
    said = json.loads(changes(before.pieces, after.pieces))
    assert said["gone"] == ["pod/default/app"]
    assert "claim/default/b" in said["set"]
    assert "claim/default/a" not in said["set"]
    assert not changes(after.pieces, after.pieces)
    whole = json.loads(changes({}, after.pieces))
    assert set(whole["set"]) == set(after.pieces)
