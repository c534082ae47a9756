"""A pool of addresses as a device: nobody gets it by mistake, and everybody one share."""

import pytest

from netclaim.allocator import Allocator, Claim, Holders, Node, Slice
from netclaim.kernel import Link, SysfsFacts
from netclaim.model import AllocatedDevice, Quantity
from netclaim.model import Claim as Allocated
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.api.dra.device_json import device_json
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.counted_pool import class_name_of, pool_of, pool_of_class, slice_pool_of
from netclaim.network.devices.device import device_of
from netclaim.network.devices.pool_device import address_request, pool_class, pool_device

DRIVER = "cni.dra.networking.x-k8s.io"
ANY = {
    "metadata": {"name": "any"},
    "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
}


def allocator(addresses: int, *, unusable: str = "") -> Allocator:
    """A cluster of a pool and no link."""
    device = device_json(pool_device("media", addresses, unusable=unusable))
    pool = {"name": slice_pool_of("media"), "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "allNodes": True, "pool": pool, "devices": [device]}
    offered = Slice.read({"metadata": {"name": "addresses"}, "spec": spec})
    classes = [DeviceClass.read(each) for each in (ANY, pool_class("media", DRIVER))]
    return Allocator([offered], classes, Holders())


def claim(name: str, request: JsonObject) -> Claim:
    """A claim with one request."""
    spec = {"devices": {"requests": [request]}}
    return Claim.read({"metadata": {"name": name, "namespace": "default"}, "spec": spec})


def fits(pools: Allocator, request: JsonObject, count: int) -> list[bool]:
    """Which of some claims can be allocated, one after the other."""
    found = []
    for number in range(count):
        decision = pools.decide([claim(f"claim-{number}", request)], [Node.read(NODE)])
        found.append(decision.schedulable)
        if decision.schedulable:
            for allocation in decision.placements["node-a"].allocations():
                pools.holders.hold(allocation.claim, allocation.result)
    return found


NODE = {"metadata": {"name": "node-a"}}
ADDRESS = address_request("media", beside="net")


def test_every_claim_takes_one_address() -> None:
    """Until there is none."""
    assert fits(allocator(2), ADDRESS, 3) == [True, True, False]


@pytest.mark.parametrize("amount", ["2", "500m"])
def test_nobody_takes_more_or_less_than_one(amount: str) -> None:
    """More is refused, less is one."""
    exactly = {**ADDRESS["exactly"], "capacity": {"requests": {"addresses": amount}}}
    assert fits(allocator(2), {**ADDRESS, "exactly": exactly}, 3)[2] is False
    assert fits(allocator(2), {**ADDRESS, "exactly": exactly}, 1) == [amount == "500m"]


def test_a_class_that_selects_the_driver_alone_means_links() -> None:
    """It would get the pool first; the taint keeps it away."""
    request = {"name": "any", "exactly": {"deviceClassName": "any"}}
    assert fits(allocator(2), request, 1) == [False]


def test_nobody_gets_an_address_of_a_pool_that_is_not_to_be_used() -> None:
    """What the request tolerates is not this taint."""
    assert fits(allocator(2, unusable="Disabled"), ADDRESS, 1) == [False]


def test_it_has_all_that_links_have() -> None:
    """A selector that reads an attribute which a device lacks fails the whole allocation."""
    link = Link(index=1, name="eth1", arphrd=1, flags=0)
    facts = SysfsFacts(virtual=True)
    always = device_of(link, (), facts, default_route=False).attributes.keys()
    device = pool_device("media", 2)
    assert device.attributes.keys() >= always
    assert device.capacity["addresses"].value == Quantity.parse("2")


def test_names() -> None:
    """They lead back to the pool; no node and no network can have them."""
    assert pool_of(slice_pool_of("media")) == pool_of_class(class_name_of("media")) == "media"
    assert pool_of("node-a") == pool_of_class("media-net") == ""
    assert "/" in slice_pool_of("media")
    assert "." in class_name_of("media")


def test_nothing_of_it_is_prepared_on_a_node() -> None:
    """A driver sees it apart from the claim's devices."""
    link = AllocatedDevice("net", DRIVER, "node-a", "eth1")
    share = AllocatedDevice("address", DRIVER, slice_pool_of("media"), "media", "share-1")
    claimed = Allocated("uid", "default", "claim", allocated=True, devices=(link, share))
    mine = claimed.of_driver(DRIVER)
    assert (mine.devices, mine.wide) == ((link,), (share,))
