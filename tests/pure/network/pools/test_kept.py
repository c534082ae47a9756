"""Addresses that are kept for the replicas of a StatefulSet."""

from typing import Any

import msgspec
import pytest

from netclaim.errors import PeerError
from netclaim.framework import LaterError
from netclaim.model import Claim, Prepared
from netclaim.model.api.dra.claim import Consumer
from netclaim.model.api.own_kinds.address_pool import AddressLease
from netclaim.model.api.own_kinds.kept_address import LeaseOwner, ordinal_of
from netclaim.network.plan.interface_plan import read_plan
from netclaim.network.pools.errors import NamespaceFullError, PoolFullError
from netclaim.network.pools.kept import MAKERS
from netclaim.network.request.into_config.wishes import MAC_TYPES
from netclaim.plugins.registry import PLUGIN_CLASSES
from tests.pure.network.pools.test_leases import Node, again, ips
from tests.support.pool_objects import StoredObjects, pool

KEEP: dict[str, Any] = {"keep": {"kinds": ["StatefulSet"]}}
PODS = "pods"


def keeping(**spec: Any) -> StoredObjects:
    """The API server with a pool that keeps addresses."""
    return StoredObjects(pool({**KEEP, **spec}))


def add_pod(objects: StoredObjects, pod: str, pod_uid: str, **reference: Any) -> None:
    """A pod of the StatefulSet db, unless the reference says otherwise."""
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "set-1"}
    meta = {
        "name": pod,
        "namespace": "shop",
        "uid": pod_uid,
        "ownerReferences": [{**owner, "controller": True, **reference}],
    }
    objects.stored[PODS, pod] = {"metadata": meta}


def claim_of(node: Node, uid: str, pod: str = "db-0", **parameters: Any) -> Claim:
    """The claim of a pod, of which the UID is the claim's with a prefix."""
    consumer = Consumer("pods", pod, f"pod-{uid}")
    return msgspec.structs.replace(
        node.claim(uid, **parameters),
        reserved_for=(consumer,),
        owner_pod_uid=consumer.uid,
    )


async def start(node: Node, uid: str, pod: str = "db-0", **parameters: Any) -> Prepared:
    """Run a pod of the StatefulSet on a node, in the place of an earlier one of its name."""
    add_pod(node.objects, pod, f"pod-{uid}")
    return await node.prepare(claim_of(node, uid, pod, **parameters))


def mac(prepared: Prepared) -> str:
    """The MAC address that the interface will have; empty if nobody chooses it."""
    plugin = read_plan(prepared.plans[0]).network.plugins[0].config
    chosen: str = plugin.get("runtimeConfig", {}).get("mac", "")
    return chosen


def lease_of(objects: StoredObjects, address: str) -> AddressLease:
    """The lease of an address."""
    return AddressLease.read(objects.stored["addressleases", address.partition("/")[0]])


async def test_a_replica_comes_back_with_its_addresses() -> None:
    """Of both families, on another node, with its MAC address."""
    objects = keeping(ranges=[{"cidr": "10.1.0.0/24"}, {"cidr": "fd00::/64"}])
    first, other = Node(objects, "n1"), Node(objects, "n2")
    before = await start(first, "c1")
    await first.leases.give_back(before)
    await start(other, "c2", "db-1")
    after = await start(other, "c3")
    assert (ips(after), mac(after)) == (ips(before), mac(before))
    assert int(mac(after)[:2], 16) & 3 == 2, "locally administered, of one interface"
    assert len(objects.leases()) == 4
    assert objects.leases()[ips(after)[0].partition("/")[0]] == "c3"


async def test_what_it_costs() -> None:
    """Two requests more, for the pod and for what is kept; and of other pods one."""
    node = Node(keeping())
    prepared = await start(node, "c1")
    assert node.objects.requests == ["get", "get", "find", "create"]
    node.objects.requests.clear()
    await node.leases.give_back(prepared)
    await start(node, "c2")
    assert node.objects.requests == ["replace", "get", "find", "replace"]
    node.objects.requests.clear()
    add_pod(node.objects, "web-x", "pod-c3", kind="ReplicaSet", name="web")
    await node.prepare(claim_of(node, "c3", "web-x"))
    assert node.objects.requests == ["get", "create"]


async def test_a_pool_that_keeps_nothing_asks_for_no_pod() -> None:
    """Its addresses are given back, whichever pod has them."""
    node = Node(StoredObjects(pool()))
    prepared = await start(node, "c1")
    assert node.objects.requests == ["get", "create"]
    await node.leases.give_back(prepared)
    assert node.objects.leases() == {}


@pytest.mark.parametrize(
    "reference",
    [
        {"kind": "ReplicaSet"},
        {"apiVersion": "example.com/v1"},
        {"controller": False},
        {"name": "d"},
    ],
)
async def test_other_pods_give_their_addresses_back(reference: dict[str, Any]) -> None:
    """Of other owners, and of names that the StatefulSet does not give."""
    node = Node(keeping())
    add_pod(node.objects, "db-0", "pod-c1", **reference)
    prepared = await node.prepare(claim_of(node, "c1"))
    assert mac(prepared) == ""
    await node.leases.give_back(prepared)
    assert node.objects.leases() == {}


