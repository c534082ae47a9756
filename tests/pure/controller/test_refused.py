"""A claim that is refused gives its devices back, and nobody else's pod is touched."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from netclaim.controller.refused import RefusedClaims
from netclaim.errors import PeerError
from netclaim.kube import NotFoundError
from netclaim.kube.errors import Status
from netclaim.model.claim import JsonObject
from tests.support.growth import assert_flat

DRIVER = "cni.dra.networking.x-k8s.io"
DEVICE = {"driver": DRIVER, "pool": "node-1", "device": "eth1"}


def claim_of(
    name: str = "red", *, reason: str = "NetworkInterfaceRefused", pod: str = "pod-1"
) -> Any:
    """A claim that a pod waits for, and what its driver says of it."""
    ready = {
        "type": "Ready",
        "status": "True" if reason == "NetworkInterfaceReady" else "False",
        "reason": reason,
        "message": "ifName is too long",
        "lastTransitionTime": "2026-11-17T08:00:00Z",
    }
    return {
        "metadata": {"name": name, "namespace": "team-a", "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": []}},
        "status": {
            "allocation": {"devices": {"results": [{"request": "nic", **DEVICE}]}},
            "reservedFor": [{"resource": "pods", "name": pod, "uid": f"uid-{pod}"}],
            "devices": [{**DEVICE, "conditions": [ready]}],
        },
    }


def pod_of(name: str = "pod-1", *, uid: str = "", phase: str = "Pending", **status: Any) -> Any:
    """A pod, as the API server has it."""
    meta = {"name": name, "namespace": "team-a", "uid": uid or f"uid-{name}"}
    return {"metadata": meta, "status": {"phase": phase, **status}}


class Api:
    """The API server's pods: those evicted, and the events."""

    def __init__(self, *pods: JsonObject) -> None:
        self.pods = {pod["metadata"]["name"]: pod for pod in pods}
        self.faults: list[Exception] = []
        self.events: list[JsonObject] = []
        self.evicted: asyncio.Queue[str] = asyncio.Queue()
        self.asked: asyncio.Queue[str] = asyncio.Queue()

    async def get(self, _: object, name: str, *, namespace: str) -> JsonObject:
        """A pod, if it is there."""
        assert namespace == "team-a"
        self.asked.put_nowait(name)
        if name not in self.pods:
            raise NotFoundError(Status(code=404))
        return self.pods[name]

    async def evict(self, name: str, *, namespace: str, uid: str) -> None:
        """Gone, unless the test says otherwise."""
        if self.faults:
            raise self.faults.pop()
        assert self.pods.pop(name)["metadata"] == {"name": name, "namespace": namespace, "uid": uid}
        self.evicted.put_nowait(name)

    async def create(self, _: object, event: JsonObject) -> None:
        """Noted."""
        self.events.append(event)


@asynccontextmanager
async def running(api: Any, *, grace_s: float = 0.0) -> AsyncIterator[RefusedClaims]:
    """The loop."""
    refused = RefusedClaims(api, DRIVER, grace_s=grace_s)
    task = asyncio.ensure_future(refused.run())
    try:
        yield refused
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_the_pod_of_a_refused_claim_is_evicted() -> None:
    """Once, with an event that says why."""
    api = Api(pod_of())
    async with running(api) as refused:
        refused.changed("ResourceClaim", None, claim_of())
        assert await asyncio.wait_for(api.evicted.get(), 60) == "pod-1"
        refused.changed("ResourceClaim", claim_of(), claim_of())
        assert await asyncio.wait_for(api.asked.get(), 60) == "pod-1"
        assert await asyncio.wait_for(api.asked.get(), 60) == "pod-1"
    assert refused.count == 1
    assert api.events[0]["note"].endswith("claim red was refused: ifName is too long")
    assert api.events[0]["regarding"]["uid"] == "uid-pod-1"


