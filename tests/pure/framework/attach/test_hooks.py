"""No pod runs without its interfaces, whatever the runtime or the driver went through."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from netclaim.chained import OK, Command, Refusal, Request
from netclaim.cri import SandboxStatus
from netclaim.errors import RequestError
from netclaim.framework.attach import reconcile
from netclaim.framework.attach.errors import (
    AttachError,
    AttachTimeoutError,
    NoNamespaceError,
    SandboxLostError,
)
from netclaim.model import Attachment
from netclaim.nri import RuntimeInfo
from tests.support.framework.node import RED, TWO, node_in
from tests.support.framework.parts import (
    UNREACHABLE,
    claim_of,
    device_of,
    lease_of,
    pod_of,
)


async def test_life_of_a_pod(tmp_path: Path) -> None:
    """Run attaches, the gate lets containers through, Stop detaches, Remove finds nothing."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        await node.create(pod_of())
        await node.stop(pod_of())
        await node.remove(pod_of(netns=None))
        assert node.stage.driver.calls == ["attach eth1", "detach eth1"]


async def test_every_hook_twice(tmp_path: Path) -> None:
    """Each hook may come twice."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        for hook in (node.run, node.create, node.stop, node.remove):
            await hook(pod_of())
            await hook(pod_of())
        assert node.stage.driver.calls == ["attach eth1", "detach eth1"]


async def test_host_network_pod(tmp_path: Path) -> None:
    """A pod on the node's own network is let through, unless it claims an interface."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of("pod-9", "sandbox-9", netns=None))
        await node.create(pod_of("pod-9", "sandbox-9", netns=None))
        for hook in (node.run, node.create):
            node.stage.runtime.known["sandbox-1"] = SandboxStatus(ready=True, on_host_network=True)
            with pytest.raises(NoNamespaceError, match="remove hostNetwork or the claim"):
                await hook(pod_of(netns=None))
            ((uid, failures),) = node.stage.reports.touched
            assert (uid, len(failures)) == ("uid-red", 1)
            node.stage.reports.touched.clear()
        assert node.stage.driver.calls == []
        assert node.stage.states() == {}


async def test_failure_is_told_when_it_is_rolled_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the time a claim is to say that a device failed, nothing of the sandbox is left."""
    two = claim_of("two", device_of("eth1"), device_of("eth2"))
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(two)
        told: list[dict[str, str]] = []
        monkeypatch.setattr(stage.reports, "touch", lambda *_, **__: told.append(stage.states()))
        stage.driver.fail("attach eth2", RequestError("no addresses left"))
        with pytest.raises(AttachError):
            await node.run(pod_of())
        assert told == [{}]


async def test_failed_run_is_taken_back(tmp_path: Path) -> None:
    """When one device fails the pod fails, and the devices that succeeded are detached."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(TWO)
        node.stage.driver.fail("attach eth2", UNREACHABLE)
        with pytest.raises(AttachError, match="out of reach"):
            await node.run(pod_of())
        assert node.stage.states() == {}
        assert sorted(node.stage.driver.calls[2:]) == ["detach eth1", "detach eth2"]


