"""What is said of the AddressPools of a claim: what is left, and who has the rest."""

import json
from io import StringIO
from typing import Any

import pytest

from netclaim.explain.answer import Answer, answer_all
from netclaim.explain.pools import find_pools
from netclaim.explain.show import as_json, show
from netclaim.explain.subject import choose
from netclaim.explain.world import read_world
from netclaim.manifests.objects import Object
from netclaim.model import device_json
from netclaim.model.pools.named_pools import pools_named
from netclaim.network.devices.pool_device import address_request, pool_class, pool_device
from netclaim.screen import PlainScreen
from tests.support.address_pool_cases import OWNER
from tests.support.explain_objects import (
    DRIVER,
    claim,
    deployment,
    device_class,
    link,
    links,
    pod,
    template,
)

API = "cni.networking.x-k8s.io/v1alpha1"
POOL: dict[str, Any] = {
    "apiVersion": API,
    "kind": "AddressPool",
    "metadata": {"name": "media", "generation": 1},
    "spec": {"ranges": [{"cidr": "10.1.0.0/30"}]},
    "status": {
        "observedGeneration": 1,
        "conditions": [{"type": "Ready", "status": "True", "reason": "Usable"}],
        "size": 2,
        "used": 2,
    },
}
NETWORK = {"cniVersion": "1.0.0", "name": "media", "plugins": [{"type": "macvlan"}]}


def network(pool: str = "media") -> dict[str, Any]:
    """A network that has its addresses from a pool."""
    ipam = {"type": "netclaim", "pool": pool}
    return {**NETWORK, "plugins": [{"type": "macvlan", "ipam": ipam}]}


def with_network(one: dict[str, Any], config: Any) -> dict[str, Any]:
    """A claim or a class whose network is this."""
    opaque = {"driver": DRIVER, "parameters": {"ifName": "net1", "config": config}}
    spec = one["spec"] if one["kind"] == "DeviceClass" else one["spec"]["devices"]
    return {**one, "spec": {**one["spec"]}} | _set(one, spec, [{"opaque": opaque}])


def _set(one: dict[str, Any], spec: dict[str, Any], config: Any) -> dict[str, Any]:
    changed = {**spec, "config": config}
    if one["kind"] == "DeviceClass":
        return {"spec": changed}
    return {"spec": {**one["spec"], "devices": changed}}


def lease(address: str, name: str, namespace: str = "default") -> dict[str, Any]:
    """An address that a claim has."""
    holder = {"namespace": namespace, "name": name, "uid": name, "request": "net"}
    return {
        "apiVersion": API,
        "kind": "AddressLease",
        "metadata": {"name": f"media.{address}"},
        "spec": {
            "pool": "media",
            "address": address,
            "driver": DRIVER,
            "nodeName": "one",
            "claim": holder,
        },
    }


def changed(**changes: Any) -> dict[str, Any]:
    """The pool with another status or spec."""
    return {**POOL, **{key: {**POOL[key], **value} for key, value in changes.items()}}


def lines(*found: dict[str, Any], name: str = "mine") -> tuple[str, ...]:
    """What is said of the pools of a claim or a pod."""
    objects = [Object(one, one).in_namespace("default") for one in found]
    subjects = choose(read_world(objects), name, "", among=lambda _: True)
    return find_pools(objects, subjects).get(subjects[0].key, ())


MINE = with_network(claim("mine"), network())
HELD = claim("held")
HELD["status"] = {"reservedFor": [{"resource": "pods", "name": "web", "uid": "1"}]}
LEASES = (lease("10.1.0.1", "held"), lease("10.1.0.2", "theirs", "shop"))


def test_a_full_pool_says_who_has_its_addresses() -> None:
    """Here by name, the pod if there is one; those of other namespaces are counted."""
    said = "pool media: no free address, all 2 are used; in default by pod web (10.1.0.1); "
    assert lines(POOL, HELD, MINE, *LEASES) == (f"{said}1 in other namespaces",)
    bare = "pool media: no free address, all 2 are used; in default by claim held (10.1.0.1)"
    assert lines(POOL, MINE, LEASES[0]) == (bare,)
    assert lines(POOL, MINE, LEASES[1]) == (
        "pool media: no free address, all 2 are used; none in default; 1 in other namespaces",
    )


def test_what_is_kept_is_nobodys_now() -> None:
    """The pod that it is kept for is named, and the claim that had it last is not."""
    kept = lease("10.1.0.1", "gone")
    kept["spec"] |= {"owner": {**OWNER, "namespace": "default"}, "kept": True}
    (line,) = lines(POOL, MINE, kept)
    assert line.endswith("; in default by nobody (10.1.0.1, kept for pod db-0)")


def test_a_pool_says_what_it_has_left() -> None:
    """Also without leases, which not everybody may list."""
    pool = changed(status={"size": 9, "used": 7, "free": 2})
    assert lines(pool, MINE) == ("pool media: 7 of 9 addresses used, 2 free",)


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        (changed(metadata={"generation": 2}), "the controller has not looked at it yet"),
        (
            changed(status={"conditions": [{"type": "Ready", "status": "False", "message": "no"}]}),
            "pool media: not ready: no",
        ),
        (changed(spec={"enabled": False}), "switched off, nobody gets an address of it any more"),
        (changed(metadata={"name": "medai"}), 'no AddressPool "media"; did you mean "medai"?'),
    ],
)
def test_a_pool_that_gives_nobody_an_address(pool: dict[str, Any], said: str) -> None:
    """The reason is the controller's."""
    (line,) = lines(pool, MINE)
    assert said in line


