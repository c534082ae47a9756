"""NodePrepareResources and NodeUnprepareResources over a real socket, in both API versions."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec
import pytest
from grpclib.const import Status
from structlog.testing import capture_logs

from netclaim.errors import HostError, NetclaimError, PeerError, RequestError
from netclaim.kubelet import DRA_APIS, V1, DraApi, DraClient, DriverCallError
from netclaim.model.on_node.prepared import ClaimRef, PrepareAnswer
from tests.support.kubelet_parts import BLUE, RED, Answering, Waiting, device_for, served

pytestmark = [
    pytest.mark.parametrize("api", DRA_APIS, ids=lambda api: api.version),
]


class Answers:
    """Gives the same answers whatever it is asked."""

    def __init__(
        self, prepared: Mapping[str, PrepareAnswer], released: Mapping[str, str | None]
    ) -> None:
        self.prepared = prepared
        self.released = released

    async def prepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """The answers it was given."""
        return self.prepared

    async def unprepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, str | None]:
        """The answers it was given."""
        return self.released


class Failing:
    """Raises the same error for either call."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def prepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """No answer."""
        raise self.error

    async def unprepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, str | None]:
        """No answer."""
        raise self.error


async def test_claims_are_prepared(api: DraApi) -> None:
    """Each claim reaches the service whole, and its devices reach kubelet; share ids only in v1."""
    claims = Answering()
    async with served(claims) as driver, DraClient(await driver.register([api])) as call:
        answers = await call.prepare([RED, BLUE])
    assert claims.prepared == [RED, BLUE]
    for ref in (RED, BLUE):
        device = device_for(ref)
        if api is not V1:
            device = msgspec.structs.replace(device, share_id=None)
        assert answers[ref.uid] == PrepareAnswer(devices=(device,))


async def test_claims_are_released(api: DraApi) -> None:
    """Each claim reaches the service whole, and success reaches kubelet."""
    claims = Answering()
    async with served(claims) as driver, DraClient(await driver.register([api])) as call:
        assert await call.unprepare([RED, BLUE]) == {RED.uid: None, BLUE.uid: None}
    assert claims.released == [RED, BLUE]


async def test_one_claim_fails_alone(api: DraApi) -> None:
    """A claim's own error is its own, and comes without devices."""
    bad = PrepareAnswer(devices=(device_for(RED),), error="config: no such link")
    claims = Answers({RED.uid: bad, BLUE.uid: PrepareAnswer()}, {RED.uid: "busy", BLUE.uid: None})
    async with served(claims) as driver, DraClient(await driver.register([api])) as call:
        assert await call.prepare([RED, BLUE]) == {
            RED.uid: PrepareAnswer(error="config: no such link"),
            BLUE.uid: PrepareAnswer(),
        }
        assert await call.unprepare([RED, BLUE]) == {RED.uid: "busy", BLUE.uid: None}


async def test_empty_error_is_still_an_error(api: DraApi) -> None:
    """An error without a text does not become a success on the wire."""
    claims = Answers({RED.uid: PrepareAnswer(error="")}, {RED.uid: ""})
    async with served(claims) as driver, DraClient(await driver.register([api])) as call:
        assert (await call.prepare([RED]))[RED.uid].error == "no reason given"
        assert (await call.unprepare([RED]))[RED.uid] == "no reason given"


async def test_error_that_is_not_text(api: DraApi) -> None:
    """Bytes that are no text, as in a plugin's output, do not spoil the answer."""
    reason = b"no link \xff".decode(errors="surrogateescape")
    claims = Answers({RED.uid: PrepareAnswer(error=reason)}, {RED.uid: reason})
    async with served(claims) as driver, DraClient(await driver.register([api])) as call:
        assert (await call.prepare([RED]))[RED.uid].error == "no link ?"
        assert (await call.unprepare([RED]))[RED.uid] == "no link ?"


async def test_forgotten_claim_is_an_error_of_its_own(api: DraApi) -> None:
    """A claim the service forgets is answered with an error; the others keep their answers."""
    claims = Answers({BLUE.uid: PrepareAnswer()}, {BLUE.uid: None})
    async with served(claims) as driver, DraClient(await driver.register([api])) as call:
        with capture_logs() as logs:
            prepared = await call.prepare([RED, BLUE])
            released = await call.unprepare([RED, BLUE])
    forgotten = "internal error: the driver gave no answer for this claim"
    assert prepared == {RED.uid: PrepareAnswer(error=forgotten), BLUE.uid: PrepareAnswer()}
    assert released == {RED.uid: forgotten, BLUE.uid: None}
    assert [(entry["event"], entry["call"], entry["claims"]) for entry in logs] == [
        ("kubelet.forgotten_claims", "prepare", [RED.uid]),
        ("kubelet.forgotten_claims", "unprepare", [RED.uid]),
    ]


