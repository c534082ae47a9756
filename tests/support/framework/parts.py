"""What the framework's tests share: claims, pods, a scripted driver, an API server's stand-ins."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from netclaim.cri import Sandbox, SandboxStatus
from netclaim.errors import PeerError
from netclaim.framework.attach.hold_hook import Hold
from netclaim.framework.collect.retire import Retirement
from netclaim.framework.contract import NetworkDriver
from netclaim.framework.journal.journal import Journal, open_journal
from netclaim.framework.journal.pod_plans import PodClaims, ReleasedLately
from netclaim.framework.journal.records import Booking, DeviceReport, Lease, Report, pods_of
from netclaim.framework.prepare.cdi import CdiDirectory
from netclaim.framework.prepare.limits import Limits
from netclaim.framework.process.wiring.edges import ApiEdges, Ground, NodeEdges
from netclaim.framework.process.wiring.stages import wire
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.testing import FakeClock
from netclaim.model import (
    AllocatedDevice,
    Attachment,
    Claim,
    ClaimRef,
    Consumer,
    Device,
    DeviceKey,
    Interface,
    Leftover,
    Living,
    Mount,
    Plan,
    PodSandbox,
    Prepared,
)

DRIVER = "net.example.com"
BOOT = "boot-1"


def device_of(name: str = "eth1", *, request: str = "net", **facts: Any) -> AllocatedDevice:
    """A device of the node, given to a request."""
    return AllocatedDevice(request=request, driver=DRIVER, pool="node-1", device=name, **facts)


def claim_of(
    name: str = "red",
    *devices: AllocatedDevice,
    pods: Sequence[str] = ("pod-1",),
    owner: str | None = None,
    namespace: str = "default",
) -> Claim:
    """An allocated claim; its UID follows from its name."""
    return Claim(
        uid=f"uid-{name}",
        namespace=namespace,
        name=name,
        allocated=True,
        devices=devices or (device_of(),),
        reserved_for=tuple(Consumer(resource="pods", name=p, uid=p) for p in pods),
        owner_pod_uid=owner,
    )


def pod_of(uid: str = "pod-1", sandbox: str = "sandbox-1", **facts: Any) -> PodSandbox:
    """A sandbox of a pod, with a namespace."""
    facts = {"netns": f"/run/netns/{sandbox}", "namespace": "default", "name": uid} | facts
    return PodSandbox(id=sandbox, uid=uid, **facts)


def plan_of(claim: Claim, device: AllocatedDevice) -> Plan:
    """What the scripted driver plans."""
    return Plan(claim=claim.ref, device=device, network={"ifName": f"net-{device.device}"})


def attachment_of(plan: Plan, pod: PodSandbox) -> Attachment:
    """What the scripted driver attaches."""
    interface = Interface(name=f"net-{plan.device.device}", ips=("192.0.2.5/24",))
    return Attachment(plan=plan, pod=pod, interface=interface, data={"of": pod.id})


class ScriptedDriver(NetworkDriver):
    """A network driver that notes its calls, and fails or hangs where told to.

    `on` maps a call such as "attach eth1" to what it does before it succeeds; each entry is used
    up from the front.
    """

    name = DRIVER

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.detached: list[Attachment] = []
        self.unprepared: list[Prepared] = []
        self.on: dict[str, list[Callable[[], Any]]] = {}
        self.devices: asyncio.Queue[tuple[Device, ...]] = asyncio.Queue()
        self.lost: set[str] = set()  # devices that pods no longer have
        self.why = ""  # what it says of these
        self.recalled: set[str] = set()  # devices that it remembers to have attached
        self.had: list[Interface] = []  # what pods had before it was made again
        self.remade: Interface | None = None  # what they get then, if it is not the same

    async def discover(self) -> AsyncIterator[tuple[Device, ...]]:
        """Whatever the test puts in the queue."""
        while True:
            yield await self.devices.get()

    async def prepare(self, claim: Claim) -> Prepared:
        """One plan for each device."""
        await self._call(f"prepare {claim.name}")
        return Prepared(claim.ref, tuple(plan_of(claim, device) for device in claim.devices))

    async def unprepare(self, prepared: Prepared) -> None:
        """Noted, with what was handed over."""
        self.unprepared.append(prepared)
        await self._call(f"unprepare {prepared.claim.name}")

    async def attach(self, plan: Plan, pod: PodSandbox) -> Attachment:
        """An interface named after the device."""
        await self._call(f"attach {plan.device.device}")
        return attachment_of(plan, pod)

    async def detach(self, attachment: Attachment) -> None:
        """Noted, with what was handed over."""
        self.detached.append(attachment)
        await self._call(f"detach {attachment.plan.device.device}")

    async def recall(self, plan: Plan, pod: PodSandbox) -> Attachment | None:
        """What a test said that it remembers."""
        return attachment_of(plan, pod) if plan.device.device in self.recalled else None

    async def reattach(self, plan: Plan, pod: PodSandbox, had: Interface) -> Attachment:
        """The same interface, unless the test says otherwise."""
        attachment = await self.attach(plan, pod)
        self.had.append(had)
        return msgspec.structs.replace(attachment, interface=self.remade or attachment.interface)

    async def is_attached(self, attachment: Attachment) -> bool:
        """Unless the device is said to be lost."""
        return attachment.plan.device.device not in self.lost

    def why_lost(self, attachment: Attachment) -> str:
        """Say what the test has it say."""
        return self.why

    async def _call(self, call: str) -> None:
        self.calls.append(call)
        steps = self.on.get(call)
        if steps:
            outcome = steps.pop(0)()
            if asyncio.iscoroutine(outcome):
                await outcome

    def fail(self, call: str, error: Exception, times: int = 1) -> None:
        """Make the next calls raise."""

        def step() -> None:
            raise error

        self.on.setdefault(call, []).extend([step] * times)

    def hang(self, call: str) -> asyncio.Event:
        """Make the next call hang until cancelled; the event tells that it has begun."""
        begun = asyncio.Event()

        async def step() -> None:
            begun.set()
            await asyncio.Event().wait()

        self.on.setdefault(call, []).append(step)
        return begun

    def hold(self, call: str) -> tuple[asyncio.Event, asyncio.Event]:
        """Make the next call wait: one event tells that it has begun, the other lets it go."""
        begun, go = asyncio.Event(), asyncio.Event()

        async def step() -> None:
            begun.set()
            await go.wait()

        self.on.setdefault(call, []).append(step)
        return begun, go


class KeepingDriver(ScriptedDriver):
    """A driver with leftovers."""

    def __init__(self) -> None:
        super().__init__()
        self.left: list[Leftover] = []
        self.living: list[Living] = []
        self.told: list[Living] = []

    async def leftovers(self, living: Living) -> Sequence[Leftover]:
        """What the test says."""
        self.living.append(living)
        await self._call("leftovers")
        return tuple(self.left)

    async def collect(self, leftover: Leftover) -> None:
        """Gone, unless the test says otherwise."""
        await self._call(f"collect {leftover.what}")
        self.left.remove(leftover)

    async def tell_living(self, living: Living) -> None:
        """Noted."""
        self.told.append(living)


class FakeClaims:
    """The API server's claims, by name."""

    def __init__(self, *claims: Claim) -> None:
        self.claims = {claim.name: claim for claim in claims}
        self.gets: list[str] = []
        self.faults: list[Exception] = []

    async def get(self, ref: ClaimRef, *, driver: str = "") -> Claim | None:
        """The next fault if there is one, else the claim."""
        self.gets.append(ref.name)
        if self.faults:
            raise self.faults.pop(0)
        found = self.claims.get(ref.name)
        if found is None:
            return None
        configs = tuple(each for each in found.configs if each.driver == driver)
        return msgspec.structs.replace(found, configs=configs)


