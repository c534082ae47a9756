"""Garbage collection removes what nothing that lives explains, and nothing else."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from netclaim.chained import PlanFiles
from netclaim.cri import RuntimeCallError
from netclaim.errors import PeerError
from netclaim.framework.attach.marks import FileMarks
from netclaim.framework.collect.collector import EVERY_S, UNUSED_S, YOUNG_S
from netclaim.framework.journal.pod_plans import ReleasedLately
from netclaim.framework.prepare.cdi import CdiDirectory
from netclaim.framework.testing import FakeClock
from netclaim.model import ContainerEdits, Leftover, Plan, Prepared
from tests.support.framework.node import RED, Node, node_in
from tests.support.framework.parts import (
    DRIVER,
    UNREACHABLE,
    FakeMarks,
    KeepingDriver,
    NoMetadata,
    claim_of,
    device_of,
    pod_of,
)

ADDRESS = Leftover("lease", "address 192.0.2.7", sandbox_id="s-gone")
NOTE = Leftover("note", "note of claim uid-old", claim_uid="uid-old")
OLD_S = 1_000_000_000.0  # long ago; the scripted clock starts in 2030


class SiteMarks(FakeMarks):
    """Marks of sandboxes that are on the disk, as a test has put them there."""

    def __init__(self, plans: PlanFiles) -> None:
        super().__init__()
        self._files = FileMarks(plans, ReleasedLately(FakeClock()))

    def strays(self, known: Collection[str], *, before: float) -> Collection[str]:
        """Those that are on the disk."""
        return self._files.strays(known, before=before)

    def note_incomplete(self, sandbox_id: str) -> None:
        """Also on the disk."""
        super().note_incomplete(sandbox_id)
        self._files.note_incomplete(sandbox_id)

    def note_ended(self, sandbox_id: str) -> None:
        """Also on the disk."""
        super().note_ended(sandbox_id)
        self._files.note_ended(sandbox_id)


class Site:
    """A node with a collector."""

    def __init__(
        self, node: Node, driver: KeepingDriver, cdi: CdiDirectory, plans: PlanFiles, root: Path
    ) -> None:
        self.node = node
        self.stage = node.stage
        self.driver = driver
        self.runtime = node.stage.runtime
        self.collector = node.stage.collector
        self.plans = plans
        self.cdi = cdi
        self.cdi_dir = root / "cdi"

    async def removed(self) -> list[str]:
        """What a round removes."""
        return [each.what for each in (await self.collector.collect()).found]

    async def write_cdi(self, uid: str) -> Path:
        """A file of a claim."""
        claim = claim_of("any")
        plan = Plan(claim.ref, device_of(), edits=ContainerEdits(env={"A": "b"}))
        ref = type(claim.ref)(uid, "default", "any")
        await self.cdi.write(Prepared(ref, (plan,)), "")
        return self.cdi_dir / f"{DRIVER}_{uid}.json"


@asynccontextmanager
async def site_in(root: Path, *, complete: bool = True) -> AsyncIterator[Site]:
    """A site on a journal of its own."""
    driver = KeepingDriver()
    plans = PlanFiles(root / "plans")
    cdi = CdiDirectory(root / "cdi", DRIVER, NoMetadata())
    async with node_in(
        root, complete=complete, driver=driver, files=cdi, marks=SiteMarks(plans)
    ) as node:
        yield Site(node, driver, cdi, plans, root)


async def test_nothing_is_left(tmp_path: Path) -> None:
    """A node with a pod that runs and a claim that is prepared has no leftovers."""
    async with site_in(tmp_path) as site:
        await site.stage.prepare(RED)
        await site.node.run(pod_of())
        site.runtime.run("sandbox-1")
        found = await site.collector.collect()
        assert (found.found, found.failed, found.skipped) == ((), (), ())
        assert site.stage.states() == {"sandbox-1/eth1": "attached"}
        (living,) = site.driver.living
        assert living.sandboxes == frozenset({"sandbox-1"})
        assert living.claims == {"uid-red"}
        assert [plan.claim.uid for plan in living.plans] == ["uid-red"]
        assert [each.pod.id for each in living.attachments] == ["sandbox-1"]
        assert site.driver.told == [living]


async def test_leftovers_of_the_driver(tmp_path: Path) -> None:
    """What the driver finds is removed, once; a dry run only says so."""
    async with site_in(tmp_path) as site:
        site.driver.left = [ADDRESS, NOTE]
        dry = await site.collector.collect(dry_run=True)
        assert dry.found == (ADDRESS, NOTE)
        assert site.driver.left == [ADDRESS, NOTE]
        assert site.driver.told == []
        assert await site.removed() == [ADDRESS.what, NOTE.what]
        assert await site.removed() == []


async def test_one_failure_keeps_no_other_from_being_removed(tmp_path: Path) -> None:
    """What cannot be removed is named, and removed in a later round."""
    async with site_in(tmp_path) as site:
        site.driver.left = [ADDRESS, NOTE]
        site.driver.fail(f"collect {ADDRESS.what}", PeerError("the plugin says no"))
        found = await site.collector.collect()
        assert found.found == (NOTE,)
        assert found.failed == ((ADDRESS, "the plugin says no"),)
        assert await site.removed() == [ADDRESS.what]


async def test_driver_that_cannot_look(tmp_path: Path) -> None:
    """A bug of the driver's ends no round, and the rest is collected."""
    async with site_in(tmp_path) as site:
        site.plans.note_sandbox("s-gone")
        site.driver.fail("leftovers", ZeroDivisionError())
        found = await site.collector.collect()
        assert [each.kind for each in found.found] == ["mark"]
        assert len(found.skipped) == 1


