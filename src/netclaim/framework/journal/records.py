"""What the journal keeps: bookings, leases and reports, as frozen values.

Promise: a booking or a lease changes its state only by a move of the tables in `states`. Rows that
an earlier driver wrote are read, and rows that are written can be read by it.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from netclaim.framework.journal.states import (
    BOOKING_MOVES,
    BOOKING_STATES,
    LEASE_MOVES,
    LEASE_STATES,
    BookingState,
    LeaseState,
    state_after,
)
from netclaim.model.claims.claim import AllocatedDevice, Claim, JsonObject
from netclaim.model.on_node.attachment import Attachment, AttachmentKey, Interface
from netclaim.model.on_node.node import NodeFacts
from netclaim.model.on_node.plan import Prepared
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef

PLANNED: Final[Sequence[BookingState]] = ("ready", "ending")  # with plans that are valid


class Booking(msgspec.Struct, frozen=True, omit_defaults=True):
    """A claim that holds devices of the driver: being prepared, or prepared.

    Written before the driver is called, so that what a crash leaves behind can be undone and no
    other claim takes the devices meanwhile. `pods` are those the claim was reserved for when it was
    last read; one that is not `sole_pod_uid`'s alone may have got more since. `owner_pod_uid` is
    the claim's owner as it was read: rows of earlier versions hold what the claim's author wrote,
    so that only `sole_pod_uid` says whose the claim is. `pod_claim_name` is the claim's name in the
    pod that it was made for. `prepared` stays when the plans lapse: the driver undoes them by it.
    """

    claim: ClaimRef
    devices: tuple[AllocatedDevice, ...]
    pods: frozenset[str] = frozenset()
    owner_pod_uid: str | None = None
    prepared: Prepared | None = None
    pod_claim_name: str = ""
    state: BookingState = "booked"  # what a row without a state means

    @classmethod
    def of(cls, claim: Claim) -> "Booking":
        """The first booking of a claim."""
        state = state_after(BOOKING_MOVES, "book", None)
        assert state is not None
        return cls(
            claim=claim.ref,
            devices=claim.devices,
            pods=claim.pod_uids,
            owner_pod_uid=claim.owner_pod_uid,
            pod_claim_name=claim.pod_claim_name,
            state=state,
        )

    @property
    def sole_pod_uid(self) -> str | None:
        """The pod that the claim was made for, if it is reserved for that one and no other."""
        return self.owner_pod_uid if self.pods == {self.owner_pod_uid} else None

    @property
    def is_planned(self) -> bool:
        """Whether the plans are valid, so that pods may get what they say."""
        return self.state in PLANNED

    @property
    def is_released(self) -> bool:
        """Whether kubelet has released the claim, and it is still to be undone."""
        return self.state in {"ending", "ended"}

    def planned(self, claim: Claim, prepared: Prepared, *, released: bool) -> "Booking":
        """With valid plans, for the pods that the claim is reserved for now.

        `released`: kubelet has released the claim already, and will not do so again.
        """
        return self._moved(
            "adopt" if released else "plan",
            prepared=prepared,
            pods=claim.pod_uids,
            owner_pod_uid=claim.owner_pod_uid,
        )

    def owing(self) -> "Booking":
        """Answered as prepared, and still to be planned; kubelet wants it again."""
        return self if self.state == "owed" else self._moved("owe")

    def put_off(self) -> "Booking":
        """Released by kubelet, and to be undone later."""
        return self._moved("put off")

    def lapsed(self) -> "Booking":
        """With plans that are no longer valid; as it is if it had none."""
        return self._moved("lapse") if self.is_planned else self

    def dropped(self) -> str:
        """The key by which the journal drops it, now that everything of it is undone."""
        state_after(BOOKING_MOVES, "drop", self.state)
        return self.claim.uid

    def inherited(self, *, rebooted: bool) -> "Booking":
        """As the next process takes it; what drivers did to the node ended with the boot."""
        row = BOOKING_STATES[self.state]
        state = row.after_reboot if rebooted else row.after_crash
        return msgspec.structs.replace(self, state=state)

    def _moved(self, move: str, **changes: Any) -> "Booking":
        state = state_after(BOOKING_MOVES, move, self.state)
        return msgspec.structs.replace(self, state=state, **changes)


class _BookingRow(Booking, frozen=True, omit_defaults=True):
    """A booking as the disk has it. Earlier drivers know booleans in place of the state."""

    ready: bool = False  # whether the plans are valid
    ending: bool = False  # whether kubelet has released it
    owed: bool = False


def write_booking(booking: Booking) -> bytes:
    """The row of a booking, which an earlier driver can read, too."""
    row = _BookingRow(
        **{field: getattr(booking, field) for field in Booking.__struct_fields__},
        ready=booking.is_planned,
        ending=booking.is_released,
        owed=booking.state == "owed",
    )
    return msgspec.json.encode(row)


def read_booking(row: bytes) -> Booking:
    """The booking of a row; raises msgspec.DecodeError."""
    stored = _BOOKING_ROW.decode(row)
    fields = {field: getattr(stored, field) for field in Booking.__struct_fields__}
    if stored.state == "booked":  # or an earlier driver wrote it
        fields["state"] = _state_of(stored)
    return Booking(**fields)


def _state_of(row: _BookingRow) -> BookingState:
    """The state that a row's booleans stand for."""
    if row.ending:
        return "ending" if row.ready else "ended"
    if row.ready:
        return "ready"
    if row.owed:
        return "owed"
    return "booked" if row.prepared is None else "lapsed"