class FakePods:
    """The API server's pods, as far as claims are reserved for them."""

    def __init__(self, claims: FakeClaims) -> None:
        self._claims = claims
        self.gets: list[str] = []
        self.faults: list[Exception] = []
        self.gone: set[str] = set()  # UIDs
        self.forbidden = False
        self.before: Callable[[], Awaitable[None]] | None = None  # what an answer waits for

    async def claims_of(self, pod: PodSandbox) -> PodClaims | None:
        """The next fault if there is one, else what the claims say."""
        self.gets.append(pod.name)
        if self.before is not None:
            await self.before()
        if self.faults:
            raise self.faults.pop(0)
        if pod.uid in self.gone:
            return None
        if self.forbidden:
            return PodClaims(known=False)
        claims = self._claims.claims.values()
        return PodClaims(frozenset(claim.name for claim in claims if pod.uid in claim.pod_uids))


class FakeReports:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.touched: list[tuple[str, Mapping[DeviceKey, str]]] = []
        self.refused: list[str] = []  # claims, each time
        self.turned_away: list[str] = []
        self.looked_at: list[str] = []
        self.given_up: list[str] = []
        self.changed: list[str] = []
        self.restored: list[str] = []

    def touch(
        self, claim_uid: str, failures: Mapping[DeviceKey, str], *, refused: bool = False
    ) -> None:
        """Noted."""
        self.touched.append((claim_uid, failures))
        if refused:
            self.refused.append(claim_uid)

    def look_again(self, claim_uid: str) -> None:
        """Noted."""
        self.looked_at.append(claim_uid)

    def give_up(self, claim: ClaimRef, text: str) -> None:
        """Noted."""
        self.given_up.append(f"{claim.name}: {text}")

    def note_made_again(self, claim: ClaimRef, text: str, *, same: bool) -> None:
        """Noted."""
        (self.restored if same else self.changed).append(f"{claim.name}: {text}")

    def turn_away(self, claim: Claim, text: str) -> None:
        """Noted."""
        self.turned_away.append(f"{claim.name}: {text}")


