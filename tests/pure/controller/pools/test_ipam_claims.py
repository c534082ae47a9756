"""IPAMClaims: their addresses are kept as long as they are there, and are in their status."""

from typing import Any

from netclaim.controller.pools.kept import OWNER_AGE_S
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import ADDRESS_LEASE, CLAIM, IPAM_CLAIM
from tests.pure.controller.pools.test_pools import add_pool, collecting
from tests.support.controller_parts import DRIVER, World

KEEP: JsonObject = {"kinds": ["StatefulSet", "IPAMClaim"], "whenScaled": "Delete"}


def add_ipam_claim(world: World, name: str = "vm") -> JsonObject:
    """Create an IPAMClaim."""
    return world.create(IPAM_CLAIM, name, "default", spec={"network": "n", "interface": "net1"})


def add_lease(world: World, name: str, address: str, owner: JsonObject, claim: str = "") -> None:
    """Create a lease for an IPAMClaim, which a claim has; without one it is kept."""
    live = world.store.get(CLAIM, claim, "default") or {"metadata": {"uid": "u"}}
    meta = owner["metadata"]
    holder = {"namespace": "default", "name": claim or "gone", "uid": live["metadata"]["uid"]}
    whose = {"apiVersion": "k8s.cni.cncf.io/v1alpha1", "kind": "IPAMClaim", "namespace": "default"}
    spec = {
        "pool": "media",
        "address": address,
        "driver": DRIVER,
        "nodeName": "node-a",
        "claim": {**holder, "request": "nic", "device": "eth1"},
        "owner": {
            **whose,
            "name": meta["name"],
            "uid": meta["uid"],
            "replica": meta["name"],
            "interface": "net1",
        },
        **({} if claim else {"kept": True}),
    }
    world.create(ADDRESS_LEASE, name, spec=spec)


def status_of(world: World, name: str = "vm") -> Any:
    """What an IPAMClaim says of its addresses."""
    return world.verbs.get(IPAM_CLAIM, name, "default").get("status")


async def test_addresses_are_kept_until_the_ipam_claim_is_gone() -> None:
    """However long that takes, and whatever the pool says of replicas that are scaled down."""
    async with collecting() as there:
        add_pool(there.world, keep=KEEP)
        add_lease(there.world, "10.1.0.2", "10.1.0.2", add_ipam_claim(there.world))
        assert await there.after(100 * OWNER_AGE_S) == ["10.1.0.2"]
        there.world.verbs.delete(IPAM_CLAIM, "vm", "default")
        assert await there.after(OWNER_AGE_S) == []


async def test_an_ipam_claim_of_the_same_name_is_another_one() -> None:
    """It gets nothing of what the earlier one had, in its status neither."""
    async with collecting() as there:
        add_pool(there.world, keep=KEEP)
        add_ipam_claim(there.world)
        add_lease(
            there.world, "10.1.0.3", "10.1.0.3", {"metadata": {"name": "vm", "uid": "earlier"}}
        )
        assert await there.after(0) == []
        assert status_of(there.world) == {}


async def test_what_it_has_is_in_its_status() -> None:
    """Addresses with their prefix lengths, and the pod that has them, as long as one has."""
    async with collecting() as there:
        world = there.world
        ranges = [{"cidr": "10.1.0.0/24"}, {"cidr": "fd00::/64"}]
        add_pool(world, keep=KEEP, ranges=ranges)
        owner = add_ipam_claim(world)
        world.claim("lives", "media-net", pod=world.pod("launcher"), ready=True)
        full = "fd00-0000-0000-0000-0000-0000-0000-0007"
        add_lease(world, full, "fd00::7", owner, "lives")
        add_lease(world, "10.1.0.2", "10.1.0.2", owner, "lives")
        await there.after(0)
        ips = ["10.1.0.2/24", "fd00::7/64"]
        assert status_of(world) == {"ips": ips, "ownerPod": {"name": "launcher"}}
        for name in ("10.1.0.2", full):
            live = world.verbs.get(ADDRESS_LEASE, name)
            world.change(ADDRESS_LEASE, name, spec={**live["spec"], "kept": True})
        await there.after(0)
        assert status_of(world) == {"ips": ips}


async def test_what_it_has_no_more_is_not_in_its_status() -> None:
    """An admin freed the address, or the pool keeps none any more."""
    async with collecting() as there:
        add_pool(there.world, keep=KEEP)
        add_lease(there.world, "10.1.0.2", "10.1.0.2", add_ipam_claim(there.world))
        await there.after(0)
        assert status_of(there.world) == {"ips": ["10.1.0.2/29"]}
        there.world.verbs.delete(ADDRESS_LEASE, "10.1.0.2")
        await there.after(0)
        assert status_of(there.world) == {"ips": []}


async def test_what_is_kept_beside_what_a_pod_has_is_not_in_its_status() -> None:
    """The pod chose another address, and the earlier one is about to be freed."""
    async with collecting() as there:
        world = there.world
        add_pool(world, keep=KEEP)
        owner = add_ipam_claim(world)
        world.claim("lives", "media-net", pod=world.pod("launcher"), ready=True)
        add_lease(world, "10.1.0.2", "10.1.0.2", owner)
        add_lease(world, "10.1.0.3", "10.1.0.3", owner, "lives")
        await there.after(0)
        assert status_of(world) == {"ips": ["10.1.0.3/29"], "ownerPod": {"name": "launcher"}}


async def test_a_status_is_written_once() -> None:
    """A second look writes nothing, and a controller that comes after asks first."""
    async with collecting() as there:
        add_pool(there.world, keep=KEEP)
        add_lease(there.world, "10.1.0.2", "10.1.0.2", add_ipam_claim(there.world))
        await there.after(0)
        version = there.world.verbs.get(IPAM_CLAIM, "vm", "default")["metadata"]["resourceVersion"]
        await there.after(OWNER_AGE_S)
        again = there.world.verbs.get(IPAM_CLAIM, "vm", "default")["metadata"]["resourceVersion"]
        assert again == version
