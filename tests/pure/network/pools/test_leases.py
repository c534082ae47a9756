"""Addresses that are leased from pools for the whole cluster."""

import asyncio
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any

import msgspec
import pytest
import structlog

from netclaim.errors import PeerError, RequestError
from netclaim.framework import LaterError
from netclaim.kube import Resource
from netclaim.model import (
    AllocatedDevice,
    Attachment,
    Claim,
    Living,
    OpaqueConfig,
    Plan,
    PodSandbox,
    Prepared,
)
from netclaim.model.claims.claim import JsonObject, ReportedDevice
from netclaim.network.plan.interface_plan import InterfacePlan, read_plan
from netclaim.network.policy.levels import Level
from netclaim.network.pools.cluster import POOL_AGE_S, TAKEN_AGE_S, ClusterPools
from netclaim.network.pools.leases import Leases
from netclaim.network.pools.quota import Quota
from netclaim.network.pools.restore import Restorer
from netclaim.network.request.parameters import read_claim
from tests.support.pool_objects import StoredObjects, pool

DRIVER = "cni.dra.networking.x-k8s.io"
TINY = {"ranges": [{"cidr": "10.1.0.0/30"}]}  # two addresses


class Node:
    """A node's leases, and a clock of its own."""

    def __init__(self, objects: StoredObjects, name: str = "n1") -> None:
        self.objects = objects
        self.name = name
        self.now_s = 100.0
        self.labels: Mapping[str, str] | None = {}
        self.restart()

    def restart(self) -> None:
        """Forget everything, as a new process."""
        pools = ClusterPools(self.objects, lambda: self.now_s, lambda: self.labels)
        self.leases = Leases(pools, Quota(pools))

    def claim(self, uid: str = "c1", **parameters: Any) -> Claim:
        """A claim on the node whose class has its addresses leased."""
        source = parameters.pop("source", "FromClass")
        ipam = {"type": "netclaim", "pool": "media", **parameters.pop("ipam", {})}
        plugin = {"type": "macvlan", "ipam": ipam}
        config = {"cniVersion": "1.0.0", "name": "m", "plugins": [plugin]}
        written = {
            "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
            "kind": "CNI",
            "ifName": "net1",
            "config": config,
        }
        configs = [OpaqueConfig(source, DRIVER, written)]
        if parameters:
            both = {key: written[key] for key in ("apiVersion", "kind")} | parameters
            configs.append(OpaqueConfig("FromClaim", DRIVER, both))
        device = AllocatedDevice("net", DRIVER, self.name, "eth1")
        return Claim(uid, "shop", f"claim-{uid}", True, ("net",), (device,), tuple(configs))

    async def prepare(
        self, *claims: Claim, level: Level = Level.BASELINE, withheld: Sequence[str] = ()
    ) -> Prepared:
        """Lease what the only device of a claim needs; several are one claim's devices."""
        plans = []
        async with self.leases.all_or_none(claims[0]):
            for claim in claims:
                (request,) = read_claim(claim)
                interface = InterfacePlan(
                    request.ifname, request.network.to_dict(), wishes=request.wishes
                )
                plan = Plan(claim.ref, request.device, network=interface.to_json())
                kept = [ip_address(each) for each in withheld]
                plans.append(await self.leases.take(claim, request, plan, level, withheld=kept))
        return Prepared(claims[0].ref, tuple(plans))


def ips(prepared: Prepared) -> list[str]:
    """The addresses that a pod will get."""
    network = read_plan(prepared.plans[0]).network
    return [each["address"] for each in network.plugins[0].config["ipam"]["addresses"]]


def again(claim: Claim) -> Claim:
    """The claim as it is prepared a second time."""
    return msgspec.structs.replace(claim, begun=True)


async def test_a_lease_is_one_request() -> None:
    """Beside the pool, which is read once for all claims; nothing is listed."""
    node = Node(StoredObjects(pool()))
    prepared = [await node.prepare(node.claim(f"c{n}")) for n in range(3)]
    assert node.objects.requests == ["get", *["create"] * 3]
    assert len({ips(each)[0] for each in prepared}) == 3