async def test_a_claim_of_nobody_or_of_an_earlier_pod_keeps_nothing() -> None:
    """A claim that pods name is theirs together; a pod of the same name is not this one."""
    node = Node(keeping())
    add_pod(node.objects, "db-0", "pod-other")
    for claim in (node.claim("c1"), claim_of(node, "c2")):
        prepared = await node.prepare(claim)
        await node.leases.give_back(prepared)
    assert node.objects.leases() == {}


async def test_what_is_not_given_back_is_waited_for() -> None:
    """A lost node has it until the controller has seen that its claim is gone."""
    objects = keeping()
    lost, node = Node(objects, "n1"), Node(objects, "n2")
    before = await start(lost, "c1")
    with pytest.raises(LaterError, match="claim shop/claim-c1 on the node n1 has not given it"):
        await start(node, "c2")
    assert len(objects.leases()) == 1
    stored = objects.stored["addressleases", ips(before)[0].partition("/")[0]]
    stored["spec"]["kept"] = True
    assert ips(await node.prepare(again(claim_of(node, "c2")))) == ips(before)


async def test_a_lease_that_changed_meanwhile_is_read_again() -> None:
    """And no second address is leased in its place."""
    objects = keeping()
    node, other = Node(objects, "n1"), Node(objects, "n2")
    before = await start(node, "c1")
    await node.leases.give_back(before)
    address = ips(before)[0].partition("/")[0]

    def change(verb: str) -> None:
        if verb == "replace":
            objects.before = lambda _: None
            objects.stored["addressleases", address]["metadata"]["resourceVersion"] = "later"

    objects.before = change
    with pytest.raises(LaterError, match="kept for this pod"):
        await start(other, "c2")
    assert ips(await other.prepare(again(claim_of(other, "c2")))) == ips(before)
    assert list(objects.leases()) == [address]


async def test_an_address_is_left_after_a_restart_of_the_driver() -> None:
    """By what the journal says of it; and nothing changes when it is left again."""
    node = Node(keeping())
    prepared = await start(node, "c1")
    node.restart()
    await node.leases.give_back(prepared)
    assert lease_of(node.objects, ips(prepared)[0]).spec.kept
    node.objects.requests.clear()
    await node.leases.give_back(prepared)
    assert node.objects.requests == ["get"]


async def test_what_the_next_claim_has_is_not_left_by_the_one_before() -> None:
    """Its release may come late, or twice."""
    objects = keeping()
    node, other = Node(objects, "n1"), Node(objects, "n2")
    before = await start(node, "c1")
    await node.leases.give_back(before)
    after = await start(other, "c2")
    await node.leases.give_back(before)
    assert lease_of(objects, ips(after)[0]).spec.kept is False


async def test_an_api_server_that_is_away_leaves_it_to_the_controller() -> None:
    """The lease stays as it is."""
    node = Node(keeping())
    prepared = await start(node, "c1")

    def away(_: str) -> None:
        raise PeerError("no answer")

    node.objects.before = away
    await node.leases.give_back(prepared)
    assert lease_of(node.objects, ips(prepared)[0]).spec.kept is False


async def test_a_claim_that_waits_for_something_else_keeps_nothing() -> None:
    """What it had before stays its own, and what is new nobody has had."""
    six = {"cidr": "fd00::/64", "start": "fd00::7", "end": "fd00::7"}
    node = Node(keeping(ranges=[{"cidr": "10.1.0.0/24"}, six]))
    other = await node.prepare(node.claim("c0"))
    with pytest.raises(PoolFullError):
        await start(node, "c1")
    assert "c1" not in node.objects.leases().values()
    await node.leases.give_back(other)
    prepared = await node.prepare(again(claim_of(node, "c1")))
    await node.leases.give_back(prepared)
    assert ips(await start(node, "c2")) == ips(prepared)


async def test_each_replica_and_each_interface_has_its_own() -> None:
    """MAC addresses as well."""
    node = Node(keeping())
    add_pod(node.objects, "db-0", "pod-c1")
    one = await node.prepare(claim_of(node, "c1"))
    second = msgspec.structs.replace(
        claim_of(node, "c2", ifName="net2"),
        reserved_for=(Consumer("pods", "db-0", "pod-c1"),),
        owner_pod_uid="pod-c1",
    )
    two = await node.prepare(second)
    three = await start(node, "c3", "db-1")
    assert len({ips(each)[0] for each in (one, two, three)}) == 3
    assert len({mac(each) for each in (one, two, three)}) == 3


