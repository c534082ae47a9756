"""No pod runs without its interfaces, whatever the runtime or the driver went through."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from netclaim.errors import RequestError
from netclaim.framework.attach import AttachError, HostNetworkError
from netclaim.framework.hooks import AttachTimeoutError, RuntimeHooks
from netclaim.framework.repair import Repairer
from netclaim.model import Attachment, Claim, PodSandbox
from netclaim.model.claim import ReportedDevice
from netclaim.nri import Container, RuntimeInfo
from tests.pure.framework_parts import (
    DRIVER,
    UNREACHABLE,
    Stage,
    claim_of,
    device_of,
    pod_of,
    stage_in,
)

RED = claim_of("red")
TWO = claim_of("two", device_of("eth1"), device_of("eth2"))
CONTAINER = Container(id="c1", pod_sandbox_id="sandbox-1", name="main")


class Node:
    """A stage with the runtime's hooks before it."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.repairer = Repairer(
            stage.attacher,
            stage.adopter,
            stage.journal,
            stage.clock,
            stage.netns_exists,
            release=stage.preparer.release_ended,
        )
        self.hooks = RuntimeHooks(stage.attacher, stage.adopter, self.repairer)

    async def run(self, pod: PodSandbox, *, within_s: float = 60.0) -> None:
        """RunPodSandbox."""
        await self.hooks.run_pod_sandbox(pod, deadline_s=deadline(within_s))

    async def create(self, pod: PodSandbox, *, within_s: float = 60.0) -> None:
        """CreateContainer."""
        await self.hooks.create_container(pod, CONTAINER, deadline_s=deadline(within_s))

    async def stop(self, pod: PodSandbox, *, within_s: float = 60.0) -> None:
        """StopPodSandbox."""
        await self.hooks.stop_pod_sandbox(pod, deadline_s=deadline(within_s))

    async def remove(self, pod: PodSandbox) -> None:
        """RemovePodSandbox."""
        await self.hooks.remove_pod_sandbox(pod, deadline_s=deadline(60.0))

    async def synchronize(self, *pods: PodSandbox) -> None:
        """Synchronize."""
        await self.hooks.synchronize(pods, [], deadline_s=deadline(60.0))


def deadline(within_s: float) -> float:
    """So many seconds from now, on the loop's clock."""
    return asyncio.get_running_loop().time() + within_s


@asynccontextmanager
async def node_in(
    directory: Path, *, boot_id: str = "boot-1", complete: bool = True
) -> AsyncIterator[Node]:
    """A node whose repairer runs; unless `complete`, on a journal that may lack something."""
    async with stage_in(directory, boot_id=boot_id) as stage:
        if complete:
            await stage.journal.mark_complete()
        node = Node(stage)
        async with asyncio.TaskGroup() as group:
            repairing = group.create_task(node.repairer.run())
            yield node
            repairing.cancel()


@pytest.mark.asyncio
async def test_life_of_a_pod(tmp_path: Path) -> None:
    """Run attaches, the gate lets containers through, Stop detaches, Remove finds nothing."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        await node.create(pod_of())
        await node.stop(pod_of())
        await node.remove(pod_of(netns=None))
        assert node.stage.driver.calls == ["attach eth1", "detach eth1"]


@pytest.mark.asyncio
async def test_every_hook_twice(tmp_path: Path) -> None:
    """Each hook may come twice."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        for hook in (node.run, node.create, node.stop, node.remove):
            await hook(pod_of())
            await hook(pod_of())
        assert node.stage.driver.calls == ["attach eth1", "detach eth1"]


@pytest.mark.asyncio
async def test_host_network_pod(tmp_path: Path) -> None:
    """A pod on the node's own network is let through, unless it claims an interface."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of("pod-9", "sandbox-9", netns=None))
        await node.create(pod_of("pod-9", "sandbox-9", netns=None))
        for hook in (node.run, node.create):
            with pytest.raises(HostNetworkError, match="take away hostNetwork or the claim"):
                await hook(pod_of(netns=None))
            ((uid, failures),) = node.stage.reports.touched
            assert (uid, len(failures)) == ("uid-red", 1)
            node.stage.reports.touched.clear()
        assert node.stage.driver.calls == []
        assert node.stage.states() == {}


@pytest.mark.asyncio
async def test_failure_is_told_when_it_is_rolled_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the time a claim is to say that a device failed, nothing of the sandbox is left."""
    two = claim_of("two", device_of("eth1"), device_of("eth2"))
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(two)
        told: list[dict[str, str]] = []
        monkeypatch.setattr(stage.reports, "touch", lambda *_: told.append(stage.states()))
        stage.driver.fail("attach eth2", RequestError("no addresses left"))
        with pytest.raises(AttachError):
            await node.run(pod_of())
        assert told == [{}]


