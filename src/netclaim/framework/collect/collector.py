"""Collect: remove what was left on the node and belongs to no existing pod or claim.

As a rule, each stage undoes what it did. What is left is what no stage learns of: a pod that ended
while the journal was lost, a claim that kubelet forgot, files of a process that was killed at the
wrong moment.

Promise: nothing is removed because the runtime or the API server could not be asked; what depends
on their answer is left for the next round, and the round says so. Nothing is removed that is
younger than a minute, or that is in use by the time its turn comes. A failure to remove one thing
does not keep the others from being removed.
Limit: a sandbox whose namespace is still there is left to the runtime, also when it has ended. What
belongs to claims, and what is not in the journal, is looked at only once the journal knows all that
runs.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import structlog

from netclaim.cri import Sandbox
from netclaim.errors import NetclaimError
from netclaim.framework.collect.living import ASK_S, LivingLook, UnknownError
from netclaim.framework.contract import Driver
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.records import pods_of
from netclaim.framework.telemetry.logs import explain
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.tools.clock import Clock
from netclaim.model.on_node.leftover import Leftover, Living
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef

log = structlog.get_logger()

# What is left costs an address or a file: nobody waits for it. A round on a full node takes some
# seconds and a request for each claim, which nobody notices at this rate.
EVERY_S: Final = 600.0
SPREAD: Final = 0.1  # so that a cluster's nodes do not ask the API server in step
# Younger things may be of a call that is under way, or of a sandbox that the runtime does not list
# yet: it lists them a second or two after our hook. The first round waits for so long, too, so that
# all that an earlier process left is old enough by then.
YOUNG_S: Final = 60.0
# Between looks at claims that nothing is attached for. One that is so at two looks is asked after:
# kubelet takes a second or two from a pod's end to the release of its claims.
UNUSED_S: Final = 30.0
LOOK_S: Final = 5.0  # between looks whether the journal is complete; it takes a second or two
STEP_S: Final = 30.0  # for one thing; as long as a plugin may take


class StaleClaims(Protocol):
    """What knows which claims are stale, and releases them."""

    async def is_stale(self, ref: ClaimRef) -> bool:
        """Whether the API server has the claim no more, or without its devices."""
        ...

    async def release_if_stale(self, ref: ClaimRef) -> object:
        """Undo a claim if it is stale."""
        ...

    async def unless_booked(self, uid: str, work: Callable[[], Awaitable[object]]) -> bool:
        """Do something unless the claim is prepared; returns whether it was done."""
        ...


class Files(Protocol):
    """The files by which containers get what the plans say."""

    async def strays(self, claims: Collection[str], *, before: float) -> Mapping[str, Path]:
        """The files of all claims but these, by UID, that were last written before this time."""
        ...

    async def remove(self, claim_uid: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Collected:
    """What a round found or removed, what it failed to remove, and what it could not look at."""

    found: tuple[Leftover, ...] = ()
    failed: tuple[tuple[Leftover, str], ...] = ()
    skipped: tuple[str, ...] = ()

    def lines(self, *, dry_run: bool) -> tuple[str, ...]:
        verb = "would remove" if dry_run else "removed"
        done = [f"{verb} {each.what}" for each in self.found]
        failed = [f"could not remove {each.what}: {why}" for each, why in self.failed]
        skipped = [f"not checked: {why}" for why in self.skipped]
        nothing = [] if done or failed else ["nothing to remove"]
        return (*done, *failed, *nothing, *skipped)


@dataclass(frozen=True, slots=True)
class _Item:
    leftover: Leftover
    undo: Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class _Looked:
    """What the runtime listed in this round; None if it could not be asked.

    What lives is taken anew from it when the round has removed what it found.
    """

    listed: Sequence[Sandbox] | None


@dataclass(slots=True)
class _Search:
    """A round's findings so far."""

    before: float  # what was written later is left alone
    items: list[_Item] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def add(self, leftover: Leftover, undo: Callable[[], Awaitable[object]]) -> None:
        self.items.append(_Item(leftover, undo))

    def skip(self, what: str, why: object) -> None:
        self.skipped.append(f"{what}: {why}")