class FakeKubelet:
    """What kubelet wrote down, if the test says so."""

    def __init__(self) -> None:
        self.pods: dict[str, set[str]] | None = None  # by claim
        self.claims: list[ClaimRef] | None = []

    def users(self) -> dict[str, set[str]] | None:
        """What the test said."""
        return self.pods

    def claims_of(self, driver: str) -> list[ClaimRef] | None:
        """What the test said."""
        return self.claims


class FakeMarks:
    """What would be on the disk."""

    def __init__(self) -> None:
        self.begun: set[str] = set()
        self.complete: set[str] = set()
        self.planned: set[str] = set()

    def begin(self, journal: Journal, is_complete: Callable[[PodSandbox], bool]) -> None:
        """Exactly what the journal knows."""
        pods = pods_of(journal.leases.values())
        self.begun = {pod.id for pod in pods}
        self.complete = {pod.id for pod in pods if is_complete(pod)}
        self.note_plans(journal)

    def note_begun(self, sandbox_id: str) -> None:
        """Noted."""
        self.begun.add(sandbox_id)

    def note_complete(self, sandbox_id: str) -> None:
        """Noted."""
        self.complete.add(sandbox_id)

    def note_incomplete(self, sandbox_id: str) -> None:
        """No longer noted."""
        self.complete.discard(sandbox_id)

    def note_ended(self, sandbox_id: str) -> None:
        """No longer noted."""
        self.begun.discard(sandbox_id)

    def note_plans(self, journal: Journal) -> None:
        """Noted."""
        self.planned = {uid for booking in journal.bookings.values() for uid in booking.pods}

    def strays(self, known: Collection[str], *, before: float) -> Collection[str]:
        """None: nothing is on the disk."""
        return ()


class FakeNamespaces:
    """Namespaces with the labels that a test gives them."""

    def __init__(self) -> None:
        self.by_name: dict[str, dict[str, str]] = {}
        self.asked: list[str] = []

        self.stale: dict[str, dict[str, str]] = {}  # what is said unless it must be fresh

    async def labels(self, name: str, *, fresh: bool = False) -> Mapping[str, str]:
        """Answer, and remember that it was asked."""
        self.asked.append(name)
        now = self.by_name.get(name, {})
        return now if fresh else self.stale.get(name, now)


