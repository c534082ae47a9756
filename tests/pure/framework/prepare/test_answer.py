"""Kubelet gets an answer for every claim, in its time."""

import asyncio
from collections import Counter

import pytest

from netclaim.errors import PeerError, RequestError
from netclaim.framework.prepare.kubelet_calls import ClaimAnswers
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.testing import FakeClock
from netclaim.model import ClaimRef, DeviceKey, PrepareAnswer, PreparedDevice
from tests.support.framework.parts import UNREACHABLE

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

    def report_failure(
        self, ref: ClaimRef, message: str, device: DeviceKey | None, *, refused: bool = False
    ) -> None:
        """Noted."""
        self.reported[ref.name] = message


def answers(work: Work, *, budget_s: float = 40.0) -> tuple[ClaimAnswers, FakeClock]:
    """Answers by this work."""
    clock = FakeClock()
    return ClaimAnswers(work, clock, Metrics("d", clock), budget_s=budget_s), clock


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


async def test_passing_faults_are_retried() -> None:
    """Faults that may pass are retried within the call, further and further apart."""
    service, clock = answers(Work(red=[UNREACHABLE] * 6))
    assert await service.prepare([RED]) == {"uid-red": READY}
    assert clock.slept_s == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0]


class Slow(Work):
    """Takes until it is let go; notes who is being worked on."""

    def __init__(self) -> None:
        super().__init__()
        self.busy: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.go = asyncio.Event()
        self._begun = asyncio.Event()

    async def wait_busy(self, count: int) -> None:
        """Return once so many of the bad namespace are being worked on."""
        while self.busy["bad"] < count:
            self._begun.clear()
            await self._begun.wait()

    async def unprepare(self, ref: ClaimRef) -> None:
        """Wait to be let go."""
        self.busy[ref.namespace] += 1
        self.most |= self.busy
        self._begun.set()
        try:
            if ref.namespace == "bad":
                await self.go.wait()
        finally:
            self.busy[ref.namespace] -= 1


def refs_in(namespace: str, count: int) -> list[ClaimRef]:
    """So many claims of a namespace."""
    return [ClaimRef(f"uid-{namespace}-{n}", namespace, f"c{n}") for n in range(count)]


@pytest.mark.parametrize("verb", ["prepare", "unprepare"])
async def test_slow_claims_of_a_namespace(verb: str) -> None:
    """Eight of two hundred are worked on at a time; another namespace's claims do not wait."""
    work = Slow()
    service, _ = answers(work)
    async with asyncio.TaskGroup() as group:
        bad = group.create_task(getattr(service, verb)(refs_in("bad", 200)))
        await work.wait_busy(8)
        good = await getattr(service, verb)(refs_in("good", 20))
        assert (len(good), work.busy["bad"], bad.done()) == (20, 8, False)
        work.go.set()
    assert len(bad.result()) == 200
    assert work.most["bad"] == 8


async def test_releases_do_not_wait_for_prepares() -> None:
    """A claim that is to be released gets its turn, though prepares have all of the places."""
    work = Slow()
    service, _ = answers(work)
    async with asyncio.TaskGroup() as group:
        preparing = group.create_task(service.prepare(refs_in("bad", 20)))
        await work.wait_busy(8)
        releasing = group.create_task(service.unprepare(refs_in("bad", 1)))
        await work.wait_busy(9)
        work.go.set()
    assert (preparing.done(), releasing.done()) == (True, True)


async def test_claims_that_wait_for_their_next_attempt_take_no_place() -> None:
    """However many fail again and again, one that would succeed is prepared among them."""

    class Failing(Work):
        async def unprepare(self, ref: ClaimRef) -> None:
            """Fail, but for one."""
            if ref.name != "c199":
                raise UNREACHABLE

    class Asleep(FakeClock):
        async def sleep(self, delay_s: float) -> None:
            """For ever."""
            self.slept_s.append(delay_s)
            await asyncio.Event().wait()

    clock = Asleep()
    service = ClaimAnswers(Failing(), clock, Metrics("d", clock), budget_s=40.0)
    bad = asyncio.ensure_future(service.prepare(refs_in("bad", 199)))
    assert await service.prepare(refs_in("bad", 200)[199:]) == {"uid-bad-199": READY}
    bad.cancel()
    await asyncio.gather(bad, return_exceptions=True)


async def test_claim_that_never_had_its_turn_is_told_why() -> None:
    """Kubelet hears that others came first, not that something was tried."""
    work = Slow()
    service, _ = answers(work, budget_s=0.0)
    given = await service.prepare(refs_in("bad", 9))
    texts = Counter(answer.error for answer in given.values())
    assert texts == {
        "prepare did not finish within 0 s: it is still in progress": 8,
        "prepare did not finish within 0 s: other claims in namespace bad come first": 1,
    }


async def test_bug_is_an_answer_too() -> None:
    """An error that nobody meant to raise is answered and does not touch the other claims."""
    service, _ = answers(Work(red=[KeyError("eth1")]))
    assert await service.unprepare([RED, BLUE]) == {
        "uid-red": "internal error: KeyError: 'eth1'",
        "uid-blue": None,
    }


async def test_out_of_time() -> None:
    """What is not done in time is answered with the reason, not left unanswered."""
    work = Work()
    work.hang = True
    service, _ = answers(work, budget_s=0.0)
    assert await service.prepare([RED]) == {
        "uid-red": PrepareAnswer(error="prepare did not finish within 0 s: it is still in progress")
    }
    assert await service.unprepare([RED]) == {
        "uid-red": "unprepare did not finish within 0 s: it is still in progress"
    }


async def test_last_fault_is_told() -> None:
    """When time runs out among retries, the last fault is the reason."""

    class Failing(Work):
        async def unprepare(self, ref: ClaimRef) -> None:
            """Fail for ever."""
            raise PeerError("the netns is busy")

    service, _ = answers(Failing(), budget_s=0.05)
    given = await service.unprepare([RED])
    assert given == {"uid-red": "unprepare did not finish within 0.05 s: the netns is busy"}
