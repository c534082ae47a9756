"""Pools are devices of the cluster, as far as the API server and the admin let them be."""

from typing import Any, cast

import pytest

from netclaim.local.api import Verbs
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import (
    ADDRESS_LEASE,
    ADDRESS_POOL,
    CLAIM,
    CLASS,
    NAMESPACE,
    POD_NETWORK,
    SLICE,
    TEMPLATE,
    Kind,
)
from netclaim.schema.refusal import RefusedError
from tests.pure.controller.pools.test_pools import add_lease, add_pool, ready, status
from tests.support.controller_parts import DRIVER, World, controlled

NAME = f"addresses.media.{DRIVER}"
CLASS_NAME = "addresses.media"
IPAM = {"type": "netclaim", "pool": "media"}


def device(world: World) -> JsonObject:
    """The device of the pool; empty if it has none."""
    found = world.store.get(SLICE, NAME) or {"spec": {}}
    return next(iter(found["spec"].get("devices", ())), {})


def room(world: World) -> int:
    """How many claims can have a share."""
    return int(device(world).get("capacity", {}).get("addresses", {}).get("value", 0))


def unusable(world: World) -> str:
    """Why nobody can have one; empty if they can."""
    values = [each.get("value", "") for each in device(world).get("taints", ())]
    return "".join(values)


def requests(world: World, name: str = "media-net") -> list[JsonObject]:
    """What the network's template asks for."""
    found = world.store.get(TEMPLATE, name, "default") or {}
    asked: list[JsonObject] = (
        found.get("spec", {}).get("spec", {}).get("devices", {}).get("requests", [])
    )
    return asked


def add_claim(world: World, name: str, *, counted: bool) -> JsonObject:
    """Add a claim that is allocated, with a share of the pool or without one."""
    asked = {"name": "nic", "exactly": {"deviceClassName": "media-net"}}
    made = world.create(CLAIM, name, "default", spec={"devices": {"requests": [asked]}})
    return allocate(world, made, counted=counted)


def allocate(world: World, made: JsonObject, *, counted: bool) -> JsonObject:
    """Give a claim its link, with a share of the pool or without one."""
    link = {"request": "nic", "driver": DRIVER, "pool": "node-a", "device": "eth1"}
    share = {"request": "nic", "driver": DRIVER, "pool": "addresses/media", "device": "media"}
    results = [link, share] if counted else [link]
    status = {"allocation": {"devices": {"results": results}}}
    return world.verbs.update(CLAIM, {**made, "status": status}, manager="t", subresource="status")


class Old(Verbs):
    """A server that knows nothing of shares."""

    def create(self, kind: Kind, body: JsonObject, **options: Any) -> JsonObject:
        """Drop a field as an API server drops those of features that are off."""
        if kind is SLICE:
            devices = [
                {key: each[key] for key in each if key != "allowMultipleAllocations"}
                for each in body["spec"]["devices"]
            ]
            body = {**body, "spec": {**body["spec"], "devices": devices}}
        return super().create(kind, body, **options)


class Asked(Verbs):
    """A server that answers the question what it keeps as it is told to."""

    refusal: RefusedError | None = None
    asked = 0

    def create(self, kind: Kind, body: JsonObject, **options: Any) -> JsonObject:
        """Create an object, or refuse a dry run."""
        if kind is SLICE and options.get("dry_run"):
            self.asked += 1
            if self.refusal is not None:
                raise self.refusal
        return super().create(kind, body, **options)


REFUSALS = [
    RefusedError(401, "Unauthorized", "who are you"),
    RefusedError(403, "Forbidden", "slices are not yours"),
    RefusedError(422, "Invalid", "a policy refuses it"),
    RefusedError(429, "TooManyRequests", "later"),
    RefusedError(500, "InternalError", "failed calling webhook"),
    RefusedError(503, "ServiceUnavailable", "no"),
]


async def test_a_pool_has_a_device_and_a_class() -> None:
    """For all nodes, with one share for each address; only who tolerates the taint can have one."""
    async with controlled() as world:
        add_pool(world)
        await world.until(lambda: room(world) == 5)
        spec = world.store.get(SLICE, NAME)["spec"]  # type: ignore[index]
        assert spec["allNodes"]
        assert spec["pool"] == {
            "name": "addresses/media", "generation": 1, "resourceSliceCount": 1
        }  # fmt: skip
        assert device(world)["allowMultipleAllocations"]
        taints = [(each["key"], each["effect"]) for each in device(world)["taints"]]
        assert taints == [("cni.networking.x-k8s.io/address-pool", "NoSchedule")]
        await world.until(lambda: CLASS_NAME in world.classes())


