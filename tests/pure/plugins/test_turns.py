"""Who waits for whom, by the namespace."""

import asyncio
import os
from pathlib import Path

from netclaim.kernel import Netns
from netclaim.plugins.shared.turns import NamespaceTurns


def opened(path: Path) -> Netns:
    """Something that is one namespace for as long as it is the same file."""
    path.touch()
    return Netns(os.open(path, os.O_RDONLY), str(path))


async def test_calls_for_one_namespace_take_turns_and_others_do_not_wait(tmp_path: Path) -> None:
    """A second path to it is the same one; nothing is kept of namespaces that nobody holds."""
    turns, order = NamespaceTurns(), list[str]()
    ready, go = asyncio.Event(), asyncio.Event()
    other_path = tmp_path / "other path"
    (tmp_path / "pod").touch()
    other_path.hardlink_to(tmp_path / "pod")

    async def first() -> None:
        with opened(tmp_path / "pod") as netns:
            async with turns.hold(netns):
                order.append("first")
                ready.set()
                await go.wait()
                order.append("first is done")

    async def second() -> None:
        with opened(other_path) as netns:
            async with turns.hold(netns):
                order.append("second")

    async with asyncio.TaskGroup() as group:
        group.create_task(first())
        await ready.wait()
        waiting = group.create_task(second())
        with opened(tmp_path / "another pod") as netns:
            async with turns.hold(netns):
                order.append("another")
        assert not waiting.done()
        go.set()
    assert order == ["first", "another", "first is done", "second"]
    assert not turns._locks
