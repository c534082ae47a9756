"""What became of pods, as told from the cluster's objects."""

from typing import Any

import pytest

from netclaim.local.api import Verbs
from netclaim.local.events import record
from netclaim.local.result.expected import expected_pods, held_back
from netclaim.local.result.interfaces import Interface
from netclaim.local.result.outcome import PodOutcome, outcomes, settled
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import CLAIM, DAEMON_SET, DEPLOYMENT, JOB, NODE, POD, STATEFUL_SET
from tests.pure.local.control.test_control import deployment_spec, make, pod_spec, settle
from tests.pure.local.node.test_kubelet import DRIVER, add_claim, add_pod
from tests.support.local.parts import new_verbs

READY = {"type": "Ready", "status": "True"}
REPORT: JsonObject = {
    "driver": DRIVER,
    "pool": "n",
    "device": "eth1",
    "conditions": [READY],
    "networkData": {"interfaceName": "net1", "ips": ["10.0.0.2/24"], "hardwareAddress": "aa"},
}


def set_status(verbs: Verbs, kind: Any, name: str, **status: Any) -> None:
    """Write a status past all rules."""
    found = verbs.get(kind, name, "default")
    verbs.store.put(kind, {**found, "status": {**found.get("status", {}), **status}})


def only(verbs: Verbs) -> PodOutcome:
    """The outcome of the only pod."""
    (found,) = outcomes(verbs.store, [DRIVER])
    return found


def test_pod_is_ready_when_its_interface_is_reported() -> None:
    """Running is not enough: the claim must say that the device is in the pod."""
    verbs = new_verbs()
    add_claim(verbs, "x", add_pod(verbs, "p", "x"))
    assert only(verbs).state == "starting"
    set_status(verbs, POD, "p", phase="Running", podIP="10.244.0.2")
    assert only(verbs).state == "starting"
    set_status(verbs, CLAIM, "x", devices=[REPORT])
    found = only(verbs)
    assert (found.state, found.node, found.ip) == ("ready", "n", "10.244.0.2")
    assert found.interfaces == (Interface("net1", ("10.0.0.2/24",), "aa", "eth1", "x"),)


def test_pod_on_a_node_that_is_not_there() -> None:
    """Nobody waits for a kubelet that does not exist."""
    verbs = new_verbs()
    add_pod(verbs, "p")
    assert only(verbs).state == "starting"
    make(verbs, NODE, "other", {})
    found = only(verbs)
    assert (found.state, found.stage) == ("stopped", "schedule")
    assert found.reason == 'nodeName is set to "n", but the nodes are other'
    make(verbs, NODE, "n", {})
    assert only(verbs).state == "starting"


def test_device_that_is_not_ready_counts_for_nothing() -> None:
    """A report of failure is no interface."""
    verbs = new_verbs()
    add_claim(verbs, "x", add_pod(verbs, "p", "x"))
    set_status(verbs, POD, "p", phase="Running")
    failed = {**REPORT, "conditions": [{**READY, "status": "False"}]}
    set_status(verbs, CLAIM, "x", devices=[failed])
    assert only(verbs).state == "starting"


def test_devices_of_other_drivers_do_not_matter() -> None:
    """A pod waits for the reports of our drivers alone."""
    verbs = new_verbs()
    add_claim(verbs, "x", add_pod(verbs, "p", "x"), driver="gpu.example.com")
    set_status(verbs, POD, "p", phase="Running")
    assert only(verbs).state == "ready"


def test_pods_that_share_a_claim_have_their_own_addresses() -> None:
    """Of a shared claim's report each pod is shown its own interface."""
    verbs = new_verbs()
    pods = [add_pod(verbs, name, "x") for name in ("p", "q")]
    add_claim(verbs, "x", *pods)
    entries = [
        {"uid": pod["metadata"]["uid"], "interfaceName": "net1", "ips": [f"10.0.0.{n}/24"]}
        for n, pod in enumerate(pods)
    ]
    set_status(verbs, CLAIM, "x", devices=[REPORT])  # of the one that was first
    set_status(verbs, POD, "p", phase="Running")
    assert [pod.state for pod in outcomes(verbs.store, [DRIVER])] == ["ready", "starting"]
    set_status(verbs, POD, "q", phase="Running")
    assert [pod.state for pod in outcomes(verbs.store, [DRIVER])] == ["starting", "starting"]
    set_status(verbs, CLAIM, "x", devices=[{**REPORT, "data": {"pods": entries}}])
    found = outcomes(verbs.store, [DRIVER])
    assert [pod.interfaces[0].ips for pod in found] == [("10.0.0.0/24",), ("10.0.0.1/24",)]


