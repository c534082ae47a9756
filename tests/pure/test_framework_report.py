"""Reports reach the claim's status, once for each change, through outages and restarts."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from netclaim.errors import HostError, PeerError
from netclaim.framework.metrics import Metrics
from netclaim.framework.report import Reporter
from netclaim.framework.testing import FakeClock
from netclaim.model import ClaimRef, JsonObject
from tests.pure.framework_parts import (
    DRIVER,
    UNREACHABLE,
    Stage,
    claim_of,
    device_of,
    pod_of,
    stage_in,
)

RED = claim_of("red")
KEY = ("node-1", "eth1", "")


class FakeStatuses:
    """The claims' statuses; remembers writes, fails as told."""

    def __init__(self) -> None:
        self.writes: asyncio.Queue[tuple[str, Sequence[JsonObject]]] = asyncio.Queue()
        self.warnings: asyncio.Queue[tuple[str, str, str]] = asyncio.Queue()
        self.faults: list[Exception] = []
        self.gone = False
        self.before_write = asyncio.Event()
        self.before_write.set()
        self.asked = asyncio.Event()

    async def apply(self, claim: ClaimRef, devices: Sequence[JsonObject]) -> bool:
        """Fail, or note."""
        self.asked.set()
        await self.before_write.wait()
        if self.faults:
            raise self.faults.pop(0)
        if not self.gone:
            self.writes.put_nowait((claim.uid, devices))
        return not self.gone

    async def warn(self, claim: ClaimRef, reason: str, message: str) -> None:
        """Note."""
        self.warnings.put_nowait((claim.uid, reason, message))


class Bench:
    """A stage whose reports go to a reporter at work."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.statuses = FakeStatuses()
        self.clock = FakeClock()
        metrics = Metrics(DRIVER, self.clock)
        self.reporter = Reporter(
            stage.journal, self.statuses, self.clock, metrics, subject="NetworkInterface"
        )

    async def ready(self) -> str:
        """What the next write says of the device."""
        _, devices = await self.statuses.writes.get()
        status: str = devices[0]["conditions"][0]["status"]
        return status


@asynccontextmanager
async def bench_in(directory: Path) -> AsyncIterator[Bench]:
    """A running reporter on a journal."""
    async with stage_in(directory) as stage:
        bench = Bench(stage)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(bench.reporter.run())
            yield bench
            running.cancel()


async def attach(bench: Bench) -> None:
    """Attach the red claim's device, and say so."""
    await bench.stage.prepare(RED)
    await bench.stage.attacher.attach(pod_of())
    bench.reporter.touch("uid-red", {})


async def next_writes(bench: Bench) -> list[str]:
    """What is written up to a write for another claim, which is asked for last."""
    await bench.stage.prepare(claim_of("blue", device_of("eth2")))
    bench.reporter.touch("uid-blue", {("node-1", "eth2", ""): "failed"})
    written: list[str] = []
    while "uid-blue" not in written:
        written.append((await bench.statuses.writes.get())[0])
    return written


@pytest.mark.asyncio
async def test_report(tmp_path: Path) -> None:
    """What is attached is reported, and remembered as written."""
    async with bench_in(tmp_path) as bench:
        await attach(bench)
        assert await bench.ready() == "True"
        await bench.stage.journal.drop_booking("uid-other")  # the write before it is done
        assert bench.stage.journal.reports["uid-red"].written


@pytest.mark.asyncio
async def test_same_again_is_not_written(tmp_path: Path) -> None:
    """A touch without a change writes nothing."""
    async with bench_in(tmp_path) as bench:
        await attach(bench)
        await bench.ready()
        bench.reporter.touch("uid-red", {})
        assert await next_writes(bench) == ["uid-blue"]


@pytest.mark.asyncio
async def test_outage(tmp_path: Path) -> None:
    """A server that fails, or refuses, is asked again until the report is there."""
    async with bench_in(tmp_path) as bench:
        bench.statuses.faults = [UNREACHABLE, PeerError("forbidden"), HostError("not served")]
        await attach(bench)
        assert await bench.ready() == "True"
        assert bench.clock.slept_s == [0.5, 1.0, 2.0]


