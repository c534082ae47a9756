"""Allocation: where the claims of a pod can get their devices, and which.

Promise: it finds the same nodes and devices as kube-scheduler; `search.backtrack` says how. What
would fail the pod is an AllocationError. One allocator serves one pod after the other; what a pod
takes is noted with `holders.hold`. An answer is kept with its question until a pool of that node
changes, so that a thousand claims of one template cost hardly more than one. Limit: it does not
weigh nodes; among those that can serve a pod, the caller chooses.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from netclaim.allocator.errors import AllocationError
from netclaim.allocator.objects.claim import Claim, Constraint, Request
from netclaim.allocator.objects.device import Slice
from netclaim.allocator.objects.node import Node
from netclaim.allocator.result import Allocation, allocation_of
from netclaim.allocator.search.backtrack import Found, Search, Want
from netclaim.allocator.search.counters import Counters, Tab, free_counters
from netclaim.allocator.search.holders import Holders
from netclaim.allocator.search.match import (
    Candidate,
    Candidates,
    Matcher,
    OwnedSelector,
    selectors_of,
)
from netclaim.allocator.search.need import Needs
from netclaim.allocator.search.pool import Pool, Pools
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.api.dra.ids import PoolId
from netclaim.model.api.limits import RESULTS_MAX

QUESTIONS_MAX: Final = 256  # far more than the templates in use at a time; then begin anew

Groups: TypeAlias = tuple[tuple[Request, ...], ...]
Key: TypeAlias = tuple[tuple[Groups, tuple[Constraint, ...]], ...]  # what claims ask for


class Placement(NamedTuple):
    """A node that can serve the claims, and the devices that they get there."""

    node: Node
    claims: tuple[Claim, ...]
    found: tuple[Found, ...]
    classes: Mapping[str, DeviceClass]
    new_share_id: Callable[[], str]

    def allocations(self) -> tuple[Allocation, ...]:
        """Write the allocations down; each call makes new ids for shares."""
        return tuple(
            allocation_of(claim, found, self.node, self.classes, self.new_share_id)
            for claim, found in zip(self.claims, self.found, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """The nodes on which a pod can have its claims, and those on which the attempt failed.

    The scheduler fails a pod when any node failed, even if another one could serve it.
    """

    placements: Mapping[str, Placement]
    failures: Mapping[str, AllocationError]

    @property
    def schedulable(self) -> bool:
        """Whether the scheduler would choose one of the placements."""
        return bool(self.placements) and not self.failures


@dataclass(frozen=True, slots=True)
class _Question:
    """What claims ask for, with selectors; and the answers, with the count of changes to pools."""

    asks: tuple[tuple[tuple[tuple[Request, tuple[OwnedSelector, ...]], ...], ...], ...]
    answers: dict[Node, tuple[int, tuple[Found, ...] | None]] = field(default_factory=dict)


class Allocator:
    """Allocates from one set of slices and classes."""

    def __init__(
        self,
        slices: Iterable[Slice],
        classes: Iterable[DeviceClass],
        holders: Holders,
        *,
        new_share_id: Callable[[], str] = lambda: str(uuid.uuid4()),
        fractional: bool = False,
    ) -> None:
        """`fractional` is the feature DRAFractionalCapacityRange."""
        self.holders = holders
        self.matcher = Matcher(Pools(slices))
        self._classes = {one.name: one for one in classes}
        self._new_share_id = new_share_id
        self._questions: dict[Key, _Question] = {}
        self._pools: dict[Node, tuple[PoolId, ...]] = {}
        self.needs = Needs(fractional=fractional)
        self._free: dict[Pool, tuple[int, Counters]] = {}

    def allocate(self, claims: Sequence[Claim], node: Node) -> tuple[Allocation, ...] | None:
        """Return an allocation for each claim that has none yet; None if the node has too little.

        Nothing is taken by asking.
        """
        decision = self.decide(claims, [node])
        for failure in decision.failures.values():
            raise failure
        placement = decision.placements.get(node.name)
        return placement.allocations() if placement is not None else None

    def decide(
        self, claims: Sequence[Claim], nodes: Iterable[Node], *, enough: int | None = None
    ) -> Decision:
        """Try one node after the other, all of them or until `enough` have been found."""
        allocated = [claim for claim in claims if claim.allocation is not None]
        missing = tuple(claim for claim in claims if claim.allocation is None)
        question = self._question(missing)
        placements: dict[str, Placement] = {}
        failures: dict[str, AllocationError] = {}
        for node in nodes:
            if enough is not None and len(placements) >= enough:
                break
            if allocated and not all(claim.available_on(node) for claim in allocated):
                continue
            try:
                found = self._answer(missing, question, node)
            except AllocationError as error:
                failures[node.name] = error
                continue
            if found is not None:
                placements[node.name] = Placement(
                    node, missing, found, self._classes, self._new_share_id
                )
        return Decision(placements, failures)

    def class_of(self, request: Request) -> DeviceClass:
        found = self._classes.get(request.class_name)
        if found is None:
            raise AllocationError(
                f"request {request.full_name}: device class {request.class_name} does not exist"
            )
        return found

    def free_counters(self, pool: Pool) -> Counters:
        """Return what is left of a pool's counters beside what claims have."""
        changes = self.holders.changes((pool.id,))
        known = self._free.get(pool)
        if known is None or known[0] != changes:
            left = free_counters(pool.counters, pool.consumers, self.holders)
            known = self._free[pool] = (changes, left)
        return known[1]

    def _question(self, claims: tuple[Claim, ...]) -> _Question:
        key = tuple((claim.requests, claim.constraints) for claim in claims)
        known = self._questions.get(key)
        if known is None:
            if len(self._questions) >= QUESTIONS_MAX:
                self._questions.clear()
            asks = tuple(
                tuple(tuple(self._ask(one) for one in group) for group in claim.requests)
                for claim in claims
            )
            known = self._questions[key] = _Question(asks)
        return known

    def _ask(self, request: Request) -> tuple[Request, tuple[OwnedSelector, ...]]:
        return request, selectors_of(self.class_of(request), request)

    def _answer(
        self, claims: tuple[Claim, ...], question: _Question, node: Node
    ) -> tuple[Found, ...] | None:
        pools = self._pools.get(node)
        if pools is None:
            pools = self._pools[node] = tuple(pool.id for pool in self.matcher.pools(node))
        changes = self.holders.changes(pools)
        known = question.answers.get(node)
        if known is not None and known[0] == changes:
            return known[1]
        wants = [
            [[self._want(request, own, node) for request, own in group] for group in groups]
            for groups in question.asks
        ]
        for claim, groups in zip(claims, wants, strict=True):
            _check_size(claim, groups)
        found = Search(claims, wants, self.holders, self.needs, self._tabs(node)).run()
        question.answers[node] = (changes, found)
        return found

    def _want(self, request: Request, selectors: tuple[OwnedSelector, ...], node: Node) -> Want:
        candidates = self.matcher.candidates(selectors, node)
        if request.mode == "All":
            for pool in self.matcher.pools(node):
                if not pool.usable:
                    raise AllocationError(
                        f"request {request.full_name} asks for all devices, but pool {pool.id}"
                        f" cannot be used: {pool.incomplete or pool.invalid}"
                    )
            candidates = tuple(self._unless_too_small(request, candidates))
        return Want(request, candidates)

    def _unless_too_small(self, request: Request, candidates: Candidates) -> Iterator[Candidate]:
        """Yield what "all" means: the devices that could serve the request if nobody had them."""
        for candidate in candidates:
            if candidate.fault is not None:
                raise candidate.fault.with_traceback(None)
            if self.needs.of(request, candidate.device).too_small is None:
                yield candidate

    def _tabs(self, node: Node) -> Callable[[PoolId], Tab]:
        pools = {pool.id: pool for pool in self.matcher.pools(node)}
        return lambda pool: Tab(self.free_counters(pools[pool]))


def _check_size(claim: Claim, groups: Sequence[Sequence[Want]]) -> None:
    least = sum(min(want.number for want in group) for group in groups)
    if least > RESULTS_MAX:
        raise AllocationError(
            f"claim {claim}: number of requested devices {least} exceeds the claim limit of"
            f" {RESULTS_MAX}"
        )
