"""A driver's hooks on an event loop of their own, so that what blocks in them holds up nobody else.

A network driver talks to the kernel, which works inside the system call and under one lock for all
namespaces: a namespace with 200 bridges that ends anywhere on the node makes every request wait for
seconds. The answers to kubelet, the runtime and the probes must not wait with it.

Promise: hooks run on one loop in one thread, as they would without this, and a call costs some
0.1 ms more. A caller that is cancelled waits until its hook is over, but not for ever: a hook that
hangs is left behind, and later calls for the same claim or attachment begin only when it is over,
so that nothing happens behind the back of whoever cleans up.
Limit: a hook that blocks holds up the driver's other hooks; for the kernel's lock they would have
to wait in any case. At the end a hook that hangs is left behind too; nothing can stop it.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeVar

import structlog
from prometheus_client.registry import Collector

from netclaim.framework.contract import Driver, NetworkDriver
from netclaim.framework.locks import KeyedLock
from netclaim.model.attachment import Attachment
from netclaim.model.claim import AllocatedDevice, Claim
from netclaim.model.counter import CounterSet
from netclaim.model.device import Device
from netclaim.model.leftover import Leftover, Living
from netclaim.model.node import NodeFacts
from netclaim.model.plan import Plan, Prepared
from netclaim.model.pod import PodSandbox

__all__ = ["OwnLoop", "hooks_on", "own_loop"]

log = structlog.get_logger()

T = TypeVar("T")

# How long a cancelled caller waits for its hook. Kubelet gives up 5 s after `prepare_budget_s` has
# run out, and is to have its answer by then; the runtime's is not kept waiting by this at all.
PATIENCE_S: Final = 2.0
END_S: Final = 10.0  # for all hooks at the end; kubelet gives a pod 30 s from SIGTERM to SIGKILL
DISCOVER: Final = "discover"  # in place of a claim's or an attachment's key
COLLECT: Final = "collect"  # likewise; one thing at a time


class OwnLoop:
    """An event loop in a thread. Made by `own_loop`."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, thread: threading.Thread, *, patience_s: float
    ) -> None:
        self.loop = loop
        self.thread = thread
        self._patience_s = patience_s
        self._turns = KeyedLock()  # of that loop

    async def call(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do something on that loop, after whatever was begun there under the same key."""
        here = asyncio.get_running_loop()
        over: asyncio.Future[T] = here.create_future()
        started: list[asyncio.Task[T]] = []  # by that loop's thread alone

        async def in_turn() -> T:
            async with self._turns.hold(key):
                return await work()

        def tell(task: asyncio.Task[T]) -> None:
            with suppress(RuntimeError):  # nobody is there any more to be told
                here.call_soon_threadsafe(_settle, over, task)

        def start() -> None:
            task = self.loop.create_task(in_turn())
            started.append(task)
            task.add_done_callback(tell)

        def cancel() -> None:
            started[0].cancel()

        self.loop.call_soon_threadsafe(start)
        try:
            return await asyncio.shield(over)
        except asyncio.CancelledError:
            if not over.done():
                self.loop.call_soon_threadsafe(cancel)
                await asyncio.wait({over}, timeout=self._patience_s)
            if not over.done():
                log.warning("hook.left_behind", waited_s=self._patience_s, hook=key)
            over.add_done_callback(_take_note)
            raise


def _settle(over: asyncio.Future[T], task: asyncio.Task[T]) -> None:
    """Pass on how a task of the other loop ended. The task is over, so both threads may read it."""
    if over.done():
        return
    if task.cancelled():
        over.cancel()
    elif (error := task.exception()) is not None:
        over.set_exception(error)
    else:
        over.set_result(task.result())


def _take_note(over: asyncio.Future[T]) -> None:
    """Ask for the error of a call that nobody waits for, so that it is not reported as lost."""
    if not over.cancelled():
        over.exception()


@asynccontextmanager
async def own_loop(
    name: str, *, patience_s: float = PATIENCE_S, end_s: float = END_S
) -> AsyncIterator[OwnLoop]:
    """Have a loop in a thread while the block runs. The thread starts in our network namespace."""
    runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
    loop, stop = runner.get_loop(), asyncio.Event()

    def live() -> None:
        with runner:  # which cancels what is left at the end, and waits for it
            runner.run(stop.wait())

    # A daemon: a hook that hangs in the kernel must not keep the process from ending.
    thread = threading.Thread(target=live, name=name, daemon=True)
    thread.start()
    try:
        yield OwnLoop(loop, thread, patience_s=patience_s)
    finally:
        loop.call_soon_threadsafe(stop.set)
        await asyncio.to_thread(thread.join, end_s)
        if thread.is_alive():
            log.warning("hook.hangs", waited_s=end_s, thread=name)


def hooks_on(loop: OwnLoop, driver: Driver) -> Driver:
    """The same driver, with its hooks on that loop."""
    if isinstance(driver, NetworkDriver):
        return _NetworkDriver(loop, driver)
    return _Driver(loop, driver)


class _Driver(Driver):
    """Passes every call on."""

    def __init__(self, loop: OwnLoop, driver: Driver) -> None:
        self.name = driver.name
        self.reads_namespace = driver.reads_namespace
        self.device_metadata = driver.device_metadata
        self._loop = loop
        self._driver = driver

    @property
    def node_age_s(self) -> float | None:  # type: ignore[override]
        """As the driver says now."""
        return self._driver.node_age_s

    def learn_node(self, node: NodeFacts) -> None:
        """Called before any hook; later calls replace one value, and hooks see either."""
        self._driver.learn_node(node)

    def learn_dropped(self, fields: frozenset[str]) -> None:
        """Passed on at once, beside hooks that run."""
        self._driver.learn_dropped(fields)

    def excludes(self, one: AllocatedDevice, other: AllocatedDevice) -> bool:
        """Asked at once, beside hooks that run."""
        return self._driver.excludes(one, other)

    def collectors(self) -> Sequence[Collector]:
        """The driver's; they are collected in a thread of their own."""
        return self._driver.collectors()

    async def discover(self) -> AsyncIterator[tuple[Device | CounterSet, ...]]:
        """Yield what the driver yields on its own loop."""
        here = asyncio.get_running_loop()
        news: asyncio.Queue[tuple[Device | CounterSet, ...] | None] = asyncio.Queue()

        async def follow() -> None:
            async for devices in self._driver.discover():
                here.call_soon_threadsafe(news.put_nowait, devices)

        following = asyncio.ensure_future(self._loop.call(DISCOVER, follow))
        following.add_done_callback(lambda _: news.put_nowait(None))
        try:
            while (devices := await news.get()) is not None:
                yield devices
            await following
        finally:
            following.cancel()
            await asyncio.wait({following})
            if not following.cancelled():
                following.exception()  # raised above, unless nobody wants to hear it

    async def prepare(self, claim: Claim) -> Prepared:
        """Prepare there."""
        return await self._loop.call(claim.uid, lambda: self._driver.prepare(claim))

    async def preflight(self, claim: Claim) -> None:
        """Look there."""
        await self._loop.call(claim.uid, lambda: self._driver.preflight(claim))

    async def unprepare(self, prepared: Prepared) -> None:
        """Undo it there."""
        await self._loop.call(prepared.claim.uid, lambda: self._driver.unprepare(prepared))

    async def leftovers(self, living: Living) -> Sequence[Leftover]:
        """Find them there."""
        return await self._loop.call(COLLECT, lambda: self._driver.leftovers(living))

    async def collect(self, leftover: Leftover) -> None:
        """Remove it there."""
        await self._loop.call(COLLECT, lambda: self._driver.collect(leftover))

    async def tell_living(self, living: Living) -> None:
        """Pass it on there."""
        await self._loop.call(COLLECT, lambda: self._driver.tell_living(living))


class _NetworkDriver(_Driver, NetworkDriver):
    """Passes a network driver's calls on too."""

    def __init__(self, loop: OwnLoop, driver: NetworkDriver) -> None:
        super().__init__(loop, driver)
        self._network = driver

    async def attach(self, plan: Plan, pod: PodSandbox) -> Attachment:
        """Attach there."""
        key = _key(Attachment(plan=plan, pod=pod))
        return await self._loop.call(key, lambda: self._network.attach(plan, pod))

    async def detach(self, attachment: Attachment) -> None:
        """Detach there."""
        await self._loop.call(_key(attachment), lambda: self._network.detach(attachment))

    async def recall(self, plan: Plan, pod: PodSandbox) -> Attachment | None:
        """Ask there."""
        key = _key(Attachment(plan=plan, pod=pod))
        return await self._loop.call(key, lambda: self._network.recall(plan, pod))

    async def is_attached(self, attachment: Attachment) -> bool:
        """Look there."""
        return await self._loop.call(
            _key(attachment), lambda: self._network.is_attached(attachment)
        )

    async def check(self, attachment: Attachment) -> None:
        """Look closer there."""
        await self._loop.call(_key(attachment), lambda: self._network.check(attachment))


def _key(attachment: Attachment) -> str:
    claim_uid, sandbox_id, device = attachment.key
    return "/".join((claim_uid, sandbox_id, *device))