@pytest.mark.asyncio
async def test_failed_run_is_taken_back(tmp_path: Path) -> None:
    """When one device fails the pod fails, and the devices that succeeded are detached."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(TWO)
        node.stage.driver.fail("attach eth2", UNREACHABLE)
        with pytest.raises(AttachError, match="out of reach"):
            await node.run(pod_of())
        assert node.stage.states() == {}
        assert sorted(node.stage.driver.calls[2:]) == ["detach eth1", "detach eth2"]


@pytest.mark.asyncio
async def test_slow_attach_is_an_error_in_time(tmp_path: Path) -> None:
    """An attach that would be late is cut off and answered with an error, then undone."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.hang("attach eth1")
        with pytest.raises(AttachTimeoutError):
            await node.run(pod_of(), within_s=0.5)
        await node.repairer.wait_idle()
        assert node.stage.states() == {}
        assert node.stage.driver.calls == ["attach eth1", "detach eth1"]


@pytest.mark.asyncio
async def test_slow_rollback_goes_on_in_the_background(tmp_path: Path) -> None:
    """A rollback that does not fit in the runtime's time is finished afterwards."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.fail("attach eth1", UNREACHABLE)
        node.stage.driver.hang("detach eth1")
        with pytest.raises(AttachError):
            await node.run(pod_of(), within_s=1.0)
        await node.repairer.wait_idle()
        assert node.stage.states() == {}


@pytest.mark.asyncio
async def test_hung_up_during_attach(tmp_path: Path) -> None:
    """A hook that is cancelled because the runtime hung up leaves nothing behind for good."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        begun = node.stage.driver.hang("attach eth1")
        hook = asyncio.ensure_future(node.run(pod_of()))
        await begun.wait()
        hook.cancel()
        await asyncio.gather(hook, return_exceptions=True)
        await node.repairer.wait_idle()
        assert node.stage.states() == {}
        await node.synchronize(pod_of())  # the pod went on without its interface
        await node.repairer.wait_idle()
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


@pytest.mark.asyncio
async def test_gate_completes_or_refuses(tmp_path: Path) -> None:
    """A container of a pod that slipped through gets in only once the pod is complete."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.fail("attach eth1", UNREACHABLE)
        with pytest.raises(AttachError):
            await node.create(pod_of())
        await node.create(pod_of())
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


@pytest.mark.asyncio
async def test_gate_has_a_deadline(tmp_path: Path) -> None:
    """The gate refuses rather than being late."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.hang("attach eth1")
        with pytest.raises(AttachTimeoutError):
            await node.create(pod_of(), within_s=0.5)


