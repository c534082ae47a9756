"""Leases are kept as long as their StatefulSet is there."""

from typing import Any

import pytest

from netclaim.controller.pools.kept import OWNER_AGE_S
from netclaim.controller.pools.sweep import GRACE_S
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import ADDRESS_LEASE, CLAIM, STATEFUL_SET
from tests.pure.controller.pools.test_pools import Collecting, add_pool, collecting, status
from tests.support.controller_parts import DRIVER, World, controlled

KEEP: JsonObject = {"kinds": ["StatefulSet"]}


def add_set(world: World, replicas: int = 3, **spec: Any) -> JsonObject:
    """Create the StatefulSet db."""
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c"}]}}
    template["spec"]["containers"][0]["image"] = "i"  # type: ignore[index]
    selector = {"matchLabels": {"app": "db"}}
    whole = {"replicas": replicas, "selector": selector, "template": template, **spec}
    return world.create(STATEFUL_SET, "db", "default", spec=whole)


def add_lease(
    world: World,
    address: str,
    owner: JsonObject,
    replica: str = "db-0",
    *,
    kept: bool = True,
    claim: str = "gone",
) -> None:
    """Create a lease that is kept for a replica."""
    live = world.store.get(CLAIM, claim, "default") or {"metadata": {"uid": "u"}}
    spec = {
        "pool": "media",
        "address": address,
        "driver": DRIVER,
        "nodeName": "node-a",
        "claim": {
            "namespace": "default",
            "name": claim,
            "uid": live["metadata"]["uid"],
            "request": "nic",
            "device": "eth1",
        },
        "owner": {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "namespace": "default",
            "name": "db",
            "uid": owner["metadata"]["uid"],
            "replica": replica,
            "interface": "net1",
        },
        "kept": kept,
    }
    world.create(ADDRESS_LEASE, address, spec=spec)


def is_kept(there: Collecting, address: str) -> bool:
    """Whether nobody has a lease that there is."""
    kept: bool = there.world.verbs.get(ADDRESS_LEASE, address)["spec"]["kept"]
    return kept


async def test_an_address_is_kept_until_its_owner_is_gone() -> None:
    """However long that takes; then it is free within a minute or so."""
    async with collecting() as there:
        add_pool(there.world, keep=KEEP)
        add_lease(there.world, "10.1.0.2", add_set(there.world))
        assert await there.after(100 * OWNER_AGE_S) == ["10.1.0.2"]
        there.world.verbs.delete(STATEFUL_SET, "db", "default")
        assert await there.after(OWNER_AGE_S) == []


async def test_an_owner_of_the_same_name_is_another_one() -> None:
    """Its replicas get addresses of their own."""
    async with collecting() as there:
        add_pool(there.world, keep=KEEP)
        add_lease(there.world, "10.1.0.2", add_set(there.world))
        add_lease(there.world, "10.1.0.3", {"metadata": {"uid": "an-earlier-one"}})
        assert await there.after(0) == ["10.1.0.2"]


async def test_what_a_lost_node_had_is_kept() -> None:
    """After the same minute as it takes to collect what belongs to nobody."""
    async with collecting() as there:
        add_pool(there.world, keep=KEEP)
        add_lease(there.world, "10.1.0.2", add_set(there.world), kept=False)
        assert await there.after(GRACE_S - 1) == ["10.1.0.2"]
        assert not is_kept(there, "10.1.0.2")
        assert await there.after(1) == ["10.1.0.2"]
        assert is_kept(there, "10.1.0.2")


async def test_what_a_replica_has_stays_as_it_is() -> None:
    """Whether or not the owner is there."""
    async with collecting() as there:
        world = there.world
        world.claim("lives", "media-net", pod=world.pod("db-0"), ready=True)
        gone = {"metadata": {"uid": "gone"}}
        add_lease(world, "10.1.0.2", gone, kept=False, claim="lives")
        assert await there.after(100 * GRACE_S) == ["10.1.0.2"]
        assert not is_kept(there, "10.1.0.2")


async def test_what_a_lost_node_had_of_an_owner_that_is_gone_is_collected() -> None:
    """There is nobody to keep it for."""
    async with collecting() as there:
        add_pool(there.world, keep=KEEP)
        add_lease(there.world, "10.1.0.2", {"metadata": {"uid": "gone"}}, kept=False)
        assert await there.after(GRACE_S) == []


@pytest.mark.parametrize(("when_scaled", "left"), [("Retain", ["2", "3", "4"]), ("Delete", ["3"])])
async def test_replicas_that_were_scaled_down(when_scaled: str, left: list[str]) -> None:
    """Their addresses stay, as volumes do, or are freed, as the pool says; also from a start on."""
    async with collecting() as there:
        add_pool(there.world, keep={**KEEP, "whenScaled": when_scaled})
        owner = add_set(there.world, 1, ordinals={"start": 1})
        for number, replica in enumerate(("db-0", "db-1", "db-2"), 2):
            add_lease(there.world, f"10.1.0.{number}", owner, replica)
        assert await there.after(0) == [f"10.1.0.{number}" for number in left]


async def test_a_replica_that_is_wanted_again_is_asked_for_before_its_address_goes() -> None:
    """What was seen of its owner a moment ago is no reason to free anything."""
    async with collecting() as there:
        add_pool(there.world, keep={**KEEP, "whenScaled": "Delete"})
        owner = add_set(there.world, 1)
        add_lease(there.world, "10.1.0.2", owner, "db-0")
        assert await there.after(0) == ["10.1.0.2"]
        live = there.world.verbs.get(STATEFUL_SET, "db", "default")
        there.world.change(STATEFUL_SET, "db", "default", spec={**live["spec"], "replicas": 2})
        add_lease(there.world, "10.1.0.3", owner, "db-1")
        assert await there.after(0) == ["10.1.0.2", "10.1.0.3"]


async def test_a_pool_that_keeps_nothing_any_more_frees_what_nobody_has() -> None:
    """A pool that is gone does not: it may be back in a moment."""
    async with collecting() as there:
        add_lease(there.world, "10.1.0.2", add_set(there.world))
        assert await there.after(0) == ["10.1.0.2"]
        add_pool(there.world)
        assert await there.after(0) == []


async def test_a_replica_keeps_one_address_of_each_family() -> None:
    """One that has another meanwhile, for example by choice, does not come back to this one."""
    async with collecting() as there:
        world = there.world
        add_pool(world, keep=KEEP)
        owner = add_set(world)
        world.claim("lives", "media-net", pod=world.pod("db-0"), ready=True)
        add_lease(world, "10.1.0.2", owner, kept=False, claim="lives")
        add_lease(world, "10.1.0.3", owner)
        add_lease(world, "10.1.0.4", owner, "db-1")
        assert await there.after(0) == ["10.1.0.2", "10.1.0.4"]


async def test_kept_addresses_are_counted() -> None:
    """They are used, and nobody has them now."""
    async with controlled() as world:
        add_pool(world, keep=KEEP)
        owner = add_set(world)
        add_lease(world, "10.1.0.2", owner)
        add_lease(world, "10.1.0.3", owner, "db-1", kept=False)
        await world.until(lambda: status(world).get("used") == 2)
        assert (status(world)["kept"], status(world)["free"]) == (1, 3)
