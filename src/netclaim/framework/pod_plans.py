"""Which plans a pod has, answered from the journal whenever the journal can know.

Promise: complete, or an error. A pod is looked for among the claims that are prepared on this node
in its own namespace; there are no others it could use. Only where some of those may be shared, and
kubelet does not tell the driver about a second pod, the API server is asked, once for each pod:
which claims it uses does not change while it lives. Limit: claims reserved for something else than
pods are not understood.
"""

from typing import Final, Protocol

from netclaim.errors import PeerError
from netclaim.framework.journal import Journal
from netclaim.framework.records import Booking
from netclaim.model.claim import Claim
from netclaim.model.plan import Plan
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef

__all__ = ["Claims", "NotPreparedError", "PodPlans", "Pods"]

PODS_KEPT: Final = 2048  # several times what a node has; those beyond are asked for again


class Claims(Protocol):
    """The API server's claims."""

    async def get(self, ref: ClaimRef) -> Claim | None:
        """The claim of that namespace and name as it is now, whatever its UID; None if gone."""
        ...


class Pods(Protocol):
    """The API server's pods."""

    async def claims_of(self, pod: PodSandbox) -> frozenset[str] | None:
        """The names of the claims that the pod uses; None if it is gone."""
        ...


class NotPreparedError(PeerError):
    """A pod's claim is not prepared, or being released: kubelet has to prepare it (again)."""


class PodPlans:
    """Finds a pod's plans."""

    def __init__(self, journal: Journal, claims: Claims, pods: Pods) -> None:
        self._journal = journal
        self._claims = claims
        self._pods = pods
        self._used: dict[str, frozenset[str]] = {}  # by pod UID: names of claims; oldest first
        self._later_pods: dict[str, frozenset[str]] = {}  # by claim UID: pods learned since prepare

    async def of(self, pod: PodSandbox) -> tuple[Plan, ...]:
        """The pod's plans that have something to attach. Without a claim of ours: at once, none."""
        nearby = [b for b in self._journal.bookings.values() if b.claim.namespace == pod.namespace]
        mine = [booking for booking in nearby if await self._serves(booking, pod)]
        return tuple(plan for booking in mine for plan in _network_plans(booking))

    async def _serves(self, booking: Booking, pod: PodSandbox) -> bool:
        uid = booking.claim.uid
        if booking.owner_pod_uid is not None:
            return pod.uid == booking.owner_pod_uid
        if pod.uid in booking.pods or pod.uid in self._later_pods.get(uid, ()):
            return True
        if booking.claim.name not in await self._names_of_claims(pod):
            return False
        claim = await self._claims.get(booking.claim)
        if claim is None or claim.uid != uid or pod.uid not in claim.pod_uids:
            return False  # another claim of that name, which has a booking of its own
        self._later_pods = {
            known: pods
            for known, pods in self._later_pods.items()
            if known in self._journal.bookings
        } | {uid: claim.pod_uids}
        return True

    async def _names_of_claims(self, pod: PodSandbox) -> frozenset[str]:
        known = self._used.get(pod.uid)
        if known is not None:
            return known
        names = await self._pods.claims_of(pod)
        if names is None:  # deleted while it starts: nobody will use what it would get
            return frozenset()
        self._used[pod.uid] = names
        if len(self._used) > PODS_KEPT:
            del self._used[next(iter(self._used))]
        return names


def _network_plans(booking: Booking) -> tuple[Plan, ...]:
    if booking.prepared is None or not booking.ready:
        raise NotPreparedError(
            f"claim {booking.claim.namespace}/{booking.claim.name} is not prepared"
        )
    return tuple(plan for plan in booking.prepared.plans if plan.network is not None)
