"""Claims are checked before their pods are bound; the API server is made up here."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from netclaim.errors import HostError, NetclaimError, PeerError, RequestError
from netclaim.framework.contract import Driver, Offer, UnfitError
from netclaim.framework.publish.binding_conditions import awaited_of, verdict_entries
from netclaim.framework.publish.preflight import UNFIT_S, Preflight
from netclaim.framework.publish.slices import Pool
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.testing import FakeClock
from netclaim.model import Claim, ClaimRef, Device, JsonObject, Prepared, Taint
from netclaim.model.claims.unreadable import stand_in
from tests.support.framework.parts import DRIVER

POOL = Pool(driver=DRIVER, node="node-1", node_uid="node-uid")
CHECKED = Device("eth1", binding_conditions=("Passed",), binding_failure_conditions=("Failed",))
PLAIN = Device("eth1")
UNFIT = Taint(key=f"{DRIVER}/preflight-failed", effect="NoSchedule")


class UnfitHostError(UnfitError, HostError):
    """The node lacks something."""


class Judge(Driver):
    """A driver that finds what it is told to."""

    name = DRIVER
    reads_namespace = True

    def __init__(self) -> None:
        self.faults: list[Exception] = []
        self.seen: list[Claim] = []

    async def discover(self) -> AsyncIterator[tuple[Device, ...]]:
        """Nothing."""
        yield ()

    async def prepare(self, claim: Claim) -> Prepared:
        """Plan nothing, however often it is called."""
        return Prepared(claim.ref, ())

    async def unprepare(self, prepared: Prepared) -> None:
        """Undo nothing, however often it is called."""

    async def preflight(self, claim: Claim) -> None:
        """Note the claim, and fail with the next fault if one is left."""
        self.seen.append(claim)
        if self.faults:
            raise self.faults.pop(0)


class Server:
    """The API server: claims to yield, verdicts that were written, labels of namespaces."""

    def __init__(self) -> None:
        self.news: asyncio.Queue[JsonObject | NetclaimError] = asyncio.Queue()
        self.written: asyncio.Queue[tuple[str, Sequence[JsonObject]]] = asyncio.Queue()
        self.opens = asyncio.Event()
        self.opens.set()

    async def follow(self, opened: Callable[[], None]) -> AsyncIterator[bytes]:
        """Yield what the test puts in."""
        await self.opens.wait()
        opened()
        while True:
            each = await self.news.get()
            if isinstance(each, NetclaimError):
                raise each
            yield json.dumps(each).encode()

    async def apply(self, claim: ClaimRef, devices: Sequence[JsonObject]) -> bool:
        """Note."""
        self.written.put_nowait((claim.name, devices))
        return True

    async def labels(self, name: str) -> Mapping[str, str]:
        """The namespace's name as a label."""
        return {"name": name}


class Bench:
    """A preflight at work."""

    def __init__(self) -> None:
        self.driver, self.server, self.clock = Judge(), Server(), FakeClock()
        self.published: asyncio.Queue[Offer] = asyncio.Queue()
        self.told: list[str] = []
        self.metrics = Metrics(DRIVER, self.clock)
        self.preflight = Preflight(
            self.driver,
            POOL,
            self.server.follow,
            self.server.labels,
            self.server.apply,
            publish=self.published.put_nowait,
            warn=lambda _, text: self.told.append(text),
            metrics=self.metrics,
            clock=self.clock,
        )

    async def verdict(self, obj: JsonObject) -> list[tuple[str, str, str]]:
        """The conditions of the verdict on a claim: type, reason and message."""
        self.server.news.put_nowait(obj)
        _, entries = await self.server.written.get()
        return [
            (each["type"], each["reason"], each["message"])
            for entry in entries
            for each in entry["conditions"]
        ]


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    """One that runs, with a device that has conditions."""
    made = Bench()
    running = asyncio.ensure_future(made.preflight.run())
    made.preflight.offer((CHECKED,))
    try:
        yield made
    finally:
        running.cancel()
        await asyncio.wait({running})


