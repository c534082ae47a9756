"""A namespace has as many addresses of a pool as it may have, also if several lease at a time."""

import asyncio

import msgspec
import pytest

from netclaim.errors import PeerError
from netclaim.framework import LaterError
from netclaim.model import Claim, Prepared
from netclaim.network.pools.cluster import TAKEN_AGE_S
from tests.pure.network.pools.test_leases import Node, again, ips, running
from tests.support.pool_objects import StoredObjects, pool


def of_bank(claim: Claim) -> Claim:
    """The claim in another namespace."""
    return msgspec.structs.replace(claim, namespace="bank")


async def test_a_namespace_that_has_its_part_waits() -> None:
    """Its message names pool and limit; other namespaces do not wait, and what is held is kept."""
    node = Node(StoredObjects(pool({"perNamespace": 2})))
    first = await node.prepare(node.claim("c1"))
    await node.prepare(node.claim("c2"))
    with pytest.raises(LaterError, match=r"the namespace shop has as many .* pool media .* 2;"):
        await node.prepare(node.claim("c3"))
    assert len(node.objects.leases()) == 2
    await node.prepare(of_bank(node.claim("c4")))
    assert ips(await node.prepare(again(node.claim("c1")))) == ips(first)
    await node.leases.give_back(first)
    await node.prepare(again(node.claim("c3")))
    assert sorted(node.objects.leases().values()) == ["c2", "c3", "c4"]


async def test_claims_that_wait_ask_once_in_a_while() -> None:
    """A namespace with many more pods than addresses costs few requests."""
    node = Node(StoredObjects(pool({"perNamespace": 1})))
    await node.prepare(node.claim("c0"))
    with pytest.raises(LaterError):
        await node.prepare(node.claim("c1"))
    node.objects.requests.clear()
    for n in range(9):
        with pytest.raises(LaterError):
            await node.prepare(node.claim(f"waits{n}"))
    assert node.objects.requests == []
    node.now_s += TAKEN_AGE_S + 1
    with pytest.raises(LaterError):
        await node.prepare(node.claim("c1"))
    assert node.objects.requests == ["create", "find", "delete"]


async def test_of_a_burst_on_several_nodes_as_many_start_as_may() -> None:
    """None waits for another one that waits as well."""
    objects = StoredObjects(pool({"perNamespace": 5}))
    nodes = [Node(objects, f"n{n}") for n in range(10)]
    for node in nodes:
        await node.leases.pools.pool("media")
    gate = asyncio.Barrier(len(nodes))
    find = objects.find

    async def find_together(*args: object) -> object:
        """All leases are made before the first one counts."""
        await gate.wait()
        return await find(*args)  # type: ignore[arg-type]

    objects.find = find_together  # type: ignore[method-assign,assignment]
    claims = [node.prepare(node.claim(f"c{n}")) for n, node in enumerate(nodes)]
    done = await asyncio.gather(*claims, return_exceptions=True)
    assert sum(isinstance(each, Prepared) for each in done) == 5
    assert sum(isinstance(each, LaterError) for each in done) == 5
    assert len(objects.leases()) == 5


async def test_a_lease_that_was_made_anew_counts_as_older() -> None:
    """Its version is younger than that of a lease which waits to be counted."""
    objects = StoredObjects(pool({"perNamespace": 1}))
    one, two = Node(objects, "n1"), Node(objects, "n2")
    (address,) = ips(await one.prepare(one.claim("c1")))
    await two.leases.pools.pool("media")
    find = objects.find

    async def find_after(*args: object) -> object:
        """The first lease is made anew between another one and its being counted."""
        objects.find = find  # type: ignore[method-assign]
        await one.prepare(running(one, address))
        return await find(*args)  # type: ignore[arg-type]

    objects.find = find_after  # type: ignore[method-assign,assignment]
    with pytest.raises(LaterError, match="perNamespace"):
        await two.prepare(two.claim("c2"))
    assert list(objects.leases().values()) == ["c1"]


async def test_a_pod_that_runs_is_not_counted_out() -> None:
    """Its lease was deleted, and others of the namespace have been made since."""
    node = Node(StoredObjects(pool({"perNamespace": 1})))
    await node.prepare(node.claim("other"))
    assert ips(await node.prepare(running(node, "10.1.0.77/24"))) == ["10.1.0.77/24"]


async def test_an_attempt_that_ended_before_it_counted_is_counted_the_next_time() -> None:
    """Its lease is there already, and goes as well if it is one too many."""
    node = Node(StoredObjects(pool({"perNamespace": 1})))
    await node.prepare(node.claim("c1"))

    def refuse(verb: str) -> None:
        if verb == "find":
            raise PeerError("away")

    node.objects.before = refuse
    with pytest.raises(PeerError, match="away"):
        await node.prepare(node.claim("c2"))
    assert len(node.objects.leases()) == 2
    node.objects.before = lambda _: None
    with pytest.raises(LaterError, match="perNamespace"):
        await node.prepare(again(node.claim("c2")))
    assert list(node.objects.leases().values()) == ["c1"]