async def test_ready_sandboxes_live(tmp_path: Path) -> None:
    """Those that the runtime lists as ready live, and those in the journal; ended ones do not."""
    async with site_in(tmp_path) as site:
        await site.stage.prepare(RED)
        await site.node.run(pod_of())
        site.runtime.run("sandbox-1")
        site.runtime.run("other", "pod-2")
        site.runtime.run("ended", "pod-3", ready=False)
        await site.collector.collect()
        assert site.driver.living[-1].sandboxes == frozenset({"sandbox-1", "other"})


@pytest.mark.parametrize("why", ["away", "another's"])
async def test_runtime_that_cannot_be_believed(tmp_path: Path, why: str) -> None:
    """If the runtime is away, or not the one that runs our pods, what only it explains stays."""
    async with site_in(tmp_path) as site:
        await site.stage.prepare(RED)
        await site.node.run(pod_of())
        site.driver.left = [NOTE]
        if why == "away":
            site.runtime.fault = RuntimeCallError("ListPodSandbox: no answer")
        else:
            site.runtime.run("of-another-kubelet", "pod-9")
        found = await site.collector.collect()
        assert found.found == ()
        assert len(found.skipped) == 1
        assert site.driver.living[-1].sandboxes is None
        assert site.stage.states() == {"sandbox-1/eth1": "attached"}


async def test_attach_under_way_is_left_alone(tmp_path: Path) -> None:
    """A sandbox whose attach is under way lives, though the runtime does not list it yet."""
    async with site_in(tmp_path) as site:
        await site.stage.prepare(RED)
        begun, go = site.driver.hold("attach eth1")
        async with asyncio.TaskGroup() as group:
            group.create_task(site.node.run(pod_of()))
            await begun.wait()
            mine = Leftover("lease", "address 192.0.2.8", sandbox_id="sandbox-1")
            site.driver.left = [mine]
            site.plans.note_sandbox("sandbox-1")
            assert await site.removed() == []
            assert site.driver.living[-1].sandboxes == frozenset({"sandbox-1"})
            assert site.driver.left == [mine]
            go.set()


async def test_pod_that_ended_unseen(tmp_path: Path) -> None:
    """Attachments whose namespace is gone are undone, though no hook told of it."""
    async with site_in(tmp_path) as site:
        await site.stage.prepare(RED)
        await site.node.run(pod_of())
        site.stage.end(pod_of())
        assert await site.removed() == ["interfaces of pod default/pod-1 (sandbox sandbox-1)"]
        await site.node.repairer.wait_idle()
        assert site.stage.states() == {}
        assert await site.removed() == []


