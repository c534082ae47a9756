"""What garbage collection has to leave alone, by the journal, the runtime and the API server.

Promise: if one of them cannot be asked, the error names it, and what only it could explain counts
as living. A runtime that lists none of the sandboxes that have our interfaces is not kubelet's, and
is not believed. Limit: this is the state at one moment; before something is removed, the journal is
read once more.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from netclaim.cri import Sandbox
from netclaim.errors import NetclaimError, PeerError
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.pod_plans import Claims, Pods
from netclaim.framework.journal.records import pods_of
from netclaim.framework.tools.clock import Clock
from netclaim.model.on_node.leftover import Living
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef

log = structlog.get_logger()

ASK_S: Final = 0.1  # between requests: ten a second, where the API server gives a client fifty


class UnknownError(PeerError):
    """The runtime or the API server could not be asked, or cannot be believed."""


class SandboxList(Protocol):
    """The container runtime, as the one that lists what it runs."""

    async def list(self) -> Sequence[Sandbox]:
        """All sandboxes, including those that have ended. Raises PeerError."""
        ...


class SandboxFiles(Protocol):
    """The marks of sandboxes on the disk, which are read while the driver is away."""

    def strays(self, known: Collection[str], *, before: float) -> Collection[str]:
        """The sandboxes other than these that have a mark from before this time."""
        ...

    def note_incomplete(self, sandbox_id: str) -> None:
        """Its containers may not start while the driver is away."""
        ...

    def note_ended(self, sandbox_id: str) -> None:
        """The driver has nothing in it any more."""
        ...


@dataclass(frozen=True, slots=True)
class LivingLook:
    """What a network driver's stages, the runtime and the API server know of sandboxes."""

    journal: Journal
    runtime: SandboxList
    marks: SandboxFiles
    busy: Callable[[], frozenset[str]]  # sandboxes with an attach under way
    has_netns: Callable[[PodSandbox], bool]  # whether its network namespace is there
    release: Callable[[PodSandbox], None]  # have what a sandbox has undone in the background
    claims: Claims
    pods: Pods
    clock: Clock

    def journaled(self) -> frozenset[str]:
        """The sandboxes that have something of the driver, or are about to."""
        return self.busy() | {pod.id for pod in pods_of(self.journal.leases.values())}

    def has(self, sandbox_id: str) -> bool:
        """Whether a sandbox is among them; without looking at all of them."""
        return self.journal.leased.size("sandbox", sandbox_id) > 0 or sandbox_id in self.busy()

    async def listed(self) -> Sequence[Sandbox]:
        """The runtime's sandboxes. Raises UnknownError."""
        try:
            listed = await self.runtime.list()
        except PeerError as error:
            raise UnknownError(str(error)) from error
        ids = {each.id for each in listed}
        done = (lease for lease in self.journal.leases.values() if lease.done)
        running = {pod.id for pod in pods_of(done) if self.has_netns(pod)} - self.busy()
        if running and not running & ids:
            log.warning("collect.runtime_doubted", sandboxes=sorted(running), listed=len(ids))
            raise UnknownError(
                "the runtime lists none of the sandboxes that have interfaces; "
                "is --runtime-socket the socket of the runtime that kubelet uses?"
            )
        return listed

    def living(self, listed: Sequence[Sandbox] | None) -> Living:
        """What lives, with the runtime's list if there is one."""
        sandboxes: frozenset[str] | None = None
        if listed is not None:
            sandboxes = frozenset(each.id for each in listed if each.ready) | self.journaled()
        return Living(
            attachments=tuple(lease.attachment for lease in self.journal.leases.values()),
            claims=frozenset(self.journal.bookings),
            plans=tuple(
                plan
                for booking in self.journal.booked.group("state", "ready")
                for plan in (booking.prepared.plans if booking.prepared else ())
            ),
            sandboxes=sandboxes,
        )

    async def claims_in_use(self, listed: Sequence[Sandbox]) -> frozenset[str]:
        """The UIDs of all running pods' claims, from the API server. Raises UnknownError."""
        uids: set[str] = set()
        try:
            for each in listed:
                if each.ready:
                    uids |= await self._claims_of(each)
        except NetclaimError as error:
            raise UnknownError(str(error)) from error
        return frozenset(uids)

    async def _claims_of(self, sandbox: Sandbox) -> set[str]:
        pod = PodSandbox(sandbox.id, sandbox.uid, sandbox.namespace, sandbox.name)
        if not pod.may_claim:
            return set()
        await self.clock.sleep(ASK_S)
        used = await self.pods.claims_of(pod)
        if used is None:
            return set()
        if not used.known:
            raise UnknownError("the driver is not allowed to read pods")
        uids: set[str] = set()
        for name in sorted(used.names):
            await self.clock.sleep(ASK_S)
            claim = await self.claims.get(ClaimRef("", pod.namespace, name))
            uids |= set() if claim is None else {claim.uid}
        return uids