_BOOKING_ROW = msgspec.json.Decoder(_BookingRow)


class Lease(msgspec.Struct, frozen=True):
    """An attachment and how far it got."""

    attachment: Attachment
    state: LeaseState

    @property
    def done(self) -> bool:
        """Whether the pod has its interface."""
        return self.state == "attached"

    @classmethod
    def begun(cls, attachment: Attachment) -> "Lease":
        """An attachment that the driver is about to be called for."""
        return cls._first("begin", attachment)

    @classmethod
    def taken_over(cls, attachment: Attachment) -> "Lease":
        """An attachment that a pod has although the journal did not know of it."""
        return cls._first("take over", attachment)

    def attached(self, attachment: Attachment) -> "Lease":
        """Done, with what the driver says of it."""
        return self._moved("attach", attachment)

    def undone(self, attachment: Attachment | None = None) -> "Lease":
        """To be undone, perhaps with what has changed of its pod since."""
        return self._moved("undo", attachment or self.attachment)

    def taken_back(self) -> AttachmentKey:
        """The key by which the journal drops it, as the driver had not begun it."""
        state_after(LEASE_MOVES, "take back", self.state)
        return self.attachment.key

    def dropped(self) -> AttachmentKey:
        """The key by which the journal drops it, now that it is undone or given up."""
        state_after(LEASE_MOVES, "drop", self.state)
        return self.attachment.key

    def inherited(self, *, rebooted: bool) -> "Lease":
        """As the next process takes it; a reboot took the pods' namespaces away."""
        state, attachment = LEASE_STATES[self.state], self.attachment
        if not rebooted:
            return msgspec.structs.replace(self, state=state.after_crash)
        pod = msgspec.structs.replace(attachment.pod, netns=None)
        without = msgspec.structs.replace(attachment, pod=pod)
        return msgspec.structs.replace(self, attachment=without, state=state.after_reboot)

    @classmethod
    def _first(cls, move: str, attachment: Attachment) -> "Lease":
        state = state_after(LEASE_MOVES, move, None)
        assert state is not None
        return cls(attachment, state)

    def _moved(self, move: str, attachment: Attachment) -> "Lease":
        state = state_after(LEASE_MOVES, move, self.state)
        assert state is not None
        return msgspec.structs.replace(self, attachment=attachment, state=state)


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
    refused: bool = False  # by what its claim says; only another claim can be prepared


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the claim's status says about all the driver's devices, once it is `written`."""

    claim: ClaimRef
    devices: tuple[DeviceReport, ...]
    written: bool = False