@pytest.mark.asyncio
async def test_gate_does_not_ask_twice(tmp_path: Path) -> None:
    """A pod's second container costs no request, even next to a shared claim."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of("pod-9", "sandbox-9"))
        await node.create(pod_of("pod-9", "sandbox-9"))
        assert node.stage.pods.gets == ["pod-9"]


@pytest.mark.asyncio
async def test_stop_that_fails_is_finished_later(tmp_path: Path) -> None:
    """A detach that fails at Stop is repeated until it succeeds; Stop itself does not fail."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        node.stage.driver.fail("detach eth1", UNREACHABLE, times=3)
        await node.stop(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.states() == {}
        assert node.stage.driver.calls.count("detach eth1") == 4


@pytest.mark.asyncio
async def test_claim_that_is_released_too_early(tmp_path: Path) -> None:
    """A claim released under a running pod is undone when the pod has ended, and not before."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        await node.stage.preparer.unprepare(RED.ref)
        await node.create(pod_of())
        assert node.stage.driver.calls == ["attach eth1"]
        await node.stop(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["attach eth1", "detach eth1", "unprepare red"]
        assert node.stage.journal.bookings == {}


@pytest.mark.asyncio
async def test_claim_that_is_released_during_attach(tmp_path: Path) -> None:
    """The pod that is getting its interface keeps it."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        begun, go = node.stage.driver.hold("attach eth1")
        async with asyncio.TaskGroup() as group:
            group.create_task(node.run(pod_of()))
            await begun.wait()
            await node.stage.preparer.unprepare(RED.ref)
            go.set()
        await node.create(pod_of())
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


@pytest.mark.asyncio
async def test_claim_that_is_released_during_an_attach_that_fails(tmp_path: Path) -> None:
    """Nobody has anything of it then: it is undone."""
    begun, go = asyncio.Event(), asyncio.Event()

    async def fail_later() -> None:
        begun.set()
        await go.wait()
        raise UNREACHABLE

    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.on["attach eth1"] = [fail_later]
        starting = asyncio.create_task(node.run(pod_of()))
        await begun.wait()
        await node.stage.preparer.unprepare(RED.ref)
        go.set()
        with pytest.raises(AttachError):
            await starting
        await node.repairer.wait_idle()
        assert node.stage.journal.bookings == {}


@pytest.mark.asyncio
async def test_claim_that_is_released_before_the_sandbox(tmp_path: Path) -> None:
    """A pod whose claim kubelet released by mistake is looked up when its sandbox is made."""
    async with node_in(tmp_path) as node:
        await node.synchronize()
        await node.stage.prepare(RED)
        await node.stage.preparer.unprepare(RED.ref)
        await node.run(pod_of())
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}
        await node.stop(pod_of())  # kubelet has forgotten the claim
        await node.repairer.wait_idle()
        assert node.stage.journal.bookings == {}


@pytest.mark.asyncio
async def test_pods_are_not_looked_up_for_ever(tmp_path: Path) -> None:
    """Nor for the release of a claim that is one pod's own."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(claim_of("own", owner="pod-1"))
        await node.stage.preparer.unprepare(claim_of("own").ref)
        await node.run(pod_of("pod-2", "s2"))
        assert node.stage.pods.gets == []
        await node.stage.prepare(RED)
        await node.stage.preparer.unprepare(RED.ref)
        await node.run(pod_of("pod-3", "s3"))
        assert node.stage.pods.gets == ["pod-3"]
        await node.stage.clock.sleep(121)
        await node.run(pod_of("pod-4", "s4"))
        assert node.stage.pods.gets == ["pod-3"]


@pytest.mark.asyncio
async def test_claim_prepared_again_while_its_release_is_due(tmp_path: Path) -> None:
    """The repairer undoes only what is still to be undone when its turn comes."""
    red, blue = claim_of("red"), claim_of("blue", device_of("eth2"))
    async with node_in(tmp_path) as node:
        await node.stage.prepare(red, blue)
        await node.run(pod_of())
        for claim in (red, blue):
            await node.stage.preparer.unprepare(claim.ref)
        begun, go = node.stage.driver.hold("unprepare red")
        await node.stop(pod_of())
        await begun.wait()
        await node.stage.preparer.prepare(blue.ref)
        go.set()
        await node.repairer.wait_idle()
        assert list(node.stage.journal.bookings) == ["uid-blue"]


@pytest.mark.asyncio
async def test_adoption_does_not_forget_a_release(tmp_path: Path) -> None:
    """A claim released too early is undone with its pod, also on a journal that may lack some."""
    async with node_in(tmp_path, complete=False) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        await node.stage.preparer.unprepare(RED.ref)
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        await node.stop(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.journal.bookings == {}


@pytest.mark.asyncio
async def test_claim_released_too_early_has_two_pods(tmp_path: Path) -> None:
    """It is undone with the last of its pods."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(claim_of("red", pods=("pod-1", "pod-2")))
        pods = pod_of("pod-1", "s1"), pod_of("pod-2", "s2")
        for pod in pods:
            await node.run(pod)
        await node.stage.preparer.unprepare(RED.ref)
        await node.stop(pods[0])
        await node.repairer.wait_idle()
        assert node.stage.states() == {"s2/eth1": "attached"}
        await node.stop(pods[1])
        await node.repairer.wait_idle()
        assert node.stage.driver.calls[-1] == "unprepare red"


