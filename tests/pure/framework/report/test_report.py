"""Reports reach the claim's status, once for each change, through outages and restarts."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from netclaim.errors import HostError, PeerError
from netclaim.framework.report.reporter import REFUSED_S, Reporter, StatusRefusedError
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.testing import FakeClock
from netclaim.model import Claim, ClaimRef, Device, JsonObject, Taint
from tests.support.framework.parts import (
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
        self.normal: list[bool] = []  # of these, in their order
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

    async def leave_event(
        self, claim: ClaimRef, reason: str, message: str, *, normal: bool
    ) -> None:
        """Note."""
        self.warnings.put_nowait((claim.uid, reason, message))
        self.normal.append(normal)


class Bench:
    """A stage whose reports go to a reporter at work."""

    def __init__(self, stage: Stage, clock: FakeClock) -> None:
        self.stage = stage
        self.statuses = FakeStatuses()
        self.clock = clock
        self.metrics = Metrics(DRIVER, self.clock)
        self.reporter = Reporter(
            stage.journal, self.statuses, self.clock, self.metrics, subject="NetworkInterface"
        )

    async def ready(self) -> str:
        """What the next write says of the device."""
        _, devices = await self.statuses.writes.get()
        status: str = devices[0]["conditions"][0]["status"]
        return status


@asynccontextmanager
async def bench_in(directory: Path, *, clock: FakeClock | None = None) -> AsyncIterator[Bench]:
    """A running reporter on a journal."""
    async with stage_in(directory) as stage:
        bench = Bench(stage, clock or FakeClock())
        async with asyncio.TaskGroup() as group:
            running = group.create_task(bench.reporter.run())
            yield bench
            running.cancel()


async def attach(bench: Bench) -> None:
    """Attach the red claim's device, and say so."""
    await bench.stage.prepare(RED)
    await bench.stage.attach(pod_of())
    bench.reporter.touch("uid-red", {})


async def next_writes(bench: Bench) -> list[str]:
    """What is written up to a write for another claim, which is asked for last."""
    await bench.stage.prepare(claim_of("blue", device_of("eth2")))
    bench.reporter.touch("uid-blue", {("node-1", "eth2", ""): "failed"})
    written: list[str] = []
    while "uid-blue" not in written:
        written.append((await bench.statuses.writes.get())[0])
    return written


async def test_report(tmp_path: Path) -> None:
    """What is attached is reported, and remembered as written."""
    async with bench_in(tmp_path) as bench:
        await attach(bench)
        assert await bench.ready() == "True"
        await bench.stage.journal.drop_booking("uid-other")  # the write before it is done
        assert bench.stage.journal.reports["uid-red"].written


async def test_same_again_is_not_written(tmp_path: Path) -> None:
    """A touch without a change writes nothing."""
    async with bench_in(tmp_path) as bench:
        await attach(bench)
        await bench.ready()
        bench.reporter.touch("uid-red", {})
        assert await next_writes(bench) == ["uid-blue"]


async def test_outage(tmp_path: Path) -> None:
    """A server that fails, or refuses, is asked again until the report is there."""
    async with bench_in(tmp_path) as bench:
        bench.statuses.faults = [UNREACHABLE, PeerError("forbidden"), HostError("not served")]
        await attach(bench)
        assert await bench.ready() == "True"
        assert bench.clock.slept_s == [0.5, 1.0, 2.0]


async def test_a_status_that_is_refused_is_not_tried_again_and_again(tmp_path: Path) -> None:
    """What the API server does not accept it will not accept in a second; others are written."""
    async with bench_in(tmp_path) as bench:
        bench.statuses.faults = [StatusRefusedError("no \x9b2J"), StatusRefusedError("no")]
        await attach(bench)
        assert await bench.ready() == "True"
        assert bench.clock.slept_s == [REFUSED_S, REFUSED_S]


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


async def test_second_pod_does_not_unready_the_first(tmp_path: Path) -> None:
    """While a pod has the device it is ready, whatever becomes of another pod on the claim."""
    async with bench_in(tmp_path) as bench:
        await attach(bench)
        assert await bench.ready() == "True"
        bench.reporter.touch("uid-red", {KEY: "no addresses left"})
        assert await next_writes(bench) == ["uid-blue"]
        await bench.stage.release(pod_of())
        bench.reporter.look_again("uid-red")
        _, (entry,) = await bench.statuses.writes.get()
        assert entry["conditions"][0]["message"] == "no addresses left"
        assert "networkData" not in entry


async def test_restart(tmp_path: Path) -> None:
    """A report that was not written before the process ended is written by the next one."""
    async with bench_in(tmp_path) as bench:
        bench.statuses.before_write.clear()
        await attach(bench)
        await bench.statuses.asked.wait()
    async with bench_in(tmp_path) as bench:
        assert await bench.ready() == "True"


