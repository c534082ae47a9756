"""A pod whose interface was lost goes when its class says so, and no earlier."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from netclaim.controller.cluster.events import Events
from netclaim.controller.cluster.slim import slim_claim
from netclaim.controller.waiting_pods.evictions import Evictions
from netclaim.controller.waiting_pods.lost import LostInterfaces
from tests.pure.controller.waiting_pods.test_refused import DRIVER, Api, claim_of, pod_of

SINCE = datetime(2026, 11, 17, 8, tzinfo=UTC)  # as `claim_of` has it
LIMIT_S = 300
GONE = "NetworkInterfaceNotReady"
MEDIA = {"metadata": {"name": "media"}, "spec": {"evictAfterSeconds": 60}}


def lost(
    *,
    limit: object = LIMIT_S,
    source: str = "FromClass",
    requests: tuple[str, ...] = ("nic",),
    driver: str = DRIVER,
    device: str = "eth1",
    reason: str = GONE,
    **claim: Any,
) -> Any:
    """A claim as the controller keeps it, whose driver says that nobody has its interface."""
    found = claim_of(reason=reason, **claim)
    parameters = {"ifName": "net1", "evictAfterSeconds": limit}
    config = {"opaque": {"driver": driver, "parameters": parameters}, "source": source}
    devices = found["status"]["allocation"]["devices"]
    devices["config"] = [config | ({"requests": list(requests)} if requests else {})]
    devices["results"][0]["device"] = found["status"]["devices"][0]["device"] = device
    return slim_claim(found)


def rule(*, after_s: float = 0.0, networks: tuple[Any, ...] = ()) -> LostInterfaces:
    """The rule, so long after the loss."""
    there = {("", each["metadata"]["name"]): each for each in networks}
    return LostInterfaces(DRIVER, lambda: there, lambda: SINCE + timedelta(seconds=after_s))


@pytest.mark.parametrize(
    ("after_s", "due_in_s"), [(0.0, 300.0), (100.0, 200.0), (300.0, 0.0), (9e5, 0.0), (-50, 300.0)]
)
def test_the_limit_counts_from_the_loss(after_s: float, due_in_s: float) -> None:
    """Also for a controller that starts later; a node's clock that is ahead gives no more time."""
    found = rule(after_s=after_s).find(lost())
    assert found is not None
    assert (found.due_in_s, list(found.pods)) == (due_in_s, ["uid-pod-1"])


@pytest.mark.parametrize(
    "claim",
    [
        lost(reason="NetworkInterfaceReady"),
        lost(source="FromClaim"),
        lost(source=""),
        lost(limit=None),
        lost(limit="60"),
        lost(requests=("other",)),
        lost(driver="other.example.com"),
        slim_claim(claim_of(reason=GONE)),
    ],
)
def test_who_stays(claim: Any) -> None:
    """Pods that have their interface, and those whose class says nothing of this."""
    assert rule(after_s=9e5).find(claim) is None


@pytest.mark.parametrize("requests", [(), ("nic",), ("other", "nic")])
def test_a_class_speaks_for_its_requests(requests: tuple[str, ...]) -> None:
    """An entry without requests is for all."""
    assert rule().find(lost(requests=requests)) is not None


def test_a_network_that_was_claimed_by_its_attribute_sets_the_limit() -> None:
    """Such a claim has no configuration; another network's limit is not for it."""
    other = {"metadata": {"name": "other"}, "spec": {"evictAfterSeconds": 5}}
    claim = lost(source="", limit=None, device="media-on-eth1")
    found = rule(networks=(other, MEDIA)).find(claim)
    assert found is not None
    assert found.due_in_s == 60.0
    assert rule(networks=(other,)).find(claim) is None


@pytest.mark.parametrize(
    ("pod", "goes"),
    [
        (pod_of(phase="Running"), True),
        (pod_of(phase="Pending"), False),
        (pod_of(phase="Succeeded"), False),
        ({"metadata": {"deletionTimestamp": "now"}, "status": {"phase": "Running"}}, False),
    ],
)
def test_only_pods_that_run_are_evicted(pod: Any, *, goes: bool) -> None:
    """One that waits for its first interface has lost nothing."""
    assert rule().concerns(pod) is goes


async def test_the_pod_is_evicted_with_an_event() -> None:
    """The event says which claim, how long it was waited, and what the driver said."""
    api: Any = Api(pod_of(phase="Running"))
    evictions = Evictions(api, rule(after_s=LIMIT_S), Events(api))
    task = asyncio.ensure_future(evictions.run())
    try:
        evictions.changed("ResourceClaim", None, lost())
        assert await asyncio.wait_for(api.evicted.get(), 60) == "pod-1"
    finally:
        task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    (event,) = api.events
    assert event["reason"] == "InterfaceLost"
    assert event["note"] == (
        "evicted, because its interface of claim red was lost and not made again within 300 s: "
        "ifName is too long"
    )
