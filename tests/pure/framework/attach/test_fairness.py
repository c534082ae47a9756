"""However slowly a tenant's attaches fail, the other pods of the node start."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from netclaim.errors import NetclaimError, PeerError
from netclaim.framework.attach.errors import AttachError, AttachTimeoutError, DetachError
from netclaim.framework.attach.hook_budget import KEPT, HookTime, NotYetError
from netclaim.framework.journal.records import Booking, Report
from netclaim.framework.testing import FakeClock
from netclaim.model import Claim
from tests.support.framework.node import RED, TWO, Node, node_in
from tests.support.framework.parts import UNREACHABLE, claim_of, device_of, pod_of, report_of

SLOW_S = 1.4


def slow(
    node: Node, took_s: float = SLOW_S, error: Exception | None = UNREACHABLE
) -> Callable[[], Coroutine[Any, Any, None]]:
    """A call that takes its time, and then fails or not."""

    async def step() -> None:
        await node.stage.clock.sleep(took_s)
        if error is not None:
            raise error

    return step


async def fail_slowly(node: Node, sandbox: str = "sandbox-1") -> None:
    """The red claim's pod starts, and fails after a while."""
    node.stage.driver.on["attach eth1"] = [slow(node)]
    with pytest.raises(AttachError):
        await node.run(pod_of(sandbox=sandbox))


async def test_slow_failure_is_not_tried_again_at_once(tmp_path: Path) -> None:
    """It is refused without the driver for several times as long as it took, and then tried."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await fail_slowly(node)
        node.stage.driver.calls.clear()
        refusal = "for another 6 s: the last attempt took 1.4 s and failed: .*out of reach"
        with pytest.raises(NotYetError, match=refusal):
            await node.run(pod_of(sandbox="s2"))
        await node.stage.clock.sleep(5)
        with pytest.raises(NotYetError, match="for another 1 s"):
            await node.run(pod_of(sandbox="s3"))
        assert node.stage.driver.calls == []
        await node.stage.clock.sleep(1)
        await node.run(pod_of(sandbox="s4"))
        assert node.stage.states() == {"s4/eth1": "attached"}


async def test_pauses_grow(tmp_path: Path) -> None:
    """Failures in a row come further and further apart, up to twenty times what each took."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        pauses = []
        for number in range(6):
            await fail_slowly(node, f"s{number}")
            with pytest.raises(NotYetError) as caught:
                await node.run(pod_of(sandbox="refused"))
            pauses.append(round(caught.value.wait_s, 1))
            await node.stage.clock.sleep(300)
        assert pauses == [5.6, 11.2, 22.4, 28.0, 28.0, 28.0]
        await node.run(pod_of(sandbox="fine"))
        await fail_slowly(node, "again")
        with pytest.raises(NotYetError, match="for another 6 s"):
            await node.run(pod_of(sandbox="refused"))


async def test_refused_pod_does_not_start_without(tmp_path: Path) -> None:
    """A container of a sandbox that slipped through is refused as well, and as quickly."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await fail_slowly(node)
        with pytest.raises(NotYetError):
            await node.create(pod_of(sandbox="s2"))
        assert node.stage.states() == {}


async def test_quick_failure_is_tried_again_at_once(tmp_path: Path) -> None:
    """A tenant who repairs a quick failure waits only for kubelet."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        for number in range(20):
            node.stage.driver.on["attach eth1"] = [slow(node, 0.02)]
            with pytest.raises(AttachError):
                await node.run(pod_of(sandbox=f"s{number}"))
        await node.run(pod_of(sandbox="last"))


async def test_cut_off_counts(tmp_path: Path) -> None:
    """An attach that is cut off at its limit failed after all the time that a hook waited."""

    async def hang() -> None:
        await node.stage.clock.sleep(SLOW_S)
        await asyncio.Event().wait()

    async with node_in(tmp_path, limit_s=0.2) as node:
        await node.stage.prepare(RED)
        node.stage.driver.on["attach eth1"] = [hang]
        with pytest.raises(AttachTimeoutError):
            await node.run(pod_of())
        with pytest.raises(NotYetError, match=r"were not attached within 0\.2 s"):
            await node.run(pod_of(sandbox="s2"))