async def test_restart_with_everything_written(tmp_path: Path) -> None:
    """What the status says already is not written again after a restart."""
    async with bench_in(tmp_path) as bench:
        await attach(bench)
        await bench.ready()
        await bench.stage.journal.drop_booking("uid-other")  # the write before it is done
    async with bench_in(tmp_path) as bench:
        assert await next_writes(bench) == ["uid-blue"]


async def test_claim_that_is_gone(tmp_path: Path) -> None:
    """A claim that is gone ends its report: no retry, no event."""
    async with bench_in(tmp_path) as bench:
        bench.statuses.gone = True
        await attach(bench)
        await bench.statuses.asked.wait()
        bench.reporter.touch("uid-unknown", {})
        assert bench.clock.slept_s == []
        assert bench.statuses.warnings.empty()


async def test_released_claim(tmp_path: Path) -> None:
    """While the server is out of reach the claim is released: then nothing is written any more."""
    async with bench_in(tmp_path) as bench:
        bench.statuses.before_write.clear()
        bench.statuses.faults = [UNREACHABLE]
        await attach(bench)
        await bench.statuses.asked.wait()
        bench.stage.end(pod_of())
        await bench.stage.preparer.unprepare(RED.ref)
        del bench.stage.claims.claims["red"]
        bench.statuses.before_write.set()
        await bench.stage.prepare(claim_of("blue"))
        await bench.stage.attach(pod_of())
        bench.reporter.touch("uid-blue", {})
        uid, _ = await bench.statuses.writes.get()
        assert uid == "uid-blue"
        assert "uid-red" not in bench.stage.journal.reports


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


class HeldClock(FakeClock):
    """Time that stands still until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.go = asyncio.Event()

    async def sleep(self, delay_s: float) -> None:
        """Wait to be let go."""
        self.asked.set()
        await self.go.wait()
        await super().sleep(delay_s)


def message_of(write: tuple[str, Sequence[JsonObject]]) -> str:
    """What a write says of the first device."""
    message: str = write[1][0]["conditions"][0]["message"]
    return message


async def test_other_words_for_a_failure_wait(tmp_path: Path) -> None:
    """A failure's new words are written a minute after the last write, and only the latest."""
    clock = HeldClock()
    async with bench_in(tmp_path, clock=clock) as bench:
        await bench.stage.prepare(RED)
        bench.reporter.touch("uid-red", {KEY: "sandbox 0 failed"})
        assert message_of(await bench.statuses.writes.get()) == "sandbox 0 failed"
        for number in range(1, 4):
            bench.reporter.touch("uid-red", {KEY: f"sandbox {number} failed"})
            await clock.asked.wait()
        assert bench.statuses.writes.empty()
        clock.go.set()
        assert message_of(await bench.statuses.writes.get()) == "sandbox 3 failed"
        assert clock.slept_s == [60.0]
        assert bench.statuses.writes.empty()


async def test_becoming_ready_does_not_wait(tmp_path: Path) -> None:
    """Nor does becoming not ready, though other words for a failure are waiting."""
    clock = HeldClock()
    async with bench_in(tmp_path, clock=clock) as bench:
        await bench.stage.prepare(RED)
        bench.reporter.touch("uid-red", {KEY: "sandbox 0 failed"})
        assert await bench.ready() == "False"
        bench.reporter.touch("uid-red", {KEY: "sandbox 1 failed"})
        await clock.asked.wait()
        await bench.stage.attach(pod_of())
        bench.reporter.touch("uid-red", {})
        assert await bench.ready() == "True"
        await bench.stage.release(pod_of())
        bench.reporter.touch("uid-red", {KEY: "sandbox 2 failed"})
        assert await bench.ready() == "False"
        assert clock.slept_s == []


def many_devices(name: str) -> Claim:
    """A claim with as many devices as a claim may have."""
    devices = (device_of(f"{name}-{number}") for number in range(32))
    return claim_of(name, *devices, pods=(f"pod-of-{name}",))


async def fail_all(bench: Bench, claim: Claim) -> None:
    """Fail each device of a claim in words of its own."""
    await bench.stage.prepare(claim)
    bench.reporter.touch(claim.uid, {d.key: f"{d.device} failed" for d in claim.devices})


async def test_events_of_a_claim_are_limited(tmp_path: Path) -> None:
    """A claim leaves 25 events at once at most; the others are dropped and counted."""
    async with bench_in(tmp_path) as bench:
        await fail_all(bench, many_devices("red"))
        for _ in range(25):
            assert (await bench.statuses.warnings.get())[0] == "uid-red"
        await next_writes(bench)
        assert await bench.statuses.warnings.get() == (
            "uid-blue",
            "NetworkInterfaceNotReady",
            "failed",
        )
        dropped = b'netclaim_dropped_events_total{driver="net.example.com"} 7.0'
        assert dropped in bench.metrics.exposition()