async def test_claims_that_kubelet_forgot(tmp_path: Path) -> None:
    """A prepared claim that the API server does not have any more is released."""
    async with site_in(tmp_path) as site:
        await site.stage.prepare(RED, claim_of("blue", device_of("eth2")))
        del site.stage.claims.claims["red"]
        assert await site.removed() == ["prepared claim default/red (uid-red)"]
        assert list(site.stage.journal.bookings) == ["uid-blue"]


async def test_what_a_round_released_lives_no_more(tmp_path: Path) -> None:
    """The driver is told of what is left after the round, and not of what there was before."""
    async with site_in(tmp_path) as site:
        await site.stage.prepare(RED, claim_of("blue", device_of("eth2")))
        del site.stage.claims.claims["red"]
        await site.collector.collect()
        (told,) = site.driver.told
        assert told.claims == {"uid-blue"}
        assert [plan.claim.uid for plan in told.plans] == ["uid-blue"]


async def test_claim_of_a_running_pod_stays(tmp_path: Path) -> None:
    """A claim that is gone is not released under a pod that has its interface."""
    async with site_in(tmp_path) as site:
        await site.stage.prepare(RED)
        await site.node.run(pod_of())
        site.runtime.run("sandbox-1")
        site.stage.claims.claims.clear()
        assert await site.removed() == []
        assert site.stage.journal.bookings["uid-red"].state == "ready"


async def test_claims_stay_while_the_api_server_is_away(tmp_path: Path) -> None:
    """Nobody can say that a claim is gone: it stays prepared, and the round says so."""
    async with site_in(tmp_path) as site:
        await site.stage.prepare(RED)
        site.stage.claims.claims.clear()
        site.stage.claims.faults = [UNREACHABLE]
        found = await site.collector.collect()
        assert (found.found, len(found.skipped)) == ((), 1)
        assert list(site.stage.journal.bookings) == ["uid-red"]


async def test_claims_are_asked_for_at_a_bounded_rate(tmp_path: Path) -> None:
    """Of thirty claims no more than ten a second are asked for."""
    async with site_in(tmp_path) as site:
        claims = [claim_of(f"c{n}", device_of(f"eth{n}"), pods=(f"pod-{n}",)) for n in range(30)]
        await site.stage.prepare(*claims)
        before_s = site.stage.clock.monotonic()
        await site.collector.collect()
        assert len(site.stage.claims.gets) == 30
        assert site.stage.clock.monotonic() - before_s >= 2.9


async def test_files_of_claims(tmp_path: Path) -> None:
    """A CDI file goes if neither the journal nor a running pod explains its claim."""
    async with site_in(tmp_path) as site:
        used = claim_of("used", pods=("pod-7",))
        site.stage.claims.claims["used"] = used  # of a running pod, unknown to the journal
        site.runtime.run("s7", "pod-7")
        await site.stage.prepare(RED)
        paths = {uid: await site.write_cdi(uid) for uid in ("uid-red", "uid-used", "uid-old")}
        other = site.cdi_dir / "other.example.com_uid-old.json"
        other.write_text("{}")
        assert await site.removed() == [f"CDI file {paths['uid-old']}"]
        left = {path.name for path in site.cdi_dir.iterdir()}
        assert left == {paths["uid-red"].name, paths["uid-used"].name, other.name}


async def test_files_of_claims_stay_if_pods_cannot_be_read(tmp_path: Path) -> None:
    """A pod that may not be read may use any claim."""
    async with site_in(tmp_path) as site:
        site.runtime.run("s7", "pod-7")
        site.stage.pods.forbidden = True
        path = await site.write_cdi("uid-old")
        found = await site.collector.collect()
        assert (found.found, len(found.skipped)) == ((), 1)
        assert path.exists()


