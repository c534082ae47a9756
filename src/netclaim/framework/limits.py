"""What a claim may take of a node: no device that another holds, and not more than its share.

The scheduler decides who gets a device; `holder` is the last line of defence against its races and
against claims that were never released. Quotas for claims are the API server's business, and count
a whole cluster; `Limits` protects one node and its other tenants from whoever may make claims. No
I/O.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from netclaim.errors import Reason, RequestError
from netclaim.framework.records import Booking
from netclaim.model.claim import AllocatedDevice, Claim
from netclaim.model.pod import PodSandbox

__all__ = ["Limits", "NamespaceFullError", "PodFullError", "holder"]


class PodFullError(RequestError):
    """A pod would have more devices than a pod may."""

    why: Reason = "limit"


class NamespaceFullError(RequestError):
    """A namespace has as many claims on the node as it may."""

    why: Reason = "limit"


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that is allowed, and the checks for it."""

    # Devices of one pod: as many as the API lets one claim have. They are attached side by side in
    # the runtime's 1.4 s, where a chain of executed plugins takes 25 ms of a core.
    pod_devices: int = 32
    # Claims of one namespace on the node, also those that are not prepared yet: the 110 pods of a
    # full node with four each, and some that are being released. Each is a row of a few kilobytes
    # in memory and on the disk, and every pod that starts is looked for among them.
    namespace_claims: int = 512

    def check_claim(self, claim: Claim, bookings: Collection[Booking]) -> None:
        """Raise if a claim that is not booked yet would be too much."""
        others = [b for b in bookings if b.claim.namespace == claim.namespace]
        if len(others) >= self.namespace_claims:
            raise NamespaceFullError(
                f"namespace {claim.namespace} already has {len(others)} claims on this node; "
                f"at most {self.namespace_claims} are allowed"
            )
        for pod in claim.reserved_for:
            held = sum(len(b.devices) for b in others if pod.is_pod and pod.uid in b.pods)
            self._check_devices(pod.name, held + len(claim.devices))

    def check_pod(self, pod: PodSandbox, devices: int) -> None:
        """Raise if a pod has more devices than it may: kubelet prepares a shared claim once."""
        self._check_devices(pod.name, devices)

    def _check_devices(self, pod: str, devices: int) -> None:
        if devices > self.pod_devices:
            raise PodFullError(
                f"pod {pod} would have {devices} devices of this driver; "
                f"at most {self.pod_devices} are allowed"
            )


def holder(
    claim: Claim,
    bookings: Iterable[Booking],
    excludes: Callable[[AllocatedDevice, AllocatedDevice], bool],
) -> Booking | None:
    """Another claim's booking that holds what excludes one of the claim's devices, if any does."""
    for booking in bookings:
        if booking.claim.uid == claim.uid:
            continue
        if any(excludes(mine, held) for mine in claim.devices for held in booking.devices):
            return booking
    return None
