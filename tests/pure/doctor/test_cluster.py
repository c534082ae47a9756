"""What the doctor finds in a cluster, for what cannot be broken on the lab."""

import json
from datetime import timedelta
from typing import Any

import pytest

from netclaim import __version__
from netclaim.doctor.cluster.sight import Account, ClusterSight
from netclaim.doctor.examine import examine
from netclaim.doctor.finding import Outcome, Result
from netclaim.errors import HostError
from netclaim.kube import Cluster, Selection, StoredSecrets, connect, dra_resource
from netclaim.model import device_json
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.network.devices.pool_device import pool_device
from netclaim.network.pod_network import class_of
from netclaim.network.policy.levels import LABEL
from netclaim.schema.kinds import NODE
from tests.support.doctor_site import (
    ACCOUNT,
    ADMISSION,
    DRA,
    NOW,
    SPACE,
    cluster_with,
    gates,
    good_node,
    lease,
    policies,
    script,
)
from tests.support.explain_objects import DRIVER, allocated, claim, link, links, pod
from tests.support.kube.stub import Reply, client_of, serve_stub, status
from tests.support.local.parts import new_verbs, serving

SLICES, CLAIMS, CLASSES = (
    f"{DRA}/{kind}" for kind in ("resourceslices", "resourceclaims", "deviceclasses")
)
POLICIES = f"{ADMISSION}/validatingadmissionpolicies"
BINDINGS = f"{ADMISSION}/validatingadmissionpolicybindings"
CONFIG_MAP = f"/api/v1/namespaces/{SPACE}/configmaps/netclaim-settings"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
FORBIDDEN = Reply(status(403, "Forbidden", "nodes is forbidden: no"), status=403)
GONE = Reply(status(404, "NotFound", "not found"), status=404)


async def found_in(changed: dict[str, Any], **facts: Any) -> dict[str, Result]:
    """What is found in a cluster, by check."""
    async with cluster_with(changed, **facts) as sight:
        return {each.id: each for each in await examine(sight, None)}


def not_ok(found: dict[str, Result]) -> dict[str, Outcome]:
    """The checks that have something to say."""
    quiet = (Outcome.OK, Outcome.SKIPPED)
    return {
        name: each.finding.outcome
        for name, each in found.items()
        if each.finding.outcome not in quiet
    }


async def test_healthy() -> None:
    """A healthy cluster has no findings."""
    assert not_ok(await found_in({})) == {}


async def test_pools_of_addresses_are_no_links() -> None:
    """Their devices are tainted as they should be, and a full one is the status's to report."""
    offered = links("addresses", device_json(pool_device("media", 2)))
    pool = {**offered["spec"]["pool"], "name": "addresses/media"}
    spec = {**offered["spec"], "pool": pool, "allNodes": True}
    del spec["nodeName"]
    slices = [links("one", link("eth1")), links("two", link("eth1")), {**offered, "spec": spec}]
    assert not_ok(await found_in({SLICES: slices})) == {}


RULE = {
    "metadata": {"name": "maintenance"},
    "spec": {
        "deviceSelector": {"driver": DRIVER},
        "taint": {"key": "example.com/down", "effect": "NoSchedule"},
    },
}


def having(name: str, node: str) -> Any:
    """A claim with an address on a network that reaches beyond its node."""
    made = in_default(allocated(name, "eth1"))
    (given,) = made["status"]["allocation"]["devices"]["results"]
    given["pool"] = node
    network = {"name": "storage", "plugins": [{"type": "macvlan"}]}
    config = {"opaque": {"driver": DRIVER, "parameters": {"config": network}}}
    made["status"]["allocation"]["devices"]["config"] = [config]
    device = {"driver": DRIVER, "pool": node, "device": "eth1"}
    made["status"]["devices"] = [{**device, "networkData": {"ips": ["10.10.1.2/24"]}}]
    return made


def shared() -> Any:
    """A link that ten attachments can share."""
    capacity = {"attachments": {"value": "10"}, "bandwidth": {"value": "1G"}}
    return link("eth1", allowMultipleAllocations=True, capacity=capacity)


def sharing(name: str, attachments: str, device: str = "eth1") -> Any:
    """A claim that has some attachments of a link."""
    made = in_default(allocated(name, device))
    (given,) = made["status"]["allocation"]["devices"]["results"]
    given["consumedCapacity"] = {"attachments": attachments}
    return made


MEDIA = PodNetwork.read(
    {"metadata": {"name": "media-net"}, "spec": {"type": "macvlan", "parent": {"name": "eth1"}}}
)