async def test_slow_rollback_goes_on_in_the_background(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rollback that does not fit in the runtime's time is finished afterwards."""
    monkeypatch.setattr(reconcile, "ROLLBACK_S", 0.1)  # the real one is ten seconds of waiting
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.fail("attach eth1", UNREACHABLE)
        node.stage.driver.hang("detach eth1")
        with pytest.raises(AttachError):
            await node.run(pod_of(), within_s=1.0)
        await node.repairer.wait_idle()
        assert node.stage.states() == {}


async def test_hung_up_during_attach(tmp_path: Path) -> None:
    """When the runtime hangs up and lets the pod go on, the attach goes on, too."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        begun, go = node.stage.driver.hold("attach eth1")
        hook = asyncio.ensure_future(node.run(pod_of()))
        await begun.wait()
        hook.cancel()
        await asyncio.gather(hook, return_exceptions=True)
        go.set()
        await node.create(pod_of())
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}
        assert node.stage.driver.calls == ["attach eth1"]


async def test_slow_attach_goes_on_while_the_container_is_held(tmp_path: Path) -> None:
    """A sandbox whose attach is slow is made, and its container held until the attach is done."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        _, go = node.stage.driver.hold("attach eth1")
        await node.run(pod_of(), within_s=0.1)
        hook = await node.create(pod_of(), within_s=0.1)
        assert hook is not None
        assert hook.path == "/opt/hold"
        assert hook.args[:4] == ("hold", "wait", "--socket", "/run/driver.sock")
        assert hook.args[-4:] == ("--sandbox", "sandbox-1", "--pod-uid", "pod-1")
        go.set()
        request = node.sandboxes.request_for("sandbox-1")
        assert request is not None
        await request.wait()
        assert await node.create(pod_of()) is None
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}
        assert node.stage.marks.complete == {"sandbox-1"}


async def test_attach_that_fails_late_is_tried_again_for_the_next_container(tmp_path: Path) -> None:
    """What failed after the hook was answered is taken back, shown, and tried again."""
    async with node_in(tmp_path) as node:
        driver = node.stage.driver
        await node.stage.prepare(RED)
        failing = asyncio.Event()

        async def fail() -> None:
            await failing.wait()
            raise UNREACHABLE

        driver.on["attach eth1"] = [fail]
        await node.run(pod_of(), within_s=0.1)
        request = node.sandboxes.request_for("sandbox-1")
        assert request is not None
        failing.set()
        with pytest.raises(AttachError, match="out of reach"):
            await request.wait()
        assert node.stage.states() == {}
        ((uid, failures),) = node.stage.reports.touched
        assert (uid, len(failures)) == ("uid-red", 1)
        assert await node.create(pod_of()) is None
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


async def test_stop_ends_an_attach_that_is_under_way(tmp_path: Path) -> None:
    """Nobody waits for the interfaces of a pod that is deleted."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.hang("attach eth1")
        await node.run(pod_of(), within_s=0.1)
        await node.stop(pod_of())
        assert node.stage.states() == {}
        assert node.stage.driver.calls == ["attach eth1", "detach eth1"]


async def test_attach_has_a_limit(tmp_path: Path) -> None:
    """An attach that takes longer than it may is taken back, and the reason is on the claim."""
    async with node_in(tmp_path, limit_s=0.2) as node:
        await node.stage.prepare(RED)
        node.stage.driver.hang("attach eth1")
        await node.run(pod_of(), within_s=0.05)
        request = node.sandboxes.request_for("sandbox-1")
        assert request is not None
        with pytest.raises(AttachTimeoutError, match=r"not attached within 0\.2 s"):
            await request.wait()
        assert node.stage.states() == {}
        ((uid, failures),) = node.stage.reports.touched
        assert (uid, len(failures)) == ("uid-red", 1)


async def test_new_sandbox_ends_the_attach_for_the_one_before(tmp_path: Path) -> None:
    """Two sandboxes of a pod do not wait for each other: the newer one wins."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        begun = node.stage.driver.hang("attach eth1")
        await node.run(pod_of(sandbox="s1"), within_s=0.1)
        await begun.wait()
        await node.run(pod_of(sandbox="s2"))
        assert node.stage.states() == {"s2/eth1": "attached"}


