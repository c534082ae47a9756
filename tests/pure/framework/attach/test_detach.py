"""What can be undone is undone; what never can be is given up, and said so."""

from pathlib import Path

import pytest

from netclaim.errors import PeerError
from netclaim.framework.attach.detacher import ATTACHED, NEVER_ATTACHED
from netclaim.framework.attach.errors import AttachError, DetachError
from netclaim.framework.testing import FakeClock
from tests.support.framework.node import RED, node_in
from tests.support.framework.parts import Stage, claim_of, device_of, pod_of, stage_in

NO_DAEMON = PeerError("error dialing the DHCP daemon")


async def fail_to_release(stage: Stage, times: int, over_s: float) -> None:
    """Try so often, spread over so long."""
    assert isinstance(stage.clock, FakeClock)
    for number in range(times):
        if number:
            await stage.clock.sleep(over_s / (times - 1))
        with pytest.raises(DetachError, match="DHCP daemon"):
            await stage.release(pod_of())


async def test_what_never_was_attached_is_given_up_soon(tmp_path: Path) -> None:
    """A plugin that fails to add and to delete keeps a deleted pod for seconds, not for ever."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        stage.driver.fail("attach eth1", NO_DAEMON)
        stage.driver.fail("detach eth1", NO_DAEMON, times=100)
        with pytest.raises(AttachError):
            await stage.attach(pod_of())
        await fail_to_release(stage, NEVER_ATTACHED.tries + 1, NEVER_ATTACHED.for_s - 1)
        assert stage.states() == {"sandbox-1/eth1": "detaching"}
        stage.end(pod_of())
        await stage.clock.sleep(2.0)
        await stage.preparer.unprepare(RED.ref)
        assert stage.states() == {}
        assert stage.journal.bookings == {}
        (text,) = stage.reports.given_up
        assert text.startswith("red: gave up releasing eth1 of pod pod-1 after 5 attempts: ")
        assert text.endswith(str(NO_DAEMON))
        assert b"netclaim_given_up_detaches_total" in stage.metrics.exposition()


async def test_what_was_attached_is_kept_longer(tmp_path: Path) -> None:
    """A link that is out in a pod is not forgotten as quickly as what never got there."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        await stage.attach(pod_of())
        stage.driver.fail("detach eth1", NO_DAEMON, times=100)
        await fail_to_release(stage, ATTACHED.tries + 1, ATTACHED.for_s - 1)
        assert stage.reports.given_up == []
        await stage.clock.sleep(2.0)
        await stage.release(pod_of())
        assert stage.states() == {}
        assert len(stage.reports.given_up) == 1


async def test_patience_begins_anew_after_success(tmp_path: Path) -> None:
    """Failures are counted for one attachment, not for the device that it was about."""
    async with stage_in(tmp_path) as stage:
        await stage.prepare(RED)
        for _ in range(3):
            await stage.attach(pod_of())
            stage.driver.fail("detach eth1", NO_DAEMON, times=ATTACHED.tries - 1)
            await fail_to_release(stage, ATTACHED.tries - 1, ATTACHED.for_s * 2)
            await stage.release(pod_of())
        assert stage.reports.given_up == []


async def test_leftovers_of_a_failed_attach_do_not_hold_up_the_next_sandbox(tmp_path: Path) -> None:
    """The next attempt shows its own error, not that the last one could not be undone."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(RED)
        stage.driver.fail("attach eth1", PeerError("no address left"))
        stage.driver.fail("detach eth1", NO_DAEMON, times=100)
        with pytest.raises(AttachError, match="no address left"):
            await node.run(pod_of(sandbox="s1"))
        await node.run(pod_of(sandbox="s2"))
        assert stage.states()["s2/eth1"] == "attached"


async def test_what_an_earlier_sandbox_has_does(tmp_path: Path) -> None:
    """A link that the earlier sandbox still has cannot be given to the next one."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(RED)
        await node.run(pod_of(sandbox="s1"))
        stage.driver.fail("detach eth1", NO_DAEMON)
        with pytest.raises(DetachError, match="DHCP daemon"):
            await node.run(pod_of(sandbox="s2"))


async def test_marks_follow_what_a_sandbox_has(tmp_path: Path) -> None:
    """Complete from the last attach to the first detach; begun until nothing is left."""
    two = claim_of("two", device_of("eth1"), device_of("eth2"))
    async with stage_in(tmp_path) as stage:
        await stage.prepare(two)
        stage.driver.fail("attach eth2", NO_DAEMON)
        with pytest.raises(AttachError):
            await stage.attach(pod_of())
        assert (stage.marks.begun, stage.marks.complete) == ({"sandbox-1"}, set())
        await stage.attach(pod_of())
        assert (stage.marks.begun, stage.marks.complete) == ({"sandbox-1"}, {"sandbox-1"})
        stage.driver.fail("detach eth2", NO_DAEMON)
        with pytest.raises(DetachError):
            await stage.release(pod_of())
        assert (stage.marks.begun, stage.marks.complete) == ({"sandbox-1"}, set())
        await stage.release(pod_of())
        assert (stage.marks.begun, stage.marks.complete) == (set(), set())
