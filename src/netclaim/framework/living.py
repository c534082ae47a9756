"""Living: what garbage collection has to leave alone, by everybody who can say so.

Promise: whoever could not be asked is named, and what only that one could explain counts as living.
A runtime that lists none of the sandboxes which have our interfaces is not kubelet's, and is not
believed. Limit: a look at one moment; whoever removes something looks into the journal once more.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from netclaim.cri import Sandbox
from netclaim.errors import NetclaimError, PeerError
from netclaim.framework.clock import Clock
from netclaim.framework.journal import Journal
from netclaim.framework.netns import HasNetns
from netclaim.framework.pod_plans import Claims, Pods
from netclaim.framework.records import pods_of
from netclaim.model.leftover import Living
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef

__all__ = ["ASK_S", "LivingLook", "NodeState", "Runtime", "SandboxFiles", "UnknownError"]

log = structlog.get_logger()

ASK_S: Final = 0.1  # between requests: ten a second, where the API server gives a client fifty


class UnknownError(PeerError):
    """Somebody who would know what lives could not be asked, or not be believed."""


class Runtime(Protocol):
    """The container runtime."""

    async def list(self) -> Sequence[Sandbox]:
        """All sandboxes, ended ones too. Raises PeerError."""
        ...


class SandboxFiles(Protocol):
    """What is on the disk for when the driver is away."""

    def strays(self, known: Collection[str], *, before: float) -> Collection[str]:
        """Sandboxes beyond these that have a mark which was written `before` then."""
        ...

    def note_incomplete(self, sandbox_id: str) -> None:
        """Its containers may not start while the driver is away. Again: the same."""
        ...

    def note_ended(self, sandbox_id: str) -> None:
        """Nothing of it is ours. Again: the same."""
        ...


@dataclass(frozen=True, slots=True)
class NodeState:
    """What a network driver's stages know of sandboxes."""

    runtime: Runtime
    marks: SandboxFiles
    busy: Callable[[], frozenset[str]]  # sandboxes with an attach under way
    has_netns: HasNetns
    release: Callable[[PodSandbox], None]  # have what a sandbox has undone in the background


@dataclass(frozen=True, slots=True)
class LivingLook:
    """Asks the journal, the runtime and the API server."""

    journal: Journal
    node: NodeState
    claims: Claims
    pods: Pods
    clock: Clock

    def journaled(self) -> frozenset[str]:
        """Sandboxes that have something of ours, or are about to."""
        return self.node.busy() | {pod.id for pod in pods_of(self.journal.leases.values())}

    async def listed(self) -> Sequence[Sandbox]:
        """The runtime's sandboxes; UnknownError if they cannot be known."""
        try:
            listed = await self.node.runtime.list()
        except PeerError as error:
            raise UnknownError(str(error)) from error
        ids = {each.id for each in listed}
        done = (lease for lease in self.journal.leases.values() if lease.done)
        running = {pod.id for pod in pods_of(done) if self.node.has_netns(pod)} - self.node.busy()
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
            sandboxes=sandboxes,
        )

    async def claims_in_use(self, listed: Sequence[Sandbox]) -> frozenset[str]:
        """The UIDs of the claims of all pods that run, by the API server; or UnknownError."""
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