@dataclass(slots=True)
class Collector:
    """Looks for leftovers and removes them, one round at a time."""

    driver: Driver
    journal: Journal
    look: LivingLook | None  # None for a driver that attaches nothing: only claims are looked at
    claims: StaleClaims
    files: Files
    metrics: Metrics
    clock: Clock
    _round: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self) -> None:
        """Collect once the journal is complete, and every ten minutes, until cancelled.

        Claims that kubelet forgot are released sooner, since they hold devices.
        """
        await self.clock.sleep(YOUNG_S)
        while self.look is not None and not self.journal.complete:
            await self.clock.sleep(LOOK_S)
        due_s = self.clock.monotonic()
        unused: frozenset[str] = frozenset()
        while True:
            if self.clock.monotonic() >= due_s:
                await self.collect()
                due_s += EVERY_S * (1 + SPREAD * self.clock.jitter())
            await self.clock.sleep(UNUSED_S)
            unused = await self._release_forgotten(unused)

    async def _release_forgotten(self, unused_before: frozenset[str]) -> frozenset[str]:
        """Release stale claims that were unused at the last look, too; returns those unused now."""
        refs = {
            booking.claim.uid: booking.claim
            for booking in self.journal.bookings.values()
            if not self.journal.leases_of_claim(booking.claim.uid)
        }
        for uid in sorted(refs.keys() & unused_before):
            try:
                await self.claims.release_if_stale(refs[uid])
            except NetclaimError as error:
                log.info("collect.skipped", reasons=(f"claims: {error}",))
                break
            await self.clock.sleep(ASK_S)
        return frozenset(refs)

    async def collect(self, *, dry_run: bool = False) -> Collected:
        """Make one round. A `dry_run` removes nothing."""
        async with self._round:
            search = _Search(self.clock.now().timestamp() - YOUNG_S)
            looked = await self._search(search)
            skipped = tuple(search.skipped)
            if skipped:
                log.info("collect.skipped", reasons=skipped)
            if dry_run:
                return Collected(tuple(item.leftover for item in search.items), skipped=skipped)
            removed: list[Leftover] = []
            failed: list[tuple[Leftover, str]] = []
            for item in search.items:
                leftover = item.leftover
                try:
                    if await self._remove(item):
                        removed.append(leftover)
                        self.metrics.note_collected(leftover.kind, "removed")
                        log.info("collect.removed", kind=leftover.kind, what=leftover.what)
                except Exception as error:  # noqa: BLE001 (the driver's code, too; tried again)
                    text = explain("collect.failed", error, what=leftover.what)
                    failed.append((leftover, text))
                    self.metrics.note_collected(leftover.kind, "failed")
            if self.look is not None and looked is not None:
                await self._tell(self.look.living(looked.listed))
            self.metrics.note_round("partial" if failed or skipped else "complete")
            return Collected(tuple(removed), tuple(failed), skipped)

    async def collect_lines(self, *, dry_run: bool) -> tuple[str, ...]:
        return (await self.collect(dry_run=dry_run)).lines(dry_run=dry_run)

    async def _search(self, search: _Search) -> _Looked | None:
        """Find everything that may go; returns what the runtime says, if all that runs is known."""
        await self._find_claims(search)
        if self.look is None:
            return None
        if not self.journal.complete:
            search.skip(
                "everything except claims", "the journal does not list all running pods yet"
            )
            return None
        self._find_attachments(search, self.look)
        self._find_marks(search, self.look)
        listed: Sequence[Sandbox] | None = None
        try:
            listed = await self.look.listed()
        except UnknownError as error:
            search.skip("items that only the container runtime can account for", error)
        living = self.look.living(listed)
        found = [
            *await self._stray_files(search, living),
            *await self._driver_finds(search, living),
        ]
        search.items += [item for item in found if not item.leftover.claim_uid]
        claimed = [item for item in found if item.leftover.claim_uid]
        if claimed and listed is not None:
            try:
                in_use = await self.look.claims_in_use(listed)
            except UnknownError as error:
                search.skip("items that belong to claims", error)
            else:
                search.items += [i for i in claimed if i.leftover.claim_uid not in in_use]
        return _Looked(listed)

    async def _find_claims(self, search: _Search) -> None:
        """Find claims that kubelet forgot, unless a pod still has something of them."""
        for ref in [booking.claim for booking in self.journal.bookings.values()]:
            leases = self.journal.leases_of_claim(ref.uid)
            if self.look and any(self.look.has_netns(le.attachment.pod) for le in leases):
                continue
            try:
                stale = await self.claims.is_stale(ref)
            except NetclaimError as error:
                search.skip("claims", error)
                return
            if stale:
                what = f"prepared claim {ref.namespace}/{ref.name} ({ref.uid})"
                search.add(Leftover("claim", what), partial(self.claims.release_if_stale, ref))
            await self.clock.sleep(ASK_S)

    def _find_attachments(self, search: _Search, look: LivingLook) -> None:
        """Find sandboxes whose network namespaces are gone and that nothing works on."""
        busy = look.busy()
        for pod in pods_of(self.journal.leased.group("state", "attached")):
            if pod.id not in busy and not look.has_netns(pod):

                async def release(pod: PodSandbox = pod) -> None:
                    look.release(pod)

                what = f"interfaces of pod {pod.namespace}/{pod.name} (sandbox {pod.id})"
                search.add(Leftover("attachment", what), release)

    def _find_marks(self, search: _Search, look: LivingLook) -> None:
        marks = look.marks
        try:
            strays = sorted(marks.strays(look.journaled(), before=search.before))
        except NetclaimError as error:
            search.skip("sandbox markers", error)
            return
        for sandbox_id in strays:

            async def forget(sandbox_id: str = sandbox_id) -> None:
                marks.note_incomplete(sandbox_id)
                marks.note_ended(sandbox_id)

            what = f"marker of sandbox {sandbox_id}"
            search.add(Leftover("mark", what, sandbox_id=sandbox_id), forget)

    async def _stray_files(self, search: _Search, living: Living) -> list[_Item]:
        try:
            strays = await self.files.strays(living.claims, before=search.before)
        except NetclaimError as error:
            search.skip("CDI files", error)
            return []
        return [
            _Item(
                Leftover("cdi", f"CDI file {path}", claim_uid=uid), partial(self.files.remove, uid)
            )
            for uid, path in sorted(strays.items())
        ]

    async def _driver_finds(self, search: _Search, living: Living) -> list[_Item]:
        try:
            async with asyncio.timeout(STEP_S):
                found = await self.driver.leftovers(living)
        except Exception as error:  # noqa: BLE001 (the driver's code)
            search.skip("the driver's own records", explain("collect.failed", error))
            return []
        return [_Item(each, partial(self.driver.collect, each)) for each in found]

    async def _remove(self, item: _Item) -> bool:
        """Remove something unless it is in use by now; returns whether it was removed."""
        leftover = item.leftover
        if self.look is not None and self.look.has(leftover.sandbox_id):
            return False
        async with asyncio.timeout(STEP_S):
            if leftover.claim_uid:
                return await self.claims.unless_booked(leftover.claim_uid, item.undo)
            await item.undo()
        return True

    async def _tell(self, living: Living) -> None:
        try:
            async with asyncio.timeout(STEP_S):
                await self.driver.tell_living(living)
        except Exception as error:  # noqa: BLE001 (the driver's code; repeated after the next round)
            explain("collect.failed", error)