async def test_claims_that_want_a_pool_at_once_share_one_answer() -> None:
    """A claim that comes while it is read waits for that; if that is cut off, one asks anew."""
    objects, answered = StoredObjects(pool()), asyncio.Event()

    async def wait() -> None:
        await answered.wait()

    objects.during["get"] = wait  # of the first request
    node = Node(objects)
    first, *others = (asyncio.ensure_future(node.prepare(node.claim(f"c{n}"))) for n in range(4))
    while not objects.requests:  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0)
    first.cancel()
    prepared = await asyncio.gather(*others)
    assert objects.requests == ["get", "get", *["create"] * 3]
    assert len({ips(each)[0] for each in prepared}) == 3
    assert first.cancelled()


async def test_the_network_that_runs_has_the_address() -> None:
    """With its prefix, its gateway, and the routes of pool and network, by the plugin `static`."""
    ranges = [{"cidr": "10.1.0.0/30", "gateway": "10.1.0.1"}]
    node = Node(StoredObjects(pool({"ranges": ranges, "routes": [{"dst": "10.9.0.0/16"}]})))
    prepared = await node.prepare(node.claim(ipam={"routes": [{"dst": "10.8.0.0/16"}]}))
    assert read_plan(prepared.plans[0]).network.plugins[0].config["ipam"] == {
        "type": "static",
        "addresses": [{"address": "10.1.0.2/30", "gateway": "10.1.0.1"}],
        "routes": [{"dst": "10.8.0.0/16"}, {"dst": "10.9.0.0/16"}],
    }
    assert read_plan(prepared.plans[0]).judged.plugins[0].ipam_type == "netclaim"


def moved_into(range_: str, **spec: Any) -> dict[str, Any]:
    """Another pool over the same addresses, that the controller has found good."""
    meta = {"name": "other", "uid": "pool-2", "generation": 1}
    return pool({"ranges": [{"cidr": range_}], **spec}, metadata=meta)


async def test_an_address_is_leased_once_whatever_pool_it_was_leased_from() -> None:
    """Of a pool that was deleted, or shrunk; all other addresses are to be had, to the last one."""
    objects = StoredObjects(pool({"ranges": [{"cidr": "10.1.0.0/29"}]}), moved_into("10.1.0.0/28"))
    node = Node(objects)
    old = [ips(await node.prepare(node.claim(f"old{n}")))[0] for n in range(6)]
    del objects.stored["addresspools", "media"]
    other = Node(objects, "n2")
    new = [
        ips(await other.prepare(other.claim(f"new{n}", ipam={"pool": "other"})))[0]
        for n in range(8)
    ]
    assert len({each.partition("/")[0] for each in old + new}) == 14
    with pytest.raises(LaterError, match="the pool other has no free address: all 14 are leased"):
        await other.prepare(other.claim("more", ipam={"pool": "other"}))
    assert objects.requests.count("find") <= 4


async def test_pools_of_separate_domains_lease_the_same_addresses() -> None:
    """Their networks never meet."""
    objects = StoredObjects(pool(TINY), moved_into("10.1.0.0/30", domain="lab"))
    node = Node(objects)
    for uid in ("c1", "c2"):
        await node.prepare(node.claim(uid))
        await node.prepare(node.claim(f"lab-{uid}", ipam={"pool": "other"}))
    names = [name for plural, name in objects.stored if plural == "addressleases"]
    assert sorted(names) == ["10.1.0.1", "10.1.0.2", "lab.10.1.0.1", "lab.10.1.0.2"]