async def test_claim_that_is_prepared_meanwhile(tmp_path: Path) -> None:
    """What was found of a claim is left alone if the claim is prepared before its turn comes."""
    async with site_in(tmp_path) as site:
        mine = Leftover("note", "note of claim uid-red", claim_uid="uid-red")
        site.driver.left = [ADDRESS, mine]

        async def prepare() -> None:
            site.stage.claims.claims["red"] = RED
            await site.stage.preparer.prepare(RED.ref)

        site.driver.on[f"collect {ADDRESS.what}"] = [prepare]
        assert await site.removed() == [ADDRESS.what]
        assert site.driver.left == [mine]


async def test_marks_of_sandboxes(tmp_path: Path) -> None:
    """Marks of sandboxes that have nothing of ours go; those of others stay."""
    async with site_in(tmp_path) as site:
        await site.stage.prepare(RED)
        await site.node.run(pod_of())
        site.runtime.run("sandbox-1")
        for sandbox in ("sandbox-1", "gone"):
            site.plans.note_sandbox(sandbox)
            site.plans.note_attached(sandbox)
        assert await site.removed() == ["marker of sandbox gone"]
        marks = sorted(str(p.relative_to(site.plans.root)) for p in site.plans.root.glob("*/*"))
        assert marks == ["attached/sandbox-1", "sandboxes/sandbox-1"]


async def test_young_files_are_left_alone(tmp_path: Path) -> None:
    """What was written within the last minute may be of a call that is under way."""
    async with site_in(tmp_path) as site:
        path = await site.write_cdi("uid-old")
        site.plans.note_sandbox("gone")
        now_s = site.stage.clock.now().timestamp()
        for young in (path, site.plans.root / "sandboxes/gone"):
            os.utime(young, (now_s - 30, now_s - 30))
        assert await site.removed() == []
        for old in (path, site.plans.root / "sandboxes/gone"):
            os.utime(old, (OLD_S, OLD_S))
        assert len(await site.removed()) == 2


async def test_journal_that_is_not_complete(tmp_path: Path) -> None:
    """Until the journal knows all that runs, only claims are looked at."""
    async with site_in(tmp_path, complete=False) as site:
        site.driver.left = [ADDRESS]
        site.plans.note_sandbox("gone")
        found = await site.collector.collect()
        assert (found.found, len(found.skipped)) == ((), 1)
        assert site.driver.left == [ADDRESS]


async def test_rounds(tmp_path: Path) -> None:
    """The first round comes once the journal is complete, the others every ten minutes."""
    async with site_in(tmp_path, complete=False) as site:
        clock, rounds = site.stage.clock, asyncio.Queue[float]()

        async def note() -> None:
            rounds.put_nowait(clock.monotonic())

        site.driver.on["leftovers"] = [note, note]
        started_s = clock.monotonic()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(site.collector.run())
            for _ in range(100):  # looks at the journal, which is not complete
                await asyncio.sleep(0)
            assert clock.monotonic() > started_s + 100
            assert rounds.empty()
            await site.stage.journal.mark_complete()
            first_s, second_s = await rounds.get(), await rounds.get()
            running.cancel()
        assert second_s - first_s == EVERY_S


async def test_claim_that_kubelet_forgot_does_not_wait_for_a_round(tmp_path: Path) -> None:
    """Within a minute or so it is released once it is gone; one in use, or there, is not."""
    async with site_in(tmp_path) as site:
        clock, claims = site.stage.clock, site.stage.claims
        await site.stage.prepare(RED, claim_of("blue", device_of("eth2"), pods=("pod-2",)))
        await site.node.run(pod_of())  # has the red one
        started_s = clock.monotonic()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(site.collector.run())
            await _turns(lambda: clock.monotonic() > 2 * UNUSED_S + YOUNG_S + started_s)
            assert set(site.stage.journal.bookings) == {"uid-red", "uid-blue"}
            claims.claims.clear()
            gone_s = clock.monotonic()
            await _turns(lambda: "uid-blue" not in site.stage.journal.bookings)
            assert clock.monotonic() <= gone_s + 3 * UNUSED_S
            running.cancel()
        assert set(site.stage.journal.bookings) == {"uid-red"}


async def _turns(reached: Callable[[], bool]) -> None:
    """Let the loop go round until something is so; the clock runs by itself."""
    for _ in range(100_000):
        if reached():
            return
        await asyncio.sleep(0)
    pytest.fail("it never came to that")