class FakeFiles:
    """Container files that are only noted."""

    def __init__(self) -> None:
        self.written: set[str] = set()

    async def write(self, prepared: Prepared, pod_claim_name: str) -> Mapping[DeviceKey, str]:
        """Noted; ids for the plans with edits."""
        self.written.add(prepared.claim.uid)
        return {
            plan.device.key: f"{DRIVER}/claim={plan.device.device}"
            for plan in prepared.plans
            if plan.edits is not None
        }

    async def remove(self, claim_uid: str) -> None:
        """No longer noted."""
        self.written.discard(claim_uid)

    async def strays(self, claims: Collection[str], *, before: float) -> Mapping[str, Path]:
        """None: nothing is on the disk."""
        return {}


class NoMetadata:
    """For a driver whose containers read nothing."""

    def write(self, prepared: Prepared, pod_claim_name: str) -> Mapping[DeviceKey, Mount]:
        """Nothing."""
        return {}

    def remove(self, claim_uid: str) -> None:
        """Nothing."""

    def strays(self, claims: Collection[str], *, before: float) -> Mapping[str, Path]:
        """None."""
        return {}


class FakeFacts:
    """What containers can read, only noted: the claims in the order in which they were told."""

    def __init__(self) -> None:
        self.refreshed: list[str] = []
        self.fault: Exception | None = None

    def refresh(self, claim_uid: str) -> None:
        """Noted."""
        if self.fault is not None:
            raise self.fault
        self.refreshed.append(claim_uid)


def hold_of(limit_s: float = 30.0) -> Hold:
    """How containers are held until an attach is done, which has so long."""
    return Hold(Path("/opt/hold"), Path("/run/driver.sock"), Path("/run/attached"), limit_s)


class FakeRuntime:
    """A container runtime with the sandboxes that a test gives it."""

    def __init__(self) -> None:
        self.sandboxes: list[Sandbox] = []  # as it lists them
        self.fault: Exception | None = None
        self.known: dict[str, SandboxStatus] = {}
        self.stopped: list[str] = []

    async def list(self) -> Sequence[Sandbox]:
        if self.fault is not None:
            raise self.fault
        return tuple(self.sandboxes)

    def run(self, sandbox_id: str, pod: str = "pod-1", *, ready: bool = True) -> None:
        """Have a sandbox, in place of an earlier one of that id."""
        self.sandboxes = [each for each in self.sandboxes if each.id != sandbox_id]
        self.sandboxes.append(Sandbox(sandbox_id, pod, "default", pod, ready))

    async def status(self, sandbox_id: str) -> SandboxStatus | None:
        return self.known.get(sandbox_id)

    async def stop(self, sandbox_id: str) -> None:
        self.stopped.append(sandbox_id)


