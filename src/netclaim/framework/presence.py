"""What pods have of what the journal says of them.

Promise: looks and changes nothing; whoever calls is alone with the pod. Limit: as far as the driver
can see it.
"""

from collections.abc import Iterable, Sequence

from netclaim.errors import NetclaimError, PeerError
from netclaim.framework.contract import NetworkDriver
from netclaim.framework.journal import Journal
from netclaim.model.attachment import Attachment, AttachmentKey
from netclaim.model.plan import Plan
from netclaim.model.pod import PodSandbox

__all__ = ["Presence"]


class Presence:
    """Compares sandboxes with the journal."""

    def __init__(self, driver: NetworkDriver, journal: Journal) -> None:
        self._driver = driver
        self._journal = journal

    async def lost(self, pod: PodSandbox) -> list[Attachment]:
        """What a sandbox had and does not have any more."""
        return [
            lease.attachment
            for lease in self._journal.leases_of_sandbox(pod.id)
            if lease.done and not await self._driver.is_attached(lease.attachment)
        ]

    async def faults(
        self, pod: PodSandbox, missing: Iterable[Plan]
    ) -> dict[AttachmentKey, Exception]:
        """What is wrong with a sandbox: plans that are `missing` in it, and what is otherwise."""
        errors: dict[AttachmentKey, Exception] = {
            (plan.claim.uid, pod.id, plan.device.key): PeerError(
                f"the pod lacks its interface on {plan.device.device}"
            )
            for plan in missing
        }
        for lease in self._journal.leases_of_sandbox(pod.id):
            if lease.done:
                try:
                    await self._driver.check(lease.attachment)
                except NetclaimError as error:
                    errors[lease.attachment.key] = error
        return errors

    async def recalled(self, pod: PodSandbox, plans: Iterable[Plan]) -> list[Attachment]:
        """What the driver itself remembers to have attached."""
        asked = [await self._driver.recall(plan, pod) for plan in plans]
        return [each for each in asked if each is not None]

    async def unknown(self, attachments: Sequence[Attachment]) -> list[Attachment]:
        """What is there and not in the journal; of two that are the same, the last counts."""
        known = {each.key: each for each in attachments}
        unknown = [a for key, a in known.items() if key not in self._journal.leases]
        return [each for each in unknown if await self._driver.is_attached(each)]
