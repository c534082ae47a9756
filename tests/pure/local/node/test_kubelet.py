"""The embedded kubelet: the order of its calls, its retries, shared claims, deletion, restart."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from netclaim.local.api import Verbs
from netclaim.local.node.claims import ClaimNote
from netclaim.local.node.drivers import NotRegisteredError
from netclaim.local.node.kubelet import Kubelet, Pace
from netclaim.local.node.sandboxes import SandboxError
from netclaim.model.claims.claim import JsonObject
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef, PrepareAnswer
from netclaim.nri import Container
from netclaim.schema.kinds import CLAIM, EVENT, POD
from tests.support.local.parts import new_verbs

DRIVER = "d.example.com"


class Log:
    """The calls that were made, and the errors they shall meet."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.errors: dict[str, str] = {}  # of a call, by its words; taken when it comes
        self.called = asyncio.Event()

    def note(self, call: str) -> None:
        """Remember a call."""
        self.calls.append(call)
        self.called.set()

    def error(self, call: str) -> str | None:
        """The error that a call shall meet, once."""
        return self.errors.pop(call, None)


class Driver:
    """A driver, and the registry that has it."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.registered = True
        self.held = asyncio.Event()  # calls to prepare wait for it
        self.held.set()

    async def run(self) -> None:
        """Nothing to look after."""
        await asyncio.Event().wait()

    def client(self, driver: str) -> "Driver":
        """The driver."""
        if not self.registered:
            raise NotRegisteredError(driver)
        return self

    async def prepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """Answer as told."""
        self._log.note(f"prepare {','.join(ref.name for ref in refs)}")
        await self.held.wait()
        errors = {ref.uid: self._log.error(f"prepare {ref.name}") for ref in refs}
        return {uid: PrepareAnswer(error=error) for uid, error in errors.items()}

    async def unprepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, str | None]:
        """Answer as told."""
        self._log.note(f"unprepare {','.join(ref.name for ref in refs)}")
        return {ref.uid: self._log.error(f"unprepare {ref.name}") for ref in refs}


class Runtime:
    """A runtime that makes nothing."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.running: dict[str, PodSandbox] = {}

    async def run(self, pod: JsonObject) -> PodSandbox:
        """Run a sandbox."""
        meta = pod["metadata"]
        self._log.note(f"run {meta['name']}")
        if error := self._log.error(f"run {meta['name']}"):
            raise SandboxError(error)
        sandbox = PodSandbox(meta["name"], meta["uid"], "default", meta["name"], ips=("10.0.0.2",))
        self.running[meta["uid"]] = sandbox
        return sandbox

    async def create_container(self, sandbox: PodSandbox, name: str) -> Container:
        """Create a container."""
        self._log.note(f"create {sandbox.name}/{name}")
        if error := self._log.error(f"create {sandbox.name}"):
            raise SandboxError(error)
        return Container("id", sandbox.id, name)

    async def stop(self, sandbox: PodSandbox) -> None:
        """Stop a sandbox."""
        self._log.note(f"stop {sandbox.name}")
        self.running.pop(sandbox.uid, None)


class Parts:
    """A driver and a runtime that do nothing, say yes unless told otherwise, and remember."""

    def __init__(self) -> None:
        self.log = Log()
        self.calls, self.errors = self.log.calls, self.log.errors
        self.driver, self.runtime = Driver(self.log), Runtime(self.log)


async def at_once(_seconds: float) -> None:
    """Wait for nothing."""
    await asyncio.sleep(0)


async def for_ever(_seconds: float) -> None:
    """Wait until somebody else has enough."""
    await asyncio.Event().wait()


def add_claim(verbs: Verbs, name: str, *pods: JsonObject, driver: str = DRIVER) -> JsonObject:
    """A claim that is allocated and reserved for pods."""
    request = {"name": "a", "exactly": {"deviceClassName": "c"}}
    body = {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}}
    made = verbs.create(CLAIM, body, manager="t", namespace="default")
    result = {"request": "a", "driver": driver, "pool": "n", "device": "eth1"}
    status = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [
            {"resource": "pods", "name": p["metadata"]["name"], "uid": p["metadata"]["uid"]}
            for p in pods
        ],
    }
    return verbs.replace(CLAIM, {**made, "status": status}, made, manager="t", subresource="status")


def add_pod(verbs: Verbs, name: str, *claims: str, node: str = "n") -> JsonObject:
    """A pod on a node."""
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "resourceClaims": [{"name": c, "resourceClaimName": c} for c in claims],
        "nodeName": node,
    }
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    return verbs.create(POD, body, manager="t", namespace="default")


