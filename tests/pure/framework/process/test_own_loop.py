"""Hooks that block run beside the event loop, in order, and are waited for within reason."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from netclaim.errors import PeerError
from netclaim.framework.contract import Driver, NetworkDriver
from netclaim.framework.process.driver_thread import OwnLoop, hooks_on, own_loop
from netclaim.framework.testing import check_driver
from netclaim.model import Attachment, Claim, Device, Plan, PodSandbox, Prepared
from tests.support.framework.parts import attachment_of, claim_of, device_of, plan_of, pod_of

RED = claim_of("red")
PLAN = plan_of(RED, device_of())
SOON_S = 0.05
LONG_S = 30.0  # far more than anything here takes; a test that waits for so long has failed


class BlockingDriver(NetworkDriver):
    """A driver whose attach blocks its thread until the test lets it go on."""

    name = "blocking.example.com"
    may_block = True

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()
        self.calls: list[str] = []
        self.threads: set[int] = set()
        self.devices: tuple[tuple[Device, ...], ...] = ((Device(name="eth1"),),)
        self.discovery: Exception | None = None

    async def discover(self) -> AsyncIterator[tuple[Device, ...]]:
        """Each list of devices, then the error or the end."""
        for devices in self.devices:
            yield devices
        if self.discovery is not None:
            raise self.discovery

    async def prepare(self, claim: Claim) -> Prepared:
        """One plan for each device."""
        self.threads.add(threading.get_ident())
        return Prepared(claim.ref, tuple(plan_of(claim, device) for device in claim.devices))

    async def unprepare(self, prepared: Prepared) -> None:
        """Nothing to undo."""

    async def attach(self, plan: Plan, pod: PodSandbox) -> Attachment:
        """Blocks as a system call does."""
        self.calls.append("attach begins")
        self.begun.set()
        assert self.go.wait(LONG_S)
        await asyncio.sleep(0)
        self.calls.append("attach ends")
        return attachment_of(plan, pod)

    async def detach(self, attachment: Attachment) -> None:
        """Fails if told so by the attachment."""
        self.calls.append("detach")
        if attachment.interface is None:
            raise PeerError("not attached")


def wrapped(loop: OwnLoop, driver: BlockingDriver) -> NetworkDriver:
    """The driver on that loop."""
    made = hooks_on(loop, driver)
    assert isinstance(made, NetworkDriver)
    return made


async def test_a_hook_that_blocks_does_not_block_the_loop() -> None:
    """While a hook blocks its thread, the event loop goes on; the answer comes when it is over."""
    driver = BlockingDriver()
    async with own_loop("hooks") as loop:
        attaching = asyncio.ensure_future(wrapped(loop, driver).attach(PLAN, pod_of()))
        await asyncio.to_thread(driver.begun.wait, LONG_S)
        assert not attaching.done()
        driver.go.set()
        assert await attaching == attachment_of(PLAN, pod_of())


async def test_contract() -> None:
    """A driver on a loop of its own passes the same examination, and hooks share one thread."""
    driver = BlockingDriver()
    driver.go.set()
    async with own_loop("hooks") as loop:
        driver.calls.clear()
        hooks = hooks_on(loop, driver)
        assert (hooks.name, hooks.may_block) == (driver.name, False)
        await check_driver(hooks, RED)
        assert driver.threads == {loop.thread.ident}
    assert not loop.thread.is_alive()


async def test_every_hook_is_passed_on() -> None:
    """No hook of the contract is answered by the contract's own default, on the wrong loop."""
    async with own_loop("hooks") as loop:
        made = type(hooks_on(loop, BlockingDriver()))
    own = {
        name for each in made.__mro__ if each.__module__ == made.__module__ for name in vars(each)
    }
    contract = {
        name
        for each in (Driver, NetworkDriver)
        for name, value in vars(each).items()
        if callable(value) and not name.startswith("_")
    }
    assert contract - own == set()