async def test_a_lease_of_another_driver_is_not_taken_for_ones_own() -> None:
    """Of a second release on the same node, for a device of the same claim."""
    node = Node(StoredObjects(pool(TINY)))
    claim = node.claim("c1")
    first = ips(await node.prepare(claim))
    ((key, lease),) = [
        (key, each) for key, each in node.objects.stored.items() if key[0] == "addressleases"
    ]
    theirs = {**lease, "spec": {**lease["spec"], "driver": "other.example.com"}}
    node.objects.stored[key] = theirs
    node.restart()
    assert ips(await node.prepare(again(claim))) != first
    await node.leases.give_back(Prepared(claim.ref))
    assert node.objects.stored[key] == theirs


async def test_both_families() -> None:
    """An interface gets an address of each that the pool has."""
    node = Node(StoredObjects(pool({"ranges": [{"cidr": "10.1.0.0/24"}, {"cidr": "fd00::/64"}]})))
    four, six = ips(await node.prepare(node.claim()))
    assert (four.startswith("10.1.0."), six.startswith("fd00::")) == (True, True)


@pytest.mark.parametrize("forgets", [False, True])
async def test_a_second_prepare_gets_the_same(*, forgets: bool) -> None:
    """Also of another process, and where the address was not the first choice."""
    node = Node(StoredObjects(pool(TINY)))
    other = await node.prepare(node.claim("other"))
    first = await node.prepare(node.claim("c1"))
    await node.leases.give_back(other)
    if forgets:
        node.restart()
    assert ips(await node.prepare(again(node.claim("c1")))) == ips(first)
    assert len(node.objects.leases()) == 1


@pytest.mark.parametrize("at", ["before", "after"])
async def test_a_request_without_an_answer_leaves_one_lease(at: str) -> None:
    """Whether or not it was carried out."""
    node = Node(StoredObjects(pool()))

    def cut(verb: str) -> None:
        if verb == "create":
            setattr(node.objects, at, lambda _: None)
            raise PeerError("no answer")

    setattr(node.objects, at, cut)
    with pytest.raises(PeerError, match="no answer"):
        await node.prepare(node.claim())
    await node.prepare(again(node.claim()))
    assert list(node.objects.leases().values()) == ["c1"]


async def test_a_full_pool_is_tried_again_with_the_sandbox() -> None:
    """And starts the pod as soon as an address was given back."""
    node = Node(StoredObjects(pool(TINY)))
    first = await node.prepare(node.claim("c1"))
    await node.prepare(node.claim("c2"))
    with pytest.raises(LaterError, match="no free address: all 2 are leased"):
        await node.prepare(node.claim("c3"))
    await node.leases.give_back(first)
    assert ips(await node.prepare(again(node.claim("c3")))) == ips(first)


async def test_claims_that_wait_for_a_full_pool_share_one_list() -> None:
    """For some seconds, on each node."""
    node = Node(StoredObjects(pool(TINY)))
    for uid in ("c1", "c2"):
        await node.prepare(node.claim(uid))
    for n in range(20):
        with pytest.raises(LaterError):
            await node.prepare(node.claim(f"waits-{n}"))
    assert node.objects.requests.count("find") == 1
    node.now_s += TAKEN_AGE_S + 1
    with pytest.raises(LaterError):
        await node.prepare(again(node.claim("waits-1")))
    assert node.objects.requests.count("find") == 2


async def test_every_address_is_leased_once() -> None:
    """To the last one, by two nodes in turns."""
    objects = StoredObjects(pool())
    nodes = [Node(objects, "n1"), Node(objects, "n2")]
    for n in range(254):
        await nodes[n % 2].prepare(nodes[n % 2].claim(f"c{n}"))
    assert len(objects.leases()) == 254
    with pytest.raises(LaterError, match="all 254 are leased"):
        await nodes[0].prepare(nodes[0].claim("more"))


async def test_a_chosen_address_is_leased() -> None:
    """Whatever prefix length the claim wrote; the pool's is used."""
    node = Node(StoredObjects(pool()))
    assert ips(await node.prepare(node.claim(ips=["10.1.0.77/16"]))) == ["10.1.0.77/24"]