async def test_a_networks_template_asks_for_an_address_too() -> None:
    """In the same claim, and whether the pool is there or not; other networks do not."""
    async with controlled() as world:
        world.network(ipam=IPAM)
        world.network("plain")
        await world.until(lambda: len(requests(world)) == 2 and bool(requests(world, "plain")))
        link, address = requests(world)
        assert (link["name"], link["exactly"]["deviceClassName"]) == ("media-net", "media-net")
        assert (address["name"], address["exactly"]["deviceClassName"]) == ("address", CLASS_NAME)
        assert [one["key"] for one in address["exactly"]["tolerations"]] == [
            "cni.networking.x-k8s.io/address-pool"
        ]
        assert [one["name"] for one in requests(world, "plain")] == ["plain"]


async def test_the_requests_of_a_network_called_address() -> None:
    """Two requests of a claim cannot have one name."""
    async with controlled() as world:
        world.network("address", ipam=IPAM)
        await world.until(lambda: len(requests(world, "address")) == 2)
        assert [one["name"] for one in requests(world, "address")] == ["address", "address-1"]


async def test_the_device_follows_its_pool() -> None:
    """Its size, and a taint while nobody may have addresses; both go with the pool."""
    async with controlled() as world:
        add_pool(world)
        await world.until(lambda: room(world) == 5)
        small = {"ranges": [{"cidr": "10.1.0.0/30"}]}
        world.change(ADDRESS_POOL, "media", spec=small)
        await world.until(lambda: room(world) == 2)
        world.change(ADDRESS_POOL, "media", spec={**small, "enabled": False})
        await world.until(lambda: unusable(world) == "Disabled")
        world.change(ADDRESS_POOL, "media", spec=small)
        await world.until(lambda: not unusable(world))
        world.verbs.delete(ADDRESS_POOL, "media")
        await world.until(lambda: not device(world) and CLASS_NAME not in world.classes())


async def test_a_pool_that_overlaps_gives_nothing() -> None:
    """The taint has the reason of the condition."""
    async with controlled() as world:
        add_pool(world, "a")
        await world.until(lambda: ready(world, "a").get("status") == "True")
        add_pool(world)
        await world.until(lambda: unusable(world) == "Overlaps")


async def test_addresses_of_claims_without_a_share_count_as_gone() -> None:
    """Of older templates, or hand-written; when no other is left, nobody can have a share."""
    async with controlled() as world:
        add_pool(world, ranges=[{"cidr": "10.1.0.0/30"}])
        await world.until(lambda: room(world) == 2)
        add_lease(world, "10.1.0.1", add_claim(world, "counted", counted=True))
        add_lease(world, "10.1.0.2", add_claim(world, "older", counted=False))
        await world.until(lambda: room(world) == 1)
        assert not unusable(world)
        await world.until(lambda: status(world)["free"] == 0)
    async with controlled(known=world) as world:
        claim = add_claim(world, "another", counted=False)
        world.change(ADDRESS_POOL, "media", spec={"ranges": [{"cidr": "10.1.0.2/31"}]})
        add_lease(world, "10.1.0.3", claim)
        await world.until(lambda: room(world) == 1 and not unusable(world))


async def test_a_pool_that_only_claims_without_a_share_fill() -> None:
    """It has no room, which a device cannot say; so it has the taint."""
    async with controlled() as world:
        add_pool(world, ranges=[{"cidr": "10.1.0.0/31"}])
        await world.until(lambda: room(world) == 2)
        for number in (0, 1):
            claim = add_claim(world, f"older-{number}", counted=False)
            add_lease(world, f"10.1.0.{number}", claim)
        await world.until(lambda: unusable(world) == "Full")
        world.verbs.delete(ADDRESS_LEASE, "10.1.0.0")
        await world.until(lambda: room(world) == 1 and not unusable(world))


async def test_what_others_change_is_changed_back() -> None:
    """A slice and a class that are gone come again."""
    async with controlled() as world:
        add_pool(world)
        await world.until(lambda: bool(room(world)) and CLASS_NAME in world.classes())
        world.verbs.delete(SLICE, NAME)
        await world.until(lambda: room(world) == 5)
        world.verbs.delete(CLASS, CLASS_NAME)
        await world.until(lambda: CLASS_NAME in world.classes())
        spec = world.verbs.get(SLICE, NAME)["spec"]
        world.change(SLICE, NAME, spec={**spec, "devices": []})
        await world.until(lambda: room(world) == 5)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda each: each.code)
async def test_pools_stay_devices_while_the_server_does_not_answer(refusal: RefusedError) -> None:
    """A refusal says nothing of what the server keeps; everything else goes on."""
    async with controlled(server=Asked) as world:
        add_pool(world)
        world.network(ipam=IPAM)
        await world.until(lambda: room(world) == 5 and len(requests(world)) == 2)
        server = cast("Asked", world.verbs)
    server.refusal, server.asked = refusal, 0
    async with controlled(known=world) as world:
        world.network("other", ipam=IPAM)
        world.change(ADDRESS_POOL, "media", spec={"ranges": [{"cidr": "10.1.0.0/30"}]})
        await world.until(lambda: len(requests(world, "other")) == 2 and room(world) == 2)
        assert server.asked
        assert len(requests(world)) == 2
        assert CLASS_NAME in world.classes()


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda each: each.code)
async def test_pools_become_devices_once_the_server_answers(refusal: RefusedError) -> None:
    """Until then networks ask for the link alone."""

    def refuse(world: World) -> None:
        cast("Asked", world.verbs).refusal = refusal

    async with controlled(server=Asked, earlier=refuse) as world:
        add_pool(world)
        world.network(ipam=IPAM)
        await world.until(lambda: ready(world).get("status") == "True" and bool(requests(world)))
        assert [one["name"] for one in requests(world)] == ["media-net"]
        cast("Asked", world.verbs).refusal = None
        await world.until(lambda: room(world) == 5 and len(requests(world)) == 2)


