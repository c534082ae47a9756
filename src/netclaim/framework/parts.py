"""The parts of a served driver, chosen and put together. Nothing runs yet.

Each part is made from parts above it: what attaches, then what prepares claims, then what the
runtime calls, then what collects. A driver that attaches nothing has the second and the last.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from netclaim.chained import PlanFiles
from netclaim.cri import CriClient
from netclaim.framework.adopt import Adopter
from netclaim.framework.answer import ClaimAnswers
from netclaim.framework.attach import Attacher
from netclaim.framework.attaching import Attaching
from netclaim.framework.cdi import CdiDirectory
from netclaim.framework.chained_calls import ChainedCalls
from netclaim.framework.clock import Clock
from netclaim.framework.collect import Collector
from netclaim.framework.contract import Driver, NetworkDriver
from netclaim.framework.detach import Detacher
from netclaim.framework.discover import device_healths
from netclaim.framework.fairness import HookTime
from netclaim.framework.hold import Hold
from netclaim.framework.hooks import RuntimeHooks
from netclaim.framework.journal import Journal
from netclaim.framework.kube_api import (
    PREFLIGHT,
    ApiSource,
    KubeAllocations,
    KubeClaims,
    KubeNamespaces,
    KubePods,
    KubeSlices,
    KubeStatuses,
)
from netclaim.framework.kubelet_state import KubeletState
from netclaim.framework.limits import Limits
from netclaim.framework.living import LivingLook, NodeState
from netclaim.framework.marks import ContainerFacts, NoMarks
from netclaim.framework.metadata import MetadataFiles
from netclaim.framework.metrics import Metrics
from netclaim.framework.netns import has_netns
from netclaim.framework.plan_marks import FileMarks
from netclaim.framework.pod_plans import PodPlans, ReleasedLately
from netclaim.framework.preflight import Preflight
from netclaim.framework.prepare import Preparer
from netclaim.framework.publish import Publisher
from netclaim.framework.repair import Repairer
from netclaim.framework.report import Reporter
from netclaim.framework.retire import Retirement
from netclaim.framework.runtime_places import RuntimePlaces
from netclaim.framework.settings import Settings
from netclaim.framework.slices import Pool
from netclaim.kubelet import HealthBoard
from netclaim.model.counter import CounterSet
from netclaim.model.device import Device
from netclaim.model.pod import PodSandbox

__all__ = ["Network", "NoAttachments", "Parts", "build"]


class NoAttachments:
    """The Attachments of a driver that attaches nothing: what is prepared is in containers."""

    def users(self, claim_uid: str) -> tuple[PodSandbox, ...]:  # noqa: ARG002 (nobody ever)
        """Nobody."""
        return ()

    async def release_claim(self, claim_uid: str) -> None:
        """Nothing to detach."""


@dataclass(frozen=True, slots=True)
class Network:
    """What runs for a network driver beyond others."""

    attaching: Attaching
    repairer: Repairer
    hooks: RuntimeHooks
    calls: ChainedCalls
    runtime: CriClient


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that runs, and what it shares."""

    journal: Journal
    pool: Pool
    metrics: Metrics
    publisher: Publisher
    preflight: Preflight
    reporter: Reporter
    answers: ClaimAnswers
    healths: HealthBoard
    collector: Collector
    metadata: MetadataFiles
    network: Network | None

    def offer(self, offered: tuple[Device | CounterSet, ...]) -> None:
        """Pass discovered devices on to everybody who tells others about them."""
        self.preflight.offer(offered)
        devices = [each for each in offered if isinstance(each, Device)]
        self.metadata.note_offered(devices)
        if self.network is not None:
            self.network.repairer.note_offered(device.name for device in devices)
        self.reporter.note_taints(devices)
        self.metrics.note_taints(taint.effect for each in devices for taint in each.taints)
        bookings = self.journal.bookings.values()
        self.healths.post(device_healths(self.pool.node, devices, bookings))


@dataclass(frozen=True, slots=True)
class _Ground:
    """What all stages of one driver are built on."""

    driver: Driver
    settings: Settings
    journal: Journal
    claims: KubeClaims
    pods: KubePods
    reporter: Reporter
    released: ReleasedLately
    retirement: Retirement
    limits: Limits
    metrics: Metrics
    clock: Clock


@dataclass(frozen=True, slots=True)
class _Attached:
    """What attaches and detaches, and what it leaves on the disk for when the driver is away."""

    attacher: Attacher
    marks: FileMarks
    hook_time: HookTime
    hold: Hold
    kubelet: KubeletState