async def test_a_chosen_address_that_is_taken_names_the_holder() -> None:
    """Of the same namespace by its name; users do not see other namespaces."""
    node = Node(StoredObjects(pool()))
    await node.prepare(node.claim("c1", ips=["10.1.0.77"]))
    with pytest.raises(LaterError, match=r"10\.1\.0\.77 .* leased to the claim shop/claim-c1"):
        await node.prepare(node.claim("c2", ips=["10.1.0.77"]))
    foreign = msgspec.structs.replace(node.claim("c3", ips=["10.1.0.77"]), namespace="bank")
    with pytest.raises(LaterError, match="a claim of another namespace"):
        await node.prepare(foreign)


@pytest.mark.parametrize(
    ("ips", "message"),
    [
        (["10.2.0.1"], r"10\.2\.0\.1 is not an address of the pool media"),
        (["10.1.0.1", "10.1.0.2"], "one IPv4 address"),
    ],
)
async def test_a_chosen_address_is_of_the_pool(ips: list[str], message: str) -> None:
    """One of each family."""
    node = Node(StoredObjects(pool()))
    with pytest.raises(RequestError, match=message):
        await node.prepare(node.claim(ips=ips))
    assert node.objects.leases() == {}


MEDIA = {"namespaces": {"matchLabels": {"team": "media"}}}


@pytest.mark.parametrize(
    ("spec", "source", "labels", "refused"),
    [
        ({}, "FromClass", {}, ""),
        ({}, "FromClaim", {}, "is for networks that an admin wrote"),
        (MEDIA, "FromClaim", {"team": "media"}, ""),
        (MEDIA, "FromClaim", {}, "may not have addresses of the pool media"),
        (MEDIA, "FromClass", {}, "may not have addresses of the pool media"),
    ],
)
async def test_a_pool_is_for_whom_its_admin_says(
    spec: dict[str, Any], source: str, labels: Mapping[str, str], refused: str
) -> None:
    """A claim's own network may have addresses of it only where the pool names the namespace."""
    node = Node(StoredObjects(pool(spec)))
    claim = msgspec.structs.replace(node.claim(source=source), namespace_labels=labels)
    if not refused:
        await node.prepare(claim)
        return
    with pytest.raises(RequestError, match=refused):
        await node.prepare(claim)
    assert node.objects.leases() == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"status": {}}, "controller has not looked at the pool media yet"),
        (
            {
                "status": {
                    "observedGeneration": 1,
                    "conditions": [{"type": "Ready", "status": "False", "message": "it overlaps"}],
                }
            },
            "the pool media is not ready: it overlaps",
        ),
    ],
)
async def test_a_pool_that_is_not_ready_is_waited_for(
    changes: dict[str, Any], message: str
) -> None:
    """Nobody gets an address that another pool may have as well."""
    node = Node(StoredObjects(pool(**changes)))
    with pytest.raises(LaterError, match=message):
        await node.prepare(node.claim())
    node.objects.stored["addresspools", "media"] = pool()
    node.now_s += POOL_AGE_S + 1
    await node.prepare(again(node.claim()))


async def test_a_pool_that_is_switched_off_keeps_its_leases() -> None:
    """Only new claims are refused."""
    node = Node(StoredObjects(pool({"enabled": False})))
    with pytest.raises(LaterError, match="switched off"):
        await node.prepare(node.claim())


async def test_a_pool_that_is_not_there_is_named() -> None:
    """The admin has to create it."""
    node = Node(StoredObjects())
    with pytest.raises(RequestError, match="there is no AddressPool media"):
        await node.prepare(node.claim())


async def test_giving_back_does_not_wait_for_the_api_server() -> None:
    """The controller collects what stayed; a later call succeeds."""
    node = Node(StoredObjects(pool()))
    prepared = await node.prepare(node.claim())

    def refuse(_: str) -> None:
        raise PeerError("away")

    node.objects.before = refuse
    await node.leases.give_back(prepared)
    assert len(node.objects.leases()) == 1
    node.objects.before = lambda _: None
    await node.leases.give_back(prepared)
    await node.leases.give_back(prepared)
    assert node.objects.leases() == {}


