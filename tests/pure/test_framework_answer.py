"""Kubelet gets an answer for every claim, in its time."""

import asyncio

import pytest

from netclaim.errors import PeerError, RequestError
from netclaim.framework.answer import ClaimAnswers
from netclaim.framework.metrics import Metrics
from netclaim.framework.testing import FakeClock
from netclaim.model import ClaimRef, PrepareAnswer, PreparedDevice
from tests.pure.framework_parts import UNREACHABLE

RED, BLUE = (ClaimRef(f"uid-{name}", "default", name) for name in ("red", "blue"))
READY = PrepareAnswer(devices=(PreparedDevice(("net",), "node-1", "eth1"),))


class Work:
    """Fails for a claim as often as told, then succeeds."""

    def __init__(self, **faults: list[Exception]) -> None:
        self.faults = faults
        self.reported: dict[str, str] = {}
        self.hang = False

    async def prepare(self, ref: ClaimRef) -> PrepareAnswer:
        """Fail, hang or succeed."""
        await self.unprepare(ref)
        return READY

    async def unprepare(self, ref: ClaimRef) -> None:
        """Fail, hang or succeed."""
        if self.hang:
            await asyncio.Event().wait()
        if self.faults.get(ref.name):
            raise self.faults[ref.name].pop(0)

    def report_failure(self, ref: ClaimRef, message: str) -> None:
        """Noted."""
        self.reported[ref.name] = message


def answers(work: Work, *, budget_s: float = 40.0) -> tuple[ClaimAnswers, FakeClock]:
    """Answers by this work."""
    clock = FakeClock()
    return ClaimAnswers(work, clock, Metrics("d", clock), budget_s=budget_s), clock


@pytest.mark.asyncio
async def test_each_claim_on_its_own() -> None:
    """One claim's failure is not another's."""
    work = Work(red=[RequestError("ifName is too long")])
    service, clock = answers(work)
    assert await service.prepare([RED, BLUE]) == {
        "uid-red": PrepareAnswer(error="ifName is too long"),
        "uid-blue": READY,
    }
    assert work.reported == {"red": "ifName is too long"}
    assert clock.slept_s == []


@pytest.mark.asyncio
async def test_passing_faults_are_retried() -> None:
    """Faults that may pass are retried within the call, further and further apart."""
    service, clock = answers(Work(red=[UNREACHABLE] * 6))
    assert await service.prepare([RED]) == {"uid-red": READY}
    assert clock.slept_s == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0]


@pytest.mark.asyncio
async def test_bug_is_an_answer_too() -> None:
    """An error that nobody meant to raise is answered and does not touch the other claims."""
    service, _ = answers(Work(red=[KeyError("eth1")]))
    assert await service.unprepare([RED, BLUE]) == {
        "uid-red": "internal error: KeyError: 'eth1'",
        "uid-blue": None,
    }


@pytest.mark.asyncio
async def test_out_of_time() -> None:
    """What is not done in time is answered with the reason, not left unanswered."""
    work = Work()
    work.hang = True
    service, _ = answers(work, budget_s=0.0)
    assert await service.prepare([RED]) == {
        "uid-red": PrepareAnswer(error="prepare not done in 0 s: it is still under way")
    }
    assert await service.unprepare([RED]) == {
        "uid-red": "unprepare not done in 0 s: it is still under way"
    }


@pytest.mark.asyncio
async def test_last_fault_is_told() -> None:
    """When time runs out among retries, the last fault is the reason."""

    class Failing(Work):
        async def unprepare(self, ref: ClaimRef) -> None:
            """Fail for ever."""
            raise PeerError("the netns is busy")

    service, _ = answers(Failing(), budget_s=0.05)
    given = await service.unprepare([RED])
    assert given == {"uid-red": "unprepare not done in 0.05 s: the netns is busy"}