def build(
    driver: Driver,
    settings: Settings,
    *,
    journal: Journal,
    api: ApiSource,
    node_uid: str,
    metrics: Metrics,
    healths: HealthBoard,
    hooked: Callable[[], Awaitable[None]],
    retirement: Retirement,
    clock: Clock,
) -> Parts:
    """Put the parts together. `hooked` waits until the runtime would tell us of a pod."""
    node = settings.node_name
    pool = Pool(driver=driver.name, node=node, node_uid=node_uid)
    reporter = Reporter(
        journal,
        KubeStatuses(api, driver.name, node),
        clock,
        metrics,
        subject="NetworkInterface" if isinstance(driver, NetworkDriver) else "Device",
    )
    ground = _Ground(
        driver,
        settings,
        journal,
        claims=KubeClaims(api),
        pods=KubePods(api),
        reporter=reporter,
        released=ReleasedLately(clock),
        retirement=retirement,
        limits=Limits(),
        metrics=metrics,
        clock=clock,
    )
    about = RuntimePlaces.of(settings, driver.name).metadata
    metadata = MetadataFiles(about, driver.name, journal, wanted=driver.device_metadata)
    attached = _attached(driver, ground, metadata) if isinstance(driver, NetworkDriver) else None
    files = CdiDirectory(
        settings.cdi_dir,
        driver.name,
        metadata,
        # Where the runtime does not ask before it makes a sandbox, a driver that is away between
        # prepare and that moment is made up for here.
        attached.hold.claim_hook() if attached and settings.runtime_hook == "nri" else None,
    )
    preparer = Preparer(
        driver,
        journal,
        ground.claims,
        KubeNamespaces(api, clock),
        hooked=hooked if attached else _at_once,
        attachments=attached.attacher if attached else NoAttachments(),
        files=files,
        reports=reporter,
        marks=attached.marks if attached else NoMarks(),
        released=ground.released,
        metrics=metrics,
        limits=ground.limits,
        refusal=retirement.refusal,
    )
    preparer.count()
    if attached is None:
        network = None
        collector = Collector(
            driver,
            journal,
            look=None,
            bookings=preparer,
            files=files,
            metrics=metrics,
            clock=clock,
        )
    else:
        network, collector = _network(ground, attached, preparer, files)
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
        KubeAllocations(api),
        KubeNamespaces(api, clock),
        KubeStatuses(api, driver.name, node, what=PREFLIGHT),
        publish=publisher.offer,
        tell=reporter.refuse,
        metrics=metrics,
        clock=clock,
    )
    return Parts(
        journal=journal,
        pool=pool,
        metrics=metrics,
        publisher=publisher,
        preflight=preflight,
        reporter=reporter,
        answers=ClaimAnswers(preparer, clock, metrics, budget_s=settings.prepare_budget_s),
        healths=healths,
        collector=collector,
        metadata=metadata,
        network=network,
    )


def _attached(driver: NetworkDriver, ground: _Ground, facts: ContainerFacts) -> _Attached:
    journal, settings = ground.journal, ground.settings
    places = RuntimePlaces.of(settings, driver.name)
    marks = FileMarks(PlanFiles(places.plans), ground.released)
    kubelet = KubeletState(places.kubelet_state)
    hook_time = HookTime(ground.clock)
    detacher = Detacher(
        driver,
        journal,
        reports=ground.reporter,
        marks=marks,
        facts=facts,
        metrics=ground.metrics,
        clock=ground.clock,
        has_netns=has_netns,
    )
    attacher = Attacher(
        driver,
        journal,
        PodPlans(journal, ground.claims, ground.pods, kubelet),
        detacher,
        reports=ground.reporter,
        marks=marks,
        facts=facts,
        metrics=ground.metrics,
        hook_time=hook_time,
        limits=ground.limits,
        has_netns=has_netns,
    )
    hold = Hold(
        places.program, places.socket, marks.attached_dir, limit_s=settings.attach_timeout_s
    )
    marks.begin(journal, attacher.is_complete)
    attacher.count()
    return _Attached(attacher, marks, hook_time, hold, kubelet)


def _network(
    ground: _Ground, attached: _Attached, preparer: Preparer, files: CdiDirectory
) -> tuple[Network, Collector]:
    """What the runtime calls, and what looks after what it did not call for."""
    driver, journal, clock = ground.driver, ground.journal, ground.clock
    attacher, hook_time = attached.attacher, attached.hook_time
    adopter = Adopter(
        driver.name,
        journal,
        attacher,
        ground.claims,
        ground.pods,
        planner=preparer,
        released=ground.released,
        hook_time=hook_time,
    )
    runtime = CriClient(ground.settings.runtime_sockets)
    repairer = Repairer(
        attacher,
        adopter,
        journal,
        clock,
        has_netns=has_netns,
        sandboxes=runtime,
        claims=preparer,
        marks=attached.marks,
        on_record=partial(attached.kubelet.claims_of, driver.name),
    )
    attaching = Attaching(
        attacher,
        adopter,
        repairer,
        hook_time=hook_time,
        clock=clock,
        limit_s=ground.settings.attach_timeout_s,
    )
    hooks = RuntimeHooks(
        attacher,
        adopter,
        attaching,
        repairer,
        hold=attached.hold,
        hook_time=hook_time,
        metrics=ground.metrics,
        clock=clock,
    )
    state = NodeState(
        runtime=runtime,
        marks=attached.marks,
        busy=attaching.busy,
        has_netns=has_netns,
        release=repairer.note_gone,
    )
    look = LivingLook(journal, state, ground.claims, ground.pods, clock)
    collector = Collector(
        driver,
        journal,
        look=look,
        bookings=preparer,
        files=files,
        metrics=ground.metrics,
        clock=clock,
    )
    calls = ChainedCalls(
        attacher,
        adopter,
        attaching,
        repairer,
        hooks=hooks,
        journal=journal,
        collector=collector,
        retirement=ground.retirement,
        instance=ground.settings.instance,
        metrics=ground.metrics,
        has_netns=has_netns,
    )
    return Network(attaching, repairer, hooks, calls, runtime), collector


async def _at_once() -> None:
    """Nothing to wait for: containers get their devices from the runtime itself."""