async def test_hung_up_counts(tmp_path: Path) -> None:
    """A runtime that hung up in the middle has waited, too."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        begun = node.stage.driver.hang("attach eth1")
        hook = asyncio.ensure_future(node.run(pod_of()))
        await begun.wait()
        await node.stage.clock.sleep(SLOW_S)
        hook.cancel()
        await asyncio.gather(hook, return_exceptions=True)
        with pytest.raises(NotYetError, match="interrupted"):
            await node.run(pod_of(sandbox="s2"))


async def test_rollback_counts(tmp_path: Path) -> None:
    """A failure that was quick pays for the time in which it was undone."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.fail("attach eth1", UNREACHABLE)
        node.stage.driver.on["detach eth1"] = [slow(node, error=None)]
        with pytest.raises(AttachError):
            await node.run(pod_of())
        with pytest.raises(NotYetError, match=r"took 1\.4 s"):
            await node.run(pod_of(sandbox="s2"))


async def test_slow_neighbour_of_a_quick_failure(tmp_path: Path) -> None:
    """A failed device pays for the whole hook, also if another device took the time."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(TWO)
        node.stage.driver.on["attach eth1"] = [slow(node, error=None)]
        node.stage.driver.fail("attach eth2", UNREACHABLE)
        with pytest.raises(AttachError):
            await node.run(pod_of())
        with pytest.raises(NotYetError, match=r"took 1\.4 s"):
            await node.run(pod_of(sandbox="s2"))


async def test_success_clears(tmp_path: Path) -> None:
    """After a success, wherever it was, the claim is as if it had never failed."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await fail_slowly(node)
        await node.synchronize(pod_of(sandbox="s2"))
        await node.repairer.wait_idle()
        assert node.stage.states() == {"s2/eth1": "attached"}
        await node.run(pod_of(sandbox="s3"))
        assert node.stage.states() == {"s3/eth1": "attached"}


async def test_other_pods_of_a_failed_pods_claims(tmp_path: Path) -> None:
    """Only the claim that failed is refused; one that the pod has beside it serves other pods."""
    shared = claim_of("shared", device_of("eth2"), pods=("pod-1", "pod-2"))
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED, shared)
        await fail_slowly(node)
        await node.run(pod_of("pod-2", "s2"))
        assert node.stage.states() == {"s2/eth2": "attached"}


async def test_repairs_are_not_refused(tmp_path: Path) -> None:
    """What the runtime does not wait for is tried as before: a running pod lacks its interface."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await fail_slowly(node)
        node.stage.driver.on["attach eth1"] = [slow(node)]
        await node.synchronize(pod_of(sandbox="s2"))
        await node.repairer.wait_idle()
        assert node.stage.states() == {"s2/eth1": "attached"}


async def test_failed_repairs_cost_nothing(tmp_path: Path) -> None:
    """A repair that takes its time and fails does not make the hooks refuse its claim."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        failed = asyncio.Event()

        async def fail() -> None:
            await node.stage.clock.sleep(SLOW_S)
            failed.set()
            raise UNREACHABLE

        node.stage.driver.on["attach eth1"] = [fail]
        await node.synchronize(pod_of(sandbox="s1"))
        await failed.wait()
        await node.run(pod_of(sandbox="s2"))
        assert node.stage.states()["s2/eth1"] == "attached"


def claims_of(namespace: str, count: int) -> list[Claim]:
    """Claims with a device and a pod each."""
    names = [f"{namespace}-{number}" for number in range(count)]
    return [
        claim_of(
            name, device_of(name), pods=(f"pod-{name}",), owner=f"pod-{name}", namespace=namespace
        )
        for name in names
    ]


async def start(node: Node, claim: Claim) -> None:
    """The claim's pod gets a sandbox."""
    (uid,) = claim.pod_uids
    await node.run(pod_of(uid, f"s-{claim.name}", namespace=claim.namespace))


async def spend_budget(node: Node, namespace: str) -> list[Claim]:
    """Start pods that fail slowly; those that were tried."""
    claims = claims_of(namespace, 50)
    await node.stage.prepare(*claims)
    tried = []
    for claim in claims:
        node.stage.driver.on[f"attach {claim.devices[0].device}"] = [slow(node)] * 100
        with pytest.raises(PeerError) as caught:
            await start(node, claim)
        if isinstance(caught.value, AttachError):
            tried.append(claim)
    return tried


async def test_many_slow_claims_of_a_namespace(tmp_path: Path) -> None:
    """Fifty pods that fail slowly hold up the node for seconds, not for minutes."""
    async with node_in(tmp_path) as node:
        assert len(await spend_budget(node, "bad")) == 8
        with pytest.raises(NotYetError, match="namespace bad has delayed"):
            await start(node, claims_of("bad", 50)[49])