def claim(name: str = "red", *, said: Sequence[str] = (), **result: Any) -> JsonObject:
    """A claim that eth1 of the node was allocated to."""
    device = {"driver": DRIVER, "pool": "node-1", "device": "eth1"}
    allocated = {
        **device,
        "request": "nic",
        "bindingConditions": ["Passed"],
        "bindingFailureConditions": ["Failed"],
        **result,
    }
    time = "2030-01-01T00:00:00Z"
    conditions = [{"type": each, "status": "True", "lastTransitionTime": time} for each in said]
    return {
        "metadata": {"uid": f"uid-{name}", "namespace": "shop", "name": name},
        "spec": {"devices": {"requests": [{"name": "nic"}]}},
        "status": {
            "allocation": {"devices": {"results": [allocated]}},
            "devices": [{**device, "conditions": conditions}] if said else [],
        },
    }


@pytest.mark.parametrize(
    ("found", "waits"),
    [
        (claim(), True),
        (claim(said=["Ready"]), True),
        (claim(said=["Passed"]), False),
        (claim(said=["Ready", "Failed"]), False),
        (claim(driver="gpu.example.com"), False),
        (claim(pool="node-2"), False),
        (claim(bindingConditions=[]), False),
        (claim(bindingConditions=["Passed", "Other"], said=["Passed"]), True),
        (claim() | {"status": {}}, False),
    ],
)
def test_which_claims_wait(found: JsonObject, waits: bool) -> None:
    """Those with conditions of this driver on this node that have no verdict yet."""
    assert (awaited_of(json.dumps(found).encode(), DRIVER, "node-1") is not None) is waits


def test_claims_that_do_not_wait_here_are_not_decoded() -> None:
    """What the parameters of a claim on another node hold is never seen; of one here, it is."""
    parameters = {"source": "FromClaim", "opaque": {"driver": DRIVER, "parameters": {"x": "?"}}}

    def text(pool: str) -> bytes:
        found = claim(pool=pool)
        found["status"]["allocation"]["devices"]["config"] = [parameters]
        return json.dumps(found).encode().replace(b'"?"', b'"\xff"')

    assert awaited_of(text("node-2"), DRIVER, "node-1") is None
    awaited = awaited_of(text("node-1"), DRIVER, "node-1")
    assert awaited is not None
    with pytest.raises(RequestError, match="cannot be read"):
        awaited.claim.check_readable()


def test_an_error_about_one_device_is_its_own() -> None:
    """The claim's other devices say nothing; shares are told apart."""
    found = claim(shareID="share-1")
    results = found["status"]["allocation"]["devices"]["results"]
    results.append({**results[0], "device": "eth2", "shareID": "share-2"})
    awaited = awaited_of(json.dumps(found).encode(), DRIVER, "node-1")
    assert awaited is not None
    error = RequestError("no")
    error.device = ("node-1", "eth2", "share-2")
    (entry,) = verdict_entries(awaited, error, FakeClock().now())
    assert (entry["device"], entry["shareID"]) == ("eth2", "share-2")
    assert len(verdict_entries(awaited, None, FakeClock().now())) == 2


async def test_a_claim_that_cannot_be_read_does_not_end_it() -> None:
    """It is passed over; the others get their verdicts."""
    async with bench() as made:
        made.server.news.put_nowait(claim("odd") | {"metadata": {}})
        assert [each for each, _, _ in await made.verdict(claim())] == ["Passed"]


async def test_parameters_that_cannot_be_read_fail() -> None:
    """Their author gets a verdict, for which the driver is not asked."""
    async with bench() as made:
        found = claim()
        opaque = {"driver": DRIVER, "parameters": stand_in("it is not UTF-8")}
        allocated = found["status"]["allocation"]["devices"]
        allocated["config"] = [{"source": "FromClaim", "opaque": opaque}]
        ((kind, reason, message),) = await made.verdict(found)
        assert (kind, reason, made.driver.seen) == ("Failed", "Request", [])
        assert "it is not UTF-8" in message


