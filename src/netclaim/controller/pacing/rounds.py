"""Rounds of what is done to the many things of one owner, with pauses that grow between them.

A Deployment makes its pods again as soon as they are evicted, all at once. Promise: what comes
within `open_s` of a round's first is of the same round, and what failed begins none; a round begins
after a pause that is twice as long as the one before, up to `LONGEST_S`. An owner that needed none
for some time begins anew. No I/O.
"""

from dataclasses import dataclass
from typing import Final

from netclaim.pauses import pause_after_s

LONGEST_S: Final = 300.0  # as kubelet waits before it starts a container that keeps failing
FORGOTTEN_S: Final = 600.0  # after the time at which another round could have begun
KNOWN_MAX: Final = 10_000  # owners, before those are forgotten that can be


@dataclass(frozen=True, slots=True)
class _Round:
    number: int
    open_until_s: float
    next_s: float


class Rounds:
    """The last round of each owner."""

    def __init__(self, open_s: float) -> None:
        self._open_s = open_s
        self._last: dict[str, _Round] = {}

    def pause_s(self, owner: str, now_s: float) -> float:
        """For how long something of an owner has to wait; 0 if it is its turn."""
        last = self._last.get(owner)
        if last is None or now_s <= last.open_until_s:
            return 0.0
        return max(0.0, last.next_s - now_s)

    def note_done(self, owner: str, now_s: float) -> None:
        """Note that something of an owner was done, which begins a round if none is open."""
        last = self._last.get(owner)
        if last is not None and now_s <= last.open_until_s:
            return
        is_new = last is None or now_s > last.next_s + FORGOTTEN_S
        number = 1 if last is None or is_new else last.number + 1
        pause_s = pause_after_s(number, first_s=2 * self._open_s, longest_s=LONGEST_S)
        if len(self._last) >= KNOWN_MAX:
            kept = self._last.items()
            self._last = {one: at for one, at in kept if at.next_s + FORGOTTEN_S > now_s}
        self._last[owner] = _Round(number, now_s + self._open_s, now_s + pause_s)
