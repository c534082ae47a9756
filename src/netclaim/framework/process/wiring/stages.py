"""The stages that work on claims and sandboxes, put together. Nothing runs yet.

First what attaches, then what prepares claims, then what the runtime calls, then what collects. A
driver that attaches nothing has the second and the last.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from netclaim.framework.attach.adopt import Adopter
from netclaim.framework.attach.attacher import Attacher
from netclaim.framework.attach.cni_calls import ChainedCalls
from netclaim.framework.attach.detacher import Detacher
from netclaim.framework.attach.followers import Followers
from netclaim.framework.attach.hook_budget import HookTime
from netclaim.framework.attach.nri_hooks import RuntimeHooks
from netclaim.framework.attach.reconcile import Reconciler
from netclaim.framework.attach.repair import Repairer
from netclaim.framework.attach.sandbox import Sandboxes
from netclaim.framework.collect.collector import Collector
from netclaim.framework.collect.living import LivingLook
from netclaim.framework.collect.retire import holdings
from netclaim.framework.contract import Driver, NetworkDriver
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.pod_plans import PodPlans, RememberedPods
from netclaim.framework.prepare.claim_source import ClaimSource
from netclaim.framework.prepare.preparer import Admission, PlanMarks, Preparer
from netclaim.framework.process.wiring.edges import Ground
from netclaim.model.on_node.pod import PodSandbox


@dataclass(frozen=True, slots=True)
class Network:
    """What a network driver has beyond others."""

    attacher: Attacher
    sandboxes: Sandboxes
    reconciler: Reconciler
    repairer: Repairer
    hooks: RuntimeHooks
    calls: ChainedCalls
    hook_time: HookTime


@dataclass(frozen=True, slots=True)
class Stages:
    """What works on claims and sandboxes."""

    preparer: Preparer
    collector: Collector
    network: Network | None


def wire(driver: Driver, ground: Ground) -> Stages:
    """Put together what works on claims and sandboxes."""
    if isinstance(driver, NetworkDriver):
        return _wire_network(driver, ground)
    preparer = _preparer(driver, ground, NoAttachments(), NoMarks(), _at_once)
    return Stages(preparer, _collector(driver, ground, preparer, None), None)


def _wire_network(driver: NetworkDriver, ground: Ground) -> Stages:
    node, api = ground.node, ground.api
    journal, clock = ground.journal, ground.clock
    hook_time = HookTime(clock)
    pods = RememberedPods(api.pods)
    plans = PodPlans(journal, api.claims, pods, node.kubelet.users)
    followers = Followers(journal, api.reports, node.marks, node.facts, ground.metrics)
    attacher = Attacher(
        driver,
        journal,
        plans,
        Detacher(driver, journal, followers, clock=clock, has_netns=node.has_netns),
        followers,
        hook_time=hook_time,
        check_devices=ground.limits.check_pod,
        has_netns=node.has_netns,
    )
    attacher.rewrite_marks()
    followers.count()
    preparer = _preparer(driver, ground, attacher, node.marks, node.hooked)
    adopter = Adopter(
        driver.name,
        journal,
        attacher,
        preparer,
        claims=api.claims,
        pods=pods,
        released=ground.released,
        on_record=partial(node.kubelet.claims_of, driver.name),
        hook_time=hook_time,
    )
    sandboxes = Sandboxes(journal, node.has_netns)
    driver.learn_doubts(sandboxes.note_doubtful)
    reconciler = Reconciler(
        sandboxes,
        attacher,
        adopter,
        plans,
        followers,
        hook_time=hook_time,
        clock=clock,
        limit_s=node.hold.limit_s,
    )
    repairer = Repairer(
        sandboxes,
        reconciler,
        attacher,
        adopter,
        journal=journal,
        releases=preparer,
        runtime=node.runtime,
        clock=clock,
    )
    hooks = RuntimeHooks(
        sandboxes,
        reconciler,
        repairer,
        hold=node.hold,
        hook_time=hook_time,
        metrics=ground.metrics,
    )
    look = LivingLook(
        journal,
        runtime=node.runtime,
        marks=node.marks,
        busy=sandboxes.busy,
        has_netns=node.has_netns,
        release=sandboxes.note_gone,
        claims=api.claims,
        pods=api.pods,
        clock=clock,
    )
    collector = _collector(driver, ground, preparer, look)
    calls = ChainedCalls(
        sandboxes,
        reconciler,
        attacher,
        journal=journal,
        metrics=ground.metrics,
        collect=collector.collect_lines,
        retire=partial(_retire, ground),
    )
    network = Network(attacher, sandboxes, reconciler, repairer, hooks, calls, hook_time)
    return Stages(preparer, collector, network)


def _preparer(
    driver: Driver,
    ground: Ground,
    attachments: "Attacher | NoAttachments",
    marks: PlanMarks,
    hooked: Callable[[], Awaitable[None]],
) -> Preparer:
    preparer = Preparer(
        driver,
        ground.journal,
        ClaimSource(driver, ground.api.claims, ground.api.labels),
        Admission(hooked, ground.retirement.refusal),
        attachments=attachments,
        files=ground.node.files,
        reports=ground.api.reports,
        marks=marks,
        released=ground.released,
        metrics=ground.metrics,
        limits=ground.limits,
    )
    preparer.count()
    return preparer


def _collector(
    driver: Driver, ground: Ground, preparer: Preparer, look: LivingLook | None
) -> Collector:
    return Collector(
        driver,
        ground.journal,
        look=look,
        claims=preparer,
        files=ground.node.files,
        metrics=ground.metrics,
        clock=ground.clock,
    )


def _retire(ground: Ground, instance: str) -> tuple[str, ...] | None:
    """Have this process retire; returns what it holds, or None if another process is meant."""
    if instance != ground.instance:
        return None
    held = holdings(ground.journal.bookings.values(), ground.journal.leases.values())
    ground.retirement.begin(held)
    return held


class NoAttachments:
    """Stands in for the attacher of a driver that attaches nothing."""

    def users(self, claim_uid: str) -> tuple[PodSandbox, ...]:  # noqa: ARG002 (nobody ever)
        return ()

    async def release_claim(self, claim_uid: str) -> None:
        """Nothing to detach."""


class NoMarks:
    """Stands in for the marks of a driver that attaches nothing: no pod waits for it."""

    def note_plans(self, journal: Journal) -> None:
        """Nothing to note."""


async def _at_once() -> None:
    """Nothing to wait for: containers get their devices from the runtime itself."""
