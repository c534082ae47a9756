"""Pools are judged and counted, and leases of claims that are gone are collected."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

from netclaim.controller.objects import Objects
from netclaim.controller.pools import GRACE_S, Pools
from netclaim.controller.serve import Process
from netclaim.local.api import Verbs
from netclaim.model.api.address_pool import AddressPoolStatus
from netclaim.model.claim import JsonObject
from netclaim.schema.kinds import ADDRESS_LEASE, ADDRESS_POOL, CLAIM
from tests.support.controller_parts import DRIVER, World, controlled
from tests.support.local.parts import new_verbs, serving

RANGES = [{"cidr": "10.1.0.0/29", "gateway": "10.1.0.1"}]


def add_pool(world: World, name: str = "media", **spec: Any) -> None:
    """Create a pool of five addresses."""
    world.create(ADDRESS_POOL, name, spec={"ranges": RANGES, **spec})


def add_lease(
    world: World,
    address: str,
    claim: JsonObject | None = None,
    *,
    node: str = "node-a",
    driver: str = DRIVER,
) -> None:
    """Create a lease for a claim, or for one that is gone."""
    meta = claim["metadata"] if claim else {"name": "gone", "namespace": "default", "uid": "u"}
    holder = {key: meta[key] for key in ("namespace", "name", "uid")}
    spec = {"pool": "media", "address": address, "driver": driver, "nodeName": node}
    world.create(ADDRESS_LEASE, address, spec={**spec, "claim": holder})


def status(world: World, name: str = "media") -> JsonObject:
    """The status of a pool; empty if it has none."""
    found = world.store.get(ADDRESS_POOL, name) or {}
    said: JsonObject = found.get("status", {})
    return said


def ready(world: World, name: str = "media") -> JsonObject:
    """The condition Ready of a pool; empty if it has none."""
    return next(iter(status(world, name).get("conditions", ())), {})


async def test_a_pool_is_ready_and_counted() -> None:
    """Used and free addresses are those of now."""
    async with controlled() as world:
        add_pool(world)
        await world.until(lambda: ready(world).get("status") == "True")
        assert {key: status(world)[key] for key in ("size", "used", "free")} == {
            "size": 5,
            "used": 0,
            "free": 5,
        }
        add_lease(world, "10.1.0.2")
        await world.until(lambda: status(world)["used"] == 1)
        assert status(world)["free"] == 4


async def test_a_pool_that_overlaps_an_older_one_is_not_ready() -> None:
    """The older one is; and one that says by its domain that it is for a separate network."""
    async with controlled() as world:
        add_pool(world, "a")
        await world.until(lambda: ready(world, "a").get("status") == "True")
        add_pool(world, "b", ranges=[{"cidr": "10.1.0.0/24"}])
        await world.until(lambda: ready(world, "b").get("reason") == "Overlaps")
        assert "10.1.0.2 is in the older pool a too" in ready(world, "b")["message"]
        assert ready(world, "a")["status"] == "True"
        add_pool(world, "c", ranges=[{"cidr": "10.1.0.0/24"}], domain="lab")
        await world.until(lambda: ready(world, "c").get("status") == "True")


async def test_a_pool_waits_for_leases_of_an_earlier_one_in_another_domain() -> None:
    """Their names are no locks for it, and nobody knows whether the network is the same."""
    async with controlled() as world:
        add_lease(world, "10.1.0.3")
        add_pool(world, domain="lab")
        await world.until(lambda: ready(world).get("reason") == "Leased")
        assert "10.1.0.3 is leased to default/gone" in ready(world)["message"]
        world.verbs.delete(ADDRESS_LEASE, "10.1.0.3")
        await world.until(lambda: ready(world).get("status") == "True")


async def test_a_pool_becomes_ready_when_the_older_one_is_gone() -> None:
    """Nobody has to touch it for that."""
    async with controlled() as world:
        add_pool(world, "a")
        add_pool(world, "b")
        await world.until(lambda: ready(world, "b").get("reason") == "Overlaps")
        world.verbs.delete(ADDRESS_POOL, "a")
        await world.until(lambda: ready(world, "b").get("status") == "True")


async def test_a_pool_that_shrinks_counts_what_it_lost_as_used() -> None:
    """Whoever has an address keeps it; what is free is free in the new ranges."""
    async with controlled() as world:
        add_pool(world)
        add_lease(world, "10.1.0.6")
        await world.until(lambda: status(world).get("used") == 1)
        world.change(ADDRESS_POOL, "media", spec={"ranges": [{**RANGES[0], "end": "10.1.0.3"}]})
        await world.until(lambda: status(world)["size"] == 2)
        assert (status(world)["used"], status(world)["free"]) == (1, 2)


class Collecting:
    """A collector of leases, which sees the objects as they are, and a clock of the test's."""

    def __init__(self, objects: Objects, verbs: Verbs) -> None:
        self.now_s = 0.0
        self.world = World(verbs)
        self._pools = Pools(objects, self, monotonic=lambda: self.now_s)  # type: ignore[arg-type]

    def store(self, kind: str) -> dict[tuple[str, str], JsonObject]:
        """What the controller's watches have."""
        found = self.world.store.list({CLAIM.name: CLAIM, ADDRESS_LEASE.name: ADDRESS_LEASE}[kind])
        metas = [(each["metadata"], each) for each in found]
        return {(meta.get("namespace", ""), meta["name"]): each for meta, each in metas}

    async def after(self, seconds: float) -> list[str]:
        """The addresses that are leased after two looks, so long apart."""
        await self._pools.collect()
        self.now_s += seconds
        await self._pools.collect()
        return [each["spec"]["address"] for each in self.world.store.list(ADDRESS_LEASE)]