async def test_sandbox_without_its_namespace_is_replaced(tmp_path: Path) -> None:
    """A sandbox that a restart of the runtime left without its namespace is refused and stopped."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.runtime.known["sandbox-1"] = SandboxStatus(ready=True, on_host_network=False)
        with pytest.raises(SandboxLostError, match="is being replaced"):
            await node.create(pod_of(netns=None))
        await node.repairer.wait_idle()
        assert node.stage.runtime.stopped == ["sandbox-1"]
        assert node.stage.driver.calls == []


@pytest.mark.parametrize(
    ("status", "stopped"),
    [
        (SandboxStatus(ready=True, on_host_network=False), ["sandbox-1"]),
        (SandboxStatus(ready=False, on_host_network=False), []),
        (SandboxStatus(ready=True, on_host_network=True), []),
        (None, []),
    ],
)
async def test_running_sandbox_without_its_namespace(
    tmp_path: Path, status: SandboxStatus | None, stopped: list[str]
) -> None:
    """Of sandboxes without a namespace, those that run, should have one and claim are stopped."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        if status is not None:
            node.stage.runtime.known["sandbox-1"] = status
        node.stage.runtime.known["s9"] = SandboxStatus(ready=True, on_host_network=False)
        await node.synchronize(pod_of(netns=None), pod_of("pod-9", "s9", netns=None))
        await node.repairer.wait_idle()
        assert node.stage.runtime.stopped == stopped


async def test_gate_completes_or_refuses(tmp_path: Path) -> None:
    """A container of a pod that slipped through gets in only once the pod is complete."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.fail("attach eth1", UNREACHABLE)
        with pytest.raises(AttachError):
            await node.create(pod_of())
        await node.create(pod_of())
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


async def test_gate_has_a_deadline(tmp_path: Path) -> None:
    """The gate has a container held rather than being late."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.hang("attach eth1")
        assert await node.create(pod_of(), within_s=0.1) == node.stage.hold.hook(pod_of())


async def test_gate_does_not_ask_twice(tmp_path: Path) -> None:
    """A pod's second container costs no request, even next to a shared claim."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of("pod-9", "sandbox-9"))
        await node.create(pod_of("pod-9", "sandbox-9"))
        assert node.stage.pods.gets == ["pod-9"]


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
        node.stage.end(pod_of("pod-1", "s1"))
        await node.synchronize(pod_of("pod-2", "s2"), pod_of("pod-1", "s1", netns=None))
        await node.repairer.wait_idle()
        assert node.stage.states() == {"s2/eth2": "attached"}
        assert sorted(node.stage.driver.calls) == ["attach eth2", "detach eth1"]


async def test_synchronize_touches_nothing_that_is_right(tmp_path: Path) -> None:
    """A reconnect with everything in place calls the driver for nothing."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["attach eth1"]


async def test_repair_does_not_give_up(tmp_path: Path) -> None:
    """A pod that cannot be completed yet is tried again."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.fail("attach eth1", UNREACHABLE, times=3)
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


async def test_repair_waits_between_attempts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod that cannot be completed is tried again when it is time, and not before."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        pauses: asyncio.Queue[asyncio.Event] = asyncio.Queue()

        async def sleep(_: float) -> None:
            over = asyncio.Event()
            pauses.put_nowait(over)
            await over.wait()

        monkeypatch.setattr(node.stage.clock, "sleep", sleep)
        node.stage.driver.fail("attach eth1", UNREACHABLE, times=2)
        await node.synchronize(pod_of())
        for attempts in (1, 2):
            pause = await pauses.get()
            for _ in range(1000):  # turns of the event loop in which nothing happens
                await asyncio.sleep(0)
            assert node.stage.driver.calls.count("attach eth1") == attempts
            pause.set()
        await node.repairer.wait_idle()
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


async def test_repair_goes_on_after_a_failure(tmp_path: Path) -> None:
    """One sandbox that cannot be cleaned does not keep the others from being cleaned."""
    async with node_in(tmp_path) as node:
        leases = [lease_of("red", "s1", "detaching"), lease_of("red", "s2", "detaching")]
        await node.stage.journal.put_leases(leases)
        node.stage.driver.fail("detach eth1", UNREACHABLE)
        await node.synchronize()
        await node.repairer.wait_idle()
        assert node.stage.states() == {}
        assert [attachment.pod.id for attachment in node.stage.driver.detached][:2] == ["s1", "s2"]


async def test_repairs_of_a_namespace_do_not_hold_up_others(tmp_path: Path) -> None:
    """While one namespace's devices hang, another one's pods get what they lack, and lose it."""
    bad = claim_of("bad", device_of("eth1"), pods=("pod-1",), namespace="bad")
    good = claim_of("good", device_of("eth2"), pods=("pod-2",), namespace="good")
    bad_pod = pod_of("pod-1", "s1", namespace="bad")
    good_pod = pod_of("pod-2", "s2", namespace="good")
    async with node_in(tmp_path) as node:
        await node.stage.prepare(bad, good)
        await node.run(bad_pod)
        node.stage.end(bad_pod)
        begun, go = node.stage.driver.hold("detach eth1")
        attached, attach = node.stage.driver.hold("attach eth2")
        await node.synchronize(good_pod)
        await begun.wait()
        await attached.wait()
        attach.set()
        await node.stop(good_pod)
        assert node.stage.states() == {"s1/eth1": "detaching"}
        go.set()
        await node.repairer.wait_idle()
        assert node.stage.states() == {}


async def test_pod_that_ended_unseen(tmp_path: Path) -> None:
    """A listed pod whose namespace is gone by then is released and not tried for ever."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        node.stage.gone.add("/run/netns/sandbox-1")
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.states() == {}


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


