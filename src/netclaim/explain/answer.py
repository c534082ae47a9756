"""The answer for each subject: where it fits, what it was given, or why it cannot run.

Subjects are answered one after the other, and pods take what they would get, as on a cluster; a pod
goes to the node with the fewest of them. A claim by itself takes nothing, nor does a template,
which is judged as if nothing else were asked about. Promise: every node and every device is in the
answer, with everything that is wrong with it, the nearest miss first, all from one decision. Limit:
another order of pods can have another outcome.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from netclaim.allocator import (
    AllocationError,
    Allocator,
    Claim,
    Decision,
    Holders,
    Node,
    NodeReport,
    explain,
)
from netclaim.explain.cause import cause, stop
from netclaim.explain.hints import Known
from netclaim.explain.lines import Line, is_worth_saying, lines_of, node_line
from netclaim.explain.subject import Subject
from netclaim.explain.why import Wording, known_values
from netclaim.explain.world import HOSTNAME, World
from netclaim.manifests.objects import ObjectKey
from netclaim.model.api.dra.claim import DeviceResult
from netclaim.model.quantity import Quantity

Outcome: TypeAlias = Literal["fits", "allocated", "cannot be allocated", "does not run"]

PLACES_SHOWN: Final = 3  # nodes in one line


@dataclass(frozen=True, slots=True)
class Answer:
    """What is reported about a subject; `nearest` is the nearest miss, if a device is missing.

    `mistakes` are those that an API server refuses, or the driver once the claim is allocated.
    """

    subject: Subject
    outcome: Outcome
    said: str
    lines: tuple[Line, ...] = ()
    nearest: Line | None = None
    mistakes: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()  # of addresses: what they have left

    @property
    def is_well(self) -> bool:
        """Whether it can run."""
        return self.outcome in ("fits", "allocated") and not self.mistakes

    @property
    def summary(self) -> str:
        return f"{self.subject.title}: {self.said}"


def answer_all(world: World, subjects: Sequence[Subject]) -> tuple[Answer, ...]:
    """Answer for one subject after the other; a template is judged as if it were alone."""
    known = known_values(world.slices)
    run, untouched = _Run.of(world, known), _Run.of(world, known)
    return tuple(
        (untouched if subject.is_template else run).answer(subject) for subject in subjects
    )


@dataclass(frozen=True, slots=True)
class _Run:
    """The state between subjects: what pods have taken so far."""

    world: World
    allocator: Allocator
    wording: Wording  # sees the users as they become more
    claims: dict[ObjectKey, Claim]
    users: dict[ObjectKey, tuple[str, ...]]
    pods: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, world: World, known: Known) -> "_Run":
        users = dict(world.users)
        return cls(
            world,
            Allocator(world.slices, world.classes, Holders(world.claims.values())),
            Wording(users, known),
            dict(world.claims),
            users,
        )

    def answer(self, subject: Subject) -> Answer:
        """Answer for one subject; if it is pods, they take what they get."""
        claims = self._asked(subject, 0)
        if subject.replicas == 0:
            return Answer(subject, "fits", "fits: no pods are requested")
        if claims and not subject.lacks and all(claim.allocation is not None for claim in claims):
            said = "; ".join(map(self._allocated, claims))
            return Answer(subject, "allocated", f"allocated: {said}")
        if subject.bypasses_scheduler and not subject.lacks:
            return Answer(subject, "does not run", f"does not run: {_bypass(subject)}")
        nodes = [p.node for p in self.world.places if not subject.refuses(p)]
        if subject.on_every_node:
            return self._answer_each(subject, nodes)
        reports = self._explain(claims, nodes)
        where: Counter[str] = Counter()
        said = ""
        for number in range(subject.replicas):
            claims = self._asked(subject, number)
            decision = self._decide(claims, nodes)
            if subject.lacks or not decision.schedulable:
                reports = self._explain(claims, nodes) if number else reports
                return self._refusal(subject, nodes, reports, _count(number, subject.replicas))
            where[self._take(subject, claims, decision)] += 1
            said = _devices(decision) if subject.replicas == 1 else _spread(where)
        return self._fit(subject, nodes, reports, said)

    def _answer_each(self, subject: Subject, nodes: Sequence[Node]) -> Answer:
        """Answer for a pod on each of some nodes."""
        reports = self._explain(self._asked(subject, 0), nodes)
        served: Counter[str] = Counter()
        for number, node in enumerate(nodes):
            claims = self._asked(subject, number)
            decision = self._decide(claims, [node])
            if not subject.lacks and decision.schedulable:
                served[self._take(subject, claims, decision)] += 1
        failed = [node for node in nodes if not served[node.name]]
        if served and not failed:
            return self._fit(subject, nodes, reports, _spread(served))
        reports = self._explain(self._asked(subject, len(nodes)), failed)
        count = _count(len(served), len(nodes))
        return self._refusal(subject, failed, reports, count, served=tuple(served))

    def _asked(self, subject: Subject, number: int) -> list[Claim]:
        """Return the claims of one of several pods, each with what it has been given by now."""
        shared = [self.claims[_key(claim)] for claim in subject.claims]
        several = subject.replicas > 1 or subject.on_every_node
        tail = f"-{number}" if several else ""
        return [*shared, *(replace(claim, name=f"{claim.name}{tail}") for claim in subject.made)]

    def _decide(self, claims: Sequence[Claim], nodes: Sequence[Node]) -> Decision:
        try:
            return self.allocator.decide(claims, nodes)
        except AllocationError as error:
            return Decision({}, {"": error})

    def _explain(self, claims: Sequence[Claim], nodes: Sequence[Node]) -> list[NodeReport]:
        return [explain(self.allocator, claims, node) for node in nodes]

    def _take(self, subject: Subject, claims: Sequence[Claim], decision: Decision) -> str:
        """Give a pod its node and its devices, and return the node; only pods take anything."""
        node = min(decision.placements, key=lambda name: self.pods[name])
        if subject.workload is None:
            return node
        self.pods[node] += 1
        for allocation in decision.placements[node].allocations():
            self.allocator.holders.hold(allocation.claim, allocation.result)
            if allocation.claim in claims[: len(subject.claims)]:
                given = replace(allocation.claim, allocation=allocation.result)
                self.claims[_key(given)] = given
        user = f"{subject.key.kind.lower()} {subject.key.name}"
        for key in map(_key, claims):
            self.users[key] = tuple(dict.fromkeys((*self.users.get(key, ()), user)))
        return node

    def _fit(
        self, subject: Subject, nodes: Sequence[Node], reports: Sequence[NodeReport], said: str
    ) -> Answer:
        lines = sorted(self._lines(subject, nodes, reports), key=lambda line: line.distance)
        return Answer(subject, "fits", f"{subject.made_from_it}fits{said}", tuple(lines))

    def _refusal(
        self,
        subject: Subject,
        nodes: Sequence[Node],
        reports: Sequence[NodeReport],
        count: str,
        *,
        served: Sequence[str] = (),
    ) -> Answer:
        """Say why a subject cannot be on these nodes; on the `served` ones it has a pod."""
        found = cause(subject, reports, self.world)
        stopped = stop(subject, reports, self.world)
        lines = self._lines(subject, nodes, reports, stopped)
        lines += [node_line(name, "the pod of this node fits") for name in served]
        lines.sort(key=lambda line: (not line.fails, line.distance))
        missed = (line for line in lines if line.device and line.why and found.shows(line))
        outcome: Outcome = "cannot be allocated"
        return Answer(
            subject,
            outcome,
            f"{subject.made_from_it}{count}{outcome}: {found.said}",
            tuple(lines),
            next(missed, None),
        )

    def _lines(
        self,
        subject: Subject,
        nodes: Sequence[Node],
        reports: Sequence[NodeReport],
        stopped: str = "",
    ) -> list[Line]:
        closed = [(place, subject.refuses(place)) for place in self.world.places]
        lines = [node_line(place.node.name, why) for place, why in closed if why]
        for node, report in zip(nodes, reports, strict=True):
            lines += lines_of(report, node, self.allocator, self.wording, stop=stopped)
        return lines

    def _allocated(self, claim: Claim) -> str:
        results = claim.allocation.devices.results if claim.allocation is not None else ()
        names = ", ".join(map(_result, results)) or "no devices"
        return f"{claim.name} has {names}{self.wording.users_of(claim)}"


def _key(claim: Claim) -> ObjectKey:
    return ObjectKey("ResourceClaim", claim.namespace, claim.name)


def _result(result: DeviceResult) -> str:
    """Say which device a claim has, and how much of it."""
    share = ", ".join(
        f"{name} {amount}"
        for name, amount in result.consumed_capacity.items()
        if is_worth_saying(Quantity.parse(str(amount)))
    )
    return f"{result.pool}/{result.device}{f' ({share})' if share else ''}"


def _bypass(subject: Subject) -> str:
    """Say why kubelet refuses a pod that the scheduler never saw, and what to write instead."""
    name = subject.workload.node_name if subject.workload else ""
    return (
        f"nodeName is set to {name}, so the scheduler never sees the pod and its claims get no"
        f" devices; kubelet refuses the pod. Use nodeSelector ({HOSTNAME}: {name}) or node affinity"
        " instead of nodeName"
    )


def _count(fitting: int, pods: int) -> str:
    return f"{fitting} of {pods} pods fit, one more " if fitting else ""


def _devices(decision: Decision) -> str:
    """Say which devices a subject would get, on which nodes."""
    said = []
    for name, placement in list(decision.placements.items())[:PLACES_SHOWN]:
        picks = [pick.device.id.device for found in placement.found for pick in found.picks]
        said.append(f"{name} ({', '.join(picks)})" if picks else name)
    more = len(decision.placements) - len(said)
    return f" on {', '.join(said)}{f' and {more} more nodes' if more else ''}"


def _spread(where: Counter[str]) -> str:
    counts = (f"{node} ({n} pod{'' if n == 1 else 's'})" for node, n in sorted(where.items()))
    return f" on {', '.join(counts)}"