@pytest.mark.asyncio
async def test_only_the_latest(tmp_path: Path) -> None:
    """Changes during a write are one further write, of the latest."""
    async with bench_in(tmp_path) as bench:
        bench.statuses.before_write.clear()
        await bench.stage.prepare(RED)
        bench.reporter.touch("uid-red", {KEY: "the first failure"})
        await bench.statuses.asked.wait()
        for number in range(5):
            bench.reporter.touch("uid-red", {KEY: f"failure {number}"})
        bench.statuses.before_write.set()
        assert await bench.ready() == "False"
        _, (entry,) = await bench.statuses.writes.get()
        assert entry["conditions"][0]["message"] == "failure 4"
        assert bench.statuses.writes.empty()


@pytest.mark.asyncio
async def test_second_pod_does_not_unready_the_first(tmp_path: Path) -> None:
    """While a pod has the device it is ready, whatever becomes of another pod on the claim."""
    async with bench_in(tmp_path) as bench:
        await attach(bench)
        assert await bench.ready() == "True"
        bench.reporter.touch("uid-red", {KEY: "no addresses left"})
        assert await next_writes(bench) == ["uid-blue"]
        await bench.stage.attacher.release_sandbox("sandbox-1")
        bench.reporter.look_again("uid-red")
        _, (entry,) = await bench.statuses.writes.get()
        assert entry["conditions"][0]["message"] == "no addresses left"
        assert "networkData" not in entry


@pytest.mark.asyncio
async def test_restart(tmp_path: Path) -> None:
    """A report that was not written before the process ended is written by the next one."""
    async with bench_in(tmp_path) as bench:
        bench.statuses.before_write.clear()
        await attach(bench)
        await bench.statuses.asked.wait()
    async with bench_in(tmp_path) as bench:
        assert await bench.ready() == "True"


@pytest.mark.asyncio
async def test_restart_with_everything_written(tmp_path: Path) -> None:
    """What the status says already is not written again after a restart."""
    async with bench_in(tmp_path) as bench:
        await attach(bench)
        await bench.ready()
        await bench.stage.journal.drop_booking("uid-other")  # the write before it is done
    async with bench_in(tmp_path) as bench:
        assert await next_writes(bench) == ["uid-blue"]


@pytest.mark.asyncio
async def test_claim_that_is_gone(tmp_path: Path) -> None:
    """A claim that is gone ends its report: no retry, no event."""
    async with bench_in(tmp_path) as bench:
        bench.statuses.gone = True
        await attach(bench)
        await bench.statuses.asked.wait()
        bench.reporter.touch("uid-unknown", {})
        assert bench.clock.slept_s == []
        assert bench.statuses.warnings.empty()


@pytest.mark.asyncio
async def test_released_claim(tmp_path: Path) -> None:
    """While the server is out of reach the claim is released: then nothing is written any more."""
    async with bench_in(tmp_path) as bench:
        bench.statuses.before_write.clear()
        bench.statuses.faults = [UNREACHABLE]
        await attach(bench)
        await bench.statuses.asked.wait()
        bench.stage.end(pod_of())
        await bench.stage.preparer.unprepare(RED.ref)
        bench.statuses.before_write.set()
        await bench.stage.prepare(claim_of("blue"))
        await bench.stage.attacher.attach(pod_of())
        bench.reporter.touch("uid-blue", {})
        uid, _ = await bench.statuses.writes.get()
        assert uid == "uid-blue"
        assert "uid-red" not in bench.stage.journal.reports


@pytest.mark.asyncio
async def test_event_for_a_failure(tmp_path: Path) -> None:
    """A failure is an event at the claim, once for each message."""
    async with bench_in(tmp_path) as bench:
        await bench.stage.prepare(RED)
        bench.reporter.touch("uid-red", {KEY: "no addresses left"})
        warned = await bench.statuses.warnings.get()
        assert warned == ("uid-red", "NetworkInterfaceNotReady", "no addresses left")
        bench.reporter.touch("uid-red", {KEY: "no addresses left"})
        bench.reporter.touch("uid-red", {KEY: "no such link"})
        assert (await bench.statuses.warnings.get())[2] == "no such link"
        assert bench.statuses.warnings.empty()
