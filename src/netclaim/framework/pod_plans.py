"""Which plans a pod has, answered from the journal whenever the journal can know.

Promise: complete, or an error. A pod is looked for among the claims that are prepared on this node
in its own namespace; there are no others it could use. Only where some of those may be shared, and
kubelet does not tell the driver about a second pod, the API server is asked, once for each pod:
which claims it uses does not change while it lives. Whose a claim is, is what the control plane
reserved it for; an owner that the claim names by itself is not believed. Limit: claims reserved for
something else than pods are not understood; a second pod that names a claim which was made for
another pod alone, from a template, is not looked for.
"""

from collections.abc import Collection, Mapping
from typing import Final, Protocol

import msgspec

from netclaim.errors import PeerError
from netclaim.framework.clock import Clock
from netclaim.framework.journal import Journal
from netclaim.framework.records import Booking
from netclaim.model.claim import Claim
from netclaim.model.plan import Plan
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef

__all__ = [
    "PODS_KEPT",
    "Claims",
    "NotPreparedError",
    "PodClaims",
    "PodGoneError",
    "PodPlans",
    "Pods",
    "ReleasedLately",
]

PODS_KEPT: Final = 2048  # several times what a node has; those beyond are asked for again
LATELY_S: Final = 120.0  # a pod whose claims are prepared has its sandbox within seconds


class Claims(Protocol):
    """The API server's claims."""

    async def get(self, ref: ClaimRef) -> Claim | None:
        """The claim of that namespace and name as it is now, whatever its UID; None if gone."""
        ...


class PodClaims(msgspec.Struct, frozen=True):
    """Which claims a pod uses, by name; if that may not be known, it may be any."""

    names: frozenset[str] = frozenset()
    known: bool = True

    def may_have(self, name: str) -> bool:
        """Whether the claim of that name has to be looked at."""
        return name in self.names or not self.known


class Pods(Protocol):
    """The API server's pods."""

    async def claims_of(self, pod: PodSandbox) -> PodClaims | None:
        """The claims that the pod uses; None if it is gone."""
        ...


class KubeletPods(Protocol):
    """What kubelet wrote down of the node's claims."""

    def pods_of(self, claim_uid: str) -> Collection[str] | None:
        """The UIDs of the pods that use a claim; None if that cannot be known."""
        ...


class NotPreparedError(PeerError):
    """A pod's claim is not prepared, or being released: kubelet has to prepare it (again)."""


class PodGoneError(PeerError):
    """A pod that is to start is gone from the API server, and with it what it claims.

    Kubelet may go on with it for a moment; it would start without its interfaces.
    """


class PodPlans:
    """Finds a pod's plans."""

    def __init__(self, journal: Journal, claims: Claims, pods: Pods, kubelet: KubeletPods) -> None:
        self._kubelet = kubelet
        self._journal = journal
        self._claims = claims
        self._pods = pods
        self._used: dict[str, PodClaims] = {}  # by pod UID; oldest first
        self._later_pods: dict[str, frozenset[str]] = {}  # by claim UID: pods learned since prepare

    async def of(self, pod: PodSandbox) -> tuple[Plan, ...]:
        """The pod's plans that have something to attach. Without a claim of ours: at once, none."""
        nearby = [b for b in self._journal.bookings.values() if b.claim.namespace == pod.namespace]
        mine = [booking for booking in nearby if await self._serves(booking, pod)]
        return tuple(plan for booking in mine for plan in _network_plans(booking))

    def known(self, pod: PodSandbox) -> tuple[Plan, ...]:
        """The pod's plans as far as they are known without asking anybody."""
        mine = [b for b in self._journal.bookings.values() if self._is_reserved(b, pod)]
        return tuple(plan for booking in mine for plan in _network_plans(booking))

    def _is_reserved(self, booking: Booking, pod: PodSandbox) -> bool:
        later = self._later_pods.get(booking.claim.uid, ())
        return pod.uid in booking.pods or pod.uid in later

    async def _serves(self, booking: Booking, pod: PodSandbox) -> bool:
        if booking.sole_pod_uid is not None:
            return pod.uid == booking.sole_pod_uid
        if self._is_reserved(booking, pod):
            return True
        if not pod.may_claim:
            return False
        try:
            return await self._joined(booking, pod)
        except PodGoneError:
            raise
        except PeerError:  # the API server is away, but kubelet has written down what it knows
            listed = self._kubelet.pods_of(booking.claim.uid)
            if listed is None or pod.uid in listed:
                raise
            return False

    async def _joined(self, booking: Booking, pod: PodSandbox) -> bool:
        """Whether a pod came to a shared claim after that was prepared."""
        uid = booking.claim.uid
        if not (await self._claims_of(pod)).may_have(booking.claim.name):
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

    async def _claims_of(self, pod: PodSandbox) -> PodClaims:
        remembered = self._used.get(pod.uid)
        if remembered is not None:
            return remembered
        claims = await self._pods.claims_of(pod)
        if claims is None:
            raise PodGoneError(f"pod {pod.namespace}/{pod.name} was deleted while it was starting")
        if claims.known:
            self._used[pod.uid] = claims
        if len(self._used) > PODS_KEPT:
            del self._used[next(iter(self._used))]
        return claims


class ReleasedLately:
    """Where claims were released a moment ago that a pod which is about to start may have by name.

    Kubelet releases a claim for a pod that has ended without looking whose it is by then. If it
    hits a pod between prepare and sandbox, that pod would start without its interface. So for a
    while after the release of a claim that several pods can name, pods of its namespace are looked
    up again.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[tuple[str, str], float] = {}  # by namespace and claim

    def note(self, namespace: str, claim_uid: str) -> None:
        """A claim of the namespace is released. Again: from now on."""
        self._since = self._recent()
        self._since[namespace, claim_uid] = self._clock.monotonic()

    def has(self, namespace: str) -> bool:
        """Whether a claim of the namespace was released a moment ago."""
        return namespace in self.claims()

    def claims(self) -> Mapping[str, frozenset[str]]:
        """The claims that were released a moment ago, by namespace."""
        found: dict[str, frozenset[str]] = {}
        for namespace, claim_uid in self._recent():
            found[namespace] = found.get(namespace, frozenset()) | {claim_uid}
        return found

    def _recent(self) -> dict[tuple[str, str], float]:
        now_s = self._clock.monotonic()
        return {key: at_s for key, at_s in self._since.items() if now_s - at_s <= LATELY_S}


def _network_plans(booking: Booking) -> tuple[Plan, ...]:
    if booking.prepared is None or not booking.ready:
        raise NotPreparedError(
            f"claim {booking.claim.namespace}/{booking.claim.name} is not prepared"
        )
    return tuple(plan for plan in booking.prepared.plans if plan.network is not None)