@asynccontextmanager
async def running(kubelet: Kubelet) -> AsyncIterator[None]:
    """A kubelet at work."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(kubelet.run())
        yield
        task.cancel()


def kubelet_of(
    verbs: Verbs,
    parts: Parts,
    noted: Iterable[ClaimNote] = (),
    sleep: Callable[[float], Awaitable[None]] = at_once,
) -> Kubelet:
    """A kubelet of the node `n`."""
    return Kubelet(
        "n",
        verbs,
        parts.driver,
        parts.runtime,
        noted=noted,
        running=parts.runtime.running.values(),
        pace=Pace(sleep=sleep),
    )


async def is_running(verbs: Verbs, name: str) -> JsonObject:
    """The pod, once it runs."""

    def now() -> JsonObject:
        return verbs.get(POD, name, "default")

    await verbs.store.wait_for(lambda: now()["status"].get("phase") == "Running")
    return now()


async def is_gone(verbs: Verbs, name: str) -> None:
    """Wait until a pod is gone."""
    await verbs.store.wait_for(lambda: verbs.store.get(POD, name, "default") is None)


def reasons(verbs: Verbs) -> list[str]:
    """What events say."""
    return [event["reason"] for event in verbs.list(EVENT)]


async def test_pod_comes_up_and_goes_down_in_order() -> None:
    """Prepare, sandbox, containers; then sandbox, release, and the pod is gone."""
    verbs, parts = new_verbs(), Parts()
    pod = add_pod(verbs, "p", "x")
    add_claim(verbs, "x", pod)
    async with running(kubelet_of(verbs, parts)):
        found = await is_running(verbs, "p")
        assert found["status"]["podIP"] == "10.0.0.2"
        assert parts.calls == ["prepare x", "run p", "create p/c"]
        verbs.delete(POD, "p", "default")
        await is_gone(verbs, "p")
    assert parts.calls[3:] == ["stop p", "unprepare x"]


async def test_pod_of_another_node_is_left_alone() -> None:
    """A kubelet looks after its own pods only."""
    verbs, parts = new_verbs(), Parts()
    add_pod(verbs, "other", node="m")
    add_pod(verbs, "own")
    async with running(kubelet_of(verbs, parts)):
        await is_running(verbs, "own")
    assert parts.calls == ["run own", "create own/c"]


async def test_one_call_has_all_claims_of_a_driver() -> None:
    """A driver is asked once for all claims of a pod."""
    verbs, parts = new_verbs(), Parts()
    pod = add_pod(verbs, "p", "x", "y")
    for name in ("x", "y"):
        add_claim(verbs, name, pod)
    async with running(kubelet_of(verbs, parts)):
        await is_running(verbs, "p")
    assert parts.calls[0] == "prepare x,y"


@pytest.mark.parametrize(
    ("failing", "reason", "calls"),
    [
        (
            "prepare x",
            "FailedPrepareDynamicResources",
            ["prepare x", "prepare x", "run p", "create p/c"],
        ),
        ("run p", "FailedCreatePodSandBox", ["prepare x", "run p", "run p", "create p/c"]),
        (
            "create p",
            "Failed",
            ["prepare x", "run p", "create p/c", "stop p", "run p", "create p/c"],
        ),
    ],
)
async def test_failed_step_is_told_and_tried_again(
    failing: str, reason: str, calls: list[str]
) -> None:
    """A step that fails leaves an event and is tried again; a prepared claim stays prepared."""
    verbs, parts = new_verbs(), Parts()
    parts.errors[failing] = "no luck"
    pod = add_pod(verbs, "p", "x")
    add_claim(verbs, "x", pod)
    async with running(kubelet_of(verbs, parts)):
        await is_running(verbs, "p")
    assert parts.calls == calls
    (event,) = verbs.list(EVENT)
    assert event["reason"] == reason
    assert "no luck" in event["note"]
    assert verbs.get(POD, "p", "default")["status"]["message"] == ""


async def test_shared_claim_is_prepared_once_and_released_last() -> None:
    """Of two pods on one claim the first has it prepared and the last has it released."""
    verbs, parts = new_verbs(), Parts()
    first, second = add_pod(verbs, "p", "x"), add_pod(verbs, "q", "x", node="")
    add_claim(verbs, "x", first, second)
    async with running(kubelet_of(verbs, parts)):
        await is_running(verbs, "p")
        verbs.bind(verbs.get(POD, "q", "default"), "n")
        await is_running(verbs, "q")
        verbs.delete(POD, "p", "default")
        await is_gone(verbs, "p")
        assert parts.calls.count("prepare x") == 1
        assert "unprepare x" not in parts.calls
        verbs.delete(POD, "q", "default")
        await is_gone(verbs, "q")
    assert parts.calls[-1] == "unprepare x"


async def test_call_under_way_is_not_cut_off_by_deletion() -> None:
    """A pod deleted during prepare gets its sandbox and loses it again; its claim is released."""
    verbs, parts = new_verbs(), Parts()
    parts.driver.held.clear()
    pod = add_pod(verbs, "p", "x")
    add_claim(verbs, "x", pod)
    async with running(kubelet_of(verbs, parts)):
        await parts.log.called.wait()
        verbs.delete(POD, "p", "default")
        parts.driver.held.set()
        await is_gone(verbs, "p")
    assert parts.calls == ["prepare x", "run p", "create p/c", "stop p", "unprepare x"]


async def test_pod_that_never_started_is_released_too() -> None:
    """A claim whose prepare only ever failed is released when its pod goes."""
    verbs, parts = new_verbs(), Parts()
    parts.errors["prepare x"] = "no luck"
    pod = add_pod(verbs, "p", "x")
    add_claim(verbs, "x", pod)
    async with running(kubelet_of(verbs, parts, sleep=for_ever)):
        await verbs.store.wait_for(lambda: bool(reasons(verbs)))
        verbs.delete(POD, "p", "default")
        await is_gone(verbs, "p")
    assert parts.calls == ["prepare x", "unprepare x"]


async def test_pod_stays_until_its_claim_is_released() -> None:
    """A release that fails is told and tried again before the pod is let go."""
    verbs, parts = new_verbs(), Parts()
    parts.errors["unprepare x"] = "not now"
    pod = add_pod(verbs, "p", "x")
    add_claim(verbs, "x", pod)
    async with running(kubelet_of(verbs, parts)):
        await is_running(verbs, "p")
        verbs.delete(POD, "p", "default")
        await is_gone(verbs, "p")
    assert parts.calls[-2:] == ["unprepare x", "unprepare x"]
    assert reasons(verbs) == ["FailedUnprepareDynamicResources"]


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        ("unreserved", "not reserved"),
        ("unallocated", "is not allocated"),
        ("missing", "does not exist"),
        ("unregistered", f"DRA driver {DRIVER} is not registered"),
    ],
)
async def test_claim_is_looked_at_before_a_driver_is_called(mistake: str, told: str) -> None:
    """A claim that is not ready for the pod, or has no driver, is told; nobody is called."""
    verbs, parts = new_verbs(), Parts()
    parts.driver.registered = mistake != "unregistered"
    pod = add_pod(verbs, "p", "x")
    if mistake != "missing":
        claim = add_claim(verbs, "x", *([] if mistake == "unreserved" else [pod]))
        if mistake == "unallocated":
            verbs.store.put(
                CLAIM, {**claim, "status": {"reservedFor": claim["status"]["reservedFor"]}}
            )
    kubelet = kubelet_of(verbs, parts)
    async with running(kubelet):
        await verbs.store.wait_for(lambda: bool(reasons(verbs)))
        assert told in next(verbs.list(EVENT))["note"]
        verbs.delete(POD, "p", "default")
        await is_gone(verbs, "p")
    assert parts.calls == []
    assert kubelet.claims.notes == ()


async def test_restart_disturbs_nothing() -> None:
    """A new kubelet leaves running pods alone, prepares anew for a new one, and releases last."""
    verbs, parts = new_verbs(), Parts()
    first, second = add_pod(verbs, "p", "x"), add_pod(verbs, "q", "x", node="")
    add_claim(verbs, "x", first, second)
    before = kubelet_of(verbs, parts)
    async with running(before):
        await is_running(verbs, "p")
    parts.calls.clear()
    async with running(kubelet_of(verbs, parts, noted=before.claims.notes)):
        verbs.bind(verbs.get(POD, "q", "default"), "n")
        await is_running(verbs, "q")
        assert parts.calls == ["prepare x", "run q", "create q/c"]
        for name in ("p", "q"):
            verbs.delete(POD, name, "default")
            await is_gone(verbs, name)
    assert parts.calls[-1] == "unprepare x"