class Stage:
    """The stages as they are wired, around one journal, a scripted driver and edges of paper."""

    def __init__(
        self,
        journal: Journal,
        *claims: Claim,
        driver: ScriptedDriver | None = None,
        limits: Limits,
        limit_s: float = 30.0,
        files: CdiDirectory | None = None,
        marks: FakeMarks | None = None,
    ) -> None:
        self.journal = journal
        self.driver = driver or ScriptedDriver()
        self.claims = FakeClaims(*claims)
        self.pods = FakePods(self.claims)
        self.reports = FakeReports()
        self.files = FakeFiles()
        self.namespaces = FakeNamespaces()
        self.clock = FakeClock()
        self.metrics = Metrics(DRIVER, self.clock)
        self.gone: set[str] = set()  # namespaces that do not exist
        self.hooked = asyncio.Event()
        self.hooked.set()
        self.marks = marks or FakeMarks()
        self.facts = FakeFacts()
        self.kubelet = FakeKubelet()
        self.runtime = FakeRuntime()
        self.hold = hold_of(limit_s)
        ground = Ground(
            NodeEdges(
                kubelet=self.kubelet,
                runtime=self.runtime,
                files=files or self.files,
                facts=self.facts,
                marks=self.marks,
                hold=self.hold,
                has_netns=self.has_netns,
                hooked=self.wait_hooked,
            ),
            ApiEdges(
                claims=self.claims,
                pods=self.pods,
                labels=self.namespaces.labels,
                reports=self.reports,
            ),
            journal=journal,
            released=ReleasedLately(self.clock),
            limits=limits,
            retirement=Retirement(),
            metrics=self.metrics,
            clock=self.clock,
        )
        stages = wire(self.driver, ground)
        assert stages.network is not None
        self.preparer = stages.preparer
        self.collector = stages.collector
        self.attacher = stages.network.attacher
        self.sandboxes = stages.network.sandboxes
        self.reconciler = stages.network.reconciler
        self.repairer = stages.network.repairer
        self.hooks = stages.network.hooks
        self.calls = stages.network.calls
        self.hook_time = stages.network.hook_time

    async def attach(self, pod: PodSandbox) -> None:
        """Have a sandbox completed that exists, as for a container that is held."""
        await self.reconciler.request(pod, "chain").wait()

    async def release(self, pod: PodSandbox) -> None:
        """Detach everything of a sandbox, or raise why that failed."""
        async with self.attacher.alone_with(pod):
            await self.attacher.release(pod)

    def end(self, pod: PodSandbox) -> None:
        """The sandbox ends without our being told."""
        assert pod.netns is not None
        self.gone.add(pod.netns)

    def has_netns(self, pod: PodSandbox) -> bool:
        """Every namespace exists unless it is said to be gone."""
        return pod.netns is not None and pod.netns not in self.gone

    async def wait_hooked(self) -> None:
        """Wait for `hooked`."""
        await self.hooked.wait()

    async def prepare(self, *claims: Claim) -> None:
        """Have claims prepared, and forget that the driver was called for it."""
        for claim in claims:
            self.claims.claims[claim.name] = claim
            await self.preparer.prepare(claim.ref)
        self.driver.calls.clear()
        self.claims.gets.clear()
        self.reports.touched.clear()

    async def sweep(self) -> None:
        """Finish what was begun in any sandbox; the first error if there are some."""
        steps = [self.reconciler.step(self.sandboxes.get(p)) for p in self.sandboxes.unsettled()]
        for outcome in await asyncio.gather(*steps, return_exceptions=True):
            if outcome is not None:
                raise outcome

    def states(self) -> dict[str, str]:
        """The journal's leases as `sandbox/device: state`."""
        return {
            f"{lease.attachment.pod.id}/{lease.attachment.plan.device.device}": lease.state
            for lease in self.journal.leases.values()
        }


@asynccontextmanager
async def stage_in(
    directory: Path,
    *claims: Claim,
    boot_id: str = BOOT,
    driver: ScriptedDriver | None = None,
    limits: Limits | None = None,
    complete: bool = True,
    **parts: Any,
) -> AsyncIterator[Stage]:
    """A stage on a journal of its own; entered again, on the journal as it was left.

    Unless it is `complete`, the journal may lack something.
    """
    async with open_journal(directory / "journal.db", boot_id) as journal:
        if complete:
            await journal.mark_complete()
        stage = Stage(journal, *claims, driver=driver, limits=limits or Limits(), **parts)
        async with stage.reconciler:
            yield stage


def booking_of(claim: Claim, *, prepared: bool = True) -> Booking:
    """The claim as the preparer would have it in the journal."""
    plans = tuple(plan_of(claim, device) for device in claim.devices)
    return Booking(
        claim=claim.ref,
        devices=claim.devices,
        pods=claim.pod_uids,
        owner_pod_uid=claim.owner_pod_uid,
        prepared=Prepared(claim.ref, plans) if prepared else None,
        state="ready" if prepared else "booked",
    )


def lease_of(claim: str, sandbox: str, state: Any = "attached") -> Lease:
    """A lease of a claim's device in a sandbox."""
    plan = plan_of(claim_of(claim), device_of())
    return Lease(Attachment(plan=plan, pod=pod_of(sandbox=sandbox)), state)


def report_of(booking: Booking, message: str = "") -> Report:
    """A report on a booking's first device."""
    device = DeviceReport(device=booking.devices[0], ready=True, message=message, since="now")
    return Report(claim=booking.claim, devices=(device,))


def moved(claim: Claim, **facts: Any) -> Claim:
    """The claim with some facts changed."""
    return msgspec.structs.replace(claim, **facts)


UNREACHABLE = PeerError("the API server is out of reach")