async def test_a_lease_that_was_made_anew_is_not_given_back_for_the_old_one() -> None:
    """What another process leased for the same claim stays."""
    node = Node(StoredObjects(pool()))
    old = await node.prepare(node.claim())
    node.restart()
    await node.prepare(again(node.claim()))
    node.restart()
    await node.leases.give_back(old)
    assert len(node.objects.leases()) == 1


async def test_a_claim_that_was_never_planned_gives_back_what_it_had() -> None:
    """A device of it was refused after another one had its address."""
    node = Node(StoredObjects(pool()))
    prepared = await node.prepare(node.claim())
    await node.leases.give_back(Prepared(prepared.claim))
    assert node.objects.leases() == {}


async def test_a_lease_of_another_node_is_left_alone() -> None:
    """The claim moved while that node was lost; the controller collects it."""
    objects = StoredObjects(pool(TINY))
    one, two = Node(objects, "n1"), Node(objects, "n2")
    first = await one.prepare(one.claim("c1"))
    second = await two.prepare(again(two.claim("c1")))
    assert ips(first) != ips(second)
    await two.leases.give_back(second)
    assert len(objects.leases()) == 1


@pytest.mark.parametrize("full", ["a pool", "a family"])
async def test_nothing_is_held_while_something_else_is_waited_for(full: str) -> None:
    """Two claims that need two pools, or both families, would wait for each other."""
    dual = pool({"ranges": [{"cidr": "10.1.0.0/24"}, {"cidr": "fd00::/127"}]})
    objects = StoredObjects(dual if full == "a family" else pool(), moved_into("10.2.0.0/30"))
    node = Node(objects)
    other = {"ipam": {"pool": "other"}} if full == "a pool" else {}
    for n in range(2):
        await node.prepare(node.claim(f"c{n}", **other))
    had = objects.leases()
    wants = [node.claim("waits")] + ([node.claim("waits", **other)] if other else [])
    with pytest.raises(LaterError, match="no free"):
        await node.prepare(*wants)
    assert objects.leases() == had


async def test_what_a_claim_had_before_is_kept_while_something_else_is_waited_for() -> None:
    """Its pod may run with it."""
    objects = StoredObjects(pool(), moved_into("10.2.0.0/30"))
    node = Node(objects)
    await node.prepare(node.claim("c1"))
    for n in range(2):
        await node.prepare(node.claim(f"other{n}", ipam={"pool": "other"}))
    had = objects.leases()
    with pytest.raises(LaterError, match="no free"):
        await node.prepare(again(node.claim("c1")), node.claim("c1", ipam={"pool": "other"}))
    assert objects.leases() == had


async def test_no_address_is_leased_that_would_be_refused_when_it_is_attached() -> None:
    """The node's own, for example; it counts as taken, also where the claim has it by now."""
    node = Node(StoredObjects(pool(TINY)))
    first = ips(await node.prepare(node.claim()))[0].partition("/")[0]
    second = ips(await node.prepare(again(node.claim()), withheld=[first]))[0].partition("/")[0]
    assert first != second
    await node.leases.give_back(Prepared(node.claim().ref))
    await node.prepare(node.claim("c2"), withheld=[first])
    with pytest.raises(LaterError, match="no free address"):
        await node.prepare(node.claim("c3"), withheld=[first])
    assert node.objects.leases() == {second: "c2"}


def running(node: Node, *addresses: str) -> Claim:
    """A claim whose status says that its pod has addresses."""
    claim = node.claim("c1")
    reported = ReportedDevice(DRIVER, claim.devices[0].key, "2026-01-01T00:00:00Z", ips=addresses)
    return msgspec.structs.replace(claim, reported=(reported,))


