"""A driver whose journal was lost knows the node's pods again from their claims."""

from pathlib import Path

import msgspec
import pytest

from netclaim.errors import PeerError, RequestError
from netclaim.framework.contract import LaterError
from netclaim.framework.journal.pod_plans import NotPreparedError
from netclaim.model import Claim
from netclaim.model.claims.claim import ReportedDevice
from tests.support.framework.node import RED, node_in
from tests.support.framework.parts import (
    DRIVER,
    UNREACHABLE,
    claim_of,
    device_of,
    pod_of,
)


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


class AwayError(LaterError, PeerError):
    """A link is not on the node."""


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


async def test_lost_journal_knows_all_pods_of_a_shared_claim(tmp_path: Path) -> None:
    """Each pod of a claim is taken over, though the first one's look planned the claim."""
    async with node_in(tmp_path, complete=False) as node:
        shared = reported(claim_of("red", pods=("pod-1", "pod-2")))
        node.stage.claims.claims["red"] = shared
        await node.synchronize(pod_of("pod-1", "s1"), pod_of("pod-2", "s2"))
        await node.repairer.wait_idle()
        assert node.stage.states() == {"s1/eth1": "attached", "s2/eth1": "attached"}
        assert node.stage.driver.calls == ["prepare red"]


async def test_lost_journal_knows_whose_interface_is_whose(tmp_path: Path) -> None:
    """Of a shared claim, each pod has the interface that the status lists for it."""
    listed = [
        {"name": uid, "uid": uid, "interfaceName": "net1", "ips": [f"192.0.2.{number}/24"]}
        for number, uid in enumerate(("pod-1", "pod-2"), start=7)
    ]
    shared = reported(claim_of("red", pods=("pod-1", "pod-2")))
    ready = (msgspec.structs.replace(shared.reported[0], data={"pods": listed}),)
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims["red"] = msgspec.structs.replace(shared, reported=ready)
        await node.synchronize(pod_of("pod-1", "s1"), pod_of("pod-2", "s2"))
        await node.repairer.wait_idle()
        leases = node.stage.journal.leases.values()
        assert {
            le.attachment.pod.id: le.attachment.interface.ips
            for le in leases
            if le.attachment.interface
        } == {"s1": ("192.0.2.7/24",), "s2": ("192.0.2.8/24",)}
        assert all(not lease.attachment.data for lease in leases)
        assert node.stage.driver.calls == ["prepare red"]


async def test_lost_journal_asks_the_driver_about_pods_of_a_shared_claim(tmp_path: Path) -> None:
    """The driver's own word on each pod goes before the one interface that the status shows."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.driver.recalled = {"eth1"}
        node.stage.claims.claims["red"] = reported(claim_of("red", pods=("pod-1", "pod-2")))
        await node.synchronize(pod_of("pod-1", "s1"), pod_of("pod-2", "s2"))
        await node.repairer.wait_idle()
        leases = node.stage.journal.leases.values()
        assert {le.attachment.pod.id: le.attachment.data for le in leases} == {
            "s1": {"of": "s1"},
            "s2": {"of": "s2"},
        }


async def test_lost_journal_completes_what_was_not_attached(tmp_path: Path) -> None:
    """A running pod whose claim does not say that it has its interface gets it."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims["red"] = RED
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["prepare red", "attach eth1"]


async def test_lost_journal_attaches_new_sandboxes(tmp_path: Path) -> None:
    """A sandbox that is made anew needs its interface, whatever the status says of the last one."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims["red"] = reported(RED)
        await node.run(pod_of())
        assert node.stage.driver.calls == ["prepare red", "attach eth1"]


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


async def test_lost_journal_goes_on_without_what_cannot_be_planned(tmp_path: Path) -> None:
    """A claim that was changed into what cannot be does not keep the journal from completion."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims["red"] = reported(RED)
        node.stage.driver.fail("prepare red", RequestError("no such key"))
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.journal.complete


async def test_lost_journal_is_not_complete_without_the_api_server(tmp_path: Path) -> None:
    """While it cannot be known what runs, it is asked again."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims["red"] = reported(RED)
        node.stage.pods.faults = [UNREACHABLE, UNREACHABLE]
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.pods.gets == ["pod-1"] * 3
        assert node.stage.states() == {"sandbox-1/eth1": "attached"}


async def test_lost_journal_does_not_take_the_status_for_the_pod(tmp_path: Path) -> None:
    """A sandbox that has not got what the status says, of an earlier one, say, gets it."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims["red"] = reported(RED)
        node.stage.driver.lost = {"eth1"}
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert node.stage.driver.calls == ["prepare red", "attach eth1"]