SHARE = {"request": "address", "driver": DRIVER, "pool": "addresses/media", "device": "media"}
GPU = {"request": "gpu", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu0"}


def sharing(*results: JsonObject, **status: Any) -> Any:
    """A claim of a pod that nobody says anything of, with these devices."""
    found = claim_of()
    allocation = {"devices": {"results": list(results)}}
    return {
        **found,
        "status": {**found["status"], "allocation": allocation, "devices": [], **status},
    }


@pytest.mark.parametrize("results", [[SHARE] * 32, [SHARE, GPU]])
async def test_a_pod_with_addresses_and_no_link_is_evicted(results: list[JsonObject]) -> None:
    """No node prepares such a claim, and the addresses are nobody else's until it is gone."""
    api = Api(pod_of())
    async with running(api) as refused:
        refused.changed("ResourceClaim", None, sharing(*results))
        assert await asyncio.wait_for(api.evicted.get(), 60) == "pod-1"
    assert "no link" in api.events[0]["note"]


@pytest.mark.parametrize(
    "claim",
    [
        sharing({"request": "nic", **DEVICE}, SHARE),
        sharing(GPU),
        sharing(),
        sharing(SHARE, reservedFor=[]),
        sharing({**SHARE, "driver": "other.example.com"}),
    ],
)
async def test_a_pod_that_can_start_stays(claim: JsonObject) -> None:
    """It has a link, or nothing of this driver; and a claim without a pod has nobody to evict."""
    api = Api(pod_of())
    async with running(api) as refused:
        refused.changed("ResourceClaim", None, claim)
        refused.changed("ResourceClaim", None, claim_of("other", pod="pod-2"))
        assert await asyncio.wait_for(api.asked.get(), 60) == "pod-2"
    assert api.evicted.empty()


BEGUN: dict[str, Any] = {"containerStatuses": [{"state": {"running": {}}}]}
INIT: dict[str, Any] = {"initContainerStatuses": [{"state": {"terminated": {}}}]}


@pytest.mark.parametrize(
    "pod",
    [
        pod_of(phase="Running"),
        pod_of(uid="another"),
        pod_of(**BEGUN),
        pod_of(**INIT),
        pod_of("somebody-else"),
    ],
)
async def test_no_other_pod_is(pod: JsonObject) -> None:
    """One that runs, or has run, has its interface; one of the same name is another pod."""
    api = Api(pod)
    async with running(api) as refused:
        refused.changed("ResourceClaim", None, claim_of())
        await asyncio.wait_for(api.asked.get(), 60)
    assert api.evicted.empty()
    assert not api.events


@pytest.mark.parametrize(
    "now",
    [
        None,
        claim_of(reason="NetworkInterfaceReady"),
        claim_of(reason="NetworkInterfaceNotReady"),
        claim_of() | {"status": {}},
    ],
)
async def test_a_claim_that_is_refused_no_more(now: JsonObject | None) -> None:
    """It has its time; what is not refused by then is left alone."""
    api = Api(pod_of(), pod_of("pod-2"))
    async with running(api, grace_s=0.2) as refused:
        refused.changed("ResourceClaim", None, claim_of())
        refused.changed("ResourceClaim", claim_of(), now)
        refused.changed("ResourceClaim", None, claim_of("blue", pod="pod-2"))
        assert await asyncio.wait_for(api.evicted.get(), 60) == "pod-2"
    assert "pod-1" in api.pods


async def test_another_pod_gives_a_refused_claim_no_more_time() -> None:
    """Otherwise, a new pod now and then would keep the claim's devices for ever."""
    api = Api(pod_of(), pod_of("pod-2"), pod_of("pod-3"))
    async with running(api, grace_s=0.2) as refused:
        refused.changed("ResourceClaim", None, claim_of())
        refused.changed("ResourceClaim", None, claim_of("blue", pod="pod-2"))
        refused.changed("ResourceClaim", claim_of(), claim_of(pod="pod-3"))
        gone = [await asyncio.wait_for(api.evicted.get(), 60) for _ in range(2)]
    assert gone == ["pod-3", "pod-2"]


async def test_an_eviction_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's claim does not wait for that."""
    monkeypatch.setattr("netclaim.controller.refused.AGAIN_S", 0.01)
    api = Api(pod_of(), pod_of("pod-2"))
    api.faults.append(PeerError("the server is away"))
    async with running(api) as refused:
        refused.changed("ResourceClaim", None, claim_of())
        refused.changed("ResourceClaim", None, claim_of("blue", pod="pod-2"))
        gone = [await asyncio.wait_for(api.evicted.get(), 60) for _ in range(2)]
    assert gone == ["pod-2", "pod-1"]


def test_changes_of_claims_cost_the_same_beside_many_refused() -> None:
    """A change is looked at without looking at the other claims."""
    api: Any = Api()

    def work_of(n: int) -> Callable[[], object]:
        async def beside() -> RefusedClaims:
            refused = RefusedClaims(api, DRIVER)
            for index in range(n):
                refused.changed("ResourceClaim", None, claim_of(f"c{index}"))
            return refused

        refused = asyncio.run(beside())

        async def change() -> None:
            refused.changed("ResourceClaim", None, claim_of())
            refused.changed("ResourceClaim", claim_of(), None)

        return lambda: asyncio.run(change())

    assert_flat(work_of, 16)
