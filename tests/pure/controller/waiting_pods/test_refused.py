"""A claim that is refused gives its devices back, and nobody else's pod is touched."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from typing import Any

import pytest

from netclaim.controller.cluster.events import BURST, Events
from netclaim.controller.pacing.rounds import FORGOTTEN_S, LONGEST_S, Rounds
from netclaim.controller.waiting_pods.evictions import Evictions
from netclaim.controller.waiting_pods.refused import RefusedClaims
from netclaim.errors import PeerError
from netclaim.kube import NotFoundError
from netclaim.kube.errors import Status
from netclaim.model.claims.claim import JsonObject
from tests.support.growth import assert_flat

DRIVER = "cni.dra.networking.x-k8s.io"
DEVICE = {"driver": DRIVER, "pool": "node-1", "device": "eth1"}


def claim_of(
    name: str = "red",
    *,
    reason: str = "NetworkInterfaceRefused",
    pod: str = "pod-1",
    namespace: str = "team-a",
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
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": []}},
        "status": {
            "allocation": {"devices": {"results": [{"request": "nic", **DEVICE}]}},
            "reservedFor": [{"resource": "pods", "name": pod, "uid": f"uid-{pod}"}],
            "devices": [{**DEVICE, "conditions": [ready]}],
        },
    }


def pod_of(
    name: str = "pod-1",
    *,
    uid: str = "",
    phase: str = "Pending",
    namespace: str = "team-a",
    owner: str = "",
    **status: Any,
) -> Any:
    """A pod, as the API server has it."""
    meta: JsonObject = {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}"}
    if owner:
        reference = {"kind": "ReplicaSet", "name": owner, "uid": f"uid-{owner}", "controller": True}
        meta["ownerReferences"] = [reference]
    return {"metadata": meta, "status": {"phase": phase, **status}}


class Api:
    """The API server's pods: those evicted, and the events."""

    def __init__(self, *pods: JsonObject) -> None:
        self.pods = {pod["metadata"]["name"]: pod for pod in pods}
        self.faults: list[Exception] = []
        self.events: list[JsonObject] = []
        self.evicted: asyncio.Queue[str] = asyncio.Queue()
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.when_asked: Callable[[], None] = lambda: None  # once

    async def get(self, _: object, name: str, *, namespace: str) -> JsonObject:
        """A pod, if it is there."""
        self.asked.put_nowait(name)
        when_asked, self.when_asked = self.when_asked, lambda: None
        when_asked()
        if self.pods.get(name, {}).get("metadata", {}).get("namespace") != namespace:
            raise NotFoundError(Status(code=404))
        return self.pods[name]

    async def evict(self, name: str, *, namespace: str, uid: str) -> None:
        """Gone, unless the test says otherwise."""
        if self.faults:
            raise self.faults.pop()
        assert self.pods.pop(name)["metadata"]["uid"] == uid
        self.evicted.put_nowait(name)

    async def create(self, _: object, event: JsonObject) -> None:
        """Noted."""
        self.events.append(event)


@asynccontextmanager
async def running(
    api: Any, *, grace_s: float = 0.0, rounds: Rounds | None = None
) -> AsyncIterator[Evictions]:
    """The loop."""
    rule = RefusedClaims(DRIVER, grace_s=grace_s)
    refused = Evictions(api, rule, Events(api), rounds=rounds or Rounds(grace_s))
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
WAITS: dict[str, Any] = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}
AGAIN: dict[str, Any] = {"initContainerStatuses": [{**WAITS, "restartCount": 1}]}
BACK_OFF: dict[str, Any] = {"initContainerStatuses": [{**WAITS, "lastState": {"terminated": {}}}]}


