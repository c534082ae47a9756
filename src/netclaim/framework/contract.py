"""The contract between a driver and the framework: what an author writes, what `serve` promises.

An author writes one class with three methods (`Driver`), or five for devices that live in a pod's
network namespace (`NetworkDriver`). The framework owns everything else, and promises:

* **Nothing answered is lost.** A plan is in the journal before kubelet gets its answer; an
  attachment is in the journal before the work on it begins. SIGKILL at any instruction, or a
  reboot, leaves something that can be undone.
* **One call at a time for one thing.** Calls for the same claim, or for the same sandbox, never
  overlap. Calls for different ones do.
* **Nothing twice in a row.** `attach` is not called again for a plan and a sandbox unless `detach`
  was called and succeeded in between. A prepared claim is not prepared again in the same boot: the
  saved plan is the answer.
* **All of a pod, or none.** When one attach of a pod fails, the others of the same sandbox are
  detached and the pod's creation fails with the error's own message.
* **Deadlines.** `prepare` is cancelled in time to answer kubelet; a cancelled call counts as failed
  and is undone. An `attach` that takes longer than the runtime waits goes on while the pod's first
  container is held, for `--attach-timeout` at most.
* **Retries.** PeerError is retried with back-off: within kubelet's budget for `prepare`, by kubelet
  making a new sandbox for `attach` and for a `prepare` that raised LaterError. RequestError and
  HostError are not retried; they are shown where the one who must act looks. `detach` is retried
  after any error: for ten minutes, or, if nothing was attached, for twenty seconds; then it is
  given up, with an event at the claim.
* **Garbage collection.** A minute after the start and every ten minutes the driver is asked what
  it has on the node that belongs to no pod or claim, and then to remove it. Nothing is removed
  because the runtime or the API server could not be asked.
* **Exclusive means exclusive.** A device in use by another claim is not prepared again, unless
  both are shares of it or one has admin access; a driver may know better (`holds`).

Every method may be called again after a crash, with the same argument, for work that was already
done; where it matters, the method says what the second call must do.
"""

import abc
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from netclaim.errors import NetclaimError, PeerError
from netclaim.model.claims.claim import AllocatedDevice, Claim, JsonObject
from netclaim.model.devices.counter import CounterSet
from netclaim.model.devices.device import Device
from netclaim.model.on_node.attachment import Attachment, Interface
from netclaim.model.on_node.leftover import Leftover, Living
from netclaim.model.on_node.node import NodeFacts
from netclaim.model.on_node.plan import Plan, Prepared
from netclaim.model.on_node.pod import PodSandbox

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from netclaim.kube import Resource  # which brings in the whole client

Offer: TypeAlias = tuple[Device | CounterSet, ...]
"""All devices of a node, and the sets of counters that they draw from."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Something that a claim holds of a node: the whole of it, or a part beside others."""

    thing: tuple[str, ...]
    whole: bool = True


class Objects(Protocol):
    """The cluster's objects, for a driver that keeps something in the API server.

    Each call is one request with the driver's own permissions, which its author grants. What the
    server does not answer, or refuses, is a PeerError. May be used in any hook, whichever thread it
    runs in.
    """

    async def get(
        self, resource: "Resource", name: str, *, namespace: str = ""
    ) -> JsonObject | None:
        """Return an object; None if there is none of this name."""

    async def find(self, resource: "Resource", labels: str) -> Sequence[JsonObject]:
        """Return the objects that a label selector selects, in all namespaces."""

    async def create(self, resource: "Resource", wanted: JsonObject) -> JsonObject | None:
        """Create an object; returns it as stored, or None if there is one of its name already."""

    async def replace(self, resource: "Resource", wanted: JsonObject) -> JsonObject | None:
        """Replace an object; None if it is gone, or has changed since it was read."""

    async def delete(self, resource: "Resource", found: JsonObject) -> None:
        """Delete an object, if it is still there and as it was read."""


class NotBegunError(NetclaimError):
    """An attach was refused before it did anything; undoing it could only hurt somebody else.

    Mixed into an error that says who must act.
    """


class LaterError(NetclaimError):
    """A claim cannot be planned now, but it may when the pod's sandbox is made.

    Mixed into an error that `prepare` of a network driver raises. Kubelet would try a claim that
    failed again only after a minute or more, a sandbox after seconds, and at once when the device
    becomes healthy. So the answer is that the claim is prepared, and the sandbox is refused until
    `prepare` succeeds. Not for plans that edit containers: those have to be known by then.
    """


