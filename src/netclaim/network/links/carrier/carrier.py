"""A link's carrier over time: when it is lost, when it is back, and when pods have to go. No I/O.

Promise: a loss shows at once, and so does the first recovery. A link that is lost again and again
has to be steady for a while before its recovery shows, for twice as long each time: it is lost in
the eyes of others all along, which costs them nothing. However it flaps, what shows changes a few
times in the first minutes, and twice in HOLD_MAX_S from then on. Pods have to go only after an
uninterrupted loss, and not because a link flaps.
Limit: forgets with the process. A driver that starts again begins with what it finds, so that the
time until pods have to go begins anew too.
"""

from dataclasses import dataclass
from typing import Final

import msgspec

from netclaim.kernel import Link

FLAPPING_S: Final = 600.0  # losses further apart than this have nothing to do with each other
HOLD_MAX_S: Final = 300.0  # longest a link has to be steady; below FLAPPING_S, or it would forget
LOSSES_KEPT: Final = 16  # doubling from the shortest useful hold reaches the longest before

# Kinds of links that have no carrier until somebody uses them: a bridge gets its from its ports,
# which pods bring along, a tun or tap device from the program that opens it.
CARRIER_BY_USE: Final = frozenset({"bridge", "tun"})


def lacks_carrier(link: Link) -> bool:
    """Whether a link that should carry traffic cannot.

    A link that is switched off is not expected to: unused cards often are, and a plugin that
    takes one into a pod switches it on there.
    """
    return link.up and not link.carrier and link.kind not in CARRIER_BY_USE


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait; see the settings of the same names."""

    flap_hold_s: float  # 0: every recovery shows at once
    evict_after_s: float  # 0: pods never have to go


class Carrier(msgspec.Struct, frozen=True):
    """What is known of one link's carrier, and what of it shows."""

    there: bool = True
    since_s: float = 0.0  # when `there` last changed
    losses_s: tuple[float, ...] = ()  # when it was lost lately, oldest first
    lost: bool = False  # whether it is lost in the eyes of others
    evicting: bool = False  # whether pods that use it have to go
    due_s: float | None = None  # when to look again although nothing happened


def observed(before: Carrier, *, there: bool, now_s: float, patience: Patience) -> Carrier:
    """Return what is known after a look; a second look at the same time changes nothing."""
    since_s = before.since_s if there == before.there else now_s
    losses_s = before.losses_s
    if before.there and not there:
        recent = (at_s for at_s in losses_s if now_s - at_s < FLAPPING_S)
        losses_s = (*recent, now_s)[-LOSSES_KEPT:]
    if there:
        steady_s = since_s + _hold_s(losses_s, patience) if before.lost else now_s
        lost, evicting = now_s < steady_s, False
        due_s = steady_s if lost else None
    else:
        leave_s = since_s + patience.evict_after_s if patience.evict_after_s else float("inf")
        lost, evicting = True, now_s >= leave_s
        due_s = leave_s if now_s < leave_s < float("inf") else None
    return Carrier(there, since_s, losses_s, lost, evicting, due_s)


def _hold_s(losses_s: tuple[float, ...], patience: Patience) -> float:
    """For how long a link that was lost so often has to be steady."""
    if len(losses_s) < 2:
        return 0.0
    doubled: float = patience.flap_hold_s * 2 ** (len(losses_s) - 2)
    return min(doubled, max(HOLD_MAX_S, patience.flap_hold_s))
