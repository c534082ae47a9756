"""Which plans a pod has, answered from the journal whenever the journal can know.

Promise: complete, or an error. A pod is looked for among the claims that are prepared on this node
in its own namespace; there are no others it could use. Limit: a claim that any pod may share (one
that was not made for a single pod) is read again for a pod it was not known to serve, because
kubelet does not tell the driver about a second pod. Claims reserved for something else than pods
are not understood.
"""

from typing import Protocol

from netclaim.errors import PeerError
from netclaim.framework.journal import Journal
from netclaim.framework.records import Booking
from netclaim.model.claim import Claim
from netclaim.model.plan import Plan
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef

__all__ = ["Claims", "NotPreparedError", "PodPlans"]


class Claims(Protocol):
    """The API server's claims."""

    async def get(self, ref: ClaimRef) -> Claim | None:
        """The claim of that namespace and name as it is now, whatever its UID; None if gone."""
        ...


class NotPreparedError(PeerError):
    """A pod's claim is not prepared, or being released: kubelet has to prepare it (again)."""


class PodPlans:
    """Finds a pod's plans."""

    def __init__(self, journal: Journal, claims: Claims) -> None:
        self._journal = journal
        self._claims = claims
        self._later_pods: dict[str, frozenset[str]] = {}  # by claim UID: pods learned since prepare

    async def of(self, pod: PodSandbox) -> tuple[Plan, ...]:
        """The pod's plans that have something to attach. Without a claim of ours: at once, none."""
        nearby = [b for b in self._journal.bookings.values() if b.claim.namespace == pod.namespace]
        mine = [booking for booking in nearby if await self._serves(booking, pod.uid)]
        return tuple(plan for booking in mine for plan in _network_plans(booking))

    async def _serves(self, booking: Booking, pod_uid: str) -> bool:
        uid = booking.claim.uid
        if booking.owner_pod_uid is not None:
            return pod_uid == booking.owner_pod_uid
        if pod_uid in booking.pods or pod_uid in self._later_pods.get(uid, ()):
            return True
        claim = await self._claims.get(booking.claim)
        if claim is None or claim.uid != uid or pod_uid not in claim.pod_uids:
            return False
        self._later_pods = {
            known: pods
            for known, pods in self._later_pods.items()
            if known in self._journal.bookings
        } | {uid: claim.pod_uids}
        return True


def _network_plans(booking: Booking) -> tuple[Plan, ...]:
    if booking.prepared is None or not booking.ready:
        raise NotPreparedError(
            f"claim {booking.claim.namespace}/{booking.claim.name} is not prepared"
        )
    return tuple(plan for plan in booking.prepared.plans if plan.network is not None)