async def test_events_of_a_namespace_are_limited(tmp_path: Path) -> None:
    """Many claims of one namespace leave no more events than a node's pods would, one each."""
    async with bench_in(tmp_path) as bench:
        warned = []
        for name, expected in (("a", 25), ("b", 25), ("c", 25), ("d", 25), ("e", 10), ("f", 0)):
            await fail_all(bench, many_devices(name))
            warned += [(await bench.statuses.warnings.get())[0] for _ in range(expected)]
        assert set(warned) == {"uid-a", "uid-b", "uid-c", "uid-d", "uid-e"}
        await fail_all(bench, claim_of("other", device_of("other"), namespace="other"))
        assert (await bench.statuses.warnings.get())[0] == "uid-other"


async def test_long_failures_are_cut_where_they_come_in(tmp_path: Path) -> None:
    """Of what a driver says, the journal and the status get so much and no more."""
    async with bench_in(tmp_path) as bench:
        await bench.stage.prepare(RED)
        bench.reporter.touch("uid-red", {KEY: "ä" * 1_000_000})
        assert len(message_of(await bench.statuses.writes.get()).encode()) == 4096
        assert len(bench.stage.journal.reports["uid-red"].devices[0].message) == 2048


async def test_failures_of_a_claim_end_with_it(tmp_path: Path) -> None:
    """A claim that was released and prepared again does not say what failed before."""
    async with bench_in(tmp_path) as bench:
        await bench.stage.prepare(RED)
        bench.reporter.touch("uid-red", {KEY: "no addresses left"})
        assert await bench.ready() == "False"
        await bench.stage.preparer.unprepare(RED.ref)
        bench.reporter.touch("uid-red", {KEY: "too late"})
        await bench.stage.prepare(RED)
        bench.reporter.look_again("uid-red")
        assert await next_writes(bench) == ["uid-blue"]


def tainted_link(name: str) -> Device:
    """A link that lost its carrier."""
    return Device(name, taints=(Taint(key=f"{DRIVER}/no-carrier", effect="NoSchedule"),))


async def healthy(bench: Bench) -> list[str]:
    """What the next write says of the device's health."""
    _, devices = await bench.statuses.writes.get()
    return [c["status"] for c in devices[0]["conditions"] if c["type"] == "Healthy"]


async def test_claims_say_that_their_link_is_tainted(tmp_path: Path) -> None:
    """One write when it begins and one when it is over; other claims are left alone."""
    async with bench_in(tmp_path) as bench:
        bench.reporter.note_taints([Device("eth1"), Device("eth2")])
        await attach(bench)
        assert await healthy(bench) == []
        bench.reporter.note_taints([tainted_link("eth1"), Device("eth2")])
        assert await healthy(bench) == ["False"]
        bench.reporter.note_taints([tainted_link("eth1"), tainted_link("eth2")])
        assert await next_writes(bench) == ["uid-blue"]
        bench.reporter.note_taints([Device("eth1"), tainted_link("eth2")])
        assert await healthy(bench) == ["True"]


async def test_events_when_a_link_is_lost_and_back(tmp_path: Path) -> None:
    """Who describes the claim sees that the link of its interface failed, and that it is back."""
    async with bench_in(tmp_path) as bench:
        await attach(bench)
        await bench.ready()
        bench.reporter.note_taints([tainted_link("eth1")])
        assert await healthy(bench) == ["False"]
        _, reason, text = await bench.statuses.warnings.get()
        assert reason == "NetworkInterfaceUnhealthy"
        assert "no-carrier" in text
        bench.reporter.note_taints([Device("eth1")])
        assert await healthy(bench) == ["True"]
        _, reason, _ = await bench.statuses.warnings.get()
        assert reason == "NetworkInterfaceHealthy"
        assert bench.statuses.warnings.empty()


async def test_events_for_an_interface_that_was_made_again(tmp_path: Path) -> None:
    """It is no warning if the pod got back what it had."""
    async with bench_in(tmp_path) as bench:
        bench.reporter.note_made_again(RED.ref, "as before", same=True)
        bench.reporter.note_made_again(RED.ref, "with another address", same=False)
        assert [(await bench.statuses.warnings.get())[1:] for _ in range(2)] == [
            ("NetworkInterfaceRestored", "as before"),
            ("NetworkInterfaceChanged", "with another address"),
        ]
        assert bench.statuses.normal == [True, False]