class UnfitError(NetclaimError):
    """This node cannot serve a network that an admin wrote, for any claim.

    Mixed into an error that `preflight` raises; the device is then kept from other claims for a
    while. Not for what a claim's author wrote: that would let one tenant keep links from others.
    """


class Driver(abc.ABC):
    """A driver of devices that are handed to containers (through CDI) or need no handing over."""

    name: str
    """The driver's name, a DNS subdomain of at most 63 bytes: `gpu.example.com`. Claims, slices
    and opaque configuration refer to it."""

    reads_namespace: bool = False
    """Whether `Claim.namespace_labels` is wanted: what an admin says of a claim's namespace. They
    are at most ten seconds old."""

    may_block: bool = False
    """Whether hooks may block their thread: in the kernel, on a lock, for a slow file. They then
    run on an event loop of their own, in a thread, where they hold up nobody but each other."""

    device_metadata: bool = False
    """Whether a container that names a claim can read about its devices in a file (KEP-5304): their
    attributes as published and, of network devices, their interfaces."""

    node_age_s: float | None = None
    """How old what is known of the node may become, in seconds; None if that does not matter."""

    class_labels: str = ""
    """Which DeviceClasses the driver wants to know, as a label selector; empty: none. A watch."""

    def learn_node(self, node: NodeFacts) -> None:  # noqa: B027 (most need not know)
        """Learn what the API server says of the node, before anything else is called.

        Called after each start of the driver, and when something about the node has changed;
        `node_age_s` says how soon.
        """

    def learn_objects(self, objects: Objects) -> None:  # noqa: B027 (most need not know)
        """Learn how to reach the cluster's objects, before anything else is called."""

    def learn_classes(self, classes: Sequence[JsonObject]) -> None:  # noqa: B027 (most follow none)
        """Learn all classes with the driver's `class_labels`, and again whenever one has changed.

        First called when the API server has listed them, which other hooks do not wait for. May be
        called while other hooks run; must not block.
        """

    def learn_dropped(self, fields: frozenset[str]) -> None:  # noqa: B027 (most need not know)
        """Learn which fields of devices the API server drops: it lacks them, or their feature.

        Paths such as `allowMultipleAllocations`, `capacity.*.requestPolicy` and `taints`; an empty
        set says that it keeps everything. Called before the first devices are published, by what
        the server makes of a slice that is not stored, and whenever that has changed; each call
        has all that is dropped now. If something is dropped, `discover` is begun anew after the
        call, and nothing that it yielded before is published. May be called while other hooks run;
        must not block.
        """

    def holds(self, device: AllocatedDevice) -> Sequence[Hold]:
        """What a claim with this device holds; what one claim holds whole, no other can hold.

        By default: the device, whole unless the claim has a share of it, and that share. With admin
        access nothing. Override it for devices that are parts of one thing. No I/O; must not block.
        """
        if device.admin_access:
            return ()
        name = (device.pool, device.device)
        if device.share_id is None:
            return (Hold(name),)
        return (Hold(name, whole=False), Hold((*name, device.share_id)))

    def collectors(self) -> Sequence["Collector"]:
        """Metrics of the driver's own, by prometheus_client, to be served beside the framework's.

        Called once, before anything runs; they are collected in a thread, at each scrape.
        """
        return ()

    @abc.abstractmethod
    def discover(self) -> AsyncIterator[Offer]:
        """Yield all devices of this node, and again all of them whenever something changed.

        Beside devices that draw from counters, the sets of counters they name are yielded.
        Names must be the same for the same device after a restart. Devices do not disappear
        because they are allocated. An iterator that ends means that nothing will change any more;
        one that raises is started afresh with back-off. Each call is a new iterator, which begins
        with the devices as they are now.
        """

    @abc.abstractmethod
    async def prepare(self, claim: Claim) -> Prepared:
        """Decide everything about a claim and do the slow work. Has about 40 seconds.

        `claim` holds only this driver's devices and configuration, and at least one device.
        Return one plan for each device. Raise RequestError for what the user must change (kubelet
        shows the message on the pod) and PeerError for what may pass. An error whose `device` is
        set is shown on that device; the claim's others say that they wait for it.

        A second call, after a crash before the plan was saved or after a reboot, must succeed and
        leave the same state.
        """

    async def preflight(self, claim: Claim) -> None:  # noqa: B027 (most offer no conditions)
        """Raise unless the claim could be prepared on this node; its pod is not bound to it yet.

        Called for claims with devices that were offered with binding conditions. `claim` is as for
        `prepare`, as are the errors. Changes nothing: the pod may go elsewhere. Has 20 seconds.
        """

    @abc.abstractmethod
    async def unprepare(self, prepared: Prepared) -> None:
        """Undo `prepare`. No pod uses the claim any more; the claim object may be gone.

        `prepared.plans` is empty when `prepare` failed or was cut off. Must succeed for what is
        already undone.
        """

    async def leftovers(self, living: Living) -> Sequence[Leftover]:  # noqa: ARG002 (most have none)
        """Find what the driver made on this node and belongs to nothing that lives; remove nothing.

        Leave out what is younger than a minute: it may be of a call that is under way, or of a
        sandbox that the runtime does not list yet. Leave out what is not the driver's own.
        """
        return ()

    async def collect(self, leftover: Leftover) -> None:  # noqa: B027 (most find nothing)
        """Remove what `leftovers` found. What raises is found again in the next round.

        Must succeed for what is already gone.
        """

    async def tell_living(self, living: Living) -> None:  # noqa: B027 (most need not tell)
        """Pass on what lives to programs that keep records of their own, such as CNI's plugins.

        Called after each round of collection.
        """


