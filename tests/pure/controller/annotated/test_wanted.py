"""The claim of an annotated pod: what it asks for, and what is refused."""

import json
from dataclasses import replace
from typing import Any

import pytest

from netclaim.controller.annotated.names import (
    ANNOTATION,
    CLAIM_NETWORKS,
    MADE_FROM,
    POD_CLAIM,
    POD_CLAIM_ANNOTATION,
)
from netclaim.controller.annotated.readings import PLUGINS_MAX, TEXT_MAX
from netclaim.controller.annotated.wanted import Known, claim_of
from netclaim.errors import RequestError
from netclaim.model.claims.claim import JsonObject
from netclaim.network.pod_network import template_of

DRIVER = "cni.dra.networking.x-k8s.io"
MACVLAN = {
    "type": "macvlan",
    "master": "eth1",
    "capabilities": {"ips": True},
    "ipam": {"type": "host-local", "subnet": "10.10.1.0/24"},
}


def test_a_name_becomes_a_request_of_the_tenants_own() -> None:
    """What the tenant's network says is configuration of the claim, and judged as that."""
    claim = claim_of(pod("media-net"), known(media=MACVLAN))
    meta = claim["metadata"]
    assert meta["annotations"] == {
        POD_CLAIM_ANNOTATION: POD_CLAIM,
        CLAIM_NETWORKS: "team/media-net",
    }
    assert meta["ownerReferences"][0]["uid"] == "0123456789"
    (request,) = claim["spec"]["devices"]["requests"]
    assert request["exactly"]["deviceClassName"] == "cni.networking.x-k8s.io"
    assert '.name == "eth1"' in str(request["exactly"]["selectors"])
    (config,) = claim["spec"]["devices"]["config"]
    parameters = config["opaque"]["parameters"]
    assert parameters["ifName"] == "net1"
    (plugin,) = parameters["config"]["plugins"]
    assert plugin["type"] == "macvlan"
    assert not {"allow", "podNetwork", "namespaces"} & parameters.keys()


def test_an_object_chooses_a_name_an_address_and_a_bandwidth() -> None:
    """Two networks are two requests of one claim, in the annotation's order."""
    chosen = {"name": "media-net", "interface": "video0", "ips": ["10.10.1.7/24"]}
    rates = {"ingressRate": 2_000_000, "egressRate": 1_000_000}
    text = json.dumps([{"name": "media-net", "bandwidth": rates}, chosen])
    claim = claim_of(pod(text), known(media=MACVLAN))
    first, second = claim["spec"]["devices"]["requests"]
    assert first["exactly"]["capacity"] == {"requests": {"bandwidth": "2M"}}
    assert "capacity" not in second["exactly"]
    parameters = claim["spec"]["devices"]["config"][1]["opaque"]["parameters"]
    assert parameters["ifName"] == "video0"
    assert parameters["ips"] == ["10.10.1.7/24"]
    names = [each["opaque"]["parameters"]["ifName"] for each in claim["spec"]["devices"]["config"]]
    assert names == ["net1", "video0"]


def test_an_ipam_claim_is_the_claims() -> None:
    """Of a network whose addresses are a pool's; nothing else would keep them."""
    text = json.dumps([{"name": "media-net", "ipam-claim-reference": "vm-net1"}])
    pooled = MACVLAN | {"ipam": {"type": "netclaim", "pool": "media"}}
    (config,) = claim_of(pod(text), known(media=pooled))["spec"]["devices"]["config"]
    assert config["opaque"]["parameters"]["ipamClaim"] == "vm-net1"
    with pytest.raises(RequestError, match="only the addresses of an AddressPool are kept"):
        claim_of(pod(text), known(media=MACVLAN))


def test_a_trusted_network_is_chosen_by_its_class() -> None:
    """The configuration is the admin's; the claim only has what it chooses."""
    networks = {("", "media-net"): made_from("default/media-net")}
    found = known(default=MACVLAN, trusted={"default"}, networks=networks)
    chosen = json.dumps([{"name": "media-net", "namespace": "default", "ips": ["10.10.1.7/24"]}])
    for text in ("default/media-net", chosen):
        claim = claim_of(pod(text), found)
        (request,) = claim["spec"]["devices"]["requests"]
        assert request["exactly"] == {"deviceClassName": "media-net"}
        (config,) = claim["spec"]["devices"]["config"]
        assert "config" not in config["opaque"]["parameters"]