@pytest.mark.asyncio
async def test_claim_released_too_early_is_prepared_again(tmp_path: Path) -> None:
    """Prepared again, it is kubelet's to release."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        await node.stage.preparer.unprepare(RED.ref)
        await node.stage.preparer.prepare(RED.ref)
        await node.stop(pod_of())
        await node.repairer.wait_idle()
        assert "uid-red" in node.stage.journal.bookings


@pytest.mark.asyncio
async def test_claim_released_too_early_and_a_driver_that_was_away(tmp_path: Path) -> None:
    """A restart remembers what is to be undone; the pod ended meanwhile."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        await node.stage.preparer.unprepare(RED.ref)
    async with node_in(tmp_path) as node:
        node.stage.end(pod_of())
        await node.synchronize()
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["detach eth1", "unprepare red"]
        assert node.stage.journal.bookings == {}


@pytest.mark.asyncio
async def test_synchronize_completes_and_releases(tmp_path: Path) -> None:
    """After a restart: running pods get what they lack, and what is gone is released."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(claim_of("red", pods=("pod-1",)))
        await node.stage.prepare(claim_of("blue", device_of("eth2"), pods=("pod-2",)))
        await node.run(pod_of("pod-1", "s1"))
    async with node_in(tmp_path) as node:
        node.stage.claims.claims = {
            "red": claim_of("red"),
            "blue": claim_of("blue", device_of("eth2"), pods=("pod-2",)),
        }
        await node.synchronize(pod_of("pod-2", "s2"), pod_of("pod-1", "s1", netns=None))
        await node.repairer.wait_idle()
        assert node.stage.states() == {"s2/eth2": "attached"}
        assert sorted(node.stage.driver.calls) == ["attach eth2", "detach eth1"]


@pytest.mark.asyncio
async def test_synchronize_touches_nothing_that_is_right(tmp_path: Path) -> None:
    """A reconnect with everything in place calls the driver for nothing."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["attach eth1"]


@pytest.mark.asyncio
async def test_repair_does_not_give_up(tmp_path: Path) -> None:
    """A pod that cannot be completed yet is tried again."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.fail("attach eth1", UNREACHABLE, times=3)
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


@pytest.mark.asyncio
async def test_pod_that_ended_unseen(tmp_path: Path) -> None:
    """A listed pod whose namespace is gone by then is released and not tried for ever."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        node.stage.gone.add("/run/netns/sandbox-1")
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.states() == {}


@pytest.mark.asyncio
async def test_stop_during_repair(tmp_path: Path) -> None:
    """A pod that stops while it is being completed is released again."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        begun, go = node.stage.driver.hold("attach eth1")
        await node.synchronize(pod_of())
        await begun.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(node.stop(pod_of()))
            await asyncio.sleep(0)
            go.set()
        await node.repairer.wait_idle()
        assert node.stage.states() == {}
        assert node.stage.driver.calls == ["attach eth1", "detach eth1"]


@pytest.mark.asyncio
async def test_stop_that_cannot_wait_for_repair(tmp_path: Path) -> None:
    """A Stop whose time is up before the repair lets go is carried out after it."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        begun, go = node.stage.driver.hold("attach eth1")
        await node.synchronize(pod_of())
        await begun.wait()
        await node.stop(pod_of(), within_s=0.0)
        go.set()
        await node.repairer.wait_idle()
        assert node.stage.states() == {}


@pytest.mark.asyncio
async def test_stop_before_repair(tmp_path: Path) -> None:
    """A pod that stops before its turn in the repair is not completed any more."""
    blue = claim_of("blue", device_of("eth2"), pods=("pod-2",), owner="pod-2")
    async with node_in(tmp_path) as node:
        await node.stage.prepare(claim_of("red", owner="pod-1"), blue)
        begun, go = node.stage.driver.hold("attach eth1")
        await node.synchronize(pod_of("pod-1", "s1"), pod_of("pod-2", "s2"))
        await begun.wait()
        await node.stop(pod_of("pod-2", "s2"))
        go.set()
        await node.repairer.wait_idle()
        assert node.stage.states() == {"s1/eth1": "attached"}


