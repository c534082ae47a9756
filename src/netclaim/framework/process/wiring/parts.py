"""The parts of a served driver: the real edges, and everything around them. Nothing runs yet."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from netclaim.chained import PlanFiles
from netclaim.cri import CriClient
from netclaim.framework.attach.hold_hook import Hold
from netclaim.framework.attach.marks import FileMarks
from netclaim.framework.attach.sandbox import has_netns
from netclaim.framework.collect.collector import Collector
from netclaim.framework.collect.retire import Retirement
from netclaim.framework.contract import Driver, NetworkDriver, Offer
from netclaim.framework.discover.follow import device_healths
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.pod_plans import ReleasedLately
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
from netclaim.framework.prepare.kubelet_calls import ClaimAnswers
from netclaim.framework.prepare.kubelet_checkpoint import KubeletState
from netclaim.framework.prepare.limits import Limits
from netclaim.framework.prepare.metadata import MetadataFiles
from netclaim.framework.process.node_places import NodePlaces
from netclaim.framework.process.wiring.edges import ApiEdges, Ground, NodeEdges
from netclaim.framework.process.wiring.stages import Network, wire
from netclaim.framework.publish.preflight import Preflight
from netclaim.framework.publish.publisher import Publisher
from netclaim.framework.publish.slices import Pool
from netclaim.framework.report.reporter import Reporter
from netclaim.framework.settings.fields import Settings
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.tools.clock import Clock
from netclaim.kubelet import HealthBoard
from netclaim.model.devices.device import Device


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