def test_the_pool_of_a_class_and_of_a_network() -> None:
    """A pod's claim need not name it; what the controller makes of a network counts too."""
    of_class = with_network(device_class(), network())
    assert len(lines(POOL, of_class, claim("nic"), pod("p", net="nic"), name="p")) == 1
    made = {
        "apiVersion": API,
        "kind": "PodNetwork",
        "metadata": {"name": "media-net"},
        "spec": {
            "type": "macvlan",
            "parent": {"name": "eth1"},
            "ipam": {"type": "netclaim", "pool": "media"},
        },
    }
    user = pod("p")
    user["spec"]["resourceClaims"] = [{"name": "net", "resourceClaimTemplateName": "media-net"}]
    assert len(lines(POOL, made, user, name="p")) == 1


def test_other_networks_have_no_pool() -> None:
    """Nothing is said of them, nor where nobody knows of pools."""
    assert lines(POOL, claim("mine")) == ()
    assert lines(MINE) == ()
    assert lines(POOL, with_network(claim("mine"), NETWORK)) == ()


@pytest.mark.parametrize(
    "config",
    [
        network(),
        {"type": "macvlan", "ipam": {"type": "netclaim", "pool": "media"}},
        json.dumps(network()),
    ],
)
def test_every_form_of_a_network(config: Any) -> None:
    """A list, a single plugin, and text."""
    assert list(pools_named(config)) == ["media"]


@pytest.mark.parametrize(
    "config",
    [
        "{", [], None, 1, {"plugins": 1}, {"plugins": [1]}, {"ipam": 1},
        {"ipam": {"type": "netclaim", "pool": 1}}, {"ipam": {"type": "host-local", "pool": "a"}},
    ],
)  # fmt: skip
def test_what_is_no_network_of_a_pool(config: Any) -> None:
    """It is for others to complain about."""
    assert list(pools_named(config)) == []


def test_pools_are_shown() -> None:
    """As text and as JSON."""
    objects = [Object(one, one).in_namespace("default") for one in (links("one", link("eth0")),)]
    objects += [Object(one, one).in_namespace("default") for one in (device_class(), MINE)]
    (subject,) = choose(read_world(objects), "", "", among=lambda _: True)
    answer = Answer(subject, "fits", "fits", pools=("pool media: full",))
    stream = StringIO()
    show([answer], (), PlainScreen(stream), details=False)
    assert stream.getvalue().splitlines()[:2] == ["claim default/mine: fits", "pool media: full"]
    assert json.loads(as_json([answer], ()))["answers"][0]["pools"] == ["pool media: full"]


def counted(addresses: int, **changes: str) -> tuple[dict[str, Any], ...]:
    """The slice and the class of the pool."""
    pools = {"name": "addresses/media", "generation": 1, "resourceSliceCount": 1}
    device = device_json(pool_device("media", addresses, **changes))
    offered = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "addresses"},
        "spec": {"driver": DRIVER, "allNodes": True, "pool": pools, "devices": [device]},
    }
    return offered, pool_class("media", DRIVER)


def users(replicas: int) -> tuple[dict[str, Any], ...]:
    """A deployment whose pods want a link and an address each."""
    requests = [
        {"name": "net", "exactly": {"deviceClassName": "nics"}},
        address_request("media", beside="net"),
    ]
    both = template("both")
    both["spec"]["spec"]["devices"] = {"requests": requests}
    return both, deployment("web", replicas, net="both")


def answers(*found: dict[str, Any]) -> Answer:
    """The answer for the deployment, on a node with more links than there are addresses."""
    nics = links("one", *(link(f"eth{number}") for number in range(4)))
    objects = [Object(one, one).in_namespace("default") for one in (nics, device_class(), *found)]
    world = read_world(objects)
    (answer,) = answer_all(world, choose(world, "web", "", among=lambda _: True))
    return answer


def test_pods_that_want_an_address_of_a_full_pool() -> None:
    """The pool is named, and links have no line for the address, nor the pool for the link."""
    assert answers(*counted(3), *users(3)).outcome == "fits"
    found = answers(*counted(2), *users(3))
    assert found.said == (
        "2 of 3 pods fit, one more cannot be allocated: request address: the pool media has no"
        " free address: 2 claims have one, 0 of 2 free"
    )
    pairs = {(line.request, line.device.device) for line in found.lines if line.device}
    assert {request for request, device in pairs if device == "media"} == {"address"}
    assert {device for request, device in pairs if request == "address"} == {"media"}


def test_a_pool_that_is_not_to_be_used_or_not_there() -> None:
    """The reason is the controller's; without a device there is no class either."""
    unusable = answers(*counted(2, unusable="Disabled"), *users(1))
    assert unusable.said.endswith("request address: the pool media is not to be used: Disabled")
    gone = answers(counted(2)[1], *users(1))
    assert gone.said.endswith(
        "the pool media is not offered; is there an AddressPool of this name?"
    )
    assert 'DeviceClass "addresses.media" does not exist' in answers(*users(1)).said