async def test_unknown_claim_is_dropped(api: DraApi) -> None:
    """An answer for a claim that was not asked about is logged, and not sent."""
    claims = Answers(
        {RED.uid: PrepareAnswer(), BLUE.uid: PrepareAnswer()}, {RED.uid: None, BLUE.uid: None}
    )
    async with served(claims) as driver, DraClient(await driver.register([api])) as call:
        with capture_logs() as logs:
            assert await call.prepare([RED]) == {RED.uid: PrepareAnswer()}
            assert await call.unprepare([RED]) == {RED.uid: None}
    assert [(entry["event"], entry["call"], entry["claims"]) for entry in logs] == [
        ("kubelet.unknown_claims", "prepare", [BLUE.uid]),
        ("kubelet.unknown_claims", "unprepare", [BLUE.uid]),
    ]


@pytest.mark.parametrize(
    "error",
    [
        RequestError("ifName is too long", path=("spec", "devices", "config", 0)),
        PeerError("the API server is out of reach"),
        HostError("no CAP_NET_ADMIN"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_our_errors_are_told_as_they_are(api: DraApi, error: NetclaimError) -> None:
    """An error of our own tree stands for every claim of the call, in its own words."""
    async with served(Failing(error)) as driver, DraClient(await driver.register([api])) as call:
        answer = PrepareAnswer(error=str(error))
        assert await call.prepare([RED, BLUE]) == {RED.uid: answer, BLUE.uid: answer}
        assert await call.unprepare([RED]) == {RED.uid: str(error)}


async def test_unexpected_error_is_logged_with_its_traceback(api: DraApi) -> None:
    """A bug is told as an internal error for every claim, and the log has the traceback."""
    claims = Failing(KeyError("mtu"))
    async with served(claims) as driver, DraClient(await driver.register([api])) as call:
        with capture_logs() as logs:
            answers = await call.prepare([RED, BLUE])
        assert {answer.error for answer in answers.values()} == {"internal error: KeyError: 'mtu'"}
        assert answers.keys() == {RED.uid, BLUE.uid}
        assert await call.unprepare([RED]) == {RED.uid: "internal error: KeyError: 'mtu'"}
    assert [(entry["event"], entry["exc_info"]) for entry in logs] == [
        ("kubelet.call_broken", True)
    ]


async def test_service_slower_than_kubelet(api: DraApi) -> None:
    """Kubelet's deadline cancels the service's work, and the service can be asked again."""
    claims = Waiting()
    async with served(claims) as driver:
        registered = await driver.register([api])
        async with DraClient(registered, deadline_s=0.05) as hasty:
            while not claims.cancelled.is_set():  # on a slow machine a call may not even arrive
                with pytest.raises(DriverCallError) as late:
                    await hasty.prepare([RED])
                assert late.value.status is Status.DEADLINE_EXCEEDED
        claims.go_on.set()
        async with DraClient(registered) as patient:
            assert (await patient.prepare([RED]))[RED.uid].error is None


async def test_kubelet_hangs_up(api: DraApi) -> None:
    """When kubelet goes away in the middle of a call, the service's work is cancelled."""
    claims = Waiting()
    async with served(claims) as driver, asyncio.TaskGroup() as tasks:
        async with DraClient(await driver.register([api])) as call:
            lost = tasks.create_task(lost_call(call))
            await claims.started.wait()
        await claims.cancelled.wait()
        assert (await lost).status is Status.UNAVAILABLE


async def lost_call(call: DraClient) -> DriverCallError:
    """A call that fails, and how."""
    with pytest.raises(DriverCallError) as lost:
        await call.prepare([RED])
    return lost.value


async def test_calls_run_side_by_side(api: DraApi) -> None:
    """A slow claim does not hold up another call on the same connection."""
    claims = Waiting()
    async with (
        served(claims) as driver,
        DraClient(await driver.register([api])) as call,
        asyncio.TaskGroup() as tasks,
    ):
        slow = tasks.create_task(call.prepare([RED]))
        await claims.started.wait()
        assert (await call.prepare([BLUE]))[BLUE.uid].error is None
        claims.go_on.set()
        assert (await slow)[RED.uid].error is None
