"""Pools are judged and counted, and leases of claims that are gone are collected."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from netclaim.controller.cluster.objects import Objects
from netclaim.controller.pools.judge import Pools
from netclaim.controller.pools.sweep import GRACE_S, SPARE, LeaseSweep
from netclaim.controller.process.serve import Process
from netclaim.local.api import Verbs
from netclaim.model.api.own_kinds.address_pool import AddressPoolStatus
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import ADDRESS_LEASE, ADDRESS_POOL, CLAIM, Kind
from netclaim.schema.refusal import RefusedError
from tests.support.controller_parts import DRIVER, World, controlled
from tests.support.growth import assert_flat
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
    device: str = "eth1",
    pool: str = "media",
) -> None:
    """Create a lease for a claim, or for one that is gone."""
    meta = claim["metadata"] if claim else {"name": "gone", "namespace": "default", "uid": "u"}
    holder = {key: meta[key] for key in ("namespace", "name", "uid")}
    holder |= {"request": "nic", "device": device}
    spec = {"pool": pool, "address": address, "driver": driver, "nodeName": node}
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


async def test_leases_of_other_pools_in_a_pools_ranges_are_not_free() -> None:
    """Of one that was deleted, and of one that it overlaps with; to their last one."""
    async with controlled() as world:
        add_pool(world)
        for address in ("10.1.0.2", "10.1.0.6"):
            add_lease(world, address)
        await world.until(lambda: status(world).get("used") == 2)
        add_pool(world, "younger", ranges=[{"cidr": "10.1.0.4/30"}])
        await world.until(lambda: status(world, "younger").get("free") == 1)
        world.verbs.delete(ADDRESS_POOL, "media")
        await world.until(lambda: ready(world, "younger").get("status") == "True")
        assert (status(world, "younger")["used"], status(world, "younger")["free"]) == (0, 1)
        world.verbs.delete(ADDRESS_LEASE, "10.1.0.6")
        await world.until(lambda: status(world, "younger")["free"] == 2)


async def test_a_status_concerns_its_own_pool_alone() -> None:
    """What is written to one is not looked at for all others; a spec is, for those it meets."""
    pools = Pools(cast("Any", None), cast("Any", None))
    made: dict[str, JsonObject] = {
        name: {
            "metadata": {"name": name, "uid": name, "generation": 1},
            "spec": {"ranges": [{"cidr": cidr}]},
        }
        for name, cidr in (("a", "10.1.0.0/24"), ("b", "10.2.0.0/24"), ("c", "10.3.0.0/24"))
    }
    for each in made.values():
        pools.pool_changed(None, each)
    assert set(pools.pool_changed(made["a"], {**made["a"], "status": {}})) == {"a"}
    wide = {**made["a"], "spec": {"ranges": [{"cidr": "10.0.0.0/14"}]}}
    wide["metadata"] = {**wide["metadata"], "generation": 2}
    assert set(pools.pool_changed(made["a"], wide)) == {"a", "b", "c"}
    assert set(pools.pool_changed(wide, None)) == {"b", "c"}


def many(leases: int, others: int) -> tuple[Pools, JsonObject]:
    """Pools with leases beside one pool, and a lease of that."""
    store = {
        "AddressPool": {
            ("", name): {
                "metadata": {"name": name, "uid": name, "generation": 1},
                "spec": {"ranges": [{"cidr": f"10.{n}.0.0/16"}]},
            }
            for n, name in enumerate(["media", *(f"p{n}" for n in range(others))])
        },
        "AddressLease": {},
    }
    for pool in range(others + 1):
        for n in range(leases):
            name = f"10.{pool}.1.{n}"
            spec = {"pool": f"p{pool - 1}" if pool else "media", "address": name, "driver": "d"}
            holder = {"namespace": "default", "name": "c", "uid": "u"}
            store["AddressLease"]["", name] = {
                "metadata": {"name": name, "uid": name},
                "spec": {**spec, "nodeName": "n", "claim": holder},
            }
    pools = Pools(cast("Any", None), cast("Any", SimpleNamespace(store=store.__getitem__)))
    pools.begin()
    lease = store["AddressLease"]["", "10.0.1.0"]
    return pools, lease


@pytest.mark.parametrize("of", ["leases", "others"])
def test_a_lease_that_comes_or_goes_is_the_same_work(of: str) -> None:
    """However many leases a pool has, and however many other pools there are."""

    def work_of(n: int) -> Callable[[], object]:
        pools, lease = many(n, 1) if of == "leases" else many(4, n)

        def work() -> None:
            assert set(pools.lease_changed(lease, None)) == {"media"}
            assert set(pools.lease_changed(None, lease)) == {"media"}
            assert pools.numbers("media")["used"] == (n if of == "leases" else 4)

        return work

    assert_flat(work_of, 16)


async def test_a_pool_that_shrinks_counts_what_it_lost_as_used() -> None:
    """Who has an address keeps it; what is free is free in the new ranges."""
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
        self.sweep = LeaseSweep(objects, self, monotonic=lambda: self.now_s)  # type: ignore[arg-type]

    def store(self, kind: str) -> dict[tuple[str, str], JsonObject]:
        """What the controller's watches have."""
        kinds = {each.name: each for each in (CLAIM, ADDRESS_LEASE, ADDRESS_POOL)}
        found = self.world.store.list(kinds[kind])
        metas = [(each["metadata"], each) for each in found]
        return {(meta.get("namespace", ""), meta["name"]): each for meta, each in metas}

    async def after(self, seconds: float) -> list[str]:
        """The addresses that are leased after two looks, so long apart."""
        await self.sweep.collect()
        self.now_s += seconds
        await self.sweep.collect()
        return [each["spec"]["address"] for each in self.world.store.list(ADDRESS_LEASE)]


