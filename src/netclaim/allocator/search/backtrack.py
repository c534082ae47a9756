"""The search for devices: one after the other, with a way back, until the first solution.

Promise: it finds what kube-scheduler finds, in the same order: claims, requests and alternatives as
written, devices as pools offer them; within a request it tries combinations, not permutations. An
error stops it where it would stop the scheduler. `_take` takes what a device costs, its capacity
and the counters of its pool, and `_release` gives it back, the last device first.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from netclaim.allocator.errors import AllocationError
from netclaim.allocator.objects.claim import Claim, Request
from netclaim.allocator.objects.device import Device
from netclaim.allocator.search.constraint import Tally, tally
from netclaim.allocator.search.counters import Tab
from netclaim.allocator.search.holders import Holders
from netclaim.allocator.search.match import Candidates
from netclaim.allocator.search.need import Need, Needs
from netclaim.model.api.dra.ids import DeviceId, PoolId
from netclaim.model.api.limits import RESULTS_MAX
from netclaim.model.quantity import Quantity


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
    consumed: Mapping[str, Quantity] = {}


class Found(NamedTuple):
    """What a claim gets: its devices, and for each request the alternative that was chosen."""

    picks: tuple[Pick, ...]
    chosen: tuple[int, ...]


class _TooManyResults(Exception):  # noqa: N818 - a way back, not an error
    """A claim would get more devices than the API allows."""


class Search:
    """A search on one node for claims, whose wants are listed by request and alternative."""

    def __init__(
        self,
        claims: Sequence[Claim],
        wants: Sequence[Sequence[Sequence[Want]]],
        holders: Holders,
        needs: Needs,
        open_tab: Callable[[PoolId], Tab],
    ) -> None:
        self._claims = claims
        self._wants = wants
        self._holders = holders
        self._needs = needs
        self._open_tab = open_tab
        self._picks: list[list[Pick]] = [[] for _ in claims]
        self._chosen: list[list[int]] = [[] for _ in claims]
        self._tallies = [[tally(one) for one in claim.constraints] for claim in claims]
        self._taken: dict[DeviceId, list[int]] = {}  # by which of the claims
        self._shares: dict[DeviceId, list[Need]] = {}  # of devices that are shared
        self._tabs: dict[PoolId, Tab] = {}  # of pools with counters

    def run(self) -> tuple[Found, ...] | None:
        """Return what each claim gets; None if not all can be served.

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
        """Pick a candidate, unless it is in use, used up, tainted or against a constraint."""
        alternative = self._chosen[claim][group]
        request, candidates = self._wants[claim][group][alternative]
        device, fault = candidates[place]
        if self._in_use(claim, request, device):
            return False
        if fault is not None:
            raise fault.with_traceback(None)  # it is raised again for the next claim
        need = self._needs.of(request, device)
        # Before all devices are taken, the scheduler asks the constraints, which may fail the pod.
        everything = request.mode == "All"
        if (not everything and not self._room(device, need)) or not self._count(device):
            return False
        if all(map(request.tolerates, device.taints)) and self._admit(claim, request, device):
            if not everything or self._room(device, need):
                self._record(claim, Pick(group, alternative, device, need.consumed), need)
                return True
            _dismiss(self._tallies[claim], request)
        self._uncount(device)
        return False

    def _record(self, claim: int, pick: Pick, need: Need) -> None:
        device = pick.device
        if device.shareable:
            self._shares.setdefault(device.id, []).append(need)
        else:
            self._taken.setdefault(device.id, []).append(claim)
        self._picks[claim].append(pick)

    def _release(self, claim: int, request: Request) -> None:
        device = self._picks[claim].pop().device
        if device.shareable:
            self._shares[device.id].pop()
        else:
            self._taken[device.id].pop()
        _dismiss(self._tallies[claim], request)
        self._uncount(device)

    def _room(self, device: Device, need: Need) -> bool:
        shares = self._shares.get(device.id, ())
        return need.fits(device, self._holders.consumed(device.id), shares)

    def _count(self, device: Device) -> bool:
        """Take a device's counters from its pool's, if there are enough."""
        if not self._costs_counters(device):
            return True
        pool = device.id.in_pool
        if pool not in self._tabs:
            self._tabs[pool] = self._open_tab(pool)
        return self._tabs[pool].take(device)

    def _uncount(self, device: Device) -> None:
        if self._costs_counters(device):
            self._tabs[device.id.in_pool].give_back(device)

    def _costs_counters(self, device: Device) -> bool:
        """Whether a device's counters are to be taken; a further share takes none."""
        if not device.consumes:
            return False
        again = self._shares.get(device.id) or self._holders.shared(device.id)
        return not (device.shareable and again)

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
