"""The kernel's network lock held by others holds up attaches, and nothing else of the driver."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from netclaim.framework.contract import NetworkDriver
from netclaim.framework.process.driver_thread import hooks_on, own_loop
from netclaim.kernel import Netns
from netclaim.network.driver import LinkDriver
from tests.embedded.network.rtnl_holder import LagMeter, Witness, doomed_netns, end_netns
from tests.support.kernel_support import fresh_netns
from tests.support.network_support import (
    claim_for,
    driver_for,
    host_local,
    plan_for,
    pod_of,
    run_on,
)

pytestmark = pytest.mark.embedded

HELD_S = 1.0  # for the test to show anything the lock must have been held for so long
# Of the time that the lock was held, by how much the loop may be late on a busy machine. It was
# late by a hundredth with an idle one, and by all of it before hooks had a loop of their own.
SHARE = 1 / 3


class Outcome(NamedTuple):
    """What was seen while the lock was held."""

    held_s: float
    lag_s: float
    longest_attach_s: float


@pytest.fixture
def pods() -> Iterator[list[Netns]]:
    """Pods' namespaces."""
    with ExitStack() as stack:
        yield [stack.enter_context(fresh_netns()) for _ in range(3)]


@pytest.fixture
def driver(tmp_path: Path) -> LinkDriver:
    """The driver as it is built for a node."""
    return driver_for(tmp_path, tmp_path)


async def attach_while_held(driver: LinkDriver, hooks: NetworkDriver, pods: list[Netns]) -> Outcome:
    """Attach a device to each pod while a namespace elsewhere is taken down."""
    claim = partial(claim_for, {"type": "macvlan", "ipam": host_local()})
    plans = [await plan_for(driver, claim(uid=f"claim-{n}")) for n in range(len(pods))]

    async def attach(number: int) -> float:
        started_s = time.monotonic()
        pod = pod_of(pods[number], name=f"pod-{number}", sandbox=f"sandbox-{number}")
        attachment = await hooks.attach(plans[number], pod)
        assert attachment.interface is not None
        took_s = time.monotonic() - started_s
        await hooks.detach(attachment)
        return took_s

    with doomed_netns() as doomed, Witness() as witness:
        end_netns(doomed)
        await witness.wait_stuck()
        async with LagMeter() as meter:
            took_s = await asyncio.gather(*map(attach, range(len(pods))))
    return Outcome(witness.waited_s, meter.lag_s, max(took_s))


def test_loop_goes_on_while_the_lock_is_held(
    node: Netns, pods: list[Netns], driver: LinkDriver
) -> None:
    """A driver's attaches wait for the lock and succeed; the event loop comes round meanwhile."""
    assert driver.may_block

    async def on_own_loop() -> Outcome:
        async with own_loop("hooks") as loop:
            hooks = hooks_on(loop, driver)
            assert isinstance(hooks, NetworkDriver)
            return await attach_while_held(driver, hooks, pods)

    seen = run_on(node, on_own_loop)
    assert seen.held_s > HELD_S
    assert seen.longest_attach_s > seen.held_s / 2  # so they did need the lock
    assert seen.lag_s < seen.held_s * SHARE


def test_hooks_on_the_same_loop_would_stop_it(
    node: Netns, pods: list[Netns], driver: LinkDriver
) -> None:
    """The same hooks on the event loop hold it up for as long as the lock is held.

    Without this, the other test would not show anything.
    """
    seen = run_on(node, lambda: attach_while_held(driver, driver, pods))
    assert seen.held_s > HELD_S
    assert seen.lag_s > seen.held_s * SHARE