async def test_reboot_with_the_pod_gone(tmp_path: Path) -> None:
    """After a reboot old leases are released even if their pods never come back."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
    async with node_in(tmp_path, boot_id="boot-2") as node:
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["detach eth1"]
        assert node.stage.states() == {}


async def test_short_timeout_is_warned_about(tmp_path: Path) -> None:
    """A runtime that waits too short a time is named in the log; the usual one is not."""
    async with node_in(tmp_path) as node:
        with capture_logs() as logs:
            await node.hooks.configure(RuntimeInfo("containerd", "2.3", request_timeout_s=0.5))
            await node.hooks.configure(RuntimeInfo("containerd", "2.3", request_timeout_s=2.0))
        assert [entry["event"] for entry in logs] == ["attach.timeout_small"]


async def test_interface_that_went_with_its_device_comes_back(tmp_path: Path) -> None:
    """It is detached and its claim says so; it is attached again as soon as that works."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(RED)
        await node.run(pod_of())
        stage.reports.touched.clear()
        stage.driver.lost = {"eth1"}
        stage.driver.fail("attach eth1", UNREACHABLE, times=2)
        node.sandboxes.note_offered({"eth0": 1})
        await node.repairer.wait_idle()
        (uid, failures), *_ = stage.reports.touched
        assert uid == "uid-red"
        assert "no longer in the pod" in next(iter(failures.values()))
        assert stage.reports.touched[-1] == ("uid-red", {})
        assert stage.driver.calls.count("attach eth1") == 4
        assert stage.states() == {"sandbox-1/eth1": "attached"}


async def test_interface_that_its_driver_gives_up_is_made_again(tmp_path: Path) -> None:
    """What no device shows, the driver says by itself, and why."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(RED)
        await node.run(pod_of())
        stage.reports.touched.clear()
        stage.driver.lost = {"eth1"}
        stage.driver.why = "its lease has ended"
        node.sandboxes.note_doubtful(pod_of(sandbox="one-that-has-nothing"))
        await node.repairer.wait_idle()
        assert stage.driver.calls.count("attach eth1") == 1
        node.sandboxes.note_doubtful(pod_of())
        await node.repairer.wait_idle()
        (_, failures), *_ = stage.reports.touched
        (said,) = failures.values()
        assert said == "the interface on eth1 cannot be used any more: its lease has ended"
        assert stage.driver.calls.count("attach eth1") == 2
        assert stage.states() == {"sandbox-1/eth1": "attached"}


async def test_interface_that_went_with_a_device_made_again_comes_back(tmp_path: Path) -> None:
    """A device that is gone and back before anybody looks has the same name, and not the pod's."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(RED)
        await node.run(pod_of())
        node.sandboxes.note_offered({"eth1": 7})
        await node.repairer.wait_idle()
        assert stage.driver.calls.count("attach eth1") == 1
        stage.driver.lost = {"eth1"}
        node.sandboxes.note_offered({"eth1": 8})
        await node.repairer.wait_idle()
        assert stage.driver.calls.count("attach eth1") == 2
        assert stage.states() == {"sandbox-1/eth1": "attached"}