async def test_a_claim_that_can_be_served_passes() -> None:
    """The driver sees the claim with its own devices and the namespace's labels."""
    async with bench() as made:
        assert await made.verdict(claim()) == [
            ("Passed", "Passed", "the claim can be served on this node")
        ]
        (seen,) = made.driver.seen
        assert (seen.name, seen.namespace_labels) == ("red", {"name": "shop"})
        assert made.told == []


async def test_a_claim_that_cannot_be_served_fails() -> None:
    """With the error's own words, and an event; nothing is tainted for a claim's own mistake."""
    async with bench() as made:
        made.driver.faults = [RequestError("mode is missing")]
        assert await made.verdict(claim()) == [("Failed", "Request", "mode is missing")]
        assert await made.verdict(claim("blue")) == [
            ("Passed", "Passed", "the claim can be served on this node")
        ]
        assert made.told == ["mode is missing"]
        assert [made.published.get_nowait()] == [(CHECKED,)]
        assert made.published.empty()


async def test_the_same_failure_is_one_event() -> None:
    """However often the scheduler comes back with the claim; other words are another event."""
    async with bench() as made:
        for text in ("no", "no", "no", "still not"):
            made.driver.faults = [RequestError(text)]
            assert await made.verdict(claim()) == [("Failed", "Request", text)]
        made.server.news.put_nowait(claim("blue"))
        await made.server.written.get()
        assert made.told == ["no", "still not"]


async def test_what_may_pass_is_tried_again() -> None:
    """A peer that fails for a moment does not send the pod away."""
    async with bench() as made:
        made.driver.faults = [PeerError("later"), PeerError("later")]
        assert [each for each, _, _ in await made.verdict(claim())] == ["Passed"]
        assert len(made.driver.seen) == 3


async def test_a_bug_of_the_driver_is_a_verdict_too() -> None:
    """The pod is not left waiting for ten minutes."""
    async with bench() as made:
        made.driver.faults = [ZeroDivisionError("oops")]
        assert await made.verdict(claim()) == [("Failed", "Bug", "oops")]


async def test_a_node_that_is_unfit_taints_the_device() -> None:
    """Else the scheduler would take it again; only for a while."""
    async with bench() as made:
        assert await made.published.get() == (CHECKED,)
        made.driver.faults = [UnfitHostError("plugin is missing")]
        assert (await made.verdict(claim()))[0][0] == "Failed"
        (tainted,) = await made.published.get()
        assert isinstance(tainted, Device)
        assert tainted.taints == (UNFIT,)
        assert await made.published.get() == (CHECKED,)
        assert sum(made.clock.slept_s) >= UNFIT_S


async def test_conditions_are_published_once_claims_are_followed() -> None:
    """Until it is known, nothing is; what an earlier process published stays."""
    made = Bench()
    made.server.opens.clear()
    running = asyncio.ensure_future(made.preflight.run())
    made.preflight.offer((CHECKED,))
    assert made.published.empty()
    made.server.opens.set()
    assert await made.published.get() == (CHECKED,)
    running.cancel()
    await asyncio.wait({running})


async def test_without_the_right_to_follow_claims_devices_have_no_conditions() -> None:
    """No pod waits for a verdict that nobody can give; the part fails, and is seen to."""
    made = Bench()
    running = asyncio.ensure_future(made.preflight.run())
    made.preflight.offer((CHECKED,))
    assert await made.published.get() == (CHECKED,)
    made.server.news.put_nowait(PeerError("forbidden"))
    with pytest.raises(PeerError, match="forbidden"):
        await running
    assert await made.published.get() == (PLAIN,)


async def test_without_conditions_nothing_is_followed() -> None:
    """Devices without conditions are published as they are, at once."""
    made = Bench()
    made.server.opens.clear()
    running = asyncio.ensure_future(made.preflight.run())
    made.preflight.offer((PLAIN,))
    assert made.published.get_nowait() == (PLAIN,)
    running.cancel()
    await asyncio.wait({running})