async def test_in_the_long_run(tmp_path: Path) -> None:
    """Whatever kubelet does, a namespace's failures take a twentieth of the time."""
    async with node_in(tmp_path) as node:
        claims = await spend_budget(node, "bad")
        took_s = 0.0
        for _ in range(1000):
            for claim in claims:
                before_s = node.stage.clock.monotonic()
                with pytest.raises(PeerError):
                    await start(node, claim)
                took_s += node.stage.clock.monotonic() - before_s
            await node.stage.clock.sleep(1)
        assert took_s / (1000 + took_s) <= 0.05


async def test_other_namespaces_do_not_pay(tmp_path: Path) -> None:
    """While one namespace has to wait, another one's pods start."""
    async with node_in(tmp_path) as node:
        await spend_budget(node, "bad")
        (good,) = claims_of("good", 1)
        await node.stage.prepare(good)
        await start(node, good)
        assert node.stage.states() == {"s-good-0/good-0": "attached"}


async def test_pods_that_were_attached_do_not_pay(tmp_path: Path) -> None:
    """A pod whose last attach succeeded gets its new sandbox, whatever its namespace did since."""
    steady = claim_of("steady", device_of("eth9"), pods=("pod-9",), owner="pod-9", namespace="bad")
    async with node_in(tmp_path) as node:
        await node.stage.prepare(steady)
        booking = node.stage.journal.bookings[steady.uid]
        await node.stage.journal.put_report(report_of(booking))
        await spend_budget(node, "bad")
        await start(node, steady)
        assert node.stage.states() == {"s-steady/eth9": "attached"}
        node.stage.driver.on["attach eth9"] = [slow(node)]
        with pytest.raises(AttachError):
            await node.run(pod_of("pod-9", "again", namespace="bad"))
        await node.stage.clock.sleep(30)
        with pytest.raises(NotYetError, match=r"namespace bad has delayed.*out of reach"):
            await start(node, steady)


async def test_claims_that_were_not_tried_come_first(tmp_path: Path) -> None:
    """When a namespace has a little time again, those that failed before wait for more of it."""
    async with node_in(tmp_path) as node:
        failed = await spend_budget(node, "bad")
        await node.stage.clock.sleep(30)
        for claim in failed:
            with pytest.raises(NotYetError):
                await start(node, claim)
        fresh = claims_of("bad", 50)[49]
        node.stage.driver.on.clear()
        await start(node, fresh)
        await node.stage.clock.sleep(60)
        await start(node, failed[0])


async def test_claim_that_was_not_tried_says_so(tmp_path: Path) -> None:
    """A claim of which nothing is known yet says why it waits; a failed one keeps its reason."""
    async with node_in(tmp_path) as node:
        await spend_budget(node, "bad")
        late = claims_of("bad", 50)[49]
        node.stage.reports.touched.clear()
        with pytest.raises(NotYetError):
            await start(node, late)
        ((uid, failures),) = node.stage.reports.touched
        assert uid == late.uid
        assert "delayed the node" in next(iter(failures.values()))
        await node.stage.journal.put_report(failed_report(node.stage.journal.bookings[late.uid]))
        node.stage.reports.touched.clear()
        with pytest.raises(NotYetError):
            await start(node, late)
        assert node.stage.reports.touched == []


def failed_report(booking: Booking) -> Report:
    """A report that a booking's device failed."""
    report = report_of(booking, "no addresses left")
    (device,) = report.devices
    return msgspec.structs.replace(report, devices=(msgspec.structs.replace(device, ready=False),))


