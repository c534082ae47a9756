"""PodNetworks in a status: as the controller reports them, with who uses them."""

from io import StringIO
from typing import Any

import pytest

from netclaim.screen import PlainScreen
from netclaim.status.compose import compose
from netclaim.status.scope import narrow, scope_of
from netclaim.status.showing.show import Look, show
from netclaim.status.values import Status

API = "cni.networking.x-k8s.io/v1alpha1"
DRIVER = "cni.dra.networking.x-k8s.io"
NO_LINK = "no link eth1 is offered there"


def network(name: str, ready: str = "", reason: str = "", **status: Any) -> dict[str, Any]:
    """A macvlan with this condition."""
    condition = {"type": "Ready", "status": ready, "reason": reason, "message": f"{reason}: why"}
    return {
        "apiVersion": API,
        "kind": "PodNetwork",
        "metadata": {"name": name},
        "spec": {"type": "macvlan"},
        "status": {"conditions": [condition] if ready else [], **status},
    }


def claim(name: str, class_name: str, device: str) -> dict[str, Any]:
    """A claim that has a device."""
    request = {"name": "net", "exactly": {"deviceClassName": class_name}}
    result = {"request": "net", "driver": DRIVER, "pool": "node-a", "device": device}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"devices": {"requests": [request]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


MEDIA = network(
    "media",
    "True",
    "Available",
    nodesAvailable=1,
    namespaces=4,
    interfaces=2,
    pods=2,
    nodes=[{"name": "node-a", "available": True}, {"name": "node-b", "message": NO_LINK}],
)
CLAIMS = [
    claim("by-class", "media", "eth1"),
    claim("by-attribute", "empty", "media-on-eth1"),
    claim("other", "empty", "other-on-eth1"),
]


def composed(*found: dict[str, Any]) -> Status:
    """The status of these objects."""
    return compose(found, frozenset({DRIVER}))


def shown(status: Status, *arguments: str) -> str:
    """What `netclaim status` prints."""
    stream, scope = StringIO(), scope_of(arguments)
    show(narrow(status, scope), scope, PlainScreen(stream), Look())
    return stream.getvalue()


def test_a_network_says_where_it_is_and_why_not_elsewhere() -> None:
    """In one row; the overview has it too."""
    status = composed(MEDIA)
    for arguments in (["networks"], []):
        lines = [" ".join(line.split()) for line in shown(status, *arguments).splitlines()]
        assert "NETWORK TYPE STATE NODES NAMESPACES INTERFACES PODS NOT ON" in lines
        assert f"media macvlan Ready 1 4 2 2 node-b: {NO_LINK}" in lines


@pytest.mark.parametrize("word", ["network/media", "podnet/media", "podnetworks/media"])
def test_around_a_network_are_its_claims(word: str) -> None:
    """By its class, and by one of its devices."""
    found = narrow(composed(MEDIA, network("other"), *CLAIMS), scope_of([word]))
    assert [one.name for one in found.networks] == ["media"]
    assert sorted(one.name for one in found.claims) == ["by-attribute", "by-class"]


def test_what_new_pods_cannot_use_is_a_problem() -> None:
    """Unless an admin wants it so."""
    status = composed(
        MEDIA,
        network("lost", "False", "NoNode"),
        network("unseen"),
        network("off", "False", "Disabled"),
        network("gone", "False", "Deleted"),
    )
    assert [str(one) for one in status.problems if one.kind == "PodNetwork"] == [
        "error: network lost: NoNode: why",
        "warning: network unseen: the controller has not looked at it; is it running?",
    ]
    assert "error: network lost" in shown(status, "networks")


def test_networks_of_others_are_not_shown() -> None:
    """Of another provider."""
    theirs = network("theirs")
    theirs["spec"]["provider"] = "other.example.com"
    assert composed(theirs).networks == ()
