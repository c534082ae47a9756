"""Who follows what sandboxes have: their claims, their containers, the disk, the metrics.

The journal knows first; these are what others can see of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import structlog

from netclaim.errors import HostError
from netclaim.framework.journal.journal import Journal
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.model.claims.claim import Claim, DeviceKey
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef

log = structlog.get_logger()


class AttachReports(Protocol):
    """What claims say of their devices, as the journal has them now.

    `touch` also says which devices failed, where `look_again` leaves that as it was; `give_up`
    leaves an event that something could not be undone and is not tried again, and `note_made_again`
    one that a running pod got back what it had lost, or something else. `turn_away` is about a
    claim that the journal does not have, since it was refused.
    """

    def touch(
        self, claim_uid: str, failures: Mapping[DeviceKey, str], *, refused: bool = False
    ) -> None: ...
    def look_again(self, claim_uid: str) -> None: ...
    def give_up(self, claim: ClaimRef, text: str) -> None: ...
    def note_made_again(self, claim: ClaimRef, text: str, *, same: bool) -> None: ...
    def turn_away(self, claim: Claim, text: str) -> None: ...


class SandboxMarks(Protocol):
    """What is on the disk of sandboxes, for when the driver is away.

    One that has begun may have some of its interfaces, a complete one all that its pod claims.
    """

    def begin(self, journal: Journal, is_complete: Callable[[PodSandbox], bool]) -> None: ...
    def note_begun(self, sandbox_id: str) -> None: ...
    def note_complete(self, sandbox_id: str) -> None: ...
    def note_incomplete(self, sandbox_id: str) -> None: ...
    def note_ended(self, sandbox_id: str) -> None: ...


class ContainerFacts(Protocol):
    """What containers can read about their pod's devices, as the journal has them now."""

    def refresh(self, claim_uid: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Followers:
    """Reports, marks, facts and metrics, with the journal that they follow."""

    journal: Journal
    reports: AttachReports
    marks: SandboxMarks
    facts: ContainerFacts
    metrics: Metrics

    def count(self) -> None:
        """Bring the metrics in line with the journal."""
        leased = self.journal.leased
        self.metrics.attachments.set(leased.size("state", "attached"))
        self.metrics.pending_detaches.set(leased.size("state", "detaching"))

    def note_undone(self, claim_uid: str) -> None:
        """Something of the claim was undone; other pods may still use it.

        If none does, what containers can read of it is left until it is attached again.
        """
        if not any(lease.done for lease in self.journal.leases_of_claim(claim_uid)):
            return
        self.reports.look_again(claim_uid)
        try:
            self.facts.refresh(claim_uid)
        except HostError as error:  # what is said of the others was true, and is put right some day
            log.warning("metadata.failed", error=str(error))
