"""What the journal keeps: bookings, leases and reports, as frozen values.

`states` says which states bookings and leases have, and who moves them.
"""

from collections.abc import Iterable

import msgspec

from netclaim.framework.states import LEASE_STATES, BookingState, LeaseState
from netclaim.model.attachment import Attachment, Interface
from netclaim.model.claim import AllocatedDevice, Claim, JsonObject
from netclaim.model.node import NodeFacts
from netclaim.model.plan import Prepared
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef

__all__ = ["Booking", "DeviceReport", "HealthReport", "KnownNode", "Lease", "Report", "pods_of"]


class Booking(msgspec.Struct, frozen=True, omit_defaults=True):
    """A claim that holds devices of ours: being prepared, or prepared.

    Written before the driver is called, so that what a crash leaves behind can be undone and no
    other claim takes the devices meanwhile. `pods` are those the claim was reserved for when it was
    last read; one that is not `sole_pod_uid`'s alone may have got more since. `owner_pod_uid` is
    the claim's owner as it was read: rows of earlier versions hold what the claim's author wrote,
    so that only `sole_pod_uid` says whose the claim is. `ready` is whether the plans hold: not
    before they are made, nor once their release has begun, nor after a reboot. `ending` is whether
    kubelet released the claim under a pod that still runs: it is undone with that pod's sandbox.
    `owed` is whether kubelet was told that the claim is prepared although its plans are still to be
    made: before the pod's sandbox gets anything. `pod_claim_name` is the claim's name in the pod
    that it was made for.
    """

    claim: ClaimRef
    devices: tuple[AllocatedDevice, ...]
    pods: frozenset[str] = frozenset()
    owner_pod_uid: str | None = None
    prepared: Prepared | None = None
    ready: bool = False
    ending: bool = False
    owed: bool = False
    pod_claim_name: str = ""

    @property
    def sole_pod_uid(self) -> str | None:
        """The pod that the claim was made for, if it is reserved for that one and no other."""
        return self.owner_pod_uid if self.pods == {self.owner_pod_uid} else None

    @property
    def state(self) -> BookingState:
        """Where it is on its way; see `states`."""
        if self.ending:
            return "ending"
        if self.ready:
            return "ready"
        if self.owed:
            return "owed"
        return "booked" if self.prepared is None else "lapsed"

    def planned(self, claim: Claim, prepared: Prepared, *, ending: bool) -> "Booking":
        """With plans that hold, for the pods that the claim is reserved for now."""
        return msgspec.structs.replace(
            self,
            prepared=prepared,
            ready=True,
            pods=claim.pod_uids,
            owner_pod_uid=claim.owner_pod_uid,
            ending=ending,
            owed=False,
        )

    def owing(self) -> "Booking":
        """Answered as prepared, and still to be planned; kubelet wants it again."""
        return msgspec.structs.replace(self, owed=True, ending=False)

    def put_off(self) -> "Booking":
        """Released by kubelet, and to be undone later."""
        return msgspec.structs.replace(self, ending=True)

    def lapsed(self) -> "Booking":
        """With plans that do not hold any more."""
        return msgspec.structs.replace(self, ready=False)


class Lease(msgspec.Struct, frozen=True):
    """An attachment and how far it got; see `states`."""

    attachment: Attachment
    state: LeaseState

    @property
    def done(self) -> bool:
        """Whether the pod has its interface."""
        return self.state == "attached"

    def inherited(self, *, rebooted: bool) -> "Lease":
        """As the next process takes it; a reboot took the pods' namespaces away."""
        state, attachment = LEASE_STATES[self.state], self.attachment
        if not rebooted:
            return Lease(attachment, state.after_crash)
        pod = msgspec.structs.replace(attachment.pod, netns=None)
        return Lease(msgspec.structs.replace(attachment, pod=pod), state.after_reboot)


def pods_of(leases: Iterable[Lease]) -> tuple[PodSandbox, ...]:
    """The sandboxes of leases, each once."""
    return tuple({lease.attachment.pod.id: lease.attachment.pod for lease in leases}.values())


class KnownNode(msgspec.Struct, frozen=True):
    """The node as the API server last described it, for a start while that is away."""

    uid: str
    facts: NodeFacts


class HealthReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the claim's status says about the health of a device that was ever tainted."""

    healthy: bool
    reason: str
    message: str
    since: str  # RFC 3339: when `healthy` last changed


class DeviceReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the claim's status says, or will say, about one device."""

    device: AllocatedDevice
    ready: bool
    message: str
    since: str  # RFC 3339: when `ready` last changed
    interface: Interface | None = None
    data: JsonObject = {}
    health: HealthReport | None = None


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the claim's status says about all devices of ours, once it is `written`."""

    claim: ClaimRef
    devices: tuple[DeviceReport, ...]
    written: bool = False
