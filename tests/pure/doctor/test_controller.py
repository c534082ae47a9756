"""What the doctor finds of the controller, and of what only the controller looks at."""

from typing import Any

import pytest

from netclaim.doctor.examine import examine
from netclaim.doctor.finding import Outcome, Result
from netclaim.schema.annotated import NAMESPACE_LABEL, NAMESPACE_VALUE
from netclaim.survey.driver_pods import CONTROLLER
from tests.support.doctor_site import OURS, SPACE, cluster_with
from tests.support.kube.stub import Reply, status

CHECKS = ("controller", "networks-ready", "pools-ready")
DEPLOYMENTS = "/apis/apps/v1/deployments"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases/{CONTROLLER}"
NETWORKS, POOLS = f"{OURS}/podnetworks", f"{OURS}/addresspools"
GONE = Reply(status(404, "NotFound", "not found"), status=404)


def replica(name: str, ready: str = "True", restarts: int = 0, state: Any = None) -> Any:
    """A pod of the controller."""
    container = {"name": "controller", "state": state or {"running": {}}, "restartCount": restarts}
    return {
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {"nodeName": "one"},
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "containerStatuses": [container],
        },
    }


def installed(
    *pods: Any,
    replicas: int = 2,
    holder: str = "a",
    renewed: str = "02:59:58",
    changed: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A cluster with the controller's Deployment, and one network and one pool."""
    meta = {"name": CONTROLLER, "namespace": SPACE}
    lease = {"holderIdentity": holder, "renewTime": f"2026-11-17T{renewed}.000000Z"}
    there: dict[str, Any] = {
        DEPLOYMENTS: [{"metadata": meta, "spec": {"replicas": replicas}}],
        PODS: list(pods),
        LEASE: {"spec": lease},
        NETWORKS: [offered("media", "True")],
        POOLS: [offered("addresses", "True", size=9, free=9)],
    }
    return {**there, **(changed or {})}


def offered(name: str, ready: str, seen: int = 1, **counts: int) -> Any:
    """A network or a pool of the first generation, of which the controller says something."""
    said = {"type": "Ready", "status": ready, "reason": "Because", "message": "why"}
    return {
        "metadata": {"name": name, "generation": 1},
        "spec": {"type": "macvlan", "ranges": [{"cidr": "192.0.2.0/28"}]},
        "status": {"observedGeneration": seen, "conditions": [said], **counts},
    }


async def found_in(changed: dict[str, Any]) -> dict[str, Result]:
    """What these checks find."""
    async with cluster_with(changed) as sight:
        return {each.id: each for each in await examine(sight, None) if each.id in CHECKS}


BOTH = (replica("a"), replica("b"))
WITHOUT = {DEPLOYMENTS: [], NETWORKS: [offered("media", "True")]}
LABELLED = {"name": "team-a", "labels": {NAMESPACE_LABEL: NAMESPACE_VALUE}}
BACK_OFF = {"waiting": {"reason": "ImagePullBackOff"}}


@pytest.mark.parametrize(
    ("changed", "outcome", "words", "remedy"),
    [
        (installed(*BOTH), "ok", "2 of 2 replicas", ""),
        ({}, "skipped", "no Deployment has the label", ""),
        ({NETWORKS: GONE, POOLS: GONE}, "skipped", "no Deployment has the label", ""),
        (WITHOUT, "error", "and this needs it: 1 PodNetwork", "controller.enabled=true"),
        ({**WITHOUT, POOLS: [offered("p", "True")]}, "error",
         "this needs it: 1 PodNetwork, 1 AddressPool", "controller.enabled=true"),
        ({"/api/v1/namespaces": [{"metadata": LABELLED}]}, "error",
         f"1 namespace with the label {NAMESPACE_LABEL}", "controller.enabled=true"),
        (installed(*BOTH, changed={NETWORKS: GONE}), "error",
         "there is no definition of PodNetworks", "helm upgrade"),
        (installed(replicas=0), "error", "is scaled to 0", "scale deployment"),
        (installed(), "error", "no replica of netclaim-system/netclaim-controller is ready",
         "describe deployment"),
        (installed(replica("a", "False", state=BACK_OFF)), "error", "a is not (ImagePullBackOff)",
         "describe pod a"),
        (installed(replica("a", "False")), "error", "a is not", "logs a"),
        (installed(replica("a", "False", restarts=3)), "error", "a is not", "logs a --previous"),
        (installed(replica("a"), replica("b", "False", state=BACK_OFF)), "warning",
         "1 of 2 replicas of netclaim-system/netclaim-controller are ready; b is not",
         "describe pod b"),
        (installed(*BOTH, renewed="02:58:00"), "error", "a last renewed its Lease at 2026-11-17",
         "look at warnings"),
        (installed(replica("a", "False"), replica("b")), "error",
         "it is the turn of a, which is not ready", "look at warnings"),
        (installed(*BOTH, holder=""), "error", "nobody holds the Lease", "look at warnings"),
        (installed(*BOTH, changed={LEASE: GONE}), "error", "there is no Lease", "look at warnings"),
        (installed(*BOTH, changed={LEASE: Reply(status(403, "Forbidden", "no"), status=403)}), "ok",
         "2 of 2 replicas", ""),
    ],
)  # fmt: skip
async def test_who_works(changed: dict[str, Any], outcome: str, words: str, remedy: str) -> None:
    """A controller that is needed and does not work is found, whatever keeps it from working."""
    finding = (await found_in(changed))["controller"].finding
    assert finding.outcome == Outcome(outcome)
    assert words in finding.found
    assert remedy in finding.remedy
    assert bool(finding.remedy) is bool(remedy)


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({NETWORKS: [], POOLS: []},
         {"networks-ready": ("skipped", "there are no networks"),
          "pools-ready": ("skipped", "there are no pools")}),
        ({}, {"networks-ready": ("ok", "1 network"), "pools-ready": ("ok", "1 pool")}),
        ({NETWORKS: [offered("new", "True", seen=0), offered("lost", "False")]},
         {"networks-ready": ("error", "lost: why; also new")}),
        ({NETWORKS: [offered("new", "True", seen=0)]},
         {"networks-ready": ("warning", "new: the controller has not looked at it as it is now")}),
        ({POOLS: [offered("media", "True", size=20, free=1)]},
         {"pools-ready": ("warning", "media: nearly full: 1 of 20 addresses are free")}),
    ],
)  # fmt: skip
async def test_what_is_offered(changed: dict[str, Any], wanted: dict[str, tuple[str, str]]) -> None:
    """Networks and pools that new pods cannot use, and a report about an earlier version."""
    found = await found_in(installed(*BOTH, changed=changed))
    for name, (outcome, words) in wanted.items():
        assert (found[name].finding.outcome, found[name].finding.found) == (outcome, words)
