"""A sandbox: what is wanted of it, who waits for it, and how far the work on it has got.

Whatever happens to a sandbox changes its object here: a hook of the runtime, a call of its CNI
chain, its list of what runs, a link that went away. `reconcile` then does the work, at once where
somebody waits, or else in the background (`repair`).

Promise: there is one object for a sandbox, for as long as something is wanted of it or under way
for it; what a sandbox has is in the journal, which outlives the process. No I/O.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from netclaim.framework.attach.errors import AttachTimeoutError
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.records import pods_of
from netclaim.framework.tools.clock import Clock
from netclaim.kernel import is_live
from netclaim.model.on_node.plan import Plan
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef

# What is tried in the background until it is so: nothing that was begun is left half done, the
# sandbox has all that is planned for its pod, or it has nothing from the driver any more.
Wanted: TypeAlias = Literal["settled", "complete", "gone"]
Asker: TypeAlias = Literal["hook", "chain", "repair"]
HasNetns: TypeAlias = Callable[[PodSandbox], bool]
CUT_OFF: Final = "interrupted before it finished"


def has_netns(pod: PodSandbox) -> bool:
    """Whether a sandbox has a network namespace of its own at this moment, as the kernel says."""
    return pod.netns is not None and is_live(pod.netns)


class Request:
    """Somebody wants a sandbox to be complete. It is tried once, and outlives those who wait.

    `new`: the sandbox is being made, so that it has nothing yet, and a failure is taken back. A
    `hook` makes all other pods of the node wait, so that a claim which failed at their cost lately
    is refused with NotYetError. A `repair` is nobody's: it costs nothing and disturbs nobody.
    """

    def __init__(self, clock: Clock, by: Asker, *, new: bool) -> None:
        self.by = by
        self.new = new
        self.failure: Exception | None = None  # known before it is taken back
        self.known = asyncio.Event()  # whether it succeeded
        self.over = asyncio.Event()  # also taken back, if it failed
        self.is_late = False  # it was wanted anew since, and may have looked before that
        self.attended = False  # whether the background waits, and sees for itself how it ends
        self.task: asyncio.Task[None] | None = None
        self._clock = clock
        self._held_s = 0.0  # by hooks that no longer wait
        self._since_s: float | None = None  # of the hook that waits now

    @property
    def held_s(self) -> float:
        """How long hooks, and with them all pods of the node, have waited for it so far."""
        since_s = self._since_s
        return self._held_s + (0.0 if since_s is None else self._clock.monotonic() - since_s)

    async def wait(self) -> None:
        """Wait until it is over, where nobody else waits. Raises what made it fail."""
        await self.over.wait()
        if self.failure is not None:
            raise self.failure

    async def hold(self, until_s: float) -> bool:
        """Wait while all pods of the node do; whether it has succeeded by that time.

        Raises what made it fail: once it is taken back, or at that time if that is not done yet.
        """
        if self._since_s is None:
            self._since_s = self._clock.monotonic()
        try:
            async with asyncio.timeout_at(until_s):
                await self.over.wait()
        except TimeoutError:
            if not self.known.is_set():
                return False
        finally:
            self._held_s, self._since_s = self.held_s, None
        if self.failure is not None:
            raise self.failure
        return True

    def fail(self, error: Exception) -> None:
        """Note why it failed, unless that is known."""
        self.failure = self.failure or error
        self.known.set()

    async def cancel(self) -> None:
        """End it, and wait for that."""
        if self.task is not None:
            self.failure = self.failure or AttachTimeoutError(CUT_OFF)
            self.task.cancel()
            await self.over.wait()

    def end(self) -> None:
        """Note that it is over; also if it was cancelled before its first step."""
        if not self.known.is_set():
            self.fail(AttachTimeoutError(CUT_OFF))
        self.over.set()


class Sandbox:
    """What is wanted of one sandbox, and under way for it."""

    def __init__(self, pod: PodSandbox) -> None:
        self.pod = pod
        self.wanted: Wanted = "settled"
        self.in_doubt = False  # whether it still has what the journal says has to be checked
        self.to_be_replaced = False  # unless the runtime says that it needs no namespace
        self.request: Request | None = None  # until it is over
        # How far the last request got.
        self.plans: tuple[Plan, ...] = ()  # what it should have
        self.missing: tuple[Plan, ...] = ()  # what it lacked of that
        self.lacks = 0  # how many of these it lacks for all that is known, also between requests
        # The claims to blame if what is under way fails now; none: the pod; None: nobody on it.
        self.blamed: frozenset[str] | None = None

    @property
    def is_settled(self) -> bool:
        """Whether nothing is wanted of it in the background."""
        return self.wanted == "settled" and not self.in_doubt and not self.to_be_replaced

    def begin(self, request: Request) -> None:
        """Work on a request from now on."""
        self.note_done("gone")  # the runtime makes it, or a container in it
        self.request = request
        self.plans = self.missing = ()
        self.blamed = None

    def want_complete(self) -> None:
        """It is to have all that is planned for its pod now, whatever is under way."""
        self.wanted = "complete"
        if self.request is not None:
            self.request.is_late = True

    def want_gone(self) -> None:
        """It is ending: nothing else is wanted of it any more."""
        self.wanted = "gone"
        self.in_doubt = self.to_be_replaced = False

    def note_done(self, wanted: Wanted) -> None:
        """That much is so now; if something else is wanted meanwhile, it still is."""
        if self.wanted == wanted:
            self.wanted = "settled"


class Sandboxes:
    """The sandboxes that something is wanted of, and what the journal says of all others."""

    def __init__(self, journal: Journal, has_netns: HasNetns) -> None:
        self.has_netns = has_netns
        self.listed = False  # whether the runtime has said what runs
        self.work = asyncio.Event()  # there may be something to do in the background
        self.news = False  # which may help what failed there, so that it is tried again at once
        self.idle = asyncio.Event()
        self._journal = journal
        self._known: dict[str, Sandbox] = {}
        self._offered: Mapping[str, int] = {}
        self.wake()  # a restart may have left something in the journal

    def __len__(self) -> int:
        return len(self._known)

    def get(self, pod: PodSandbox) -> Sandbox:
        """The object of a sandbox; if there is none yet, one for `pod`."""
        return self._known.setdefault(pod.id, Sandbox(pod))

    def of(self, pod: PodSandbox) -> Sandbox:
        """The object of a sandbox, which is now as `pod` says, unless a request is under way."""
        sandbox = self.get(pod)
        if sandbox.request is None:
            sandbox.pod = pod
        return sandbox

    def forget_settled(self, sandbox: Sandbox) -> None:
        """Keep nothing in memory of a sandbox of which nothing is wanted."""
        is_over = sandbox.is_settled and sandbox.request is None
        if is_over and self._known.get(sandbox.pod.id) is sandbox:
            del self._known[sandbox.pod.id]

    def wake(self) -> None:
        """Have the background look for something to do, and try again what failed."""
        self.news = True
        self.idle.clear()
        self.work.set()

    def request_for(self, sandbox_id: str) -> Request | None:
        """The request for a sandbox that is not over yet."""
        sandbox = self._known.get(sandbox_id)
        return sandbox.request if sandbox is not None else None

    def requested(self) -> tuple[Sandbox, ...]:
        """Those with a request that is not over yet."""
        return tuple(each for each in self._known.values() if each.request is not None)

    def lacking(self) -> int:
        """How many devices those lack that run, and are not ending."""
        return sum(each.lacks for each in self._known.values() if each.wanted == "complete")

    def busy(self) -> frozenset[str]:
        """The ids of those with a request that is not over yet."""
        return frozenset(each.pod.id for each in self.requested())

    def has_postponed(self) -> bool:
        """Whether the background has to do something once a request that is under way is over."""
        return any(not each.is_settled for each in self.requested())

    def unsettled(self) -> tuple[PodSandbox, ...]:
        """Those that the background has to do something about; first those that are to go.

        A request that is under way is left alone until it is over.
        """
        wanted = [each for each in self._known.values() if not each.is_settled]
        wanted.sort(key=lambda each: each.wanted != "gone")
        half_done = pods_of(self._journal.half_done)
        pods = {each.pod.id: each.pod for each in wanted}
        pods |= {pod.id: pod for pod in half_done if pod.id not in pods}
        busy = self.busy()
        return tuple(pod for sandbox_id, pod in pods.items() if sandbox_id not in busy)

    def pod(self, sandbox_id: str) -> PodSandbox | None:
        """The pod that a sandbox is of, if it is known."""
        sandbox = self._known.get(sandbox_id)
        return sandbox.pod if sandbox is not None else self.held(sandbox_id)

    def held(self, sandbox_id: str) -> PodSandbox | None:
        """A sandbox in which something was begun."""
        return next(iter(pods_of(self._journal.leases_of_sandbox(sandbox_id))), None)

    def claims_of(self, pod: PodSandbox) -> tuple[ClaimRef, ...]:
        """The claims that are known to be a pod's, for messages."""
        bookings = self._journal.booked.group("pod", pod.uid)
        return tuple(booking.claim for booking in bookings)

    def note_running(self, pods: Sequence[PodSandbox]) -> None:
        """These sandboxes exist, and perhaps one that is being made.

        The runtime lists a sandbox once it is made. One that is not listed, or listed without its
        namespace, is gone if the namespace that we know of it is.
        """
        held = {pod.id: pod for pod in pods_of(self._journal.leases.values())}
        alive = {each: pod for each, pod in held.items() if self.has_netns(pod)}
        for sandbox in tuple(self._known.values()):
            sandbox.wanted = "settled"
            sandbox.in_doubt = sandbox.to_be_replaced = False
            self.forget_settled(sandbox)
        listed = [alive.get(pod.id, pod) if pod.netns is None else pod for pod in pods]
        running = {pod.id: pod for pod in listed if pod.netns is not None}
        for pod in running.values():
            self.of(pod).want_complete()
        for pod in listed:
            if pod.netns is None and self.claims_of(pod):
                self.of(pod).to_be_replaced = True
        for sandbox_id, pod in held.items():
            if sandbox_id not in running and sandbox_id not in alive:
                self.get(pod).wanted = "gone"
        self.listed = True
        self._doubt(())

    def note_gone(self, pod: PodSandbox) -> None:
        """This sandbox is to be released in the background."""
        self.of(pod).wanted = "gone"
        self.wake()

    def note_lost(self, pod: PodSandbox) -> None:
        """This sandbox has no namespace: if it runs, it is to be replaced."""
        self.of(pod).to_be_replaced = True
        self.wake()

    def note_doubtful(self, pod: PodSandbox) -> None:
        """This sandbox may have lost what it had; the driver says so."""
        if self._journal.leases_of_sandbox(pod.id):
            self.get(pod).in_doubt = True
            self.wake()

    def note_offered(self, devices: Mapping[str, int]) -> None:
        """The node has these devices, by name and making, and no others.

        Pods may have lost what they had of others, and of those that were made again or were away.
        """
        before, self._offered = self._offered, dict(devices)
        self._doubt({name for name, now in devices.items() if before.get(name) == now})

    def _doubt(self, offered: Collection[str]) -> None:
        """Have those checked that have a device which is not offered."""
        leased = self._journal.leased
        # One that is being attached may be lost before the journal has it as attached.
        begun = (*leased.group("state", "attached"), *leased.group("state", "attaching"))
        for pod in pods_of(le for le in begun if le.attachment.plan.device.device not in offered):
            self.get(pod).in_doubt = True
        self.wake()