def of_network(name: str, node: str, link: str) -> Any:
    """A claim with an address on a PodNetwork, by the network's own device on a link."""
    made = having(name, node)
    del made["status"]["allocation"]["devices"]["config"]
    (given,) = made["status"]["allocation"]["devices"]["results"]
    (device,) = made["status"]["devices"]
    given["device"] = device["device"] = f"media-net-on-{link}"
    device["data"] = {"podNetwork": {"kind": "PodNetwork", "name": "media-net"}}
    return made


def ready(name: str, message: str, kind: str = "Ready") -> Any:
    """A claim whose interface could not be attached, or whose link is not well."""
    condition = {"type": kind, "status": "False", "message": message}
    device = {"driver": DRIVER, "pool": "one", "device": "eth1", "conditions": [condition]}
    held = allocated(name, "eth1")
    return {**held, "status": {**held["status"], "devices": [device]}}


def waiting(name: str) -> Any:
    """A pod that has been pending since long ago."""
    made = pod(name, net="nic")
    meta = {"namespace": "default", "creationTimestamp": "2026-11-17T02:00:00Z"}
    return {**made, "metadata": {**made["metadata"], **meta}}


def in_default(found: Any) -> Any:
    """An object in the namespace `default`."""
    return {**found, "metadata": {**found["metadata"], "namespace": "default"}}


def without(kind: str, name: str) -> list[Any]:
    """All policies, or bindings, but one."""
    return [each for each in policies(kind) if each["metadata"]["name"] != name]


SETTINGS = "apiVersion: driver.netclaim.dev/v1alpha1\nkind: DriverConfiguration\n"


def daemon_set(
    ready: int = 2,
    account: str = "netclaim-driver",
    tag: str = __version__,
    updated: int = 2,
    state: Any = None,
    settings: str = SETTINGS,
    surge: str = "",
) -> dict[str, Any]:
    """A cluster with the driver's DaemonSet as the chart makes it; one pod is not ready."""
    driver = {
        "name": "driver",
        "image": f"example.com:5000/netclaim:{tag}",
        "env": [{"name": "NETCLAIM_CONFIG", "value": "/etc/netclaim/config.yaml"}],
        "volumeMounts": [{"name": "settings", "mountPath": "/etc/netclaim"}],
    }
    spec = {
        "serviceAccountName": account,
        "containers": [driver],
        "volumes": [{"name": "settings", "configMap": {"name": "netclaim-settings"}}],
    }
    pods = [driver_pod("one"), driver_pod("two", "True" if ready == 2 else "False", state)]
    if surge:
        pods.append(driver_pod("two", "False", {"waiting": {"reason": surge}}))
    made = {
        "metadata": {"name": "netclaim", "namespace": SPACE},
        "spec": {"template": {"spec": spec}},
        "status": {
            "desiredNumberScheduled": 2, "numberReady": ready,
            **({"updatedNumberScheduled": updated} if updated else {}),  # as the API leaves out a 0
        },
    }  # fmt: skip
    return {
        "/apis/apps/v1/daemonsets": [made],
        f"/api/v1/namespaces/{SPACE}/pods": pods,
        CONFIG_MAP: {"data": {"config.yaml": settings}},
    }


def driver_pod(node: str, ready: str = "True", state: Any = None, **metadata: Any) -> Any:
    """A pod of it, in whose container something is going on."""
    container = {"name": "driver", "state": state or {"running": {}}, "restartCount": 3}
    return {
        "metadata": {"name": f"netclaim-{node}", "namespace": SPACE, **metadata},
        "spec": {"nodeName": node, "containers": [{"name": "driver"}]},
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "containerStatuses": [container],
        },
    }


CRASHED = {"waiting": {"reason": "CrashLoopBackOff"}}
LEAVING = driver_pod("two", deletionTimestamp="2026-11-18T03:00:00Z")
HALF = links("one", link("eth1"), slices=2)
OFF = gates(DRAConsumableCapacity=False, DRAResourceClaimDeviceStatus=False)
AHEAD = "2026-11-17T03:05:00.000000Z"


