"""Hooks against the runtime's clock, and the tasks that they run in."""

import asyncio

import pytest
import structlog.testing

from netclaim.nri.deadlines import HookRunner
from netclaim.nri.errors import HookTimeoutError
from netclaim.tasks import TaskScope
from tests.support.nri.parts import never, virtual_time


def now_s() -> float:
    """The loop's clock."""
    return asyncio.get_running_loop().time()


@virtual_time
async def test_done() -> None:
    """A hook that is done in time is told its deadline, and that is all."""
    told: list[float] = []

    async def hook(deadline_s: float) -> None:
        told.append(deadline_s - now_s())

    async with TaskScope() as tasks:
        await HookRunner(tasks).run("Hook", 2.0, hook)
        await HookRunner(tasks).run("Hook", 10.0, hook)
    assert told == [pytest.approx(1.8), pytest.approx(9.8)]


@virtual_time
async def test_error() -> None:
    """A hook's error is raised as it is, and the next hook runs."""

    async def hook(_deadline_s: float) -> None:
        raise ZeroDivisionError

    async with TaskScope() as tasks:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                await HookRunner(tasks).run("Hook", 2.0, hook)


@virtual_time
async def test_cut_off() -> None:
    """A hook that is not done is answered before its time is up, and told to end."""
    ended = asyncio.Event()

    async def hook(_deadline_s: float) -> None:
        try:
            await never()
        finally:
            ended.set()

    async with TaskScope() as tasks:
        begin_s = now_s()
        with pytest.raises(HookTimeoutError, match=r"Hook did not finish within 1\.8 s"):
            await HookRunner(tasks).run("Hook", 2.0, hook)
        assert now_s() == pytest.approx(begin_s + 1.8)
        await ended.wait()


@virtual_time
async def test_slow_to_end() -> None:
    """A hook that cleans up for long delays no answer; what goes wrong in it is logged."""
    cleaning = asyncio.Event()

    async def hook(_deadline_s: float) -> None:
        try:
            await never()
        finally:
            await cleaning.wait()
            raise OSError("device busy")

    with structlog.testing.capture_logs() as logs:
        async with TaskScope() as tasks:
            begin_s = now_s()
            with pytest.raises(HookTimeoutError):
                await HookRunner(tasks).run("Hook", 2.0, hook)
            assert now_s() == pytest.approx(begin_s + 1.8)
            cleaning.set()
            await asyncio.sleep(0)
    assert [(entry["event"], entry["reason"]) for entry in logs] == [
        ("nri.hook_failed_late", "device busy")
    ]


@virtual_time
async def test_no_time_left() -> None:
    """A hook whose time is over before it begins is refused and does nothing."""

    async def hook(_deadline_s: float) -> None:
        pytest.fail("the hook began")

    async with TaskScope() as tasks:
        with pytest.raises(HookTimeoutError):
            await HookRunner(tasks).run("Hook", -1.0, hook)


@virtual_time
async def test_caller_leaves() -> None:
    """A hook whose caller is cancelled is cancelled too."""
    began, ended = asyncio.Event(), asyncio.Event()

    async def hook(_deadline_s: float) -> None:
        began.set()
        try:
            await never()
        finally:
            ended.set()

    async with TaskScope() as tasks:
        async with TaskScope() as callers:
            callers.start(HookRunner(tasks).run("Hook", 2.0, hook))
            await began.wait()
        await ended.wait()


@virtual_time
async def test_scope() -> None:
    """Leaving a scope ends its tasks, and an error of the block comes out as itself."""
    started: list[asyncio.Task[None]] = []

    async def block() -> None:
        async with TaskScope() as tasks:
            started.append(tasks.start(never()))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await block()
    assert started[0].cancelled()


@virtual_time
async def test_scope_of_a_broken_task() -> None:
    """A task that raises ends the block, whose error group holds it."""

    async def broken() -> None:
        raise ZeroDivisionError

    async def block() -> None:
        async with TaskScope() as tasks:
            tasks.start(broken())
            await never()

    with pytest.raises(ExceptionGroup) as caught:
        await block()
    assert isinstance(caught.value.exceptions[0], ZeroDivisionError)
