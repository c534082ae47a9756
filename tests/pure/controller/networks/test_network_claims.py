"""Which claims a network's status has to look at, and what it costs to know."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from netclaim.controller.networks.claims import ClaimsByNetwork
from netclaim.controller.networks.report import Reports
from netclaim.controller.waiting_pods.nudge import Nudge
from netclaim.model.claims.claim import JsonObject
from netclaim.network.devices.network_device import network_device_name
from tests.support.controller_parts import DRIVER
from tests.support.growth import assert_flat

LONG = "a-network-with-a-name-that-leaves-no-room-for-that-of-its-link"


def claim(
    name: str, class_name: str = "other", device: str = "eth1", *, allocated: bool = True
) -> JsonObject:
    """A claim of a pod, whose driver says that it is ready."""
    where = {"driver": DRIVER, "pool": "node-a", "device": device}
    ready = {"type": "Ready", "status": "True", "reason": "R", "message": ""}
    status = {
        "allocation": {"devices": {"results": [{"request": "nic", **where}]}},
        "reservedFor": [{"resource": "pods", "name": name, "uid": f"uid-{name}"}],
        "devices": [{**where, "conditions": [ready]}],
    }
    requests = [{"name": "nic", "exactly": {"deviceClassName": class_name}}]
    return {
        "metadata": {"namespace": "team", "name": name, "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": requests}},
        "status": status if allocated else {"devices": []},
    }


@pytest.mark.parametrize("network", ["media-net", "a-on-b", LONG])
def test_claims_are_found_by_class_and_by_device(network: str) -> None:
    """However long the network's name is; one without devices uses nothing."""
    claims = ClaimsByNetwork()
    device = network_device_name(network, "eth1")
    by_class, by_device = claim("by-class", network), claim("by-device", device=device)
    by_slot = claim("by-slot", device=f"{device}-slot-3")
    for each in (by_class, by_device, by_slot, claim("other")):
        claims.changed(None, each)
    claims.changed(None, claim("waiting", network, allocated=False))
    assert {name for _, name in claims.of(network)} == {"by-class", "by-device", "by-slot"}
    claims.changed(by_class, claim("by-class", network, allocated=False))
    claims.changed(by_device, None)
    assert claims.of(network) == [("team", "by-slot")]
    claims.changed(by_slot, None)
    assert claims.of(network) == []


def test_a_report_costs_what_the_networks_own_claims_cost() -> None:
    """However many claims of others there are."""

    def work_of(others: int) -> Callable[[], object]:
        found = {("team", f"c-{index}"): claim(f"c-{index}") for index in range(others)}
        found["team", "own"] = claim("own", "media-net")
        claims = ClaimsByNetwork()
        for each in found.values():
            claims.changed(None, each)
        watches: Any = SimpleNamespace(store=lambda _: found)
        reports = Reports(watches, watches, DRIVER, claims, lambda: None)  # type: ignore[arg-type, return-value]

        def work() -> None:
            use = asyncio.run(reports._use("media-net"))
            assert (use.claims, use.interfaces, use.pods) == (1, 1, ("team/own",))

        return work

    assert_flat(work_of, 32)


def test_a_nudge_costs_what_the_pods_that_wait_cost() -> None:
    """However many claims there are whose pods run."""

    async def nudge_beside(others: int) -> Nudge:
        watches: Any = SimpleNamespace(store=lambda _: {})
        nudge = Nudge(watches, watches, DRIVER)
        for index in range(others):
            nudge.changed("ResourceClaim", None, claim(f"c-{index}"))
        waits = claim("waits")
        waits["status"]["devices"] = []
        nudge.changed("ResourceClaim", None, waits)
        return nudge

    def work_of(others: int) -> Callable[[], object]:
        nudge = asyncio.run(nudge_beside(others))

        def work() -> None:
            nudge._nodes.add("node-a")
            assert [pod.name for _, pod in nudge._due()] == ["waits"]

        return work

    assert_flat(work_of, 32)


async def test_a_slice_of_a_pool_is_no_link_that_is_back() -> None:
    """The controller writes these itself, with each address that is leased."""
    watches: Any = SimpleNamespace(store=lambda _: {})
    nudge = Nudge(watches, watches, DRIVER)
    nudge._due()
    nudge._some.clear()
    pool = {"metadata": {"name": "addresses.media"}, "spec": {"pool": {"name": "addresses/media"}}}
    nudge.changed("ResourceSlice", None, pool)
    assert not nudge._some.is_set()
    link = {"metadata": {"name": "s"}, "spec": {"nodeName": "node-a", "pool": {"name": "node-a"}}}
    nudge.changed("ResourceSlice", None, link)
    assert nudge._some.is_set()
    assert nudge._due() == []