async def test_a_pool_called_probe() -> None:
    """No pool has the name of the slice that is sent to see what the server keeps."""
    async with controlled(server=Asked) as world:
        add_pool(world, "probe")
        await world.until(lambda: world.store.get(SLICE, f"addresses.probe.{DRIVER}") is not None)
        server = cast("Asked", world.verbs)
    server.asked = 0
    async with controlled(known=world) as world:
        world.network(ipam=IPAM)
        await world.until(lambda: len(requests(world)) == 2)
        assert server.asked == 1


class Odd(Verbs):
    """A server whose answer to a dry run is no object."""

    def create(self, kind: Kind, body: JsonObject, **options: Any) -> JsonObject:
        """Create an object, or say something else."""
        return super().create(kind, body, **options) if not options.get("dry_run") else {"kind": ""}


async def test_what_nobody_expected_stops_nothing_else() -> None:
    """A part of the work that fails is tried again; all the others are done."""
    async with controlled(server=Odd) as world:
        add_pool(world)
        world.network(ipam=IPAM)
        await world.until(lambda: ready(world).get("status") == "True" and bool(requests(world)))


async def test_objects_of_a_later_definition_stop_nothing_else() -> None:
    """A pool or a network that cannot be read keeps nothing from the others."""
    async with controlled() as world:
        add_pool(world)
        await world.until(lambda: room(world) == 5)
        for kind, name in ((ADDRESS_POOL, "later"), (POD_NETWORK, "later")):
            whole = {"apiVersion": kind.addresses[0].api_version, "kind": kind.name}
            meta = {"name": name, "uid": f"{kind.name}-1", "generation": 1}
            for spec in ({"ranges": "all", "type": 1}, {"ranges": "none", "type": 2}):
                world.store.put(kind, {**whole, "metadata": meta, "spec": spec})
        add_lease(world, "10.1.0.2", add_claim(world, "older", counted=False), pool="later")
        await world.until(lambda: room(world) == 4)
        world.network(ipam=IPAM)
        world.create(NAMESPACE, "new")
        await world.until(lambda: "new" in world.templates())
    async with controlled(known=world) as world:
        world.create(NAMESPACE, "newer")
        await world.until(lambda: "newer" in world.templates())


async def test_a_pool_with_host_bits_in_what_it_excludes() -> None:
    """The API server takes them; they mean the network that the address is in."""
    async with controlled() as world:
        add_pool(world, ranges=[{"cidr": "10.1.0.0/28", "exclude": ["10.1.0.5/29"]}])
        await world.until(lambda: room(world) == 7)
        add_lease(world, "10.1.0.9", add_claim(world, "older", counted=False))
        await world.until(lambda: room(world) == 6)


async def test_a_claim_that_is_allocated_after_its_lease_was_seen() -> None:
    """Two watches tell of a claim and of its lease, and either may be late."""
    async with controlled() as world:
        add_pool(world)
        asked = {"name": "nic", "exactly": {"deviceClassName": "media-net"}}
        claim = world.create(CLAIM, "late", "default", spec={"devices": {"requests": [asked]}})
        add_lease(world, "10.1.0.2", claim)
        await world.until(lambda: room(world) == 4 and status(world)["used"] == 1)
        allocate(world, claim, counted=True)
        await world.until(lambda: room(world) == 5)


async def test_a_server_that_keeps_no_such_device() -> None:
    """The templates stay as they were; the pool can be used."""
    async with controlled(server=Old) as world:
        add_pool(world)
        world.network(ipam=IPAM)
        await world.until(lambda: ready(world).get("status") == "True" and bool(requests(world)))
        assert [one["name"] for one in requests(world)] == ["media-net"]
        assert not device(world)
        assert CLASS_NAME not in world.classes()


async def test_it_can_be_switched_off() -> None:
    """What there was goes, and the templates ask for the link alone."""
    async with controlled() as world:
        add_pool(world)
        world.network(ipam=IPAM)
        await world.until(lambda: bool(room(world)) and len(requests(world)) == 2)
    async with controlled(known=world, count_addresses=False) as world:
        await world.until(lambda: not device(world) and len(requests(world)) == 1)
        await world.until(lambda: CLASS_NAME not in world.classes())
