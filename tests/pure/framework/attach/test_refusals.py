"""Every refusal is counted, with the reason that says who must act."""

from pathlib import Path
from typing import get_args

import pytest

from netclaim.cni import CniError
from netclaim.errors import (
    HostError,
    NetclaimError,
    PeerError,
    Reason,
    RequestError,
    reason_of,
    worst_reason,
)
from netclaim.framework.attach.errors import AttachError
from netclaim.framework.prepare.booker import DeviceBusyError
from netclaim.framework.prepare.kubelet_calls import ClaimAnswers
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.testing import FakeClock
from netclaim.model import ClaimRef, Leftover
from netclaim.network.errors import (
    LinkGoneError,
    ParametersError,
    PlanRefusedError,
    PolicyError,
)
from tests.pure.framework.collect.test_collect import site_in
from tests.pure.framework.prepare.test_answer import RED as REF
from tests.pure.framework.prepare.test_answer import Work
from tests.support.framework.node import RED, TWO, node_in
from tests.support.framework.parts import UNREACHABLE, claim_of, device_of, pod_of

NO_ADDRESS = CniError("no addresses left", plugin="macvlan", command="ADD")


def counted(metrics: Metrics, name: str) -> dict[str, float]:
    """The series of a counter that are not 0, by their labels without the driver."""
    found: dict[str, float] = {}
    for line in metrics.exposition().decode().splitlines():
        series, _, value = line.rpartition(" ")
        if series.startswith(f"{name}{{") and float(value):
            labels = series.partition("{")[2].rstrip("}").split(",")
            found[" ".join(each for each in labels if not each.startswith("driver="))] = float(
                value
            )
    return found


class Refusing(Work):
    """Fails every time, however fast the machine gets through the attempts."""

    def __init__(self, fault: NetclaimError) -> None:
        super().__init__()
        self.fault = fault

    async def unprepare(self, ref: ClaimRef) -> None:
        """Fail."""
        raise self.fault


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RequestError("x"), "request"),
        (PeerError("x"), "peer"),
        (HostError("x"), "host"),
        (PolicyError("x"), "policy"),
        (LinkGoneError("eth1"), "device"),
        (DeviceBusyError("x"), "device"),
        (NO_ADDRESS, "plugin"),
        (TimeoutError(), "timeout"),
        (ZeroDivisionError(), "bug"),
        (NetclaimError("x"), "bug"),
        (ParametersError([RequestError("x"), PolicyError("y")]), "policy"),
        (ParametersError([RequestError("x"), RequestError("y")]), "request"),
    ],
)
def test_reasons(error: Exception, reason: Reason) -> None:
    """An error's class says the reason; of several mistakes the policy's counts."""
    assert reason_of(error) == reason


def test_the_worst_of_several() -> None:
    """What needs somebody most comes first, and a time that ran out last but for peers."""
    assert worst_reason([PeerError("x"), NO_ADDRESS, PolicyError("y")]) == "policy"
    assert worst_reason([PeerError("x"), ZeroDivisionError()]) == "bug"
    assert get_args(Reason)[0] == "bug"


@pytest.mark.parametrize(
    ("fault", "reason"), [(PolicyError("bridge is not allowed"), "policy"), (NO_ADDRESS, "plugin")]
)
async def test_a_claim_that_is_not_prepared(fault: NetclaimError, reason: str) -> None:
    """A refused claim is counted by its reason, also if time ran out over trying it again."""
    clock = FakeClock()
    metrics = Metrics("d", clock)
    service = ClaimAnswers(Refusing(fault), clock, metrics, budget_s=0.05)
    answer = await service.prepare([REF])
    assert answer["uid-red"].error
    expected = {f'reason="{reason}" what="claim"': 1.0}
    assert counted(metrics, "netclaim_refusals_total") == expected
    retried = counted(metrics, "netclaim_retries_total")
    assert set(retried) == ({'what="prepare"'} if isinstance(fault, PeerError) else set())


async def test_a_sandbox_that_is_not_attached(tmp_path: Path) -> None:
    """A refused sandbox is counted by the worst of its devices' reasons."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(TWO)
        node.stage.driver.fail("attach eth1", UNREACHABLE)
        node.stage.driver.fail("attach eth2", NO_ADDRESS)
        with pytest.raises(AttachError):
            await node.run(pod_of())
        expected = {'reason="plugin" what="sandbox"': 1.0}
        assert counted(node.stage.metrics, "netclaim_refusals_total") == expected


async def test_a_claim_that_attach_refuses(tmp_path: Path) -> None:
    """Its status says that the claim has to be changed; one that was rolled back with it does not.

    What may pass, a plugin's failure for example, is no refusal.
    """
    other = claim_of("blue", device_of("eth2"))
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(RED, other)
        stage.driver.fail("attach eth1", PlanRefusedError("bridge is not allowed any more"))
        with pytest.raises(AttachError):
            await node.run(pod_of())
        assert {uid for uid, texts in stage.reports.touched if texts} == {"uid-red", "uid-blue"}
        assert stage.reports.refused == ["uid-red"]
        stage.reports.refused.clear()
        stage.driver.fail("attach eth1", NO_ADDRESS)
        with pytest.raises(AttachError):
            await node.run(pod_of(sandbox="sandbox-2"))
        assert stage.reports.refused == []


async def test_a_container_that_is_not_let_go(tmp_path: Path) -> None:
    """The gate counts a container that it refuses."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.fail("attach eth1", NO_ADDRESS)
        with pytest.raises(AttachError):
            await node.create(pod_of())
        expected = {'reason="plugin" what="container"': 1.0}
        assert counted(node.stage.metrics, "netclaim_refusals_total") == expected


async def test_a_detach_that_is_repeated(tmp_path: Path) -> None:
    """A detach that fails counts as one to be tried again."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        await node.run(pod_of())
        node.stage.driver.fail("detach eth1", NO_ADDRESS, times=2)
        await node.stop(pod_of())
        await node.repairer.wait_idle()
        assert counted(node.stage.metrics, "netclaim_retries_total") == {'what="detach"': 2.0}


async def test_what_is_collected(tmp_path: Path) -> None:
    """A round counts what it removed and what it could not, and is partial then."""
    async with site_in(tmp_path) as site:
        driver = site.driver
        driver.left = [Leftover("lease", "lease 1"), Leftover("result", "result 1")]
        driver.fail("collect result 1", HostError("read-only file system"))
        await site.removed()
        metrics = site.stage.metrics
        assert counted(metrics, "netclaim_collected_total") == {
            'kind="lease" outcome="removed"': 1.0,
            'kind="result" outcome="failed"': 1.0,
        }
        assert counted(metrics, "netclaim_collect_rounds_total") == {'outcome="partial"': 1.0}
        await site.removed()
        rounds = counted(metrics, "netclaim_collect_rounds_total")
        assert rounds == {'outcome="partial"': 1.0, 'outcome="complete"': 1.0}