@pytest.mark.parametrize(
    "pod",
    [
        pod_of(phase="Running"),
        pod_of(uid="another"),
        pod_of(**BEGUN),
        pod_of(**INIT),
        pod_of(**AGAIN),
        pod_of(**BACK_OFF),
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
    monkeypatch.setattr("netclaim.controller.waiting_pods.evictions.AGAIN_S", 0.01)
    api = Api(pod_of(), pod_of("pod-2"))
    api.faults.append(PeerError("the server is away"))
    async with running(api) as refused:
        refused.changed("ResourceClaim", None, claim_of())
        refused.changed("ResourceClaim", None, claim_of("blue", pod="pod-2"))
        gone = [await asyncio.wait_for(api.evicted.get(), 60) for _ in range(2)]
    assert gone == ["pod-2", "pod-1"]


async def test_a_failed_eviction_uses_up_no_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pod is evicted at the next attempt, and not after its owner's next pause."""
    monkeypatch.setattr("netclaim.controller.waiting_pods.evictions.AGAIN_S", 0.01)
    api = Api(pod_of(owner="rs"))
    api.faults.append(PeerError("the server is away"))
    rounds = Rounds(0.0)
    monkeypatch.setattr("netclaim.controller.pacing.rounds.pause_after_s", lambda *_, **__: 3600.0)
    async with running(api, rounds=rounds) as refused:
        refused.changed("ResourceClaim", None, claim_of())
        assert await asyncio.wait_for(api.evicted.get(), 60) == "pod-1"


async def test_a_claim_that_is_accepted_while_its_pod_is_read() -> None:
    """The pod stays: it can start now."""
    api = Api(pod_of(), pod_of("pod-2"))
    async with running(api) as refused:

        def accept() -> None:
            refused.changed("ResourceClaim", claim_of(), claim_of(reason="NetworkInterfaceReady"))

        api.when_asked = accept
        refused.changed("ResourceClaim", None, claim_of())
        assert await asyncio.wait_for(api.asked.get(), 60) == "pod-1"
        refused.changed("ResourceClaim", None, claim_of("blue", pod="pod-2"))
        assert await asyncio.wait_for(api.evicted.get(), 60) == "pod-2"
    assert "pod-1" in api.pods


def test_changes_of_claims_cost_the_same_beside_many_refused() -> None:
    """A change is looked at without looking at the other claims."""
    api: Any = Api()

    def work_of(n: int) -> Callable[[], object]:
        async def beside() -> Evictions:
            refused = Evictions(api, RefusedClaims(DRIVER), Events(api))
            for index in range(n):
                refused.changed("ResourceClaim", None, claim_of(f"c{index}"))
            return refused

        refused = asyncio.run(beside())

        async def change() -> None:
            refused.changed("ResourceClaim", None, claim_of())
            refused.changed("ResourceClaim", claim_of(), None)

        return lambda: asyncio.run(change())

    assert_flat(work_of, 16)


async def test_namespaces_take_turns() -> None:
    """One with many refused claims waits for itself."""
    many = [pod_of(f"a-{index}") for index in range(20)]
    api = Api(*many, pod_of("b", namespace="team-b"))
    async with running(api) as refused:
        for index in range(20):
            refused.changed("ResourceClaim", None, claim_of(f"c-{index}", pod=f"a-{index}"))
        refused.changed("ResourceClaim", None, claim_of("b", pod="b", namespace="team-b"))
        gone = [await asyncio.wait_for(api.evicted.get(), 60) for _ in range(21)]
    assert "b" in gone[:2]


class Script(Rounds):
    """Says what the test wants, and notes who was asked for."""

    def __init__(self, *pauses_s: float) -> None:
        super().__init__(0.0)
        self.pauses_s = list(pauses_s)
        self.owners: list[str] = []

    def pause_s(self, owner: str, now_s: float) -> float:
        """The next of the pauses."""
        self.owners.append(owner)
        return self.pauses_s.pop(0) if self.pauses_s else 0.0


async def test_the_pods_of_an_owner_wait_for_its_next_round() -> None:
    """Another owner's pod does not."""
    api = Api(pod_of(owner="rs-1"), pod_of("pod-2", owner="rs-2"), pod_of("bare"))
    script = Script(0.01)
    async with running(api, rounds=script) as refused:
        refused.changed("ResourceClaim", None, claim_of())
        refused.changed("ResourceClaim", None, claim_of("blue", pod="pod-2"))
        refused.changed("ResourceClaim", None, claim_of("green", pod="bare"))
        gone = [await asyncio.wait_for(api.evicted.get(), 60) for _ in range(3)]
    assert sorted(gone) == ["bare", "pod-1", "pod-2"]
    assert script.owners[:3] == ["uid-rs-1", "uid-rs-2", "uid-bare"]
    assert script.owners[3:] == ["uid-rs-1"]


def test_rounds_come_at_growing_pauses() -> None:
    """All pods of a round go together, and an owner that was quiet begins anew."""
    rounds = Rounds(15.0)
    begun, now_s = [], 0.0
    for _ in range(8):
        assert rounds.pause_s("rs", now_s) == 0.0
        rounds.note_done("rs", now_s)
        assert rounds.pause_s("rs", now_s + 10.0) == 0.0  # of the same round
        rounds.note_done("rs", now_s + 10.0)
        begun.append(now_s)
        now_s += 16.0  # it has made its pods again
        now_s += rounds.pause_s("rs", now_s)
    pauses = [after - before for before, after in pairwise(begun)]
    assert pauses == [30.0, 60.0, 120.0, 240.0, LONGEST_S, LONGEST_S, LONGEST_S]
    quiet_s = now_s + LONGEST_S + FORGOTTEN_S + 1.0
    assert rounds.pause_s("rs", quiet_s) == 0.0
    rounds.note_done("rs", quiet_s)
    assert rounds.pause_s("rs", quiet_s + 16.0) == 14.0


def test_who_asks_begins_no_round() -> None:
    """Only what was done does."""
    rounds = Rounds(15.0)
    assert [rounds.pause_s("rs", now_s) for now_s in (0.0, 16.0, 31.0)] == [0.0] * 3
    rounds.note_done("rs", 32.0)
    assert rounds.pause_s("rs", 48.0) == 14.0


async def test_a_namespace_gets_so_many_events() -> None:
    """Another namespace's are left all the same."""
    api: Any = Api()
    events = Events(api)
    for index in range(BURST + 50):
        pod = pod_of(f"a-{index}")
        await events.leave(pod, kind="Pod", action="Evict", reason="ClaimRefused", note="x")
    other = pod_of("b", namespace="team-b")
    await events.leave(other, kind="Pod", action="Evict", reason="ClaimRefused", note="x")
    assert len(api.events) == BURST + 1
    assert api.events[-1]["metadata"]["namespace"] == "team-b"
