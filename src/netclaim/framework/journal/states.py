"""The states of bookings and leases: which there are, who moves them, what a crash makes of them.

`records` holds the values and the journal keeps them; these are the tables by which they change.
Promise: a booking or a lease gets another state by a move that is listed here, and a move that is
not listed raises MoveError. Every move survives the end of the process. One that is not `synced`
may be lost in a power cut, with all that was written after it, since nothing depends on it then:
the next boot takes the row for the same in either state, or the step is repeated, as every step may
be. docs/architecture.md shows the same tables. No I/O.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeAlias, TypeVar

BookingState: TypeAlias = Literal["booked", "owed", "ready", "ending", "ended", "lapsed"]
LeaseState: TypeAlias = Literal["attaching", "attached", "detaching"]

S = TypeVar("S", BookingState, LeaseState)


class MoveError(Exception):
    """A booking or a lease was to make a move that its state does not allow; a bug in netclaim."""


@dataclass(frozen=True, slots=True)
class State(Generic[S]):
    """What a state means, and what the next process takes it for."""

    meaning: str
    after_crash: S
    after_reboot: S


@dataclass(frozen=True, slots=True)
class Move(Generic[S]):
    """A change of state; None is not being in the journal."""

    name: str
    before: tuple[S | None, ...]
    after: S | None
    by: str
    synced: bool = True  # whether it is on the disk before anybody goes on


def state_after(table: Iterable[Move[S]], name: str, before: S | None) -> S | None:
    """The state that a move leads to; MoveError if it is not listed for the state before."""
    for move in table:
        if move.name == name and before in move.before:
            return move.after
    raise MoveError(f"{name!r} is not possible in the state {before or 'none'!r}")


def is_synced(table: Iterable[Move[S]], before: S | None, after: S | None) -> bool:
    """Whether a change of state has to survive a power cut."""
    return all(move.synced for move in table if before in move.before and after == move.after)


BOOKING_STATES: Final[Mapping[BookingState, State[BookingState]]] = {
    "booked": State(
        "The claim holds its devices; the driver is planning it, or failed to. "
        "Kubelet asks again, or releases it.",
        after_crash="booked",
        after_reboot="booked",
    ),
    "owed": State(
        "Kubelet got the answer that it is prepared; it is planned before its pod gets anything.",
        after_crash="owed",
        after_reboot="owed",
    ),
    "ready": State(
        "The plans are valid, and pods may get what they say.",
        after_crash="ready",
        after_reboot="lapsed",
    ),
    "ending": State(
        "Kubelet released it under a pod that still runs; repair releases it once the pod "
        "has ended.",
        after_crash="ending",
        after_reboot="ended",
    ),
    "ended": State(
        "Kubelet released it, and the plans are no longer valid; repair releases it.",
        after_crash="ended",
        after_reboot="ended",
    ),
    "lapsed": State(
        "The plans are no longer valid: its release began, or the node was rebooted. "
        "Kubelet prepares it again, or releases it.",
        after_crash="lapsed",
        after_reboot="lapsed",
    ),
}

BOOKING_MOVES: Final[tuple[Move[BookingState], ...]] = (
    # Kubelet has no answer yet, and asks again; what the driver has begun ends with the boot.
    Move("book", (None,), "booked", "prepare, before the driver is called", synced=False),
    Move(
        "plan",
        ("booked", "owed", "lapsed", "ending", "ended", "ready"),
        "ready",
        "prepare, when the driver has planned it, and again when its pods have changed",
    ),
    Move(
        "adopt",
        ("booked", "ending", "ended"),
        "ending",
        "prepare, for a pod that runs with a claim which kubelet has released",
    ),
    Move(
        "owe",
        ("booked", "lapsed", "ended"),
        "owed",
        "prepare, when the driver cannot plan it yet",
    ),
    Move("put off", ("ready",), "ending", "unprepare, while a pod still uses it"),
    Move(
        "put off",
        ("booked", "owed", "lapsed"),
        "ended",
        "the same for a pod that came while it was released",
    ),
    Move(
        "lapse",
        ("ready",),
        "lapsed",
        "release, before the driver is called to undo it",
        synced=False,
    ),
    Move(
        "lapse",
        ("ending",),
        "ended",
        "the same for a claim whose release was put off",
        synced=False,
    ),
    Move("drop", ("booked", "owed", "lapsed", "ended"), None, "release, when everything is undone"),
)

LEASE_STATES: Final[Mapping[LeaseState, State[LeaseState]]] = {
    "attaching": State(
        "The driver is being called for it or is about to be; or the call was interrupted.",
        after_crash="detaching",
        after_reboot="detaching",
    ),
    "attached": State(
        "The pod has its interface.",
        after_crash="attached",
        after_reboot="detaching",
    ),
    "detaching": State(
        "It has to be undone, and repair tries until that succeeds or is given up.",
        after_crash="detaching",
        after_reboot="detaching",
    ),
}

LEASE_MOVES: Final[tuple[Move[LeaseState], ...]] = (
    Move("begin", (None,), "attaching", "attach, before the driver is called"),
    Move("attach", ("attaching",), "attached", "attach, when the driver has done it", synced=False),
    Move("take back", ("attaching",), None, "attach, when the driver says that nothing was begun"),
    Move(
        "take over",
        (None,),
        "attached",
        "adopt, for what a pod still has after the journal was lost",
    ),
    Move(
        "undo",
        ("attaching", "attached", "detaching"),
        "detaching",
        "detach, before the driver is called; attach, for what is no longer in the pod",
        synced=False,
    ),
    # It is undone once more after the boot, as after every one.
    Move("drop", ("detaching",), None, "detach, when it is undone or given up", synced=False),
)
