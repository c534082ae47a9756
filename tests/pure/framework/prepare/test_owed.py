"""A claim whose link is away for a moment fails early, and is quick when the link is back."""

from pathlib import Path

import pytest

from netclaim.errors import PeerError, RequestError
from netclaim.framework.contract import LaterError
from netclaim.model import DeviceKey
from tests.support.framework.node import RED, TWO, node_in
from tests.support.framework.parts import UNREACHABLE, pod_of, stage_in


class AwayError(LaterError, PeerError):
    """A link is not on the node."""


def away(device: DeviceKey | None = None) -> AwayError:
    """The error, about one device."""
    error = AwayError("the link is not on the node")
    error.device = device
    return error


async def test_claim_is_owed(tmp_path: Path) -> None:
    """Kubelet is told that the claim is prepared; the sandbox is refused until the link is back."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        stage.claims.claims["red"] = RED
        stage.driver.fail("prepare red", away(), times=2)
        answer = await stage.preparer.prepare(RED.ref)
        assert [device.device_name for device in answer.devices] == ["eth1"]
        assert answer.error is None
        ((uid, failures),) = stage.reports.touched
        assert (uid, list(failures.values())) == ("uid-red", ["the link is not on the node"])
        with pytest.raises(AwayError, match="not on the node"):
            await node.run(pod_of(sandbox="s1"))
        assert stage.states() == {}
        await node.run(pod_of(sandbox="s2"))
        assert stage.states() == {"s2/eth1": "attached"}
        assert stage.marks.planned == {"pod-1"}
        assert stage.files.written == {"uid-red"}  # its containers are held, too


async def test_owed_claim_that_turns_out_to_be_refused(tmp_path: Path) -> None:
    """The link is back, and the claim may not have it: only another claim can be served."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        stage.claims.claims["red"] = RED
        stage.driver.fail("prepare red", away())
        stage.driver.fail("prepare red", RequestError("it carries the node"))
        await stage.preparer.prepare(RED.ref)
        assert stage.reports.refused == []
        with pytest.raises(RequestError, match="it carries the node"):
            await node.run(pod_of(sandbox="s1"))
        assert stage.reports.refused == ["uid-red"]


async def test_owed_claim_outlasts_a_restart(tmp_path: Path) -> None:
    """What was promised to kubelet is in the journal, and is kept after a restart."""
    async with stage_in(tmp_path, RED) as stage:
        stage.driver.fail("prepare red", away())
        await stage.preparer.prepare(RED.ref)
    async with node_in(tmp_path) as node:
        node.stage.claims.claims["red"] = RED
        await node.run(pod_of())
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}
        await node.stop(pod_of())
        await node.stage.preparer.unprepare(RED.ref)
        assert node.stage.journal.bookings == {}


async def test_owed_claim_can_be_released(tmp_path: Path) -> None:
    """A pod that is deleted while its link is away leaves nothing."""
    async with stage_in(tmp_path, RED) as stage:
        stage.driver.fail("prepare red", away())
        await stage.preparer.prepare(RED.ref)
        await stage.preparer.unprepare(RED.ref)
        assert stage.journal.bookings == {}
        assert (stage.marks.planned, stage.files.written) == (set(), set())


async def test_second_prepare_of_an_owed_claim(tmp_path: Path) -> None:
    """The second answer is the same, or the plan if it can be made by now."""
    async with stage_in(tmp_path, RED) as stage:
        stage.driver.fail("prepare red", away(), times=2)
        first = await stage.preparer.prepare(RED.ref)
        assert await stage.preparer.prepare(RED.ref) == first
        assert await stage.preparer.prepare(RED.ref) == first
        assert stage.journal.bookings["uid-red"].state == "ready"


async def test_sandbox_of_an_owed_claim_while_the_api_is_away(tmp_path: Path) -> None:
    """The pod is refused, not started without."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        stage.claims.claims["red"] = RED
        stage.driver.fail("prepare red", away())
        await stage.preparer.prepare(RED.ref)
        stage.claims.faults.append(UNREACHABLE)
        with pytest.raises(PeerError, match="out of reach"):
            await node.run(pod_of())


async def test_one_device_of_several_has_the_message(tmp_path: Path) -> None:
    """The device that failed says why; the others say that they wait for it."""
    first, second = TWO.devices
    async with stage_in(tmp_path, TWO) as stage:
        stage.driver.fail("prepare two", away(second.key))
        await stage.preparer.prepare(TWO.ref)
        ((_, failures),) = stage.reports.touched
        assert failures == {
            first.key: "waiting for device eth2 of the same claim",
            second.key: "the link is not on the node",
        }


async def test_claim_that_is_owed_again_is_not_ending(tmp_path: Path) -> None:
    """What kubelet has prepared anew after a reboot is kept, though its release was put off."""
    async with stage_in(tmp_path, RED) as stage:
        await stage.prepare(RED)
        await stage.attach(pod_of())
        await stage.preparer.unprepare(RED.ref)
    async with stage_in(tmp_path, RED, boot_id="boot-2") as stage:
        assert stage.journal.bookings["uid-red"].is_released
        stage.driver.fail("prepare red", away())
        await stage.preparer.prepare(RED.ref)
        await stage.preparer.release_ended(RED.ref)
        assert stage.journal.bookings["uid-red"].state == "owed"