@pytest.mark.asyncio
async def test_reboot_with_the_pod_gone(tmp_path: Path) -> None:
    """After a reboot old leases are released even if their pods never come back."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
    async with node_in(tmp_path, boot_id="boot-2") as node:
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["detach eth1"]
        assert node.stage.states() == {}


@pytest.mark.asyncio
async def test_short_timeout_is_warned_about(tmp_path: Path) -> None:
    """A runtime that waits too short a time is named in the log; the usual one is not."""
    async with node_in(tmp_path) as node:
        with capture_logs() as logs:
            await node.hooks.configure(RuntimeInfo("containerd", "2.3", request_timeout_s=0.5))
            await node.hooks.configure(RuntimeInfo("containerd", "2.3", request_timeout_s=2.0))
        assert [entry["event"] for entry in logs] == ["attach.timeout_small"]


def reported(claim: Claim) -> Claim:
    """The claim with a status that says that its devices are attached."""
    ready = tuple(
        ReportedDevice(
            driver=DRIVER,
            key=device.key,
            since="2026-01-01T00:00:00Z",
            interface_name=f"net-{device.device}",
            ips=("192.0.2.9/24",),
        )
        for device in claim.devices
    )
    return msgspec.structs.replace(claim, reported=ready)


@pytest.mark.asyncio
async def test_lost_journal_knows_running_pods_again(tmp_path: Path) -> None:
    """What a claim's status says is attached is taken over as it is, and undone with the pod."""
    async with node_in(tmp_path, complete=False) as node:
        stage = node.stage
        stage.claims.claims["red"] = reported(RED)
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert stage.states() == {"sandbox-1/eth1": "attached"}
        assert stage.journal.reports["uid-red"].devices[0].since == "2026-01-01T00:00:00Z"
        assert stage.journal.complete
        await node.create(pod_of())
        await node.stop(pod_of())
        assert stage.driver.calls == ["prepare red", "detach eth1"]
        assert stage.states() == {}
    async with node_in(tmp_path, complete=False) as node:
        assert node.stage.journal.complete


@pytest.mark.asyncio
async def test_lost_journal_knows_all_pods_of_a_shared_claim(tmp_path: Path) -> None:
    """Each pod of a claim is taken over, though the first one's look planned the claim."""
    async with node_in(tmp_path, complete=False) as node:
        shared = reported(claim_of("red", pods=("pod-1", "pod-2")))
        node.stage.claims.claims["red"] = shared
        await node.synchronize(pod_of("pod-1", "s1"), pod_of("pod-2", "s2"))
        await node.repairer.wait_idle()
        assert node.stage.states() == {"s1/eth1": "attached", "s2/eth1": "attached"}
        assert node.stage.driver.calls == ["prepare red"]


@pytest.mark.asyncio
async def test_lost_journal_completes_what_was_not_attached(tmp_path: Path) -> None:
    """A running pod whose claim does not say that it has its interface gets it."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims["red"] = RED
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["prepare red", "attach eth1"]


@pytest.mark.asyncio
async def test_lost_journal_attaches_new_sandboxes(tmp_path: Path) -> None:
    """A sandbox that is made anew needs its interface, whatever the status says of the last one."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims["red"] = reported(RED)
        await node.run(pod_of())
        assert node.stage.driver.calls == ["prepare red", "attach eth1"]


@pytest.mark.asyncio
async def test_lost_journal_leaves_strangers_alone(tmp_path: Path) -> None:
    """A claim of other drivers, or reserved for another pod, is not taken over."""
    other = msgspec.structs.replace(device_of(), driver="other.example.com")
    async with node_in(tmp_path, complete=False) as node:
        claims = node.stage.claims.claims
        claims["other"] = claim_of("other", other)
        claims["foreign"] = claim_of("foreign", pods=("pod-7",))
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.journal.bookings == {}
        assert node.stage.driver.calls == []


@pytest.mark.asyncio
async def test_lost_journal_goes_on_without_what_cannot_be_planned(tmp_path: Path) -> None:
    """A claim that was changed into what cannot be does not keep the journal from completion."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims["red"] = reported(RED)
        node.stage.driver.fail("prepare red", RequestError("no such key"))
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.journal.complete


@pytest.mark.asyncio
async def test_lost_journal_is_not_complete_without_the_api_server(tmp_path: Path) -> None:
    """While it cannot be known what runs, it is asked again."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims["red"] = reported(RED)
        node.stage.pods.faults = [UNREACHABLE, UNREACHABLE]
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.pods.gets == ["pod-1"] * 3
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


