"""The embedded control plane: StatefulSets, DaemonSets, Jobs, and which nodes take their pods."""

from typing import Any

import pytest

from netclaim.local.api import Verbs
from netclaim.local.control.node_fit import node_takes, why_no_node
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import DAEMON_SET, JOB, NODE, POD, STATEFUL_SET
from tests.pure.local.control.test_control import deployment_spec, make, pod_spec, pods, settle
from tests.support.local.parts import new_verbs

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.fixture
def verbs() -> Verbs:
    """Three nodes; one of them has a taint."""
    verbs = new_verbs()
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    for node, spec in (("one", {}), ("two", {}), ("three", {"taints": [taint]})):
        make(verbs, NODE, node, spec, labels={"zone": node[0]})
    return verbs


def names(verbs: Verbs) -> list[str]:
    """The names of all pods."""
    return [pod["metadata"]["name"] for pod in pods(verbs)]


def run(verbs: Verbs, name: str) -> None:
    """Let a pod run, as its kubelet would."""
    found = verbs.get(POD, name, "default")
    verbs.store.put(POD, {**found, "status": {**found["status"], "phase": "Running"}})
    settle(verbs)


def test_stateful_pods_come_one_by_one(verbs: Verbs) -> None:
    """The next pod of a StatefulSet is made when the one before it runs; names are ordinals."""
    make(verbs, STATEFUL_SET, "db", {**deployment_spec(3), "ordinals": {"start": 4}})
    settle(verbs)
    assert names(verbs) == ["db-4"]
    run(verbs, "db-4")
    assert names(verbs) == ["db-4", "db-5"]
    run(verbs, "db-5")
    assert names(verbs) == ["db-4", "db-5", "db-6"]
    labels = verbs.get(POD, "db-5", "default")["metadata"]["labels"]
    assert labels["apps.kubernetes.io/pod-index"] == "5"
    assert verbs.get(STATEFUL_SET, "db", "default")["status"]["readyReplicas"] == 2


def test_parallel_stateful_pods_come_together(verbs: Verbs) -> None:
    """With the policy Parallel no pod waits for another; too many are deleted."""
    made = make(
        verbs, STATEFUL_SET, "db", {**deployment_spec(3), "podManagementPolicy": "Parallel"}
    )
    settle(verbs)
    assert names(verbs) == ["db-0", "db-1", "db-2"]
    now = verbs.get(STATEFUL_SET, "db", "default")
    fewer = {**now, "spec": {**made["spec"], "replicas": 1}}
    verbs.replace(STATEFUL_SET, fewer, now, manager="t")
    settle(verbs)
    ending = [p["metadata"]["name"] for p in pods(verbs) if "deletionTimestamp" in p["metadata"]]
    assert ending == ["db-1", "db-2"]


def test_daemon_has_a_pod_on_each_node_that_takes_it(verbs: Verbs) -> None:
    """A DaemonSet's pods go one to a node; a node with a taint needs a toleration."""
    spec = deployment_spec(0)
    del spec["replicas"]
    make(verbs, DAEMON_SET, "agent", spec)
    settle(verbs)
    assert sorted(pod["spec"]["nodeName"] for pod in pods(verbs)) == ["one", "two"]
    tolerant = {**pod_spec(), "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    template = {**spec["template"], "spec": {**tolerant, "nodeSelector": {"zone": "t"}}}
    make(verbs, DAEMON_SET, "tolerant", {**spec, "template": template})
    settle(verbs)
    found = [p for p in pods(verbs) if p["metadata"]["name"].startswith("tolerant-")]
    assert sorted(pod["spec"]["nodeName"] for pod in found) == ["three", "two"]


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 1),
        ({"parallelism": 3}, 3),
        ({"parallelism": 3, "completions": 2}, 2),
        ({"completions": 5}, 1),
        ({"parallelism": 2, "suspend": True}, 0),
    ],
)
def test_job_has_the_pods_that_run_at_a_time(
    verbs: Verbs, changes: dict[str, Any], count: int
) -> None:
    """A Job has as many pods as may run at a time; none of them ends."""
    template = {"spec": {**pod_spec(), "restartPolicy": "Never"}}
    make(verbs, JOB, "train", {"template": template, **changes})
    settle(verbs)
    assert len(pods(verbs)) == count
    assert all(name.startswith("train-") for name in names(verbs))


def test_indexed_job_numbers_its_pods(verbs: Verbs) -> None:
    """The pods of an indexed Job have their index in name, label and annotation."""
    template = {"spec": {**pod_spec(), "restartPolicy": "Never"}}
    counts = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
    make(verbs, JOB, "train", {"template": template, **counts})
    settle(verbs)
    assert [name.rpartition("-")[0] for name in names(verbs)] == ["train-0", "train-1"]
    key = "batch.kubernetes.io/job-completion-index"
    assert [pod["metadata"]["annotations"][key] for pod in pods(verbs)] == ["0", "1"]


@pytest.mark.parametrize(
    ("requirement", "takes"),
    [
        ({"operator": "In", "values": ["a", "b"]}, True),
        ({"operator": "In", "values": ["c"]}, False),
        ({"operator": "NotIn", "values": ["a"]}, False),
        ({"key": "other", "operator": "NotIn", "values": ["a"]}, True),
        ({"operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "DoesNotExist"}, False),
        ({"key": "cpus", "operator": "Gt", "values": ["7"]}, True),
        ({"key": "cpus", "operator": "Lt", "values": ["7"]}, False),
    ],
)
def test_required_node_affinity(requirement: JsonObject, takes: bool) -> None:
    """All operators of required node affinity count."""
    node = {"metadata": {"name": "n", "labels": {"zone": "a", "cpus": "8"}}}
    term = {"matchExpressions": [{"key": "zone", **requirement}]}
    spec = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}}
    assert node_takes(spec, node) is takes


def test_nodes_that_do_not_take_a_pod_are_named_with_the_reason() -> None:
    """What was wanted stands beside what each node has."""
    nodes = [
        {"metadata": {"name": "a", "labels": {"zone": "x"}}},
        {"metadata": {"name": "b", "labels": {}}},
    ]
    assert why_no_node({"nodeSelector": {"zone": "y"}}, nodes) == (
        "0/2 nodes are available: nodeSelector does not match: label zone is x, wanted y (a);"
        " nodeSelector does not match: label zone is missing, wanted y (b)"
    )
    field = {"key": "metadata.name", "operator": "In", "values": ["c"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    assert why_no_node({"affinity": {"nodeAffinity": {REQUIRED: required}}}, nodes) == (
        "0/2 nodes are available: required node affinity does not match:"
        " metadata.name In [c] (a, b)"
    )