async def test_a_pod_that_runs_keeps_its_address_without_journal_and_lease() -> None:
    """Rather than any other one; unless somebody has it by now."""
    node = Node(StoredObjects(pool()))
    claim = running(node, "10.1.0.77/24")
    assert ips(await node.prepare(claim)) == ["10.1.0.77/24"]
    other = Node(StoredObjects(pool()))
    await other.prepare(other.claim("thief", ips=["10.1.0.77"]))
    assert ips(await other.prepare(claim)) != ["10.1.0.77/24"]


async def test_a_pod_that_runs_keeps_its_address_of_several_leases() -> None:
    """An attempt that was cut off may have left another one."""
    objects = StoredObjects(pool())
    node = Node(objects)
    for address in ("10.1.0.76", "10.1.0.77", "10.1.0.78"):
        await node.prepare(again(node.claim("c1", ips=[address])))
    node.restart()
    assert ips(await node.prepare(running(node, "10.1.0.77/24"))) == ["10.1.0.77/24"]


def living(*prepared: Prepared) -> Living:
    """What the node's collection knows of claims whose pods run."""
    pod = PodSandbox("s", "pod-1", "shop", "web", "/run/netns/s")
    attachments = tuple(Attachment(plan, pod) for each in prepared for plan in each.plans)
    return Living(attachments, frozenset(each.claim.uid for each in prepared))


async def test_a_deleted_lease_of_a_pod_that_runs_is_made_again() -> None:
    """By one list for all; and it is given back with its claim."""
    node, restorer = Node(StoredObjects(pool())), Restorer(DRIVER)
    prepared = [await node.prepare(node.claim(f"c{n}")) for n in range(3)]
    before = node.objects.leases()
    node.objects.requests.clear()
    await restorer.restore(node.leases, living(*prepared))
    assert node.objects.requests == ["find"]
    del node.objects.stored["addressleases", ips(prepared[0])[0].partition("/")[0]]
    node.restart()
    await restorer.restore(node.leases, living(*prepared))
    assert node.objects.leases() == before
    assert restored(restorer, "restored") == 1
    for each in prepared:
        await node.leases.give_back(each)
    assert node.objects.leases() == {}


async def test_a_deleted_lease_of_a_pod_that_has_no_sandbox_yet_is_made_again() -> None:
    """Its claim is prepared, and its pod gets the address as soon as it starts."""
    node, restorer = Node(StoredObjects(pool())), Restorer(DRIVER)
    prepared = await node.prepare(node.claim("c1", ips=["10.1.0.77"]))
    before = node.objects.leases()
    del node.objects.stored["addressleases", "10.1.0.77"]
    waiting = Living(claims=frozenset({prepared.claim.uid}), plans=prepared.plans)
    await restorer.restore(node.leases, waiting)
    assert node.objects.leases() == before
    assert restored(restorer, "restored") == 1


async def test_an_address_that_somebody_else_has_by_now_is_counted() -> None:
    """Each time that it is looked for; the pod's own claim has no lease of it."""
    node, restorer = Node(StoredObjects(pool()), "n1"), Restorer(DRIVER)
    prepared = await node.prepare(node.claim("c1", ips=["10.1.0.77"]))
    del node.objects.stored["addressleases", "10.1.0.77"]
    other = Node(node.objects, "n2")
    await other.prepare(other.claim("c2", ips=["10.1.0.77"]))
    for _ in range(2):
        await restorer.restore(node.leases, living(prepared))
    assert (restored(restorer, "taken"), restored(restorer, "restored")) == (2, 0)
    assert node.objects.leases() == {"10.1.0.77": "c2"}


async def test_what_is_being_released_is_not_made_again() -> None:
    """Its claim is not prepared any more; and a node without pooled addresses asks nothing."""
    node, restorer = Node(StoredObjects(pool())), Restorer(DRIVER)
    prepared = await node.prepare(node.claim())
    await node.leases.give_back(prepared)
    node.objects.requests.clear()
    ended = msgspec.structs.replace(living(prepared), claims=frozenset())
    await restorer.restore(node.leases, ended)
    assert (node.objects.leases(), node.objects.requests) == ({}, [])