async def test_device_that_is_made_again_during_an_attach_is_looked_for(tmp_path: Path) -> None:
    """The interface may be gone before the journal has it."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(RED)
        node.sandboxes.note_offered({"eth1": 7})

        def lose() -> None:
            stage.driver.lost = {"eth1"}
            node.sandboxes.note_offered({"eth1": 8})

        stage.driver.on["attach eth1"] = [lose]
        await node.run(pod_of())
        await node.repairer.wait_idle()
        assert stage.driver.calls.count("attach eth1") == 2
        assert stage.states() == {"sandbox-1/eth1": "attached"}


async def test_what_running_pods_lack_is_counted(tmp_path: Path) -> None:
    """A lost interface counts until it is back, also while it is tried again."""
    seen: list[int] = []
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(TWO)
        await node.run(pod_of())
        assert node.sandboxes.lacking() == 0

        def look() -> None:
            seen.append(node.sandboxes.lacking())

        def fail() -> None:
            look()
            raise UNREACHABLE

        stage.driver.lost = {"eth1"}
        stage.driver.on["attach eth1"] = [fail, fail, look]
        node.sandboxes.note_offered({})
        await node.repairer.wait_idle()
        assert seen == [1, 1, 1]
        assert node.sandboxes.lacking() == 0


async def test_pod_that_starts_or_ends_lacks_nothing(tmp_path: Path) -> None:
    """A pod that did not get its interface does not run; one that ends needs none."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(RED)
        await node.run(pod_of())
        stage.driver.lost = {"eth1"}
        begun = stage.driver.hang("attach eth1")
        node.sandboxes.note_offered({})
        await begun.wait()
        assert node.sandboxes.lacking() == 1
        await node.stop(pod_of())
        assert node.sandboxes.lacking() == 0
        stage.driver.fail("attach eth1", UNREACHABLE)
        with pytest.raises(AttachError):
            await node.run(pod_of("pod-1", "sandbox-2"))
        assert node.sandboxes.lacking() == 0


async def test_interface_that_is_made_again_keeps_its_address(tmp_path: Path) -> None:
    """The driver learns what a running pod had, however often it tries; an event says so."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(RED)
        await node.run(pod_of())
        (lease,) = stage.journal.leases.values()
        stage.driver.lost = {"eth1"}
        stage.driver.fail("attach eth1", UNREACHABLE, times=2)
        node.sandboxes.note_offered({})
        await node.repairer.wait_idle()
        assert stage.driver.had == [lease.attachment.interface]
        assert stage.reports.changed == []
        (text,) = stage.reports.restored
        assert text.startswith("red: the interface ")
        assert text.endswith(" as before")
        assert stage.states() == {"sandbox-1/eth1": "attached"}


async def test_interface_that_is_made_again_by_the_next_process_keeps_its_address(
    tmp_path: Path,
) -> None:
    """A driver that ends after it undid what was lost leaves to the next what the pod had."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(RED)
        await node.run(pod_of())
        (lease,) = stage.journal.leases.values()
        stage.driver.lost = {"eth1"}
        tried = asyncio.Event()

        async def never() -> None:
            tried.set()
            await asyncio.Event().wait()

        stage.driver.on["attach eth1"] = [never]
        node.sandboxes.note_offered({})
        await tried.wait()
        assert stage.driver.calls.count("detach eth1") == 1
    async with node_in(tmp_path) as node:
        stage = node.stage
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert stage.driver.had == [lease.attachment.interface]
        (text,) = stage.reports.restored
        assert text.endswith(" as before")
        assert stage.states() == {"sandbox-1/eth1": "attached"}