@pytest.mark.parametrize(
    ("changed", "wanted", "words"),
    [
        ({"/version": {"gitVersion": "v1.31.2"}},
         {"api-version": "error", "nodes-kubelet": "warning"}, "older than 1.32"),
        ({"/version": {"gitVersion": "v1.39.0"}}, {"api-version": "warning"}, "newer than 1.37"),
        ({"/metrics": OFF},
         {"dra-consumable-capacity": "warning", "dra-device-status": "warning"},
         "DRAConsumableCapacity is off"),
        ({"/metrics": OFF, "/version": {"gitVersion": "v1.34.1"},
          "/api/v1/nodes": [good_node(name, kubelet="v1.34.1") for name in ("one", "two")]},
         {"dra-device-status": "warning"}, "claims do not show addresses"),
        ({"/api/v1/nodes": [good_node("one", kubelet="v1.30.1"), good_node("two")]},
         {"nodes-kubelet": "error"}, "one (v1.30.1)"),
        ({"/api/v1/nodes": [good_node("one", kubelet="v1.37.0"), good_node("two")]},
         {"nodes-kubelet": "warning"}, "one (v1.37.0)"),
        ({"/api/v1/nodes": [good_node("one", runtime="containerd://1.7.2"), good_node("two")]},
         {"nodes-runtime": "warning"}, "NRI is off by default: one"),
        ({LEASES: [lease("one", AHEAD), lease("two")]}, {"nodes-clock": "warning"},
         "one (300 s ahead of"),
        ({"/api/v1/namespaces": [{"metadata": {"name": "x", "labels": {LABEL: "root"}}}]},
         {"namespace-levels": "error"}, "x (root)"),
        ({SLICES: []}, {"slices-nodes": "error"}, "no node has slices"),
        ({SLICES: [links("one", link("eth1"))]}, {"slices-nodes": "warning"}, "1 of 2 nodes"),
        ({SLICES: [HALF, links("two", link("eth1"))]}, {"slices-complete": "error"},
         "pool one has 1 of 2 slices"),
        ({CLASSES: []}, {"device-class": "error"}, "no DeviceClass"),
        ({CLAIMS: [ready("nic", "the switch is on fire")]}, {"claims-ready": "warning"},
         "the switch is on fire"),
        ({CLAIMS: [ready("nic", "no carrier", "Healthy")]}, {"claims-healthy": "warning"},
         "one/eth1: no carrier"),
        ({CLAIMS: [having("a", "one"), having("b", "two")]}, {"addresses-unique": "error"},
         "10.10.1.2 in storage on eth1 (claim default/a (one), claim default/b (two))"),
        ({CLAIMS: [of_network("a", "one", "eth1"), of_network("b", "two", "eno1")],
          CLASSES: [class_of(MEDIA, DRIVER)]}, {"addresses-unique": "error"},
         "10.10.1.2 in media-net (claim default/a (one), claim default/b (two))"),
        ({SLICES: [links("one", shared()), links("two", link("eth1"))],
          CLAIMS: [sharing("a", "4"), sharing("b", "5")]}, {"links-room": "warning"},
         "one/eth1: attachments 9 of 10 in use by 2 claims"),
        ({"/apis/resource.k8s.io/v1/devicetaintrules": [RULE]}, {"devices-tainted": "warning"},
         "DeviceTaintRule maintenance: one/eth1, two/eth1"),
        (daemon_set(updated=1, surge="ErrImagePull"), {"driver-pods": "error"},
         "is stuck on two (ErrImagePull); the old pod works on there"),
        ({CLAIMS: [in_default(claim("nic"))], "/api/v1/pods": [waiting("web")]},
         {"claims-waiting": "warning"}, "default/web"),
        ({POLICIES: without("ValidatingAdmissionPolicy", "netclaim-driver-slices")},
         {"policies-node": "error"}, "netclaim-driver-slices is not installed"),
        ({BINDINGS: without("ValidatingAdmissionPolicyBinding", "netclaim-claims")},
         {"policies-claims": "warning"}, "netclaim-claims is not bound"),
        ({"subjectaccessreviews": Reply({"status": {"allowed": False}})},
         {"rbac-driver": "error"}, "may not get nodes"),
        ({"selfsubjectaccessreviews": Reply({"status": {"allowed": False}})},
         {"rbac-own": "unknown"}, "list resourceslices"),
        (daemon_set(ready=1), {"driver-pods": "error"},
         "1 of 2 pods of netclaim-system/netclaim are ready; not on two"),
        (daemon_set(ready=1, state=CRASHED), {"driver-pods": "error"},
         "not on two (CrashLoopBackOff)"),
        ({f"/api/v1/namespaces/{SPACE}/pods": [LEAVING]}, {"driver-pods": "warning"},
         "is being uninstalled; on two it stays"),
        (daemon_set(settings=f"{SETTINGS}sharedLinks: [eth1]\nlogLevel: loud\n"),
         {"driver-settings": "error"}, "config.yaml:3"),
        (daemon_set(settings=f"{SETTINGS}linkFilter: device.mtu > 1\n"),
         {"driver-settings": "error"}, "ConfigMap netclaim-system/netclaim-settings:"),
        ({**daemon_set(), CONFIG_MAP: GONE}, {"driver-settings": "error"}, "no driver can start"),
        ({**daemon_set(), CONFIG_MAP: {"data": {}}}, {"driver-settings": "error"},
         "has no config.yaml"),
        (daemon_set(updated=1), {"driver-pods": "warning"}, "1 of 2 pods"),
        (daemon_set(updated=0), {"driver-pods": "warning"}, "2 of 2 pods"),
        (daemon_set(tag="0.0.9"), {"driver-version": "warning"}, "the driver is 0.0.9"),
        (daemon_set(account="other"), {"policies-node": "error"},
         "another account than the driver's"),
        (daemon_set(account="netclaim"), {"policies-node": "error"},
         "another account than the driver's"),
        ({**daemon_set(), SLICES: [links("one", link("eth1"))]}, {"slices-nodes": "error"},
         "1 of 2 nodes have none: two"),
        ({"/api/v1/nodes": FORBIDDEN},
         {"nodes-ready": "unknown", "nodes-kubelet": "unknown", "nodes-runtime": "unknown",
          "nodes-clock": "unknown", "slices-nodes": "unknown", "slices-orphaned": "unknown"},
         "you may not use nodes"),
    ],
)  # fmt: skip
async def test_findings(changed: dict[str, Any], wanted: dict[str, str], words: str) -> None:
    """What is wrong is found by its checks and by no others, in words, with what to do."""
    found = await found_in(changed)
    assert {name: str(outcome) for name, outcome in not_ok(found).items()} == wanted
    first = found[next(iter(wanted))].finding
    assert words in first.found
    assert first.remedy