async def test_slow_lookup_is_not_the_namespaces_fault(tmp_path: Path) -> None:
    """A pod that could not be looked up waits; its namespace does not pay for the API server."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        clock, pods = node.stage.clock, node.stage.pods
        for number in range(20):
            pods.faults = [UNREACHABLE]
            pods.before = lambda: clock.sleep(SLOW_S)
            with pytest.raises(PeerError, match="out of reach"):
                await node.run(pod_of(f"p{number}", f"s{number}"))
        asked = len(pods.gets)
        with pytest.raises(NotYetError, match="out of reach"):
            await node.run(pod_of("p19", "again"))
        assert len(pods.gets) == asked
        await node.run(pod_of())
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


async def test_slow_planning_counts(tmp_path: Path) -> None:
    """A claim that has to be planned anew in a hook, and takes its time, pays for it."""
    claims = claims_of("bad", 20)
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims = {claim.name: claim for claim in claims}
        tried = 0
        for claim in claims:
            node.stage.driver.on[f"prepare {claim.name}"] = [slow(node)]
            with pytest.raises(PeerError) as caught:
                await start(node, claim)
            tried += not isinstance(caught.value, NotYetError)
        assert tried == 8
        with pytest.raises(NotYetError):
            await start(node, claims[0])


async def test_slow_remains_of_an_earlier_sandbox_count(tmp_path: Path) -> None:
    """A pod whose last sandbox cannot be undone waits, and its namespace pays."""
    claims = claims_of("bad", 8)
    async with node_in(tmp_path) as node:
        await node.stage.prepare(*claims)
        for claim in claims:
            await start(node, claim)
        for claim in claims:
            (uid,) = claim.pod_uids
            node.stage.driver.on[f"detach {claim.devices[0].device}"] = [slow(node)]
            for error in (DetachError, NotYetError):
                with pytest.raises(error):
                    await node.run(pod_of(uid, f"new-{claim.name}", namespace="bad"))
        assert not node.stage.hook_time.may_wait("bad")


async def test_stop_does_not_wait_where_time_is_spent(tmp_path: Path) -> None:
    """Pods of a namespace that has spent its time are undone in the background."""
    steady = claim_of("steady", device_of("eth9"), pods=("pod-9",), owner="pod-9", namespace="bad")
    pod = pod_of("pod-9", "s-steady", namespace="bad")
    async with node_in(tmp_path) as node:
        await node.stage.prepare(steady)
        await start(node, steady)
        await spend_budget(node, "bad")
        begun, go = node.stage.driver.hold("detach eth9")
        await node.stop(pod)
        await node.remove(pod)
        await begun.wait()
        go.set()
        await node.repairer.wait_idle()
        assert node.stage.states() == {}


async def test_slow_detaches_count(tmp_path: Path) -> None:
    """A detach that holds up Stop and fails is paid for by its namespace."""
    (claim,) = claims_of("bad", 1)
    async with node_in(tmp_path) as node:
        await node.stage.prepare(claim)
        await start(node, claim)
        node.stage.driver.on[f"detach {claim.devices[0].device}"] = [slow(node, took_s=20.0)]
        (uid,) = claim.pod_uids
        await node.stop(pod_of(uid, f"s-{claim.name}", namespace="bad"))
        assert not node.stage.hook_time.may_wait("bad")
        await node.repairer.wait_idle()
        assert node.stage.states() == {}


async def test_a_namespace_without_budget_is_not_waited_for(tmp_path: Path) -> None:
    """A detach that is quick is done before Stop returns; one that hangs goes on afterwards."""
    quick, stuck = claims_of("bad", 2)
    async with node_in(tmp_path) as node:
        await node.stage.prepare(quick, stuck)
        for claim in (quick, stuck):
            await start(node, claim)
        node.stage.hook_time.draw("bad", 1000.0)
        node.stage.driver.hang(f"detach {stuck.devices[0].device}")
        for claim, left in ((quick, 1), (stuck, 1)):
            (uid,) = claim.pod_uids
            await node.stop(pod_of(uid, f"s-{claim.name}", namespace="bad"), within_s=600.0)
            assert len(node.stage.states()) == left
        await node.repairer.wait_idle()
        assert node.stage.states() == {}


def test_memory() -> None:
    """However many claims fail, only so many failures are kept, with a text of bounded length."""
    hook_time = HookTime(FakeClock())
    for number in range(2 * KEPT):
        hook_time.note_failure(pod_of(), {f"uid-{number}"}, SLOW_S, "x" * 100_000)
    assert len(hook_time) == KEPT
    with pytest.raises(NetclaimError) as caught:
        hook_time.check_claims(pod_of(), {f"uid-{2 * KEPT - 1}": False})
    assert len(str(caught.value)) < 1200


def test_longest_pause() -> None:
    """Where the runtime waits for minutes, a failure is tried again after five of them."""
    hook_time = HookTime(FakeClock())
    for _ in range(1000):
        hook_time.note_failure(pod_of(), {"uid-red"}, 60.0, "no answer")
    with pytest.raises(NotYetError, match="for another 300 s"):
        hook_time.check_claims(pod_of(), {"uid-red": False})