async def test_changed_address_is_reported(tmp_path: Path) -> None:
    """A running pod that could not keep its address has an event that names both."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(RED)
        await node.run(pod_of())
        (lease,) = stage.journal.leases.values()
        assert lease.attachment.interface is not None
        stage.driver.lost = {"eth1"}
        stage.driver.remade = msgspec.structs.replace(
            lease.attachment.interface, ips=("192.0.2.99/24",)
        )
        node.sandboxes.note_offered({})
        await node.repairer.wait_idle()
        (text,) = stage.reports.changed
        assert text.startswith("red: the interface ")
        assert "was made again and has 192.0.2.99/24" in text
        assert "; before it had " in text
        assert stage.reports.restored == []


async def test_interface_may_outlast_its_device(tmp_path: Path) -> None:
    """A device that is no longer discovered, as after a rename, is no reason to touch a pod."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        node.sandboxes.note_offered({})
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["attach eth1"]


async def test_lost_interface_is_attached_again_though_its_detach_fails(tmp_path: Path) -> None:
    """What is left of a lost interface is undone later; the pod is not forgotten over it."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        node.stage.driver.lost = {"eth1"}
        node.stage.driver.fail("detach eth1", UNREACHABLE, times=2)
        node.sandboxes.note_offered({})
        await node.repairer.wait_idle()
        assert node.stage.driver.calls.count("attach eth1") == 2
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


async def test_gate_sees_a_lost_interface(tmp_path: Path) -> None:
    """A container is refused while its pod lacks an interface that it once had."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        await node.stage.release(pod_of())
        node.stage.driver.fail("attach eth1", UNREACHABLE)
        with pytest.raises(AttachError):
            await node.create(pod_of())


async def test_pods_are_checked_when_the_runtime_lists_them(tmp_path: Path) -> None:
    """What went while the driver was away is attached again, though its device is there."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        node.stage.driver.lost = {"eth1"}
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["attach eth1", "detach eth1", "attach eth1"]


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
        node.sandboxes.note_offered({})
        await node.repairer.wait_idle()
        assert outcomes == []


async def test_list_that_is_not_whole(tmp_path: Path) -> None:
    """A sandbox that is being made is not listed by CRI yet: with its namespace, it keeps all."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(claim_of("red", pods=("pod-1", "pod-2")))
        await node.run(pod_of("pod-1", "s1"))
        await node.run(pod_of("pod-2", "s2"))
        node.stage.end(pod_of("pod-2", "s2"))
        node.sandboxes.note_running([])
        await node.repairer.wait_idle()
        assert node.stage.states() == {"s1/eth1": "attached"}


async def test_attempt_that_ends_before_it_begins(tmp_path: Path) -> None:
    """An attach that is cancelled before its first step is over, and the next one is tried."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        request = node.reconciler.request(pod_of(), "chain", new=True)
        await request.cancel()
        with pytest.raises(AttachTimeoutError, match="interrupted"):
            await request.wait()
        await node.run(pod_of(sandbox="s2"))
        assert node.stage.states() == {"s2/eth1": "attached"}


async def test_nothing_is_kept_of_sandboxes_that_are_settled(tmp_path: Path) -> None:
    """Neither pods that run, nor plain, failed and ended ones take memory beyond the journal's."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of("plain", "s0"))
        node.stage.driver.fail("attach eth1", UNREACHABLE)
        node.stage.driver.fail("detach eth1", UNREACHABLE)
        with pytest.raises(AttachError):
            await node.run(pod_of(sandbox="s1"))
        await node.run(pod_of(sandbox="s2"))
        await node.synchronize(pod_of(sandbox="s2"), pod_of("plain", "s0"))
        await node.repairer.wait_idle()
        assert node.stage.states() == {"s2/eth1": "attached"}
        assert len(node.sandboxes) == 0
        for pod in (pod_of(sandbox="s2"), pod_of("plain", "s0")):
            await node.stop(pod)
            await node.remove(pod)
        assert (len(node.sandboxes), node.stage.states()) == (0, {})