@pytest.mark.parametrize(
    "having",
    [
        [sharing("a", "4"), sharing("b", "4")],
        [sharing("a", "10")],
        [sharing("a", "4"), sharing("b", "5", "eth2")],
    ],
)
async def test_links_with_room(having: list[Any]) -> None:
    """A link with a fifth left has room; one that a claim has alone is full as it should be."""
    slices = [links("one", shared()), links("two", link("eth1"))]
    assert not_ok(await found_in({SLICES: slices, CLAIMS: having})) == {}


async def test_clock_of_this_machine() -> None:
    """A clock that is off by more than seconds is a warning that says in which direction."""
    found = await found_in({}, clock=lambda: NOW - timedelta(minutes=2))
    assert not_ok(found) == {"clock": Outcome.WARNING}
    assert found["clock"].finding.found.startswith("120 s behind the API server's")


@pytest.mark.parametrize(
    ("kept", "outcome"), [({"capacity": {"requests": {}}}, Outcome.OK), ({}, Outcome.WARNING)]
)
async def test_gates_without_metrics(kept: dict[str, Any], outcome: Outcome) -> None:
    """Who may not read metrics learns of a gate by what a dry run keeps; nothing is stored."""
    path = f"{DRA}/namespaces/default/resourceclaims"
    answer = {"spec": {"devices": {"requests": [{"name": "dry-run", "exactly": kept}]}}}
    async with serve_stub() as server, client_of(server) as client:
        script(server, {"/metrics": FORBIDDEN})
        server.on("POST", path, Reply(answer))
        sight = ClusterSight(client, driver=DRIVER, account=ACCOUNT, clock=lambda: NOW)
        found = {each.id: each for each in await examine(sight, None)}
        (tried,) = [seen for seen in server.asked("POST") if seen.path == path]
    assert tried.query == {"dryRun": "All"}
    assert found["dra-consumable-capacity"].finding.outcome is outcome
    assert found["dra-device-status"].finding.found.endswith("is on by default in 1.36")


async def test_group_that_is_not_served() -> None:
    """Where Dynamic Resource Allocation is off, the doctor says how to switch it on."""
    found = await found_in({"/apis/resource.k8s.io": GONE})
    finding = found["dra-served"].finding
    assert finding.outcome is Outcome.ERROR
    assert "--feature-gates=DynamicResourceAllocation=true" in finding.remedy


async def test_policy_for_another_driver() -> None:
    """A policy that names other drivers than ours would refuse ours, and is found."""
    found = await found_in({}, driver="poc.dra.networking")
    assert "does not name the driver poc.dra.networking" in found["policies-node"].finding.found


