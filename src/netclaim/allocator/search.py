"""The search for devices: one after the other, back when it leads nowhere, the first that fits.

Promise: finds what kube-scheduler finds, in its order: claims, requests and alternatives as
written, devices as pools offer them; within a request only combinations, never orders. Errors stop
it where they would stop the scheduler. Limit: capacity of shared devices is not counted; `_take`
and `_release` are the two places that would.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from netclaim.allocator.claim import Claim, Request
from netclaim.allocator.constraint import Tally, tally
from netclaim.allocator.device import Device, DeviceId
from netclaim.allocator.errors import AllocationError
from netclaim.allocator.holders import Holders
from netclaim.allocator.match import Candidates

__all__ = ["RESULTS_MAX", "Found", "Pick", "Search", "Want"]

RESULTS_MAX: Final = 32  # devices of one claim, by the API


class Want(NamedTuple):
    """A request, or one alternative of it, with the devices that match on one node."""

    request: Request
    candidates: Candidates

    @property
    def number(self) -> int:
        """How many devices it takes."""
        return len(self.candidates) if self.request.mode == "All" else self.request.count


class Pick(NamedTuple):
    """A device for an alternative of a request, both by their place in the claim."""

    group: int
    alternative: int
    device: Device


class Found(NamedTuple):
    """What a claim gets: its devices, and for each request the alternative that was chosen."""

    picks: tuple[Pick, ...]
    chosen: tuple[int, ...]


class _TooManyResults(Exception):  # noqa: N818 - a way back, not an error
    """This way a claim gets more devices than the API allows."""


class Search:
    """One search on one node for claims, whose wants are listed by request and alternative."""

    def __init__(
        self,
        claims: Sequence[Claim],
        wants: Sequence[Sequence[Sequence[Want]]],
        holders: Holders,
    ) -> None:
        self._claims = claims
        self._wants = wants
        self._holders = holders
        self._picks: list[list[Pick]] = [[] for _ in claims]
        self._chosen: list[list[int]] = [[] for _ in claims]
        self._tallies = [[tally(one) for one in claim.constraints] for claim in claims]
        self._taken: dict[DeviceId, list[int]] = {}  # by which of the claims

    def run(self) -> tuple[Found, ...] | None:
        """Return what each claim gets, None if not all can be served.

        An AllocationError says that the claims have to change.
        """
        try:
            if not self._claim(0):
                return None
        except _TooManyResults:
            raise AllocationError(
                f"claim {self._claims[0]}: every solution takes more than {RESULTS_MAX} devices"
            ) from None
        results = zip(self._picks, self._chosen, strict=True)
        return tuple(Found(tuple(picks), tuple(chosen)) for picks, chosen in results)

    def _claim(self, claim: int) -> bool:
        return claim == len(self._claims) or self._request(claim, 0)

    def _request(self, claim: int, group: int) -> bool:
        if group == len(self._wants[claim]):
            try:
                return self._claim(claim + 1)
            except _TooManyResults:
                return False  # another choice for this claim may leave the next one fewer devices
        alternatives = self._wants[claim][group]
        if not alternatives[0].request.alternative:
            return self._choose(claim, group, 0)
        exceeded = True
        for alternative in range(len(alternatives)):
            try:
                if self._choose(claim, group, alternative):
                    return True
                exceeded = False
            except _TooManyResults:
                continue
        if exceeded:
            raise _TooManyResults
        return False

    def _choose(self, claim: int, group: int, alternative: int) -> bool:
        self._chosen[claim].append(alternative)
        done = False
        try:
            done = self._devices(claim, group, position=0, had=0)
        finally:
            if not done:
                self._chosen[claim].pop()
        return done

    def _devices(self, claim: int, group: int, *, position: int, had: int) -> bool:
        """Pick the devices that a request still lacks, from a position among its candidates."""
        want = self._wants[claim][group][self._chosen[claim][group]]
        everything = want.request.mode == "All"
        if everything and not want.candidates:
            return False
        if had == want.number:
            return self._request(claim, group + 1)
        if len(self._picks[claim]) + want.number - had > RESULTS_MAX:
            raise _TooManyResults
        last = position + 1 if everything else len(want.candidates)
        for place in range(position, last):
            if not self._take(claim, group, place):
                continue
            done = False
            try:
                done = self._devices(claim, group, position=place + 1, had=had + 1)
            finally:
                if not done:
                    self._release(claim, want.request)
            if done:
                return True
        return False

    def _take(self, claim: int, group: int, place: int) -> bool:
        """Pick a candidate, unless it is in use, tainted or against a constraint."""
        alternative = self._chosen[claim][group]
        request, candidates = self._wants[claim][group][alternative]
        device, fault = candidates[place]
        if self._in_use(claim, request, device):
            return False
        if fault is not None:
            raise fault.with_traceback(None)  # it is raised again for the next claim
        if device.counted or not all(map(request.tolerates, device.taints)):
            return False
        if not self._admit(claim, request, device):
            return False
        if not device.shareable:
            self._taken.setdefault(device.id, []).append(claim)
        self._picks[claim].append(Pick(group, alternative, device))
        return True

    def _release(self, claim: int, request: Request) -> None:
        device = self._picks[claim].pop().device
        if not device.shareable:
            self._taken[device.id].pop()
        _dismiss(self._tallies[claim], request)

    def _admit(self, claim: int, request: Request, device: Device) -> bool:
        """Ask all constraints; one refusal takes back what the others admitted."""
        for position, one in enumerate(self._tallies[claim]):
            if one.admit(request, device):
                continue
            _dismiss(self._tallies[claim][:position], request)
            if request.mode == "All":
                raise AllocationError(
                    f"claim {self._claims[claim]}, request {request.full_name}: cannot add"
                    f" device {device.id}: {one.constraint} would not hold"
                )
            return False
        return True

    def _in_use(self, claim: int, request: Request, device: Device) -> bool:
        taken = self._taken.get(device.id)
        if request.admin_access:
            return bool(taken) and claim in (taken or ())
        return bool(taken) or device.id in self._holders


def _dismiss(tallies: Sequence[Tally], request: Request) -> None:
    for one in reversed(tallies):
        one.dismiss(request)
