"""What is on the disk for when the driver is away: which pods have plans, which sandboxes all.

The runtime's other callers (see `chained`) look at these files before they let a pod pass. Promise:
a stage declares here what it notes; `parts` chooses whether anything is written.
"""

from typing import Protocol

from netclaim.framework.journal import Journal

__all__ = ["ContainerFacts", "NoMarks", "PlanMarks", "SandboxMarks"]


class SandboxMarks(Protocol):
    """What is known of sandboxes."""

    def note_begun(self, sandbox_id: str) -> None:
        """The sandbox has, or may have, something of ours. Again: the same."""
        ...

    def note_complete(self, sandbox_id: str) -> None:
        """The sandbox has everything that its pod claims. Again: the same."""
        ...

    def note_incomplete(self, sandbox_id: str) -> None:
        """The sandbox may lack something. Again: the same."""
        ...

    def note_ended(self, sandbox_id: str) -> None:
        """The sandbox has nothing of ours any more. Again: the same."""
        ...


class PlanMarks(Protocol):
    """What is known of pods."""

    def note_plans(self, journal: Journal) -> None:
        """These are all plans that there are. Again: the same."""
        ...


class NoMarks:
    """For a node where nobody looks."""

    def note_begun(self, sandbox_id: str) -> None:
        """Nothing."""

    def note_complete(self, sandbox_id: str) -> None:
        """Nothing."""

    def note_incomplete(self, sandbox_id: str) -> None:
        """Nothing."""

    def note_ended(self, sandbox_id: str) -> None:
        """Nothing."""

    def note_plans(self, journal: Journal) -> None:
        """Nothing."""


class ContainerFacts(Protocol):
    """What containers can read about their pod's devices."""

    def refresh(self, claim_uid: str) -> None:
        """The claim's attachments are now as the journal has them. Again: nothing."""
        ...