async def test_policies_under_other_names() -> None:
    """Policies that a chart installed under other names count, if they are the same."""
    renamed = [
        {**each, "metadata": {"name": f"prod-{each['metadata']['name']}"}}
        for each in policies("ValidatingAdmissionPolicy")
    ]
    bound = [
        {**each, "spec": {**each["spec"], "policyName": f"prod-{each['spec']['policyName']}"}}
        for each in policies("ValidatingAdmissionPolicyBinding")
    ]
    assert not_ok(await found_in({POLICIES: renamed, BINDINGS: bound})) == {}


async def test_unreachable_cluster() -> None:
    """A cluster that does not answer, and is all there is to look at, is one error."""
    nowhere = Cluster("http://127.0.0.1:1", StoredSecrets())
    async with connect(nowhere) as client:
        sight = ClusterSight(client, driver=DRIVER, account=ACCOUNT)
        with pytest.raises(HostError, match="cannot reach the API server"):
            await examine(sight, None)


async def test_embedded_cluster() -> None:
    """On the embedded API server every check ends, a dry run stores nothing, and nodes count."""
    verbs = new_verbs()
    verbs.create(NODE, {"metadata": {"name": "one"}}, manager="test")
    async with serving(verbs) as client:
        sight = ClusterSight(client, driver=DRIVER, account=ACCOUNT)
        found = {each.id: each for each in await examine(sight, None)}
        claims = await client.list(Selection(dra_resource("ResourceClaim", "v1")))
    assert claims.items == ()
    assert found["dra-consumable-capacity"].finding.outcome is Outcome.OK
    assert not_ok(found) == {"slices-nodes": Outcome.ERROR, "device-class": Outcome.ERROR}


async def test_healthy_daemon_set() -> None:
    """A driver that runs as a DaemonSet of this version has nothing skipped, and no findings."""
    found = await found_in(daemon_set())
    assert not_ok(found) == {}
    of_the_controller = {"controller", "networks-ready", "pools-ready"}
    outcomes = {name: each.finding.outcome for name, each in found.items()}
    assert {one for name, one in outcomes.items() if name not in of_the_controller} == {Outcome.OK}


async def test_policies_of_two_drivers() -> None:
    """Each driver has policies of its own, and the doctor looks at those of the one it is for."""
    own = [
        {**each, "metadata": {**each["metadata"], "name": f"second-{each['metadata']['name']}"}}
        for each in policies("ValidatingAdmissionPolicy")
    ]
    bound = [
        {**each, "spec": {**each["spec"], "policyName": f"second-{each['spec']['policyName']}"}}
        for each in policies("ValidatingAdmissionPolicyBinding")
    ]
    bound += policies("ValidatingAdmissionPolicyBinding")
    text = json.dumps(policies("ValidatingAdmissionPolicy"))
    others = json.loads(text.replace(DRIVER, "other.example.com"))
    found = await found_in({POLICIES: [*others, *own], BINDINGS: bound})
    assert not_ok(found) == {}


async def test_how_to_look_into_a_pod() -> None:
    """Nothing can be executed in a container that does not run: its last log says more."""
    running = (await found_in(daemon_set(ready=1)))["driver-pods"].finding.remedy
    assert "exec netclaim-two -- netclaim doctor --node" in running
    crashed = (await found_in(daemon_set(ready=1, state=CRASHED)))["driver-pods"].finding.remedy
    assert crashed == f"kubectl -n {SPACE} logs netclaim-two --previous"


async def test_whose_daemon_set() -> None:
    """One that a tenant labels like the driver's, or of another driver, is not taken for it."""

    def made(space: str, account: str, driver: str) -> Any:
        env = [{"name": "NETCLAIM_DRIVER_NAME", "value": driver}]
        spec = {"serviceAccountName": account, "containers": [{"name": "driver", "env": env}]}
        metadata = {"name": "netclaim", "namespace": space}
        return {"metadata": metadata, "spec": {"template": {"spec": spec}}}

    tenants, other = made("a-tenant", "fake", DRIVER), made(SPACE, "second", "other.example.com")
    own = made(SPACE, "first", DRIVER)
    everywhere, there = "/apis/apps/v1/daemonsets", f"/apis/apps/v1/namespaces/{SPACE}/daemonsets"
    async with cluster_with({everywhere: [tenants, other, own], there: [other, own]}) as cluster:
        assert await cluster.account() == Account(SPACE, "first")
    elsewhere = made("infra", "first", DRIVER)
    async with cluster_with({everywhere: [elsewhere, other], there: [other]}) as cluster:
        assert await cluster.account() == Account("infra", "first")
