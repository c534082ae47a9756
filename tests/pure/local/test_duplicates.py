"""Pods with one address on one network are found across nodes."""

from typing import Any

import pytest

from netclaim.local.api import Verbs
from netclaim.local.result.duplicates import per_node_doubts, with_duplicates
from netclaim.local.result.interfaces import Interface
from netclaim.local.result.outcome import PodOutcome
from netclaim.local.topology import Link, Network, Topology
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.claims.claim import JsonObject
from netclaim.network.pod_network import class_of
from netclaim.schema.kinds import CLAIM, CLASS, POD_NETWORK
from tests.support.local.parts import new_verbs

DRIVER = "cni.dra.networking.x-k8s.io"
LINKS = (Link("one", "eth1"), Link("two", "eth1"))
TOPOLOGY = Topology(
    ("one", "two"), (Network("main", ()), Network("fast", (*LINKS, Link("one", "eth2"))))
)


def plugin(kind: str = "macvlan", ipam: str = "host-local", **keys: Any) -> JsonObject:
    """A plugin's configuration."""
    return {"type": kind, "ipam": {"type": ipam}, **keys}


def add_claim(verbs: Verbs, name: str, node: str, first: JsonObject, device: str) -> None:
    """Store an allocated claim."""
    parameters = {
        "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
        "kind": "CNI",
        "ifName": "net1",
        "config": {"cniVersion": "1.0.0", "name": "lan", "plugins": [first]},
    }
    opaque = {"driver": DRIVER, "parameters": parameters}
    result = {"request": "a", "driver": DRIVER, "pool": node, "device": device}
    devices = {"results": [result], "config": [{"source": "FromClaim", "opaque": opaque}]}
    meta = {"name": name, "namespace": "default", "uid": name}
    status = {"allocation": {"devices": devices}}
    verbs.store.put(CLAIM, {"metadata": meta, "spec": {}, "status": status})


def doubts(node: str, ip: str, first: JsonObject, class_name: str = "lan") -> tuple[str, ...]:
    """What is doubted of one pod."""
    verbs = new_verbs()
    add_claim(verbs, "p", node, first, "eth1")
    request = {"name": "a", "exactly": {"deviceClassName": class_name}}
    claim = {**(verbs.store.get(CLAIM, "p", "default") or {})}
    verbs.store.put(CLAIM, {**claim, "spec": {"devices": {"requests": [request]}}})
    network = {"metadata": {"name": "lan"}, "spec": {"type": "macvlan", "parent": {"name": "eth1"}}}
    verbs.store.put(POD_NETWORK, network)
    interface = Interface("net1", (ip,), "", "eth1", "p")
    pod = PodOutcome("default", "p", "p", node, "", "ready", (interface,))
    return per_node_doubts([pod], verbs.store, TOPOLOGY, [DRIVER])


def look(
    *pods: tuple[str, str, JsonObject], device: str = "eth1", other: str = "eth1"
) -> tuple[PodOutcome, ...]:
    """The outcomes of pods with a node, an address and a plugin each; `device` is the first's."""
    verbs = new_verbs()
    found = []
    for number, (node, ip, first) in enumerate(pods):
        name = f"p{number}"
        has = other if number else device
        add_claim(verbs, name, node, first, has)
        interface = Interface("net1", (ip,), "", has, name)
        found.append(PodOutcome("default", name, name, node, "", "ready", (interface,)))
    return with_duplicates(found, verbs.store, TOPOLOGY, [DRIVER])


def test_one_address_on_two_nodes_is_an_error() -> None:
    """Both pods are told of each other, and why host-local did it."""
    found = look(("one", "10.0.0.2/24", plugin()), ("two", "10.0.0.2/24", plugin()))
    assert [(pod.state, pod.stage) for pod in found] == [("stopped", "address")] * 2
    assert found[0].reason == found[1].reason
    assert found[0].reason.startswith(
        "10.0.0.2 on network fast is used by default/p0 (one), default/p1 (two);"
        " host-local knows only the addresses of its own node; lease them for the whole cluster"
    )


def test_other_managers_of_addresses_are_not_blamed() -> None:
    """A static address that two pods have is theirs to change."""
    static = plugin(ipam="static")
    found = look(("one", "10.0.0.2/24", static), ("two", "10.0.0.2/24", static))
    assert found[0].reason.endswith("default/p1 (two)")


@pytest.mark.parametrize(("master", "network"), [("", "main"), ("eth2", "fast")])
def test_the_device_of_no_link_is_where_its_master_is(master: str, network: str) -> None:
    """Pods without a link of their own meet on the default route's, or on the one they name."""
    pod = ("one", "10.0.0.2/24", plugin(master=master))
    both = look(pod, pod, device="cni", other="cni")
    assert both[0].reason.startswith(f"10.0.0.2 on network {network} is used by")


def test_a_pod_network_says_what_claims_of_its_device_have() -> None:
    """Such a claim has no configuration; its network's class has it."""
    verbs = new_verbs()
    spec = {"type": "macvlan", "ipam": {"type": "host-local"}}
    network = PodNetwork.read({"metadata": {"name": "media"}, "spec": spec})
    verbs.store.put(CLASS, class_of(network, DRIVER))
    found = []
    for node in ("one", "two"):
        result = {"request": "a", "driver": DRIVER, "pool": node, "device": "media-on-eth1"}
        meta = {"name": node, "namespace": "default", "uid": node}
        status = {"allocation": {"devices": {"results": [result]}}}
        verbs.store.put(CLAIM, {"metadata": meta, "spec": {}, "status": status})
        interface = Interface("media", ("10.0.0.2/24",), "", "media-on-eth1", node)
        found.append(PodOutcome("default", node, node, node, "", "ready", (interface,)))
    pods = with_duplicates(found, verbs.store, TOPOLOGY, [DRIVER])
    assert [pod.stage for pod in pods] == ["address"] * 2
    assert "10.0.0.2 on network fast is used by default/one (one)" in pods[0].reason


def test_two_networks_of_one_node_on_one_link_are_an_error() -> None:
    """Addresses of two ranges that overlap meet on the segment of the links."""
    found = look(("one", "10.0.0.2/24", plugin()), ("one", "10.0.0.2/24", plugin()), device="eth2")
    assert found[0].reason.endswith("give each network on this link a range of its own")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("one", "10.0.0.2/24", plugin()), ("two", "10.0.0.3/24", plugin())),
        (("one", "10.0.0.2/24", plugin("bridge")), ("two", "10.0.0.2/24", plugin("bridge"))),
        (
            ("one", "10.0.0.2/24", plugin("vlan", vlanId=5)),
            ("two", "10.0.0.2/24", plugin("vlan", vlanId=6)),
        ),
    ],
)
def test_what_does_not_meet_is_no_error(
    first: tuple[str, str, JsonObject], second: tuple[str, str, JsonObject]
) -> None:
    """Other addresses, bridges of the nodes' own and other VLANs do not collide."""
    assert all(pod.state == "ready" for pod in look(first, second))


def test_a_network_on_which_every_node_hands_out_the_same_addresses() -> None:
    """The pool is offered before two pods have one; addresses of other kinds are not doubted."""
    (doubt,) = doubts("one", "10.0.0.2/24", plugin())
    assert doubt.startswith("network fast: pods on two would get the addresses of those on one;")
    assert "{type: netclaim, pool: NAME}" in doubt
    assert doubts("one", "10.0.0.2/24", plugin(ipam="static")) == ()
    assert doubts("one", "10.0.0.2/24", plugin("bridge")) == ()
    assert doubts("one", "10.0.0.2/24", plugin(), class_name="hand-written") == ()