class NetworkDriver(Driver):
    """A driver of devices that are wired into the pod's network namespace."""

    @abc.abstractmethod
    async def attach(self, plan: Plan, pod: PodSandbox) -> Attachment:
        """Wire one planned device into a pod. Fast; decides nothing: prepare already did.

        Every other pod of the node may wait for a second; after that the work goes on while the
        pod's containers are held. Runs side by side with the pod's other devices.
        `pod.netns` is the path of a namespace that exists. On an error, or when cancelled, leave
        the rest to `detach`, which follows at once; not so after a NotBegunError, which says that
        there is nothing to undo. A second call for the same plan and sandbox comes only after a
        `detach` of it, and starts from nothing.
        """

    async def reattach(self, plan: Plan, pod: PodSandbox, had: Interface) -> Attachment:  # noqa: ARG002 (for those who can)
        """As `attach`, for a running pod that lost its interface: it had this one before.

        Give it the same addresses, if they are still to be had; others are better than none, and
        the framework leaves an event about them. By default this is `attach`.
        """
        return await self.attach(plan, pod)

    @abc.abstractmethod
    async def detach(self, attachment: Attachment) -> None:
        """Undo `attach`, and release what it took (addresses, links).

        `attachment.interface` is None when the attach failed, was cut off, or the process died in
        it; `attachment.pod.netns` is None when the namespace is gone, as after a reboot. Raise only
        when something is left that a later call can release: the framework keeps the attachment and
        calls again. Must succeed for what is already gone.
        """

    async def is_attached(self, attachment: Attachment) -> bool:  # noqa: ARG002 (for those who can)
        """Whether the pod still has it.

        Asked when the device is no longer discovered, and when the runtime has listed its pods. If
        not, it is detached, the claim says so, and it is attached again as soon as that works.
        Changes nothing; what a pod has lost of an interface that is there is for `mend`.
        """
        return True

    def why_lost(self, attachment: Attachment) -> str:  # noqa: ARG002 (for those who can)
        """Say why an interface that `is_attached` denied is of no more use; empty: it is not there.

        For the claim's condition and event. Must not block.
        """
        return ""

    def learn_doubts(self, look_again: Callable[[PodSandbox], None]) -> None:
        """Learn what to call when a pod may have lost what it had: `is_attached` is asked then.

        For what no device shows, such as an address whose lease has ended. `look_again` takes the
        sandbox, and may be called at any time from the loop that hooks run on. Called once, before
        anything is attached.
        """

    async def mend(self, attachment: Attachment) -> None:
        """Put right what an interface that is there may have lost since `attach`.

        Called when `is_attached` has said that the pod has it. What cannot be put right is logged
        and left for the next time; raise nothing for it.
        """

    async def recall(self, plan: Plan, pod: PodSandbox) -> Attachment | None:  # noqa: ARG002
        """What was attached for a plan, by the driver's own records; None if they do not say so.

        Asked when the framework lost its own, of a pod that runs and whose claim does not report
        it.
        """
        return None

    async def check(self, attachment: Attachment) -> None:
        """Raise PeerError unless the pod's interface is as `attach` left it.

        Asked when the runtime asks (CNI's CHECK), and may take longer than `is_attached`.
        """
        if not await self.is_attached(attachment):
            raise PeerError(f"the pod lacks its interface on {attachment.plan.device.device}")