@pytest.mark.parametrize("at", ["find", "create", "get"])
async def test_what_is_released_during_a_round_is_not_made_again(at: str) -> None:
    """Nor is it counted as taken; whichever request the release comes in between."""
    node, restorer = Node(StoredObjects(pool())), Restorer(DRIVER)
    prepared = await node.prepare(node.claim("c1", ips=["10.1.0.77"]))
    del node.objects.stored["addressleases", "10.1.0.77"]
    if at == "get":
        other = Node(node.objects, "n2")
        await other.prepare(other.claim("c2", ips=["10.1.0.77"]))
    node.objects.during[at] = lambda: node.leases.give_back(prepared)
    await restorer.restore(node.leases, living(prepared))
    assert "c1" not in node.objects.leases().values()
    assert (restored(restorer, "taken"), restored(restorer, "restored")) == (0, 0)
    assert not node.objects.during


def restored(restorer: Restorer, result: str) -> float:
    """What the metric says."""
    (metric,) = restorer.restored.collect()
    return {each.labels["result"]: each.value for each in metric.samples}[result]


async def test_a_range_is_for_the_nodes_that_it_selects() -> None:
    """Others have their own range, or one for all; without any, the pod waits and says so."""
    racks = [
        {"cidr": f"10.1.{n}.0/24", "nodeSelector": {"matchLabels": {"rack": f"r{n}"}}}
        for n in range(2)
    ]
    objects = StoredObjects(pool({"ranges": racks}))
    for n in range(2):
        node = Node(objects, f"n{n}")
        node.labels = {"rack": f"r{n}"}
        assert ips(await node.prepare(node.claim(f"c{n}")))[0].startswith(f"10.1.{n}.")
        assert node.leases.pools.reads_labels
    node.labels = {}
    with pytest.raises(LaterError, match="the pool media has no range for this node"):
        await node.prepare(node.claim("c3"))
    node.labels = None
    with pytest.raises(LaterError, match="labels of this one are not known yet"):
        await node.prepare(node.claim("c3"))
    all_nodes = Node(StoredObjects(pool({"ranges": [*racks, {"cidr": "10.1.9.0/24"}]})))
    assert ips(await all_nodes.prepare(all_nodes.claim("c4")))[0].startswith("10.1.9.")


async def test_a_pod_keeps_its_address_when_the_labels_of_its_node_change() -> None:
    """The range is not for the node any more; its prefix length is what the pod reports."""
    rack = {"cidr": "10.1.0.0/24", "nodeSelector": {"matchLabels": {"rack": "r0"}}}
    objects = StoredObjects(pool({"ranges": [rack, {"cidr": "10.1.9.0/24"}]}))
    node = Node(objects)
    node.labels = {"rack": "r0"}
    await node.prepare(node.claim("c1", ips=["10.1.0.77"]))
    node.restart()
    node.labels = {}
    assert ips(await node.prepare(running(node, "10.1.0.77/24"))) == ["10.1.0.77/24"]
    assert list(objects.leases()) == ["10.1.0.77"]


class Silent(StoredObjects):
    """An API server that does not answer when something is to be deleted."""

    async def delete(self, resource: Resource, found: JsonObject) -> None:
        """Wait for ever."""
        self.requests.append("delete")
        await asyncio.Event().wait()


async def test_the_end_of_a_pod_waits_once_for_a_silent_server() -> None:
    """However many leases it has, which the controller collects; there is one deadline for all."""
    ranges = [{"cidr": "10.1.0.0/24"}, {"cidr": "fd00::/64"}]
    node = Node(Silent(pool({"ranges": ranges})))
    prepared = await node.prepare(node.claim())
    with structlog.testing.capture_logs() as logs:
        await node.leases.give_back(prepared)
    assert node.objects.requests.count("delete") == 1
    assert [each["event"] for each in logs] == ["address.left"] * 2
