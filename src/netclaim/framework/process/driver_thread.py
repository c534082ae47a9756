"""Run a driver's hooks on an event loop of their own, so that they hold up nothing else.

A network driver talks to the kernel, which works inside the system call and under one lock for all
namespaces: a namespace with 200 bridges that ends anywhere on the node makes every request wait for
seconds. The answers to kubelet, the runtime and the probes must not wait with it.

Promise: hooks run on one loop in one thread, as they would without this, and a call costs some
0.1 ms more. A caller that is cancelled waits until its hook is over, but not for ever: a hook that
hangs is left behind, and later calls for the same claim or attachment begin only when it is over,
so that nothing changes while something else cleans up.
Limit: a hook that blocks holds up the driver's other hooks; for the kernel's lock they would have
to wait in any case. At the end a hook that hangs is left behind too; nothing can stop it.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeVar, cast

import structlog

from netclaim.framework.contract import Driver, NetworkDriver, Objects, Offer
from netclaim.framework.tools.locks import KeyedLock
from netclaim.model.on_node.attachment import Attachment, Interface
from netclaim.model.on_node.plan import Plan
from netclaim.model.on_node.pod import PodSandbox

log = structlog.get_logger()

T = TypeVar("T")

# How long a cancelled caller waits for its hook. Kubelet gives up 5 s after `prepare_budget_s` has
# run out, and is to have its answer by then; the runtime's answer does not wait for this at all.
PATIENCE_S: Final = 2.0
COLLECT: Final = "collect"  # in place of a claim's or an attachment's key; one thing at a time
END_S: Final = 10.0  # for all hooks at the end; by default kubelet kills a pod 30 s after SIGTERM


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
        """Run something on that loop, after what was begun there under the same key."""
        here = asyncio.get_running_loop()
        over: asyncio.Future[T] = here.create_future()
        started: list[asyncio.Task[T]] = []  # by that loop's thread alone

        async def in_turn() -> T:
            async with self._turns.hold(key):
                return await work()

        def pass_on(task: asyncio.Task[T]) -> None:
            with suppress(RuntimeError):  # the loop of the caller has ended
                here.call_soon_threadsafe(_settle, over, task)

        def start() -> None:
            task = self.loop.create_task(in_turn())
            started.append(task)
            task.add_done_callback(pass_on)

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
    """Pass on how a task of the other loop ended; once it is over, both threads may read it."""
    if over.done():
        return
    if task.cancelled():
        over.cancel()
    elif (error := task.exception()) is not None:
        over.set_exception(error)
    else:
        over.set_result(task.result())


def _take_note(over: asyncio.Future[T]) -> None:
    """Retrieve the error of a call that nobody awaits, so that it is not logged as lost."""
    if not over.cancelled():
        over.exception()


@asynccontextmanager
async def own_loop(
    name: str, *, patience_s: float = PATIENCE_S, end_s: float = END_S
) -> AsyncIterator[OwnLoop]:
    """Run a loop in a thread for the block. The thread starts in our network namespace."""
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


def _hook(name: str, key: Callable[..., str]) -> Any:
    """A hook that runs on the loop, after what was begun there under the same key."""

    async def call(self: "_Driver", *args: Any) -> Any:
        return await self._loop.call(key(*args), lambda: getattr(self._driver, name)(*args))

    return call


def _at_once(name: str) -> Any:
    """A method that runs in the caller's thread, beside hooks, and must not block."""

    def call(self: "_Driver", *args: Any) -> Any:
        return getattr(self._driver, name)(*args)

    return call


def _of_plan(plan: Plan, pod: PodSandbox, _had: Interface | None = None) -> str:
    return _of_attachment(Attachment(plan=plan, pod=pod))


def _of_attachment(attachment: Attachment) -> str:
    claim_uid, sandbox_id, device = attachment.key
    return "/".join((claim_uid, sandbox_id, *device))


class _ObjectsFromThere:
    """The cluster's objects, asked for on another loop than the one that the client belongs to."""

    def __init__(self, objects: Objects, home: asyncio.AbstractEventLoop) -> None:
        self._objects = objects
        self._home = home

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._objects, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            asked = asyncio.run_coroutine_threadsafe(method(*args, **kwargs), self._home)
            return await asyncio.wrap_future(asked)

        return call


class _Driver(Driver):
    def __init__(self, loop: OwnLoop, driver: Driver) -> None:
        self.name = driver.name
        self.reads_namespace = driver.reads_namespace
        self.device_metadata = driver.device_metadata
        self.class_labels = driver.class_labels
        self._loop = loop
        self._driver = driver

    @property
    def node_age_s(self) -> float | None:  # type: ignore[override]
        return self._driver.node_age_s

    def learn_objects(self, objects: Objects) -> None:
        there = _ObjectsFromThere(objects, asyncio.get_running_loop())
        self._driver.learn_objects(cast("Objects", there))

    learn_node = _at_once("learn_node")
    learn_classes = _at_once("learn_classes")
    learn_dropped = _at_once("learn_dropped")
    holds = _at_once("holds")
    collectors = _at_once("collectors")
    prepare = _hook("prepare", lambda claim: claim.uid)
    preflight = _hook("preflight", lambda claim: claim.uid)
    unprepare = _hook("unprepare", lambda prepared: prepared.claim.uid)
    leftovers = _hook("leftovers", lambda _: COLLECT)
    collect = _hook("collect", lambda _: COLLECT)
    tell_living = _hook("tell_living", lambda _: COLLECT)

    async def discover(self) -> AsyncIterator[Offer]:
        here = asyncio.get_running_loop()
        news: asyncio.Queue[Offer | None] = asyncio.Queue()

        async def follow() -> None:
            async for devices in self._driver.discover():
                here.call_soon_threadsafe(news.put_nowait, devices)

        following = asyncio.ensure_future(self._loop.call("discover", follow))
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


class _NetworkDriver(_Driver, NetworkDriver):
    attach = _hook("attach", _of_plan)
    reattach = _hook("reattach", _of_plan)
    detach = _hook("detach", _of_attachment)
    recall = _hook("recall", _of_plan)
    is_attached = _hook("is_attached", _of_attachment)
    mend = _hook("mend", _of_attachment)
    check = _hook("check", _of_attachment)
    why_lost = _at_once("why_lost")

    def learn_doubts(self, look_again: Callable[[PodSandbox], None]) -> None:
        home = asyncio.get_running_loop()

        def from_there(pod: PodSandbox) -> None:
            with suppress(RuntimeError):  # the loop of the framework has ended
                home.call_soon_threadsafe(look_again, pod)

        cast("NetworkDriver", self._driver).learn_doubts(from_there)