async def test_a_chosen_address_is_kept_too() -> None:
    """And the one that it takes the place of is nobody's any more, for the controller to free."""
    node = Node(keeping())
    await node.leases.give_back(await start(node, "c1"))
    chosen = await start(node, "c2", ips=["10.1.0.77"])
    assert ips(chosen) == ["10.1.0.77/24"]
    await node.leases.give_back(chosen)
    with pytest.raises(LaterError, match=r"10\.1\.0\.77 .* is kept for the pod shop/db-0"):
        await start(node, "c3", "db-1", ips=["10.1.0.77"])


async def test_an_address_outside_of_the_pool_is_not_had_again() -> None:
    """Its pool was made smaller; the replica gets one that is in it."""
    objects = keeping()
    node = Node(objects)
    before = await start(node, "c1")
    await node.leases.give_back(before)
    objects.stored["addresspools", "media"] = pool({**KEEP, "ranges": [{"cidr": "10.2.0.0/24"}]})
    node.restart()
    assert ips(await start(node, "c2"))[0].startswith("10.2.0.")


@pytest.mark.parametrize(
    ("plugin", "parameters", "expected"),
    [
        ({"type": "ipvlan"}, {}, ""),
        ({"type": "host-device", "device": "eth1"}, {}, ""),
        ({"type": "macvlan"}, {"mac": "02:00:00:00:00:07"}, "02:00:00:00:00:07"),
        (
            {"type": "macvlan", "runtimeConfig": {"mac": "02:00:00:00:00:08"}},
            {},
            "02:00:00:00:00:08",
        ),
        ({"type": "macvlan", "args": {"cni": {"mac": "02:00:00:00:00:09"}}}, {}, ""),
    ],
)
async def test_a_mac_address_that_was_chosen_stays(
    plugin: dict[str, Any], parameters: dict[str, Any], expected: str
) -> None:
    """And an interface that has its link's is left alone."""
    node = Node(keeping())
    add_pod(node.objects, "db-0", "pod-c1")
    claim = claim_of(node, "c1", **parameters)
    (config, *others) = claim.configs
    ipam = {"type": "netclaim", "pool": "media"}
    network = {"cniVersion": "1.0.0", "name": "m", "plugins": [{**plugin, "ipam": ipam}]}
    written = {**config.parameters, "config": network}
    changed = msgspec.structs.replace(config, parameters=written)
    prepared = await node.prepare(msgspec.structs.replace(claim, configs=(changed, *others)))
    assert mac(prepared) == expected


def test_the_mac_address_is_that_of_the_identity() -> None:
    """It stays from version to version: what is there keeps its address in an update."""
    owner = LeaseOwner("apps/v1", "StatefulSet", "shop", "db", "set-1", "db-0", "net1")
    assert owner.mac == msgspec.structs.replace(owner, name="other").mac
    assert len({msgspec.structs.replace(owner, uid=f"set-{n}").mac for n in range(100)}) == 100
    assert owner.mac == "aa:2a:9c:a2:62:3a"


@pytest.mark.parametrize(
    ("name", "pod", "ordinal"),
    [
        ("db", "db-0", 0),
        ("db", "db-12", 12),
        ("db-a", "db-a-3", 3),
        ("db", "db-01", None),
        ("db", "db-x", None),
        ("db", "db", None),
        ("db", "db-a-3", None),
        ("db", "db-", None),
    ],
)
def test_replicas_have_ordinals(name: str, pod: str, ordinal: int | None) -> None:
    """As StatefulSets count them."""
    assert ordinal_of(name, pod) == ordinal


async def test_a_limit_for_each_namespace_counts_what_is_kept() -> None:
    """A replica that comes back is not counted twice; a new one beyond the limit keeps nothing."""
    node = Node(keeping(perNamespace=1))
    await node.leases.give_back(await start(node, "c1"))
    with pytest.raises(NamespaceFullError):
        await start(node, "c2", "db-1")
    assert list(node.objects.leases().values()) == ["c1"]
    await start(node, "c3")
    assert list(node.objects.leases().values()) == ["c3"]


async def test_an_attempt_that_ended_before_it_counted_is_counted_the_next_time() -> None:
    """Its lease belongs to the replica already, but was never kept for it."""
    node = Node(keeping(perNamespace=1))
    await start(node, "c1")

    async def end() -> None:
        async def refuse() -> None:
            raise PeerError("away")

        node.objects.during["find"] = refuse

    node.objects.during["create"] = end
    with pytest.raises(PeerError, match="away"):
        await start(node, "c2", "db-1")
    assert sorted(node.objects.leases().values()) == ["c1", "c2"]
    with pytest.raises(NamespaceFullError):
        await node.prepare(again(claim_of(node, "c2", "db-1")))
    assert list(node.objects.leases().values()) == ["c1"]


def test_whoever_gets_the_mac_address_of_a_replica_takes_one() -> None:
    """And it is made for the pod, as docs/address-pools.md says."""
    assert all(PLUGIN_CLASSES[each].takes_mac for each in MAKERS)
    assert set(MAC_TYPES) - MAKERS == {"host-device", "tuning"}
