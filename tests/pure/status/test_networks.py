"""PodNetworks in a status: as the controller reports them, with who uses them."""

from io import StringIO
from typing import Any

import pytest

from netclaim.screen import PlainScreen
from netclaim.status.compose import compose
from netclaim.status.scope import narrow, scope_of
from netclaim.status.showing.show import Look, show
from netclaim.status.values import Status
from tests.support.explain_objects import link, links

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


def changed(network: dict[str, Any]) -> dict[str, Any]:
    """The same after somebody has edited it, and before the controller has seen that."""
    return {**network, "metadata": {**network["metadata"], "generation": 2}}


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


def test_a_networks_own_device_is_no_link() -> None:
    """It is shown while a claim has it; its link is there, and has the same taints."""
    taint = {"key": f"{DRIVER}/no-carrier", "effect": "NoSchedule"}
    of_network = link("media-on-eth1", taints=[taint])
    of_network["attributes"]["multinetwork.networking.k8s.io/podNetwork"] = {"string": "media"}
    published = links("node-a", link("eth1", taints=[taint]), of_network)
    published["spec"]["driver"] = DRIVER
    unused = composed(MEDIA, published)
    assert [one.name for one in unused.devices] == ["eth1"]
    assert [(one.name, one.devices) for one in unused.nodes] == [("node-a", 1)]
    (problem,) = unused.problems
    assert str(problem).startswith("warning: device node-a/eth1: tainted: ")
    assert problem.hint.endswith("look at its cable, and at the port of the switch")
    used = composed(MEDIA, published, claim("by-attribute", "empty", "media-on-eth1"))
    assert [one.name for one in used.devices] == ["eth1", "media-on-eth1"]


def test_what_new_pods_cannot_use_is_a_problem() -> None:
    """Unless an admin wants it so."""
    status = composed(
        MEDIA,
        network("lost", "False", "NoNode"),
        network("unseen"),
        changed(network("changed", "True", "Available")),
        network("off", "False", "Disabled"),
        network("gone", "False", "Deleted"),
    )
    assert [str(one) for one in status.problems if one.kind == "PodNetwork"] == [
        "error: network lost: NoNode: why",
        "warning: network changed: the controller has not looked at it as it is now",
        "warning: network unseen: the controller has not looked at it as it is now",
    ]
    assert "error: network lost" in shown(status, "networks")


def our_pod(
    name: str,
    of: str = "netclaim-controller",
    ready: str = "True",
    container: dict[str, Any] | None = None,
) -> Any:
    """A pod with a label of the chart."""
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "netclaim-system",
            "labels": {"app.kubernetes.io/name": of},
        },
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "containerStatuses": [{"state": {"running": {}}, **(container or {})}],
        },
    }


def leaving(pod: dict[str, Any]) -> dict[str, Any]:
    """The same pod, being deleted."""
    return {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "2026-11-18T03:00:00Z"}}


PULLING = {"state": {"waiting": {"reason": "ErrImagePull"}}}
DRIVER_POD = our_pod("driver", of="netclaim")


@pytest.mark.parametrize(
    ("found", "said", "hint"),
    [
        ([our_pod("a", ready="False")], "no pod of it is ready", "kubectl logs a"),
        ([our_pod("a", ready="False", container=PULLING)], "no pod of it is ready (ErrImagePull)",
         "kubectl describe pod a"),
        ([our_pod("a", ready="False", container={"restartCount": 2})], "no pod of it is ready",
         "kubectl logs a -n netclaim-system --previous"),
        ([DRIVER_POD], "it has no pod", "the check `controller` of `netclaim doctor`"),
        ([DRIVER_POD, leaving(our_pod("a", ready="False"))], "it has no pod", "the check"),
    ],
)  # fmt: skip
def test_a_controller_that_does_not_work(found: list[Any], said: str, hint: str) -> None:
    """The views of what it looks after say so; the claims of pods are no matter of it."""
    status = composed(MEDIA, *found)
    (problem,) = status.problems
    expected = f"warning: controller: {said}: changes of 1 network have no effect"
    assert str(problem) == expected
    assert problem.hint.startswith(hint)
    for view in ("networks", "pools"):
        assert narrow(status, scope_of([view])).problems == (problem,)
    assert narrow(status, scope_of(["claims"])).problems == ()


@pytest.mark.parametrize(
    "found",
    [
        [our_pod("a"), our_pod("b", ready="False")],
        [DRIVER_POD, our_pod("a")],
        [],  # pods of netclaim may not be listed
    ],
)
def test_a_controller_that_is_no_problem(found: list[Any]) -> None:
    """One replica is enough; what may not be listed is not judged."""
    assert composed(MEDIA, *found).problems == ()
    assert composed(our_pod("a", ready="False")).problems == ()  # nobody needs it


def test_networks_of_others_are_not_shown() -> None:
    """Of another provider."""
    theirs = network("theirs")
    theirs["spec"]["provider"] = "other.example.com"
    assert composed(theirs).networks == ()
