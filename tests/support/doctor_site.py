"""A cluster that answers as a healthy one does, but for what a test changes."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from netclaim.doctor.cluster.shipped import CLAIM_POLICIES, NODE_POLICIES, shipped
from netclaim.doctor.cluster.sight import Account, ClusterSight
from tests.support.explain_objects import DRIVER, device_class, link, links, node
from tests.support.kube.stub import Reply, StubServer, client_of, serve_stub

DRA = "/apis/resource.k8s.io/v1"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
OURS = "/apis/cni.networking.x-k8s.io/v1alpha1"
SPACE = "netclaim-system"
ACCOUNT = Account(SPACE, "netclaim-driver")
NOW = datetime(2026, 11, 17, 3, 0, 0, tzinfo=UTC)
HTTP_NOW = "Tue, 17 Nov 2026 03:00:00 GMT"
TIMES = 4  # that something may be asked for: each is read once, but the time and the version


def good_node(name: str, kubelet: str = "v1.36.4", runtime: str = "containerd://2.3.4") -> Any:
    """A node as a healthy kubelet reports it."""
    info = {"kubeletVersion": kubelet, "containerRuntimeVersion": runtime}
    conditions = [{"type": "Ready", "status": "True"}]
    return {**node(name), "status": {"nodeInfo": info, "conditions": conditions}}


def lease(name: str, renewed: str = "2026-11-17T02:59:55.000000Z") -> Any:
    """When a kubelet last said that it lives."""
    return {"metadata": {"name": name}, "spec": {"renewTime": renewed}}


def gates(**on: bool) -> str:
    """What the API server's metrics say of gates."""
    line = 'kubernetes_feature_enabled{{name="{}",stage="BETA"}} {}'
    return "".join(line.format(name, int(value)) + "\n" for name, value in on.items())


def policies(kind: str) -> list[Any]:
    """The shipped policies, or their bindings, as installed."""
    return [
        each
        for file in (NODE_POLICIES, CLAIM_POLICIES)
        for each in shipped(file)
        if each["kind"] == kind
    ]


def healthy() -> dict[str, Any]:
    """What each path of a healthy cluster serves: a list, an object, or text."""
    return {
        "/version": {"gitVersion": "v1.36.4"},
        "/metrics": gates(DRAConsumableCapacity=True, DRAResourceClaimDeviceStatus=True),
        "/apis/resource.k8s.io": {"versions": [{"version": "v1"}]},
        "/api/v1/nodes": [good_node("one"), good_node("two")],
        "/api/v1/namespaces": [{"metadata": {"name": "default"}}],
        "/api/v1/pods": [],
        f"/api/v1/namespaces/{SPACE}/pods": [],
        "/apis/apps/v1/daemonsets": [],
        f"/apis/apps/v1/namespaces/{SPACE}/daemonsets": [],
        "/apis/apps/v1/deployments": [],
        f"{OURS}/podnetworks": [],
        f"{OURS}/addresspools": [],
        "/apis/events.k8s.io/v1/events": [],
        f"/apis/events.k8s.io/v1/namespaces/{SPACE}/events": [],
        "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases": [
            lease("one"), lease("two"),
        ],
        f"{DRA}/resourceslices": [links("one", link("eth1")), links("two", link("eth1"))],
        f"{DRA}/deviceclasses": [device_class()],
        f"{DRA}/resourceclaims": [],
        f"{DRA}/devicetaintrules": [],
        f"{ADMISSION}/validatingadmissionpolicies": policies("ValidatingAdmissionPolicy"),
        f"{ADMISSION}/validatingadmissionpolicybindings": policies(
            "ValidatingAdmissionPolicyBinding"
        ),
    }  # fmt: skip


def _reply(body: Any) -> Reply:
    if isinstance(body, Reply):
        return body
    if isinstance(body, str):
        return Reply(body.encode())
    if isinstance(body, list):
        body = {"metadata": {"resourceVersion": "1"}, "items": body}
    return Reply(body, headers={"Date": HTTP_NOW})


def script(server: StubServer, changed: Mapping[str, Any]) -> None:
    """Have a server answer as a healthy cluster, with changes; every right is granted."""
    for path, body in {**healthy(), **changed}.items():
        server.on("GET", path, *[_reply(body)] * TIMES)
    for kind in ("subjectaccessreviews", "selfsubjectaccessreviews"):
        path = f"/apis/authorization.k8s.io/v1/{kind}"
        answer = changed.get(kind, Reply({"status": {"allowed": True}}))
        server.on("POST", path, *[answer] * 40)


@asynccontextmanager
async def cluster_with(changed: Mapping[str, Any], **facts: Any) -> AsyncIterator[ClusterSight]:
    """Lend the sight of a cluster that is healthy but for what is changed."""
    async with serve_stub() as server:
        script(server, changed)
        async with client_of(server) as client:
            settings = {"driver": DRIVER, "account": ACCOUNT, "clock": lambda: NOW, **facts}
            yield ClusterSight(client, **settings)