@asynccontextmanager
async def collecting() -> AsyncIterator[Collecting]:
    """A collector in a cluster without anything."""
    verbs = new_verbs()
    async with serving(verbs) as client:
        yield Collecting(await Objects.negotiated(client), verbs)


async def test_a_lease_of_a_claim_that_is_gone_is_collected_after_a_while() -> None:
    """One whose claim is allocated on the lease's node never is."""
    async with collecting() as there:
        world = there.world
        world.claim("lives", "media-net", pod=world.pod("web"), ready=True)
        add_lease(world, "10.1.0.2", world.verbs.get(CLAIM, "lives", "default"))
        add_lease(world, "10.1.0.3")
        assert await there.after(GRACE_S - 1) == ["10.1.0.2", "10.1.0.3"]
        assert await there.after(1) == ["10.1.0.2"]
        assert await there.after(GRACE_S) == ["10.1.0.2"]


async def test_a_lease_of_another_node_is_collected() -> None:
    """The claim lives on, but has no device there: it moved, or nobody uses it any more."""
    async with collecting() as there:
        world = there.world
        world.claim("moved", "media-net", pod=world.pod("web"), ready=True)
        add_lease(world, "10.1.0.2", world.verbs.get(CLAIM, "moved", "default"), node="node-b")
        assert await there.after(GRACE_S) == []


async def test_leases_of_another_driver_are_judged_by_its_own_devices() -> None:
    """A second release of the chart has its own driver, and shares pools with this one."""
    async with collecting() as there:
        world = there.world
        world.claim("other", "media-net", pod=world.pod("web"), ready=True, driver="other.example")
        claim = world.verbs.get(CLAIM, "other", "default")
        add_lease(world, "10.1.0.2", claim, driver="other.example")
        add_lease(world, "10.1.0.3", claim)
        assert await there.after(GRACE_S) == ["10.1.0.2"]


async def test_a_lease_that_is_made_anew_is_given_its_time() -> None:
    """It is another one, of which nobody knows anything yet."""
    async with collecting() as there:
        add_lease(there.world, "10.1.0.2")
        assert await there.after(GRACE_S - 1) == ["10.1.0.2"]
        there.world.verbs.delete(ADDRESS_LEASE, "10.1.0.2")
        add_lease(there.world, "10.1.0.2")
        assert await there.after(GRACE_S - 1) == ["10.1.0.2"]


class Working:
    """What a replica that works says of itself, for the metrics."""

    networks = waiting = failing = nudges = annotated_waiting = 0
    duplicates = 2
    services = SimpleNamespace(count=0, endpoints=0, writes=0)

    def pools(self) -> Iterator[tuple[str, AddressPoolStatus]]:
        """One pool."""
        yield "media", AddressPoolStatus(size=5, used=1, free=4)


def test_metrics_say_how_full_pools_are() -> None:
    """Of a replica that works; one that waits for its turn does not know."""
    process = Process()
    process.refresh()
    assert b"pool_addresses" not in process.exposition()
    process.controller = cast("Any", Working())
    process.refresh()
    text = process.exposition().decode()
    assert 'netclaim_controller_pool_addresses{pool="media",state="used"} 1.0' in text
    assert 'netclaim_controller_pool_addresses{pool="media",state="free"} 4.0' in text
    assert "netclaim_controller_duplicate_addresses 2.0" in text
