"""Addresses that are kept for an IPAMClaim, which stands for a virtual machine's interface."""

from typing import Any

import msgspec
import pytest

from netclaim.errors import RequestError
from netclaim.framework import LaterError
from netclaim.model import Prepared
from netclaim.model.claims.claim import Claim, JsonObject, ReportedDevice
from tests.pure.network.pools.test_kept import KEEP, lease_of, mac
from tests.pure.network.pools.test_leases import Node, again, ips
from tests.support.pool_objects import StoredObjects, pool

BOTH: list[JsonObject] = [{"cidr": "10.1.0.0/24"}, {"cidr": "fd00::/64"}]
IPAM_CLAIMS = "ipamclaims"


def keeping(**spec: Any) -> StoredObjects:
    """The API server with the IPAMClaim vm, and a pool that keeps addresses for such."""
    objects = StoredObjects(pool({"keep": {"kinds": ["IPAMClaim"]}, **spec}))
    objects.stored[IPAM_CLAIMS, "vm"] = {"metadata": {"name": "vm", "uid": "vm-1"}}
    return objects


def claim_of(node: Node, uid: str, name: str = "vm") -> Claim:
    """A claim that names the IPAMClaim."""
    return node.claim(uid, ipamClaim=name)


async def test_the_next_pod_has_the_same() -> None:
    """Addresses of both families and the MAC address go with the IPAMClaim to another node."""
    objects = keeping(ranges=BOTH)
    first, other = Node(objects, "n1"), Node(objects, "n2")
    before = await first.prepare(claim_of(first, "c1"))
    await first.leases.give_back(before)
    assert lease_of(objects, ips(before)[0]).spec.kept
    await other.prepare(other.claim("c2"))
    after = await other.prepare(claim_of(other, "c3"))
    assert (ips(after), mac(after)) == (ips(before), mac(before))
    assert int(mac(after)[:2], 16) & 3 == 2, "locally administered, of one interface"
    owner = lease_of(objects, ips(after)[0]).spec.owner
    assert owner is not None
    assert (owner.kind, owner.namespace, owner.name, owner.uid) == (
        "IPAMClaim",
        "shop",
        "vm",
        "vm-1",
    )


async def test_what_it_costs() -> None:
    """For the IPAMClaim and for what is kept; and at first one more, to see that it is alone."""
    node = Node(keeping())
    before = await node.prepare(claim_of(node, "c1"))
    assert node.objects.requests == ["get", "get", "find", "create", "find"]
    await node.leases.give_back(before)
    node.objects.requests.clear()
    await node.prepare(claim_of(node, "c2"))
    assert node.objects.requests == ["get", "find", "replace"]


async def test_a_new_one_of_the_name_has_other_addresses() -> None:
    """What is kept belongs to the object, and not to its name."""
    objects = keeping()
    node = Node(objects)
    before = await node.prepare(claim_of(node, "c1"))
    await node.leases.give_back(before)
    objects.stored[IPAM_CLAIMS, "vm"] = {"metadata": {"name": "vm", "uid": "vm-2"}}
    after = await node.prepare(claim_of(node, "c2"))
    assert ips(after) != ips(before)
    assert mac(after) != mac(before)


async def test_one_pod_at_a_time() -> None:
    """A second claim waits until the first has given the address back, and is told which it is."""
    objects = keeping()
    source, target = Node(objects, "n1"), Node(objects, "n2")
    before = await source.prepare(claim_of(source, "c1"))
    said = "is kept for the IPAMClaim vm, and the claim shop/claim-c1 on the node n1 has not given"
    with pytest.raises(LaterError, match=said):
        await target.prepare(claim_of(target, "c2"))
    await source.leases.give_back(before)
    assert ips(await target.prepare(again(claim_of(target, "c2")))) == ips(before)


@pytest.mark.parametrize("chosen", [(), ("10.1.0.77",)])
async def test_two_pods_that_start_at_once(chosen: tuple[str, ...]) -> None:
    """One has addresses, whether or not both want the same; the other has none, nor the MAC."""
    objects = keeping()
    first, other = Node(objects, "n1"), Node(objects, "n2")
    had: list[Prepared] = []

    async def start_first() -> None:
        claim = claim_of(first, "c1")
        if chosen:
            claim = first.claim("c1", ipamClaim="vm", ips=list(chosen))
        had.append(await first.prepare(claim))

    objects.during["create"] = start_first
    with pytest.raises(LaterError, match="the claim shop/claim-c1 on the node n1 has not given"):
        await other.prepare(claim_of(other, "c2"))
    assert list(objects.leases().values()) == ["c1"]
    await first.leases.give_back(had[0])
    assert ips(await other.prepare(again(claim_of(other, "c2")))) == ips(had[0])


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "there is no IPAMClaim vm in the namespace shop"),
        (
            {"name": "vm", "uid": "vm-1", "deletionTimestamp": "now"},
            "somebody has deleted the IPAM",
        ),
    ],
)
async def test_one_that_is_not_there_is_waited_for(found: JsonObject | None, said: str) -> None:
    """Nothing is leased for it meanwhile; a pod that runs keeps what it has."""
    objects = keeping()
    node = Node(objects)
    running = await node.prepare(claim_of(node, "c1"))
    if found is None:
        del objects.stored[IPAM_CLAIMS, "vm"]
    else:
        objects.stored[IPAM_CLAIMS, "vm"] = {"metadata": found}
    with pytest.raises(LaterError, match=said):
        await node.prepare(claim_of(node, "c2"))
    assert list(objects.leases().values()) == ["c1"]
    claim = again(claim_of(node, "c1"))
    device = claim.devices[0]
    since, had = "2026-01-01T00:00:00Z", tuple(ips(running))
    reported = ReportedDevice(device.driver, device.key, since, ips=had)
    claim = msgspec.structs.replace(claim, reported=(reported,))
    assert ips(await node.prepare(claim)) == ips(running)


@pytest.mark.parametrize("spec", [{}, KEEP])
async def test_a_pool_that_does_not_keep_for_it(spec: JsonObject) -> None:
    """Is refused, with what to write where: the pod would lose its address one day."""
    objects = StoredObjects(pool(spec))
    node = Node(objects)
    with pytest.raises(
        RequestError, match="keeps no addresses for IPAMClaims; ask a cluster"
    ) as no:
        await node.prepare(claim_of(node, "c1"))
    assert no.value.path[-1] == "ipamClaim"
    assert objects.leases() == {}


async def test_addresses_of_no_pool() -> None:
    """Nobody would keep them, so that is refused too."""
    node = Node(keeping())
    with pytest.raises(RequestError, match="are not of an AddressPool, which alone keeps them"):
        await node.prepare(node.claim("c1", ipam={"type": "static"}, ipamClaim="vm"))


async def test_a_name_that_no_object_can_have() -> None:
    """Is a mistake of the claim's."""
    node = Node(keeping())
    with pytest.raises(RequestError, match="must be the name of an IPAMClaim"):
        await node.prepare(claim_of(node, "c1", "VM 1"))


async def test_somebody_who_chooses_a_kept_address_is_told() -> None:
    """For whom it is kept, in the own namespace."""
    objects = keeping()
    node = Node(objects)
    before = await node.prepare(claim_of(node, "c1"))
    await node.leases.give_back(before)
    address = ips(before)[0].partition("/")[0]
    with pytest.raises(LaterError, match="is kept for the IPAMClaim shop/vm"):
        await node.prepare(node.claim("c2", ips=[address]))