@asynccontextmanager
async def collecting(server: type[Verbs] = Verbs) -> AsyncIterator[Collecting]:
    """A collector in a cluster without anything."""
    verbs = new_verbs(server=server)
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


async def test_a_lease_that_cannot_be_deleted_keeps_no_other_one() -> None:
    """Nor is forgotten how long others have been nobody's; the metric counts it."""
    async with collecting(server=Guarded) as there:
        add_lease(there.world, "10.1.0.2")
        add_lease(there.world, "10.1.0.3")
        assert await there.after(GRACE_S) == ["10.1.0.2"]
        assert there.sweep.failing == 1
        add_lease(there.world, "10.1.0.4")
        assert await there.after(GRACE_S) == ["10.1.0.2"]


class Guarded(Verbs):
    """A server that refuses to delete one lease."""

    def delete(self, kind: Kind, name: str, *args: Any, **options: Any) -> JsonObject:
        """Delete an object, or refuse it."""
        if name == "10.1.0.2":
            raise RefusedError(403, "Forbidden", "a policy says so")
        return super().delete(kind, name, *args, **options)


async def test_leases_of_devices_that_a_claim_has_not_are_collected() -> None:
    """Everybody who has a node's token can make them, for a claim that is there."""
    async with collecting() as there:
        world = there.world
        world.claim("lives", "media-net", pod=world.pod("web"), ready=True)
        claim = world.verbs.get(CLAIM, "lives", "default")
        add_lease(world, "10.1.0.2", claim)
        add_lease(world, "10.1.0.3", claim, device="eth2")
        assert await there.after(GRACE_S) == ["10.1.0.2"]


async def test_a_device_has_one_lease_of_a_family() -> None:
    """The one that its pod reports; until it reports any, a few, which a driver may have begun."""
    async with collecting() as there:
        world = there.world
        world.claim("lives", "media-net", pod=world.pod("web"), ready=True)
        claim = world.verbs.get(CLAIM, "lives", "default")
        for n in range(SPARE + 2):
            add_lease(world, f"10.1.0.{n + 2}", claim)
        assert len(await there.after(GRACE_S)) == SPARE
        (device,) = claim["status"]["devices"]
        reported = {**device, "networkData": {"ips": ["10.1.0.4/24"]}}
        claim = world.verbs.get(CLAIM, "lives", "default")
        claim["status"]["devices"] = [reported]
        world.verbs.update(CLAIM, claim, manager="test", subresource="status")
        assert await there.after(GRACE_S) == ["10.1.0.4"]


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

    networks = waiting = failing = nudges = annotated_waiting = uncollected = 0
    duplicates = 2
    works = True
    services = SimpleNamespace(count=0, endpoints=0, writes=0)

    def pools(self) -> Iterator[tuple[str, AddressPoolStatus]]:
        """One pool."""
        yield "media", AddressPoolStatus(size=5, used=3, kept=2, free=2)


def test_metrics_say_how_full_pools_are() -> None:
    """Of a replica that works; one that waits for its turn does not know."""
    process = Process()
    process.refresh()
    assert b"pool_addresses" not in process.exposition()
    process.controller = cast("Any", Working())
    process.refresh()
    text = process.exposition().decode()
    assert 'netclaim_controller_pool_addresses{pool="media",state="used"} 3.0' in text
    assert 'netclaim_controller_pool_addresses{pool="media",state="kept"} 2.0' in text
    assert 'netclaim_controller_pool_addresses{pool="media",state="free"} 2.0' in text
    assert "netclaim_controller_duplicate_addresses 2.0" in text
    assert "netclaim_controller_leading 1.0" in text


def test_a_replica_that_may_list_nothing_does_not_work() -> None:
    """It holds the lease, and is counted as one that waits, so that the alert fires."""
    process, idle = Process(), Working()
    idle.works = False
    process.controller = cast("Any", idle)
    process.refresh()
    assert "netclaim_controller_leading 0.0" in process.exposition().decode()