@pytest.mark.asyncio
async def test_interface_that_went_with_its_device_comes_back(tmp_path: Path) -> None:
    """It is detached and its claim says so; it is attached again as soon as that works."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(RED)
        await node.run(pod_of())
        stage.reports.touched.clear()
        stage.driver.lost = {"eth1"}
        stage.driver.fail("attach eth1", UNREACHABLE, times=2)
        node.repairer.note_offered(["eth0"])
        await node.repairer.wait_idle()
        (uid, failures), *_ = stage.reports.touched
        assert uid == "uid-red"
        assert "no longer in the pod" in next(iter(failures.values()))
        assert stage.reports.touched[-1] == ("uid-red", {})
        assert stage.driver.calls.count("attach eth1") == 4
        assert stage.states() == {"sandbox-1/eth1": "attached"}


@pytest.mark.asyncio
async def test_interface_may_outlast_its_device(tmp_path: Path) -> None:
    """A device that is no longer discovered, as after a rename, is no reason to touch a pod."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        node.repairer.note_offered([])
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["attach eth1"]


@pytest.mark.asyncio
async def test_lost_interface_is_attached_again_though_its_detach_fails(tmp_path: Path) -> None:
    """What is left of a lost interface is undone later; the pod is not forgotten over it."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        node.stage.driver.lost = {"eth1"}
        node.stage.driver.fail("detach eth1", UNREACHABLE, times=2)
        node.repairer.note_offered([])
        await node.repairer.wait_idle()
        assert node.stage.driver.calls.count("attach eth1") == 2
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


@pytest.mark.asyncio
async def test_gate_sees_a_lost_interface(tmp_path: Path) -> None:
    """A container is refused while its pod lacks an interface that it once had."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        await node.stage.attacher.release_sandbox("sandbox-1")
        node.stage.driver.fail("attach eth1", UNREACHABLE)
        with pytest.raises(AttachError):
            await node.create(pod_of())


@pytest.mark.asyncio
async def test_pods_are_checked_when_the_runtime_lists_them(tmp_path: Path) -> None:
    """What went while the driver was away is attached again, though its device is there."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        node.stage.driver.lost = {"eth1"}
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["attach eth1", "detach eth1", "attach eth1"]


@pytest.mark.asyncio
async def test_a_bug_of_the_driver_does_not_end_the_repairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a driver raises, it is asked again."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        outcomes = [KeyError("a bug"), None]

        async def is_attached(attachment: Attachment) -> bool:
            outcome = outcomes.pop(0)
            if outcome is not None:
                raise outcome
            return attachment.interface is not None

        monkeypatch.setattr(node.stage.driver, "is_attached", is_attached)
        node.repairer.note_offered([])
        await node.repairer.wait_idle()
        assert outcomes == []


@pytest.mark.asyncio
async def test_lost_journal_does_not_take_the_status_for_the_pod(tmp_path: Path) -> None:
    """A sandbox that has not got what the status says, of an earlier one, say, gets it."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims["red"] = reported(RED)
        node.stage.driver.lost = {"eth1"}
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["prepare red", "attach eth1"]


@pytest.mark.asyncio
async def test_lost_journal_refuses_sandboxes_that_cannot_be_planned(tmp_path: Path) -> None:
    """A new sandbox is not let through without what its claim asks for."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims["red"] = RED
        node.stage.driver.fail("prepare red", RequestError("no such key"))
        with pytest.raises(RequestError, match="no such key"):
            await node.run(pod_of())
        assert node.stage.journal.bookings == {}


@pytest.mark.asyncio
async def test_lost_journal_holds_up_nobody_who_has_no_claims(tmp_path: Path) -> None:
    """Pods of the node's own disk or network start without the API server."""
    static = {"kubernetes.io/config.source": "file"}
    async with node_in(tmp_path, complete=False) as node:
        node.stage.pods.faults = [UNREACHABLE]
        for pod in (pod_of(netns=None), pod_of(annotations=static)):
            await node.run(pod)
            await node.create(pod)
        assert node.stage.pods.gets == []


@pytest.mark.asyncio
async def test_lost_journal_is_not_complete_unless_pods_may_be_read(tmp_path: Path) -> None:
    """Without the right to read pods nobody is held up, and nothing is taken for known."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims["red"] = reported(RED)
        node.stage.pods.forbidden = True
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        await node.create(pod_of())
        assert node.stage.states() == {}
        node.stage.pods.forbidden = False
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.journal.complete
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}
