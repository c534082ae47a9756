"""What an API server refuses of a pod's nodes, restarts and resources."""

from typing import Any

import pytest

from netclaim.schema.rules.pods import check_pod_spec, is_extended_resource
from netclaim.schema.rules.workloads import check_job, check_replicated

CONTAINER = {"name": "c", "image": "i"}


def said(**spec: Any) -> list[str]:
    """What is wrong with a pod's spec."""
    return [str(fault) for fault in check_pod_spec({"containers": [CONTAINER], **spec}, ())]


def affinity(**expression: Any) -> dict[str, Any]:
    """Required node affinity with one requirement."""
    terms = [{"matchExpressions": [{"key": "zone", **expression}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": required}


def resources(**written: Any) -> list[dict[str, Any]]:
    """A container with requests and limits."""
    return [{**CONTAINER, "resources": written}]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"restartPolicy": "never"}, 'restartPolicy: Unsupported value: "never"'),
    ({"tolerations": [{"key": "a", "operator": "Equals"}]}, "tolerations[0].operator: Unsupported"),
    ({"tolerations": [{"operator": "Equal"}]}, "tolerations[0].operator: Invalid value"),
    (
        {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
        "tolerations[0].operator: Invalid value",
    ),
    ({"tolerations": [{"key": "a", "effect": "Never"}]}, "tolerations[0].effect: Unsupported"),
    (
        {"tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 3}]},
        "tolerations[0].effect: Invalid value",
    ),
    ({"affinity": affinity(operator="in", values=["a"])}, "affinity.nodeAffinity.required"),
    ({"affinity": affinity(operator="In")}, "affinity.nodeAffinity.required"),
    ({"affinity": affinity(operator="Exists", values=["a"])}, "affinity.nodeAffinity.required"),
    ({"affinity": affinity(operator="Gt", values=["1", "2"])}, "affinity.nodeAffinity.required"),
    (
        {"containers": resources(requests={"a.b/c": 1})},
        "containers[0].resources.limits: Required value",
    ),
    (
        {"containers": resources(limits={"a.b/c": "1500m"})},
        "containers[0].resources.limits[a.b/c]: Invalid value",
    ),
    (
        {"containers": resources(limits={"a.b/c": 2}, requests={"a.b/c": 1})},
        "containers[0].resources.requests: Invalid value",
    ),
    (
        {"containers": resources(limits={"cpu": 1}, requests={"cpu": "1500m"})},
        "containers[0].resources.requests: Invalid value",
    ),
    (
        {"containers": resources(limits={"cpu": -1})},
        "containers[0].resources.limits[cpu]: Invalid value",
    ),
]


@pytest.mark.parametrize(("spec", "expected"), WRONG, ids=str)
def test_a_value_that_no_server_stores(spec: dict[str, Any], expected: str) -> None:
    """Each is one fault, at the field where the server has it."""
    (fault,) = said(**spec)
    assert fault.startswith(expected)


STORED: list[dict[str, Any]] = [
    {"restartPolicy": "OnFailure"},
    {"tolerations": [{"operator": "Exists"}, {"key": "a", "value": "b"}]},
    {"tolerations": [{"key": "a", "effect": "NoExecute", "tolerationSeconds": 3}]},
    {"affinity": affinity(operator="NotIn", values=["a", "b"])},
    {"affinity": affinity(operator="DoesNotExist")},
    {"affinity": affinity(operator="Lt", values=["5"])},
    {"containers": resources(limits={"a.b/c": 2, "cpu": "1500m"}, requests={"cpu": 1})},
    {"containers": resources(limits={"memory": "1Gi", "hugepages-2Mi": "4Mi"})},
]
OF_A_FEATURE: list[dict[str, Any]] = [
    {"tolerations": [{"key": "a", "operator": "Gt", "value": "5"}]},
    {"containers": resources(requests={"deviceclass.resource.kubernetes.io/x": 1})},
]


@pytest.mark.parametrize("spec", [*STORED, *OF_A_FEATURE], ids=str)
def test_a_value_that_servers_store(spec: dict[str, Any]) -> None:
    """Operators of features that a cluster may have are not refused."""
    assert said(**spec) == []


def test_an_affinity_without_terms() -> None:
    """What is required of a node cannot be nothing."""
    required: dict[str, Any] = {"requiredDuringSchedulingIgnoredDuringExecution": {}}
    (fault,) = said(affinity={"nodeAffinity": required})
    assert "nodeSelectorTerms: Required value" in fault


def test_who_makes_pods_says_how_they_restart() -> None:
    """Pods that are kept up restart always; those of a Job never do so."""
    labels = {"a": "b"}
    inner = {"containers": [CONTAINER], "restartPolicy": "Never"}
    template = {"metadata": {"labels": labels}, "spec": inner}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    (kept,) = check_replicated(spec, None, ())
    assert kept.field == "template.spec.restartPolicy"
    assert not [*check_job({"template": template}, ())]
    lasting = {"template": {"spec": {**inner, "restartPolicy": "Always"}}}
    (job,) = check_job(lasting, ())
    assert job.field == "template.spec.restartPolicy"


def test_names_of_extended_resources() -> None:
    """They have a domain that is not Kubernetes' own."""
    assert is_extended_resource("example.com/gpu")
    for name in ("cpu", "kubernetes.io/x", "a.kubernetes.io/x", "requests.a.b/x", "A_b/x"):
        assert not is_extended_resource(name)
