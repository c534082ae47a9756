"""The parts of a served driver, chosen and put together. Nothing runs yet.

`build` chooses the real edges, and everything around them. `wire` puts the stages together that
work on claims and sandboxes: what attaches, then what prepares claims, then what the runtime calls,
then what collects. A driver that attaches nothing has the second and the last. Tests wire the same
stages with edges of their own.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from netclaim.chained import PlanFiles
from netclaim.cri import CriClient
from netclaim.framework.attach.adopt import Adopter
from netclaim.framework.attach.attacher import Attacher
from netclaim.framework.attach.cni_calls import ChainedCalls
from netclaim.framework.attach.detacher import Detacher
from netclaim.framework.attach.followers import (
    AttachReports,
    ContainerFacts,
    Followers,
    SandboxMarks,
)
from netclaim.framework.attach.hold_hook import Hold
from netclaim.framework.attach.hook_budget import HookTime
from netclaim.framework.attach.marks import FileMarks
from netclaim.framework.attach.nri_hooks import RuntimeHooks
from netclaim.framework.attach.reconcile import Reconciler
from netclaim.framework.attach.repair import Repairer, SandboxRuntime
from netclaim.framework.attach.sandbox import HasNetns, Sandboxes, has_netns
from netclaim.framework.collect.collector import Collector, Files
from netclaim.framework.collect.living import LivingLook, SandboxFiles, SandboxList
from netclaim.framework.collect.retire import Retirement, holdings
from netclaim.framework.contract import Driver, NetworkDriver, Offer
from netclaim.framework.discover.follow import device_healths
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.pod_plans import (
    Claims,
    PodPlans,
    Pods,
    ReleasedLately,
    RememberedPods,
)
from netclaim.framework.kube_api import (
    PREFLIGHT,
    Api,
    KubeClaims,
    KubeNamespaces,
    KubePods,
    KubeSlices,
    KubeStatuses,
    follow_binding,
)
from netclaim.framework.prepare.cdi import CdiDirectory
from netclaim.framework.prepare.claim_source import ClaimSource, Labels
from netclaim.framework.prepare.kubelet_calls import ClaimAnswers
from netclaim.framework.prepare.kubelet_checkpoint import KubeletState
from netclaim.framework.prepare.limits import Limits
from netclaim.framework.prepare.metadata import MetadataFiles
from netclaim.framework.prepare.preparer import Admission, ContainerFiles, PlanMarks, Preparer
from netclaim.framework.process.node_places import NodePlaces
from netclaim.framework.publish.preflight import Preflight
from netclaim.framework.publish.publisher import Publisher
from netclaim.framework.publish.slices import Pool
from netclaim.framework.report.reporter import Reporter
from netclaim.framework.settings.fields import Settings
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.tools.clock import Clock
from netclaim.kubelet import HealthBoard
from netclaim.model.devices.device import Device
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef


class ClaimFiles(ContainerFiles, Files, Protocol):
    """The files by which containers get what the plans say."""


class Marks(SandboxMarks, PlanMarks, SandboxFiles, Protocol):
    """The marks on the disk that are read while the driver is away."""


class NodeRuntime(SandboxRuntime, SandboxList, Protocol):
    """The container runtime, for what the driver asks of it."""


class KubeletRecord(Protocol):
    """Kubelet's own record of the node's claims; None if it cannot be read."""

    def users(self) -> Mapping[str, Collection[str]] | None: ...
    def claims_of(self, driver: str) -> Collection[ClaimRef] | None: ...


@dataclass(frozen=True, slots=True)
class NodeEdges:
    """What the stages reach on the node: kubelet, the runtime, and files for containers."""

    kubelet: KubeletRecord
    runtime: NodeRuntime
    files: ClaimFiles
    facts: ContainerFacts
    marks: Marks
    hold: Hold
    has_netns: HasNetns
    hooked: Callable[[], Awaitable[None]]  # waits until the runtime would call us for a pod


@dataclass(frozen=True, slots=True)
class ApiEdges:
    """What the stages ask of the API server, and what they have written there."""

    claims: Claims
    pods: Pods
    labels: Labels  # of namespaces
    reports: AttachReports


@dataclass(frozen=True, slots=True)
class Ground:
    """What all stages of one driver are built on: what they share, and what they reach outside."""

    node: NodeEdges
    api: ApiEdges
    journal: Journal
    released: ReleasedLately
    limits: Limits
    retirement: Retirement
    metrics: Metrics
    clock: Clock
    instance: str = ""  # this process, among those of the driver


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


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts whose tasks make up the running driver."""

    publisher: Publisher
    preflight: Preflight
    reporter: Reporter
    answers: ClaimAnswers
    collector: Collector
    network: Network | None
    runtime: CriClient
    offer: Callable[[Offer], None]  # passes discovered devices on to all who want to know


