"""Removing a link while others remove it too, or while the caller gives up; `ip` does so."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import pytest_asyncio

from netclaim.kernel import Netns
from netclaim.kernel.state.removal import remove_link
from tests.support.kernel_support import fresh_netns, ip, ip_json

pytestmark = pytest.mark.embedded


def make_link(netns: Netns) -> None:
    """Make the link one, whose peer is two."""
    ip(netns, "link", "add", "one", "type", "veth", "peer", "two")


@pytest.fixture
def netns() -> Iterator[Netns]:
    """A namespace with the link one."""
    with fresh_netns() as netns:
        make_link(netns)
        yield netns


@pytest_asyncio.fixture
async def proceed() -> AsyncIterator[threading.Event]:
    """The loop's only thread is busy until this is set: nothing is sent before."""
    proceed = threading.Event()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(max_workers=1))
    busy = loop.run_in_executor(None, proceed.wait)
    yield proceed
    proceed.set()
    await busy


async def let_others_run() -> None:
    """Give the other tasks several turns, each with a look at what their sockets have."""
    for _ in range(10):
        await asyncio.sleep(0)


def links(netns: Netns) -> list[str]:
    """What is in the namespace."""
    return [link["ifname"] for link in ip_json(netns, "link", "show")]


async def test_the_removal_by_somebody_else_is_not_ours(
    netns: Netns, proceed: threading.Event
) -> None:
    """A link that another removes before we ask: we still ask, and are told there is none."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(remove_link(netns, "one"))
        await let_others_run()
        ip(netns, "link", "delete", "one")
        await let_others_run()
        assert not task.done()
        proceed.set()
    assert task.result() is False


async def test_nothing_is_removed_after_a_cancelled_removal(
    netns: Netns, proceed: threading.Event
) -> None:
    """A cancelled removal ends when the kernel has carried it out; a new link then stays."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(remove_link(netns, "one"))
        await let_others_run()
        task.cancel()
        await let_others_run()
        assert not task.done()
        proceed.set()
    assert task.cancelled()
    assert links(netns) == ["lo"]


async def test_nobody_leaves_the_thread_without_a_socket(netns: Netns) -> None:
    """Cancelled at whatever moment, a removal loses no error and spoils no other descriptor."""
    unheard: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
    for turns in range(1, 12):
        async with asyncio.TaskGroup() as group:
            task = group.create_task(remove_link(netns, "one"))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
        assert links(netns) == ["lo"]
        make_link(netns)
    assert unheard == []