async def test_a_driver_without_attach_stays_one() -> None:
    """A driver that attaches nothing is not taken for one that does."""

    class Plain(Driver):
        name = "plain.example.com"

        def discover(self) -> AsyncIterator[tuple[Device, ...]]:
            raise NotImplementedError

        async def prepare(self, claim: Claim) -> Prepared:
            raise PeerError("not now")

        async def unprepare(self, prepared: Prepared) -> None:
            return

    async with own_loop("hooks") as loop:
        hooks = hooks_on(loop, Plain())
        assert not isinstance(hooks, NetworkDriver)
        with pytest.raises(PeerError, match="not now"):
            await hooks.prepare(RED)
        await hooks.unprepare(Prepared(claim=RED.ref))


async def test_errors_come_through() -> None:
    """What a hook raises is raised to its caller."""
    async with own_loop("hooks") as loop:
        with pytest.raises(PeerError, match="not attached"):
            await wrapped(loop, BlockingDriver()).detach(Attachment(plan=PLAN, pod=pod_of()))


async def test_discovery() -> None:
    """Every list of devices is passed on, then the end or the error of the driver."""
    driver = BlockingDriver()
    driver.devices = ((Device(name="eth1"),), (Device(name="eth2"),))
    async with own_loop("hooks") as loop:
        hooks = wrapped(loop, driver)
        assert [devices async for devices in hooks.discover()] == list(driver.devices)
        driver.discovery = PeerError("lost the kernel")
        with pytest.raises(PeerError, match="lost the kernel"):
            _ = [devices async for devices in hooks.discover()]


async def test_cancelled_caller_waits_for_the_hook() -> None:
    """A caller that is cancelled ends when its hook does, and the hook is cancelled too."""
    driver = BlockingDriver()
    async with own_loop("hooks") as loop:
        attaching = asyncio.ensure_future(wrapped(loop, driver).attach(PLAN, pod_of()))
        await asyncio.to_thread(driver.begun.wait, LONG_S)
        attaching.cancel()
        await asyncio.sleep(0)
        assert not attaching.done()
        driver.go.set()
        with pytest.raises(asyncio.CancelledError):
            await attaching
        assert driver.calls == ["attach begins"]


async def test_hook_that_hangs_is_left_behind() -> None:
    """A hook that hangs does not hold a cancelled caller for ever; what undoes it comes after it.

    A call for something else would have to wait only because this hook blocks the thread.
    """
    driver = BlockingDriver()
    async with own_loop("hooks", patience_s=SOON_S) as loop:
        hooks = wrapped(loop, driver)
        attaching = asyncio.ensure_future(hooks.attach(PLAN, pod_of()))
        await asyncio.to_thread(driver.begun.wait, LONG_S)
        attaching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attaching
        detaching = asyncio.ensure_future(hooks.detach(attachment_of(PLAN, pod_of())))
        await asyncio.sleep(0)
        driver.go.set()
        await detaching
        assert driver.calls == ["attach begins", "detach"]


async def test_calls_of_one_attachment_keep_their_order() -> None:
    """A hook that does not end when it is cancelled is over before the next one for it begins."""
    begun, go = threading.Event(), threading.Event()
    order: list[str] = []

    async def stubborn() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.to_thread(go.wait, LONG_S)
            order.append("first")

    async def second() -> None:
        order.append("second")

    async with own_loop("hooks", patience_s=SOON_S) as loop:
        caller = asyncio.ensure_future(loop.call("a", stubborn))
        await asyncio.to_thread(begun.wait, LONG_S)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        after = asyncio.ensure_future(loop.call("a", second))
        await loop.call("b", second)
        go.set()
        await after
    assert order == ["second", "first", "second"]


async def test_end_does_not_wait_for_ever() -> None:
    """A hook that hangs at the end is left behind."""
    driver = BlockingDriver()
    async with own_loop("hooks", patience_s=SOON_S, end_s=SOON_S) as loop:
        attaching = asyncio.ensure_future(wrapped(loop, driver).attach(PLAN, pod_of()))
        await asyncio.to_thread(driver.begun.wait, LONG_S)
        attaching.cancel()
    assert loop.thread.is_alive()
    driver.go.set()
    await asyncio.to_thread(loop.thread.join, LONG_S)
    assert not loop.thread.is_alive()
    with pytest.raises(asyncio.CancelledError):
        await attaching