def build(
    driver: Driver,
    settings: Settings,
    *,
    journal: Journal,
    api: Api,
    node_uid: str,
    metrics: Metrics,
    healths: HealthBoard,
    hooked: Callable[[], Awaitable[None]],
    retirement: Retirement,
    clock: Clock,
) -> Parts:
    """Put the parts together. `hooked` waits until the runtime would call us for a pod."""
    node = settings.node_name
    places = NodePlaces.of(settings, driver.name)
    pool = Pool(driver=driver.name, node=node, node_uid=node_uid)
    metadata = MetadataFiles(places.metadata, driver.name, journal, wanted=driver.device_metadata)
    released = ReleasedLately(clock)
    marks = FileMarks(PlanFiles(places.plans), released)
    hold = Hold(
        places.program, places.socket, marks.attached_dir, limit_s=settings.attach_timeout_s
    )
    # Where the runtime does not ask before it makes a sandbox, a driver that is away between
    # prepare and that moment is made up for by a hook in the containers that name the claim.
    is_held = isinstance(driver, NetworkDriver) and settings.runtime_hook == "nri"
    claim_hook = hold.claim_hook() if is_held else None
    runtime = CriClient(settings.runtime_sockets)
    labels = KubeNamespaces(api, clock).labels
    reporter = Reporter(
        journal,
        KubeStatuses(api, driver.name, node),
        clock,
        metrics,
        subject="NetworkInterface" if isinstance(driver, NetworkDriver) else "Device",
    )
    ground = Ground(
        NodeEdges(
            kubelet=KubeletState(places.kubelet_state),
            runtime=runtime,
            files=CdiDirectory(settings.cdi_dir, driver.name, metadata, claim_hook),
            facts=metadata,
            marks=marks,
            hold=hold,
            has_netns=has_netns,
            hooked=hooked,
        ),
        ApiEdges(claims=KubeClaims(api), pods=KubePods(api), labels=labels, reports=reporter),
        journal=journal,
        released=released,
        limits=Limits(),
        retirement=retirement,
        metrics=metrics,
        clock=clock,
        instance=settings.instance,
    )
    stages = wire(driver, ground)
    publisher = Publisher(
        pool,
        KubeSlices(api, driver.name, node),
        clock,
        metrics,
        learn_dropped=driver.learn_dropped,
    )
    preflight = Preflight(
        driver,
        pool,
        follow=partial(follow_binding, api),
        labels=labels,
        write=KubeStatuses(api, driver.name, node, what=PREFLIGHT).apply,
        publish=publisher.offer,
        warn=reporter.refuse,
        metrics=metrics,
        clock=clock,
    )

    def offer(offered: Offer) -> None:
        preflight.offer(offered)
        devices = [each for each in offered if isinstance(each, Device)]
        metadata.note_offered(devices)
        if stages.network is not None:
            stages.network.sandboxes.note_offered(
                {device.name: device.making for device in devices}
            )
        reporter.note_taints(devices)
        metrics.note_taints(taint.effect for each in devices for taint in each.taints)
        healths.post(device_healths(node, devices, journal.bookings.values()))

    return Parts(
        publisher=publisher,
        preflight=preflight,
        reporter=reporter,
        answers=ClaimAnswers(stages.preparer, clock, metrics, budget_s=settings.prepare_budget_s),
        collector=stages.collector,
        network=stages.network,
        runtime=runtime,
        offer=offer,
    )


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