def test_second_failure_stops_a_pod() -> None:
    """One failure may be chance; after the second the pod counts as stopped, with its stage."""
    verbs = new_verbs()
    pod = add_pod(verbs, "p")
    for state in ("starting", "stopped"):
        reason = "FailedCreatePodSandBox"
        set_status(verbs, POD, "p", phase="Pending", reason=reason, message="no luck")
        record(verbs, pod, reason, "no luck", by="kubelet", warning=True)
        found = only(verbs)
        assert (found.state, found.stage, found.reason) == (state, "attach", "no luck")


def test_unschedulable_pod_is_stopped_at_once() -> None:
    """The scheduler's no is final as long as nothing changes."""
    verbs = new_verbs()
    add_pod(verbs, "p", node="")
    condition = {"type": "PodScheduled", "reason": "Unschedulable", "message": "0/3 nodes"}
    set_status(verbs, POD, "p", conditions=[condition])
    found = only(verbs)
    assert (found.state, found.stage, found.reason) == ("stopped", "schedule", "0/3 nodes")


def test_settled_waits_for_every_pod() -> None:
    """All that was asked for has to be there, and none may be on its way."""
    verbs = new_verbs()
    add_pod(verbs, "p")
    assert not settled(outcomes(verbs.store, [DRIVER]), 1)
    set_status(verbs, POD, "p", phase="Running")
    assert settled(outcomes(verbs.store, [DRIVER]), 1)
    assert not settled(outcomes(verbs.store, [DRIVER]), 2)


def test_every_workload_counts_its_pods() -> None:
    """Pods that are going to be made are expected before they are there, and counted once."""
    verbs = new_verbs()
    make(verbs, NODE, "n", {})
    make(verbs, DEPLOYMENT, "web", deployment_spec(3))
    make(verbs, STATEFUL_SET, "db", deployment_spec(2))
    make(verbs, DAEMON_SET, "agent", deployment_spec(0))
    template = {"spec": {**pod_spec(), "restartPolicy": "Never"}}
    make(verbs, JOB, "train", {"template": template, "parallelism": 4})
    make(verbs, POD, "p", pod_spec())
    assert expected_pods(verbs.store) == 11
    settle(verbs)
    assert expected_pods(verbs.store) == 11
    owners = {pod.owner for pod in outcomes(verbs.store, [DRIVER])}
    assert owners == {"", "Deployment web", "StatefulSet db", "DaemonSet agent", "Job train"}


def test_pods_behind_a_stopped_one_are_not_waited_for() -> None:
    """What a StatefulSet does not create has an outcome that names the pod before it."""
    verbs = new_verbs()
    make(verbs, STATEFUL_SET, "db", deployment_spec(3))
    settle(verbs)
    found = outcomes(verbs.store, [DRIVER])
    assert [(pod.name, pod.state) for pod in found] == [("db-0", "stopped")]  # there is no node
    behind = held_back(verbs.store, found)
    assert [(pod.name, pod.stage) for pod in behind] == [("db-1", "order"), ("db-2", "order")]
    assert behind[0].reason == "StatefulSet db creates it when db-0 runs"
    assert settled((*found, *behind), expected_pods(verbs.store))


def test_pods_behind_a_slow_one_are_counted_when_the_time_is_over() -> None:
    """A pod that is still starting holds back the next; at the end these are starting, too."""
    verbs = new_verbs()
    make(verbs, NODE, "n", {})
    make(verbs, STATEFUL_SET, "db", deployment_spec(2))
    settle(verbs)
    found = outcomes(verbs.store, [DRIVER])
    assert held_back(verbs.store, found) == ()
    (behind,) = held_back(verbs.store, found, over=True)
    assert (behind.name, behind.state) == ("db-1", "starting")


@pytest.mark.parametrize(
    ("networks", "named"),
    [
        ("storage", "storage of the annotation"),
        ("a, other/b@net2", "a, other/b@net2 of the annotation"),
        ('[{"name": "a"}, {"name": "b", "namespace": "c"}]', "a, c/b of the annotation"),
        ("[not json", "[not json of the annotation"),
    ],
)
def test_pod_with_networks_of_multus_is_not_ready(networks: str, named: str) -> None:
    """What netclaim does not attach is named, with what to write instead."""
    verbs = new_verbs()
    annotations = {"k8s.v1.cni.cncf.io/networks": networks}
    make(verbs, POD, "p", pod_spec(), annotations=annotations)
    set_status(verbs, POD, "p", phase="Running")
    found = only(verbs)
    assert (found.state, found.stage) == ("stopped", "network")
    assert found.reason.startswith(named)
    assert "`netclaim convert` writes claims for it" in found.reason


def test_claim_that_is_gone_is_missing() -> None:
    """A running pod whose claim does not exist is not ready."""
    verbs = new_verbs()
    add_pod(verbs, "p", "x")
    set_status(verbs, POD, "p", phase="Running")
    found = only(verbs)
    assert (found.state, found.reason) == ("starting", "claim x does not exist")