@pytest.mark.parametrize("name", ["", "default/other"])
def test_a_network_of_somebody_else_is_not_taken_for_a_trusted_one(name: str) -> None:
    """A PodNetwork of the same name, written by an admin or made of another definition."""
    networks = {("", "media-net"): made_from(name)}
    found = known(default=MACVLAN, trusted={"default"}, networks=networks)
    with pytest.raises(RequestError, match="it has no PodNetwork media-net"):
        claim_of(pod("default/media-net"), found)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("other", "network team/other: there is no NetworkAttachmentDefinition"),
        ("default/media-net", "network default/media-net: it is of another namespace"),
        ("media-net@eth0", "interface the pod already has an interface named eth0"),
        ("media-net@a,media-net@a", "two networks have this name"),
        ("[{", "the annotation is not JSON"),
        ('[{"name": 1}]', r"the annotation, \[0\].name is not a string"),
        ('[{"name": "media-net", "default-route": ["10.0.0.1"]}]', r"default-route: a claim does"),
        ('[{"name": "media-net", "cni-args": {"a": 1}}]', "cni-args: a claim has no arguments"),
        ('[{"name": "media-net", "ips": ["nonsense"]}]', "ips"),
        ('[{"name": "../../secret"}]', "cannot be the name of the network"),
        (",".join(["media-net"] * 33), "a pod can have 32"),
        ("x" * (TEXT_MAX + 1), "more than 32768 characters"),
        ("[" * 20_000, "the annotation is not JSON"),
    ],
)  # fmt: skip
def test_what_a_claim_cannot_say_is_refused(text: str, why: str) -> None:
    """As a whole, so that no pod runs with less than it asked for."""
    with pytest.raises(RequestError, match=why):
        claim_of(pod(text), known(media=MACVLAN, default=MACVLAN))


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("{", "."),
        ('{"type": "sriov"}', "sriov gets its device from a device plugin"),
        ('{"type": "macvlan", "master": "eth1", "mode": "sideways"}', "mode"),
        ('{"type": ["macvlan"]}', "type is missing"),
        ('{"type": "vlan", "master": "eth1", "vlanId": "one"}', "vlan"),
        ("[" * 20_000, "."),
        (" " * (TEXT_MAX + 1), "more than 32768 characters"),
        ({"type": "macvlan", "padding": "x" * TEXT_MAX}, "more than 32768 characters"),
        (7, "."),
    ],
)
def test_a_network_that_cannot_be_had_is_refused(config: Any, why: str) -> None:
    """Whatever a tenant writes into a definition."""
    found = {"metadata": {"name": "media-net", "namespace": "team"}, "spec": {"config": config}}
    with pytest.raises(RequestError, match=rf"network team/media-net: .*{why}"):
        claim_of(pod("media-net"), Known({("team", "media-net"): found}, {}, frozenset(), DRIVER))


def test_what_a_pod_may_have_read_is_bounded() -> None:
    """A network is read once however often a pod names it, and all of them are not too long."""
    many = {"name": "x", "plugins": [MACVLAN, *[{"type": "tuning"}] * PLUGINS_MAX]}
    with pytest.raises(RequestError, match=f"more than {PLUGINS_MAX} plugins"):
        claim_of(pod("media-net"), known(many))
    long = json.dumps(MACVLAN) + " " * (TEXT_MAX - 1000)
    definitions = {
        ("team", name): {"metadata": {"name": name, "namespace": "team"}, "spec": {"config": long}}
        for name in ("a", "b", "c")
    }
    found = Known(definitions, {}, frozenset(), DRIVER)
    assert len(claim_of(pod("a@n1,a@n2,b,a@n4"), found)["spec"]["devices"]["requests"]) == 4
    with pytest.raises(RequestError, match=r"network team/c: .* more than 65536 characters"):
        claim_of(pod("a,b,c"), found)


POOLED = {**MACVLAN, "ipam": {"type": "netclaim", "pool": "media"}}


@pytest.mark.parametrize("trusted", [False, True])
def test_a_network_of_a_pool_asks_for_an_address_too(trusted: bool) -> None:
    """As the network's own template does, so that the scheduler knows when the pool is full."""
    networks = {("", "media-net"): made_from("default/media-net")}
    one = known(default=POOLED, trusted={"default"}, networks=networks)
    one = one if trusted else known(media=POOLED)
    there = replace(one, pools={("", "media")})
    name = "default/media-net" if trusted else "media-net"
    spec = claim_of(pod(f"{name}@a,{name}@b"), there)["spec"]["devices"]
    requests = {each["name"]: each["exactly"] for each in spec["requests"]}
    assert list(requests) == ["net-1", "net-2", "net-1-address", "net-2-address"]
    network = there.read(("default" if trusted else "team", "media-net")).pod_network
    template = template_of(network, "", counted="media")
    (_, asked) = template["spec"]["spec"]["devices"]["requests"]
    assert requests["net-1-address"] == requests["net-2-address"] == asked["exactly"]
    assert [each["requests"] for each in spec["config"]] == [["net-1"], ["net-2"]]


def test_an_address_is_asked_for_only_where_it_is_counted_and_has_room() -> None:
    """Without that, the pod starts as before: the lease decides."""
    bare = known(media=POOLED)
    assert len(claim_of(pod("media-net"), bare)["spec"]["devices"]["requests"]) == 1
    counted = replace(bare, pools={("", "media")})
    for names, requests in ((16, 32), (17, 17)):
        claim = claim_of(pod(",".join(["media-net"] * names)), counted)
        assert len(claim["spec"]["devices"]["requests"]) == requests


def pod(text: str) -> JsonObject:
    """A pod as the controller knows it."""
    meta = {"name": "app", "namespace": "team", "uid": "0123456789"}
    head = {"apiVersion": "v1", "kind": "Pod"}
    return {**head, "metadata": {**meta, "annotations": {ANNOTATION: text}}}


def known(
    media: JsonObject | None = None,
    default: JsonObject | None = None,
    trusted: set[str] | None = None,
    networks: dict[tuple[str, str], JsonObject] | None = None,
) -> Known:
    """A network in the pod's namespace, or in another one."""
    definitions = {
        (namespace, "media-net"): definition(namespace, config)
        for namespace, config in (("team", media), ("default", default))
        if config is not None
    }
    return Known(definitions, networks or {}, frozenset(trusted or ()), DRIVER)


def definition(namespace: str, config: JsonObject) -> JsonObject:
    """A NetworkAttachmentDefinition."""
    head = {"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition"}
    meta = {"name": "media-net", "namespace": namespace}
    return {**head, "metadata": meta, "spec": {"config": json.dumps(config)}}


def made_from(name: str) -> JsonObject:
    """A PodNetwork that says what it was made from."""
    return {"metadata": {"name": "media-net", "annotations": {MADE_FROM: name}}}
