"""A claim that is refused before it holds anything says so, once, and takes nobody's room."""

from pathlib import Path

from netclaim.errors import PeerError
from netclaim.framework.report.reporter import StatusRefusedError
from netclaim.framework.report.turned_away import DELAYS_S, NAMESPACE_KEPT
from netclaim.model import Claim
from tests.pure.framework.report.test_report import Bench, bench_in
from tests.support.framework.parts import UNREACHABLE, claim_of, device_of

RED = claim_of("red", device_of("eth1"), device_of("eth2"))
FULL = "pod pod-1 would have 34 devices of this driver; at most 32 are allowed"


async def written(bench: Bench) -> tuple[str, list[tuple[str, str, str]]]:
    """The next claim that is written about: its UID, and what its devices say."""
    uid, devices = await bench.statuses.writes.get()
    ready = [each["conditions"][0] for each in devices]
    return uid, [(each["status"], each["reason"], each["message"]) for each in ready]


def turn_away(bench: Bench, *claims: Claim, text: str = FULL) -> None:
    """Refuse claims."""
    for claim in claims:
        bench.reporter.turn_away(claim, text)


async def test_a_claim_without_a_booking_is_reported_as_refused(tmp_path: Path) -> None:
    """All of its devices say so, with the reason by which the controller knows such claims."""
    async with bench_in(tmp_path) as bench:
        turn_away(bench, RED)
        refused = ("False", "NetworkInterfaceRefused", FULL)
        assert await written(bench) == ("uid-red", [refused, refused])
        event = await bench.statuses.warnings.get()
        assert event == ("uid-red", "NetworkInterfaceNotReady", FULL)
        assert bench.stage.journal.reports == {}


async def test_the_same_refusal_is_written_once(tmp_path: Path) -> None:
    """However often kubelet asks; another reason is news, and no other transition."""
    async with bench_in(tmp_path) as bench:
        turn_away(bench, RED, RED)
        _, (first, _) = await bench.statuses.writes.get()
        await bench.clock.sleep(90)
        turn_away(bench, RED)
        turn_away(bench, RED, text="another reason")
        _, (second, _) = await bench.statuses.writes.get()
        (before,), (after,) = first["conditions"], second["conditions"]
        assert after["message"] == "another reason"
        assert after["lastTransitionTime"] == before["lastTransitionTime"]
        assert bench.statuses.writes.empty()


async def test_an_outage_is_not_waited_out_for_ever(tmp_path: Path) -> None:
    """After a few attempts it is left, until kubelet asks for the claim again."""
    blue = claim_of("blue")
    async with bench_in(tmp_path) as bench:
        bench.statuses.faults = [UNREACHABLE, PeerError("forbidden")]
        turn_away(bench, RED)
        assert (await written(bench))[0] == "uid-red"
        assert bench.clock.slept_s == list(DELAYS_S[:2])
        bench.statuses.faults = [UNREACHABLE] * (len(DELAYS_S) + 1)
        turn_away(bench, blue)
        while bench.statuses.faults:
            await bench.clock.sleep(0)
        turn_away(bench, blue)
        assert (await written(bench))[0] == "uid-blue"


async def test_a_status_that_is_not_accepted_is_left(tmp_path: Path) -> None:
    """It would not be accepted in a second either."""
    async with bench_in(tmp_path) as bench:
        bench.statuses.faults = [StatusRefusedError("no")]
        turn_away(bench, RED, claim_of("blue", namespace="other"))
        assert (await written(bench))[0] == "uid-blue"
        assert bench.clock.slept_s == []


async def test_a_claim_that_was_booked_meanwhile_is_the_journals(tmp_path: Path) -> None:
    """Its pod got room before the refusal was written."""
    async with bench_in(tmp_path) as bench:
        bench.statuses.before_write.clear()
        busy = claim_of("busy")
        turn_away(bench, busy)
        await bench.statuses.asked.wait()
        turn_away(bench, RED)
        await bench.stage.prepare(RED)
        bench.statuses.before_write.set()
        turn_away(bench, claim_of("last"))
        assert [(await written(bench))[0] for _ in range(2)] == ["uid-busy", "uid-last"]


async def test_one_namespace_does_not_take_the_room_of_others(tmp_path: Path) -> None:
    """While nothing can be written, a namespace has a limited number of refusals that wait."""
    many = [claim_of(f"c{n}", namespace="greedy") for n in range(NAMESPACE_KEPT + 20)]
    async with bench_in(tmp_path) as bench:
        bench.statuses.before_write.clear()
        turn_away(bench, *many)
        await bench.statuses.asked.wait()
        turn_away(bench, claim_of("modest", namespace="other"))
        bench.statuses.before_write.set()
        names = [(await written(bench))[0] for _ in range(NAMESPACE_KEPT + 1)]
        assert "uid-modest" in names[:4]
        assert len(set(names)) == NAMESPACE_KEPT + 1
        turn_away(bench, many[-1])  # what is written makes room
        assert (await written(bench))[0] == many[-1].uid


async def test_a_claim_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    """Nothing is left of it, no event either."""
    async with bench_in(tmp_path) as bench:
        bench.statuses.gone = True
        turn_away(bench, RED)
        await bench.statuses.asked.wait()
        bench.statuses.gone = False
        turn_away(bench, claim_of("blue"))
        assert (await written(bench))[0] == "uid-blue"
        assert (await bench.statuses.warnings.get())[0] == "uid-blue"
        turn_away(bench, RED)
        assert (await written(bench))[0] == "uid-red"
