"""Which plans a pod has, answered from the journal wherever possible.

Promise: the answer is complete, or an error. A pod is looked for among the claims that are prepared
on this node in its own namespace; it could use no others. Only if some of those may be shared is
the API server asked, since kubelet does not inform the driver about a second pod. It is asked once
for each pod: which claims a pod uses does not change while it lives. A claim belongs to the pods
that the control plane reserved it for; an owner that the claim names by itself is not believed.
Limit: claims that are reserved for something else than pods are not understood; a second pod that
names a claim which was made for another pod alone, from a template, is not looked for.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

import msgspec

from netclaim.errors import PeerError
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.records import Booking
from netclaim.framework.tools.clock import Clock
from netclaim.model.claims.claim import Claim
from netclaim.model.on_node.plan import Plan
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef

PODS_KEPT: Final = 2048  # several times what a node has; those beyond are asked for again
LATELY_S: Final = 120.0  # a pod whose claims are prepared has its sandbox within seconds


class Claims(Protocol):
    """The API server's claims by namespace and name, with any UID; None if there is none.

    With the configuration for a driver if one is named, and without any otherwise.
    """

    async def get(self, ref: ClaimRef, *, driver: str = "") -> Claim | None: ...


class PodClaims(msgspec.Struct, frozen=True):
    """The names of the claims that a pod uses. Unless they are `known`, it may use any."""

    names: frozenset[str] = frozenset()
    known: bool = True

    def may_have(self, name: str) -> bool:
        return name in self.names or not self.known


class Pods(Protocol):
    """The claims that the API server's pods use; None if the pod is gone."""

    async def claims_of(self, pod: PodSandbox) -> PodClaims | None: ...


class RememberedPods:
    """Pods, each of which is asked for once, unless it was gone or could not be read."""

    def __init__(self, pods: Pods) -> None:
        self._pods = pods
        self._used: dict[str, PodClaims] = {}  # by pod UID; oldest first

    async def claims_of(self, pod: PodSandbox) -> PodClaims | None:
        remembered = self._used.get(pod.uid)
        if remembered is not None:
            return remembered
        claims = await self._pods.claims_of(pod)
        if claims is not None and claims.known:
            self._used[pod.uid] = claims
        if len(self._used) > PODS_KEPT:
            del self._used[next(iter(self._used))]
        return claims


class NotPreparedError(PeerError):
    """A pod's claim is not prepared, or is being released; kubelet has to prepare it."""

    def __init__(self, claim: ClaimRef) -> None:
        super().__init__(f"claim {claim.namespace}/{claim.name} is not prepared")


class PodGoneError(PeerError):
    """A pod that is to start is gone from the API server, and with it what it claims.

    Kubelet may go on with it for a moment; it would start without its interfaces.
    """


class PodPlans:
    def __init__(
        self,
        journal: Journal,
        claims: Claims,
        pods: Pods,
        on_record: Callable[[], Mapping[str, Collection[str]] | None],
    ) -> None:
        """`on_record` says which pods use which claim, as kubelet wrote it down; None: not known.

        Both by UID.
        """
        self._on_record = on_record
        self._journal = journal
        self._claims = claims
        self._pods = pods
        self._later_claims: dict[str, set[str]] = {}  # by pod UID: learned since they were prepared

    async def of(self, pod: PodSandbox) -> tuple[Plan, ...]:
        """The plans of the pod that attach something. Asks nobody for a pod without claims."""
        mine = self._reserved(pod)
        if pod.may_claim:
            uids = {booking.claim.uid for booking in mine}
            shared = self._journal.booked.group("shared", pod.namespace)
            mine += await self._joined([each for each in shared if each.claim.uid not in uids], pod)
        return tuple(plan for booking in mine for plan in _network_plans(booking))

    def known(self, pod: PodSandbox) -> tuple[Plan, ...]:
        """The pod's plans, as far as they are known without asking anybody."""
        return tuple(plan for booking in self._reserved(pod) for plan in _network_plans(booking))

    def _reserved(self, pod: PodSandbox) -> list[Booking]:
        """The bookings that are known to be the pod's."""
        found = {each.claim.uid: each for each in self._journal.booked.group("pod", pod.uid)}
        for uid in self._later_claims.get(pod.uid, ()):
            if uid in self._journal.bookings:
                found[uid] = self._journal.bookings[uid]
        return [each for each in found.values() if each.claim.namespace == pod.namespace]

    async def _joined(self, shared: Sequence[Booking], pod: PodSandbox) -> list[Booking]:
        """Those of some shared claims that a pod was added to after they were prepared."""
        if not shared:
            return []
        try:
            used = await self._claims_of(pod)
            return [
                each
                for each in shared
                if used.may_have(each.claim.name) and await self._has_joined(each, pod)
            ]
        except PodGoneError:
            raise
        except PeerError:  # the API server is away, but kubelet has written down what it knows
            recorded = self._on_record()
            if recorded is None or any(
                pod.uid in recorded.get(each.claim.uid, ()) for each in shared
            ):
                raise
            return []

    async def _has_joined(self, booking: Booking, pod: PodSandbox) -> bool:
        uid = booking.claim.uid
        claim = await self._claims.get(booking.claim)
        if claim is None or claim.uid != uid or pod.uid not in claim.pod_uids:
            return False  # another claim of that name, which has a booking of its own
        self._later_claims.setdefault(pod.uid, set()).add(uid)
        if len(self._later_claims) > PODS_KEPT:
            del self._later_claims[next(iter(self._later_claims))]
        return True

    async def _claims_of(self, pod: PodSandbox) -> PodClaims:
        claims = await self._pods.claims_of(pod)
        if claims is None:
            raise PodGoneError(f"pod {pod.namespace}/{pod.name} was deleted while it was starting")
        return claims


class ReleasedLately:
    """The namespaces in which a claim was released a moment ago.

    Kubelet releases a claim for a pod that has ended, without looking whose it is by then. If
    another pod has the claim and is between prepare and its sandbox, it would start without its
    interface. So for a while after the release of a claim that several pods can name, pods of its
    namespace are looked up again.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[tuple[str, str], float] = {}  # by namespace and claim; oldest first
        self._claims: dict[str, set[str]] = {}  # the same by namespace

    def note(self, namespace: str, claim_uid: str) -> None:
        self._forget_old()
        self._since.pop((namespace, claim_uid), None)
        self._since[namespace, claim_uid] = self._clock.monotonic()
        self._claims.setdefault(namespace, set()).add(claim_uid)

    def has(self, namespace: str) -> bool:
        return namespace in self.claims()

    def claims(self) -> Mapping[str, Collection[str]]:
        """The UIDs of claims that were released a moment ago, by namespace."""
        self._forget_old()
        return MappingProxyType(self._claims)

    def _forget_old(self) -> None:
        now_s = self._clock.monotonic()
        while self._since:
            (namespace, claim_uid), at_s = next(iter(self._since.items()))
            if now_s - at_s <= LATELY_S:
                return
            del self._since[namespace, claim_uid]
            self._claims[namespace].discard(claim_uid)
            if not self._claims[namespace]:
                del self._claims[namespace]


def _network_plans(booking: Booking) -> tuple[Plan, ...]:
    if booking.prepared is None or not booking.is_planned:
        raise NotPreparedError(booking.claim)
    return tuple(plan for plan in booking.prepared.plans if plan.network is not None)