async def test_lost_journal_refuses_sandboxes_that_cannot_be_planned(tmp_path: Path) -> None:
    """A new sandbox is not let through without what its claim asks for."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.claims.claims["red"] = RED
        node.stage.driver.fail("prepare red", RequestError("no such key"))
        with pytest.raises(RequestError, match="no such key"):
            await node.run(pod_of())
        assert node.stage.journal.bookings == {}


async def test_lost_journal_holds_up_nobody_who_has_no_claims(tmp_path: Path) -> None:
    """Pods of the node's own disk or network start without the API server."""
    static = {"kubernetes.io/config.source": "file"}
    async with node_in(tmp_path, complete=False) as node:
        node.stage.pods.faults = [UNREACHABLE]
        for pod in (pod_of(netns=None), pod_of(annotations=static)):
            await node.run(pod)
            await node.create(pod)
        assert node.stage.pods.gets == []


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


async def test_lost_journal_knows_claims_of_pods_without_a_sandbox(tmp_path: Path) -> None:
    """Kubelet has prepared them, and does not ask again: they are planned by its record."""
    async with node_in(tmp_path, complete=False) as node:
        stage = node.stage
        stage.claims.claims["red"] = RED
        stage.kubelet.claims = [RED.ref, claim_of("gone").ref]
        stage.claims.faults = [UNREACHABLE]
        await node.synchronize()
        await node.repairer.wait_idle()
        assert stage.journal.complete
        assert set(stage.journal.bookings) == {"uid-red"}
        await node.run(pod_of())
        assert stage.driver.calls == ["prepare red", "attach eth1"]
        assert stage.pods.gets == []


async def test_lost_journal_refuses_what_kubelet_prepared_and_cannot_be_planned(
    tmp_path: Path,
) -> None:
    """Its pod does not start without; a claim whose link is away is owed."""
    async with node_in(tmp_path, complete=False) as node:
        stage = node.stage
        blue = claim_of("blue", device_of("eth2"), pods=("pod-2",))
        stage.claims.claims |= {"red": RED, "blue": blue}
        stage.kubelet.claims = [RED.ref, blue.ref]
        stage.driver.fail("prepare red", RequestError("no such key"))
        stage.driver.fail("prepare blue", AwayError("the link is away"))
        await node.synchronize()
        await node.repairer.wait_idle()
        assert stage.journal.complete
        assert stage.journal.bookings["uid-blue"].state == "owed"
        assert stage.reports.refused == ["uid-red"]
        with pytest.raises(NotPreparedError):
            await node.run(pod_of())
        await node.run(pod_of("pod-2", "s2"))
        assert stage.states() == {"s2/eth2": "attached"}


async def test_lost_journal_tries_again_what_kubelet_prepared(tmp_path: Path) -> None:
    """A fault that passes keeps no other claim waiting, and leaves none unplanned."""
    async with node_in(tmp_path, complete=False) as node:
        stage = node.stage
        blue = claim_of("blue", device_of("eth2"), pods=("pod-2",))
        stage.claims.claims |= {"red": RED, "blue": blue}
        stage.kubelet.claims = [RED.ref, blue.ref]
        stage.driver.fail("prepare red", PeerError("the plugin is being upgraded"))
        await node.synchronize()
        await node.repairer.wait_idle()
        assert stage.driver.calls == ["prepare red", "prepare blue", "prepare red"]
        assert stage.journal.complete
        assert {each.state for each in stage.journal.bookings.values()} == {"ready"}


async def test_lost_journal_is_complete_where_kubelets_record_cannot_be_read(
    tmp_path: Path,
) -> None:
    """What runs is all that can be known then."""
    async with node_in(tmp_path, complete=False) as node:
        node.stage.kubelet.claims = None
        await node.synchronize()
        await node.repairer.wait_idle()
        assert node.stage.journal.complete


async def test_lost_journal_takes_over_what_only_the_driver_remembers(tmp_path: Path) -> None:
    """A status that was not written yet does not have the interface attached a second time."""
    async with node_in(tmp_path, complete=False) as node:
        stage = node.stage
        stage.claims.claims["red"] = RED
        stage.driver.recalled = {"eth1"}
        await node.synchronize(pod_of())
        await node.repairer.wait_idle()
        assert stage.driver.calls == ["prepare red"]
        assert stage.states() == {"sandbox-1/eth1": "attached"}
        assert stage.reports.touched[-1] == ("uid-red", {})
        await node.stop(pod_of())
        assert stage.driver.calls == ["prepare red", "detach eth1"]