async def test_stop_that_fails_while_the_runtime_lists_its_sandboxes(tmp_path: Path) -> None:
    """A list that came during a Stop does not make it forgotten that the sandbox ended."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        begun, go = node.stage.driver.hold("detach eth1")
        node.stage.driver.fail("detach eth1", UNREACHABLE)
        async with asyncio.TaskGroup() as group:
            group.create_task(node.stop(pod_of(), within_s=0.2))
            await begun.wait()
            await node.synchronize()
        go.set()
        await node.repairer.wait_idle()
        assert (len(node.sandboxes), node.stage.states()) == (0, {})


async def test_hook_joins_a_repair(tmp_path: Path) -> None:
    """A container is held while the background completes its pod, which is done only once."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        begun, go = node.stage.driver.hold("attach eth1")
        await node.synchronize(pod_of())
        await begun.wait()
        assert await node.create(pod_of(), within_s=0.05) is not None
        go.set()
        await node.repairer.wait_idle()
        assert await node.create(pod_of()) is None
        assert node.stage.driver.calls == ["attach eth1"]
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


async def test_mending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interface that is there is mended when the runtime lists its pod; a lost one is not."""
    mended: list[str] = []

    async def mend(attachment: Attachment) -> None:
        mended.append(attachment.plan.device.device)

    async with node_in(tmp_path) as node:
        monkeypatch.setattr(node.stage.driver, "mend", mend)
        await node.stage.prepare(TWO)
        await node.run(pod_of())
        assert mended == []
        node.stage.driver.lost = {"eth2"}
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert mended == ["eth1"]


async def test_stop_during_a_slow_look_up(tmp_path: Path) -> None:
    """A pod that stops while the background looks it up is released at once, and stays so."""
    async with node_in(tmp_path, complete=False) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        asked, go = asyncio.Event(), asyncio.Event()

        async def answer_later() -> None:
            asked.set()
            await go.wait()

        node.stage.pods.before = answer_later
        await node.synchronize(pod_of(), pod_of("pod-2", "s2"))
        await asked.wait()
        await node.stop(pod_of())
        assert node.stage.states() == {}
        go.set()
        await node.repairer.wait_idle()
        assert (len(node.sandboxes), node.stage.states()) == (0, {})


async def test_time_that_nobody_else_waits_is_not_charged(tmp_path: Path) -> None:
    """An attach that the chained plugin waits for may take its time, again and again."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        for number in range(5):
            begun, go = node.stage.driver.hold("attach eth1")
            pod = pod_of(sandbox=f"s{number}")
            request = node.reconciler.request(pod, "chain", new=True)
            await begun.wait()
            await node.stage.clock.sleep(20.0)
            go.set()
            await request.wait()
        assert node.stage.hook_time.may_wait("default")


async def test_plain_pods_pass_the_slow_ones_of_their_namespace(tmp_path: Path) -> None:
    """However many attaches of a namespace hang, its pods that claim nothing start."""
    claims = [claim_of(f"c{n}", device_of(f"eth{n}"), pods=(f"pod-{n}",)) for n in range(12)]
    async with node_in(tmp_path) as node:
        await node.stage.prepare(*claims)
        for number in range(12):
            node.stage.driver.hang(f"attach eth{number}")
            await node.run(pod_of(f"pod-{number}", f"s{number}"), within_s=0.05)
        await node.run(pod_of("plain", "s-plain"))
        assert await node.create(pod_of("plain", "s-plain")) is None


async def test_a_held_container_is_let_go_for_its_own_pod_only(tmp_path: Path) -> None:
    """The sandbox is complete, but the container says that it is of another pod."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        calls = node.stage.calls
        assert await calls(Request(Command.WAIT, pod_of().id, uid=pod_of().uid)) == OK
        for uid in ("pod-9", ""):
            answer = await calls(Request(Command.WAIT, pod_of().id, uid=uid))
            assert isinstance(answer, Refusal)
            assert "the container names the sandbox of another pod" in answer.message
