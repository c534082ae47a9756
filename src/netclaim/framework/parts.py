"""The parts of a served driver, chosen and put together. Nothing runs yet."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from netclaim.chained import PlanFiles
from netclaim.cri import CriClient
from netclaim.framework.adopt import Adopter
from netclaim.framework.answer import ClaimAnswers
from netclaim.framework.attach import Attacher
from netclaim.framework.attaching import Attaching
from netclaim.framework.cdi import CdiDirectory
from netclaim.framework.chained_calls import ChainedCalls
from netclaim.framework.clock import Clock
from netclaim.framework.collect import Collected, Collector
from netclaim.framework.contract import Driver, NetworkDriver
from netclaim.framework.detach import Detacher
from netclaim.framework.device_health import device_healths
from netclaim.framework.fairness import HookTime
from netclaim.framework.hold import Hold
from netclaim.framework.hooks import RuntimeHooks
from netclaim.framework.journal import Journal
from netclaim.framework.kube_api import (
    ApiSource,
    KubeClaims,
    KubeNamespaces,
    KubePods,
    KubeSlices,
    KubeStatuses,
)
from netclaim.framework.kubelet_state import KubeletState
from netclaim.framework.limits import Limits
from netclaim.framework.living import LivingLook, NodeState
from netclaim.framework.marks import Marks, NoMarks
from netclaim.framework.metrics import Metrics
from netclaim.framework.plan_marks import FileMarks
from netclaim.framework.pod_plans import PodPlans
from netclaim.framework.prepare import Attachments, Preparer
from netclaim.framework.publish import Publisher
from netclaim.framework.released import ReleasedLately
from netclaim.framework.repair import Repairer
from netclaim.framework.report import Reporter
from netclaim.framework.runtime_places import RuntimePlaces
from netclaim.framework.settings import Settings
from netclaim.framework.slices import Pool
from netclaim.kernel.netns import NamespaceRefusedError, is_live
from netclaim.kubelet import HealthBoard
from netclaim.model.device import Device
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef

__all__ = ["ContainersOnly", "Network", "Parts", "build", "is_there"]

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Network:
    """What a network driver has beyond others; also the Attachments of its claims."""

    attacher: Attacher
    attaching: Attaching
    repairer: Repairer
    hooks: RuntimeHooks
    calls: ChainedCalls
    runtime: CriClient
    hooked: Callable[[], Awaitable[None]]

    async def wait_hooked(self) -> None:
        """Return once the runtime tells us of every pod it starts."""
        await self.hooked()

    def users(self, claim_uid: str) -> tuple[PodSandbox, ...]:
        """The running sandboxes that have something of the claim."""
        return self.attacher.users(claim_uid)

    async def release_claim(self, claim_uid: str) -> None:
        """Detach everything of the claim."""
        await self.attacher.release_claim(claim_uid)


class ContainersOnly:
    """The Attachments of a driver that attaches nothing."""

    async def wait_hooked(self) -> None:
        """Nothing to wait for."""

    def users(self, claim_uid: str) -> tuple[PodSandbox, ...]:  # noqa: ARG002 (nobody ever)
        """Nobody: what is prepared is in containers alone."""
        return ()

    async def release_claim(self, claim_uid: str) -> None:
        """Nothing to detach."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that runs, and what it shares."""

    journal: Journal
    pool: Pool
    metrics: Metrics
    publisher: Publisher
    reporter: Reporter
    answers: ClaimAnswers
    healths: HealthBoard
    collector: Collector
    network: Network | None

    def offer(self, devices: tuple[Device, ...]) -> None:
        """Pass discovered devices on to everybody who tells others about them."""
        self.publisher.offer(devices)
        if self.network is not None:
            self.network.repairer.note_offered(device.name for device in devices)
        bookings = self.journal.bookings.values()
        self.healths.post(device_healths(self.pool.node, devices, bookings))


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
    clock: Clock,
) -> Parts:
    """Put the parts together. `hooked` waits until the runtime would tell us of a pod."""
    node = settings.node_name
    pool = Pool(driver=driver.name, node=node, node_uid=node_uid)
    claims = KubeClaims(api)
    reporter = Reporter(
        journal,
        KubeStatuses(api, driver.name, node),
        clock,
        metrics,
        subject="NetworkInterface" if isinstance(driver, NetworkDriver) else "Device",
    )
    released = ReleasedLately(clock)
    limits = Limits()
    marks: Marks = NoMarks()
    pods = KubePods(api)
    network = None
    look = None
    claim_hook = None
    if isinstance(driver, NetworkDriver):
        places = RuntimePlaces.of(settings, driver.name)
        marks = file_marks = FileMarks(PlanFiles(places.plans), released)
        kubelet = KubeletState(places.kubelet_state)
        hook_time = HookTime(clock)
        detacher = Detacher(
            driver,
            journal,
            reports=reporter,
            marks=marks,
            metrics=metrics,
            clock=clock,
            netns_exists=is_there,
        )
        attacher = Attacher(
            driver,
            journal,
            PodPlans(journal, claims, pods, kubelet),
            detacher,
            reports=reporter,
            marks=marks,
            metrics=metrics,
            hook_time=hook_time,
            limits=limits,
        )

        async def plan(ref: ClaimRef) -> None:
            # The preparer is made below: it needs the plugin, which needs the adopter. A journal
            # that is complete would know the claim, had kubelet not released it.
            await preparer.adopt(ref, ending=journal.complete)

        async def settle(ref: ClaimRef) -> None:
            await preparer.settle(ref)

        async def release(ref: ClaimRef) -> None:
            await preparer.release_ended(ref)

        async def collect(dry_run: bool) -> Collected:
            return await collector.collect(dry_run=dry_run)

        async def complete() -> None:
            # Claims of pods that have no sandbox yet, or not any more, are not found by what runs.
            await preparer.recall(kubelet.claims_of(driver.name))
            await journal.mark_complete()
            file_marks.begin(journal, attacher.is_complete)

        adopter = Adopter(
            driver.name,
            journal,
            attacher,
            claims,
            pods,
            released=released,
            hook_time=hook_time,
            plan=plan,
            settle=settle,
        )
        runtime = CriClient(settings.runtime_sockets)
        repairer = Repairer(
            attacher,
            adopter,
            journal,
            clock,
            netns_exists=is_there,
            sandboxes=runtime,
            release=release,
            complete=complete,
        )
        attaching = Attaching(
            attacher,
            adopter,
            repairer,
            hook_time=hook_time,
            clock=clock,
            limit_s=settings.attach_timeout_s,
        )
        hold = Hold(
            places.program,
            places.socket,
            file_marks.attached_dir,
            limit_s=settings.attach_timeout_s,
        )
        # Where the runtime does not ask before it makes a sandbox, a driver that is away between
        # prepare and that moment is made up for here.
        claim_hook = hold.claim_hook() if settings.runtime_hook == "nri" else None
        hooks = RuntimeHooks(
            attacher,
            adopter,
            attaching,
            repairer,
            hold=hold,
            hook_time=hook_time,
            clock=clock,
        )
        calls = ChainedCalls(
            attacher,
            adopter,
            attaching,
            repairer,
            hooks=hooks,
            journal=journal,
            collect=collect,
        )
        state = NodeState(
            runtime=runtime,
            marks=file_marks,
            busy=attaching.busy,
            netns_exists=is_there,
            release=repairer.note_gone,
        )
        look = LivingLook(journal, state, claims, pods, clock)
        network = Network(attacher, attaching, repairer, hooks, calls, runtime, hooked)
        file_marks.begin(journal, attacher.is_complete)
        attacher.count()
    attachments: Attachments = network or ContainersOnly()
    files = CdiDirectory(settings.cdi_dir, driver.name, claim_hook)
    preparer = Preparer(
        driver,
        journal,
        claims,
        KubeNamespaces(api, clock),
        attachments=attachments,
        files=files,
        reports=reporter,
        marks=marks,
        released=released,
        metrics=metrics,
        limits=limits,
    )
    preparer.count()
    collector = Collector(driver, journal, look=look, bookings=preparer, files=files, clock=clock)
    return Parts(
        journal=journal,
        pool=pool,
        metrics=metrics,
        publisher=Publisher(pool, KubeSlices(api, driver.name, node), clock, metrics),
        reporter=reporter,
        answers=ClaimAnswers(preparer, clock, metrics, budget_s=settings.prepare_budget_s),
        healths=healths,
        collector=collector,
        network=network,
    )


def is_there(netns: str) -> bool:
    """Whether a network namespace is mounted at this path; the file alone is what it leaves behind.

    One that we cannot look at counts as there: what it has may not be taken for gone.
    """
    try:
        return is_live(netns)
    except NamespaceRefusedError as error:
        log.warning("netns.refused", error=str(error))
        return True
