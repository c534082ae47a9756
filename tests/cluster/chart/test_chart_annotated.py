"""Pods with Multus' annotation on a cluster of their own, where the chart was installed.

Multus is not there: what it would do for these pods depends on their annotation alone.
"""

import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.cluster import Lab
from lab.helm import CHART_NAMESPACE, Helm, load_driver_image
from lab.kubectl import WAIT_S, Kubectl, KubectlError
from lab.multus import DEFINITIONS, definition
from lab.progress import Progress
from netclaim.controller.annotated.names import (
    ANNOTATION,
    MULTUS_ANNOTATION,
    NAMESPACE_LABEL,
    NAMESPACE_VALUE,
    STATUS_ANNOTATION,
)
from tests.cluster.site.drivers import addresses, eventually

CONTROLLER = f"system:serviceaccount:{CHART_NAMESPACE}:netclaim-controller"
DEPLOYMENT = "deployment/netclaim-controller"
POLICY = "mutatingadmissionpolicybinding/netclaim-annotated-pods"
BURST = 100
ROOM = 64  # claims on a link; the two of them are to have room for the burst
TOPOLOGY = """
nodes: [kind-control-plane, kind-worker]
networks:
- name: primary
  subnet: 172.18.0.0/24
  links: {kind-control-plane: eth0, kind-worker: eth0}
- name: media
  links: {kind-control-plane: eth1, kind-worker: eth1}
"""
MEDIA_NET = {
    "cniVersion": "0.3.1",
    "type": "macvlan",
    "master": "eth1",
    "mode": "bridge",
    "capabilities": {"ips": True},
    "ipam": {"type": "host-local", "subnet": "10.10.1.0/24"},
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab with the chart, its controller and Multus' kind; both nodes are on a second network."""
    topology: Path = tmp_path_factory.mktemp("annotated") / "topology.yaml"
    topology.write_text(TOPOLOGY)
    made = Lab(f"nads-{secrets.token_hex(3)}", Progress())
    made.up(topology, port=0)
    try:
        load_driver_image(made)
        made.kubectl().apply(DEFINITIONS)
        Helm(made).install(
            "--set=controller.networkNamespaces={default}",
            f"--set=settings.attachments={{eth1={ROOM}}}",
        )
        yield made
    finally:
        made.down()


@pytest.fixture
def admin(lab: Lab) -> Kubectl:
    """An admin's kubectl."""
    return lab.kubectl()


@pytest.fixture
def system(lab: Lab) -> Kubectl:
    """The same, where the chart is."""
    return lab.kubectl(CHART_NAMESPACE)


@pytest.fixture
def team(lab: Lab, admin: Kubectl) -> Iterator[Kubectl]:
    """A labelled namespace with a network of its own."""
    name = f"team-{secrets.token_hex(2)}"
    admin("create", "namespace", name)
    admin("label", "namespace", name, f"{NAMESPACE_LABEL}={NAMESPACE_VALUE}")
    scoped = lab.kubectl(name)
    scoped.apply(network("media-net"))
    eventually(lambda: is_renamed(scoped), bool, "the label in effect")
    yield scoped
    admin("delete", "namespace", name, "--wait=false")


def test_annotated_pods_of_two_nodes_reach_each_other(
    lab: Lab, admin: Kubectl, team: Kubectl
) -> None:
    """As they were for Multus, by either form; one has a trusted network of another namespace too.

    What was asked for is out of Multus' sight, and what was attached is where Multus reports it. A
    pod of a namespace without the label stays as it is written.
    """
    admin.apply(network("shared-net", {**MEDIA_NET, "ipam": {}}))
    chosen = {"name": "media-net", "interface": "video0", "ips": ["10.10.1.200/24"]}
    shared = {"name": "shared-net", "namespace": "default"}
    other = lab.kubectl("kube-public")
    other.apply(pod("left", "media-net"))
    team.apply(
        pod("player", "media-net", node="kind-worker"),
        pod("camera", json.dumps([chosen, shared]), node="kind-control-plane"),
    )
    for name in ("player", "camera"):
        team.wait(f"pod/{name}", "condition=Ready")
    team("exec", "player", "--", "ping", "-c", "3", "-W", "10", "10.10.1.200")
    assert addresses(team, "camera", "video0") == ["10.10.1.200/24"]
    found = eventually(
        lambda: annotations(team, "camera"), lambda held: STATUS_ANNOTATION in held, "the mirror"
    )
    assert MULTUS_ANNOTATION not in found
    video, net2 = json.loads(found[STATUS_ANNOTATION])
    assert (video["name"], video["interface"]) == (f"{team.namespace}/media-net", "video0")
    assert video["ips"] == ["10.10.1.200"]
    assert video["mac"] in team("exec", "camera", "--", "ip", "link", "show", "video0")
    assert (net2["name"], net2["interface"]) == ("default/shared-net", "net2")
    assert "shared-net" in names(admin, "podnetworks")
    held = annotations(other, "left")
    assert MULTUS_ANNOTATION in held
    assert ANNOTATION not in held
    other("delete", "pod", "left", "--wait=false")


def test_a_manifest_can_be_applied_again_but_its_networks_do_not_change(team: Kubectl) -> None:
    """Otherwise Multus would attach what is written later, beside what the pod has."""
    team.apply(pod("app", "media-net"))
    team.apply(pod("app", "media-net"))
    assert MULTUS_ANNOTATION not in annotations(team, "app")
    with pytest.raises(KubectlError, match="the networks of a pod cannot be changed"):
        team.apply(pod("app", "other-net"))
    with pytest.raises(KubectlError, match="is netclaim's; write"):
        team.apply(pod("sly", "media-net", key=ANNOTATION))


def test_a_namespace_is_moved_by_a_label(lab: Lab, admin: Kubectl) -> None:
    """With the commands of docs/from-multus.md: a restart has the pods' networks from claims.

    `netclaim convert` says before what the same would be as a PodNetwork and claims.
    """
    name = f"moved-{secrets.token_hex(2)}"
    admin("create", "namespace", name)
    scoped = lab.kubectl(name)
    scoped.apply(network("media-net"), deployment("player", 2, node="kind-worker"))
    scoped("rollout", "status", "deployment/player", f"--timeout={WAIT_S}s")
    assert MULTUS_ANNOTATION in annotations(scoped, name_of(scoped.items("pods")[0]))
    converted = list(yaml.safe_load_all(netclaim(lab, "convert", "--cluster", "-n", name)))
    kinds = {each["kind"]: each for each in converted if each}
    assert kinds["PodNetwork"]["metadata"]["name"] == f"{name}-media-net"
    (claim,) = kinds["Deployment"]["spec"]["template"]["spec"]["resourceClaims"]
    assert claim["resourceClaimTemplateName"] == f"{name}-media-net"

    admin("label", "namespace", name, f"{NAMESPACE_LABEL}={NAMESPACE_VALUE}")
    eventually(lambda: is_renamed(scoped), bool, "the label in effect")
    scoped("rollout", "restart", "deployment")
    scoped("rollout", "status", "deployment/player", f"--timeout={WAIT_S}s")
    moved = "--selector=cni.networking.x-k8s.io/from-annotation=true"
    eventually(lambda: len(scoped.items("pods")), lambda count: count == 2, "the old pods' end")
    pods = [name_of(each) for each in scoped.items("pods", moved)]
    assert len(pods) == 2
    for each in pods:
        mirrored(scoped, each)
        (entry,) = json.loads(annotations(scoped, each)[STATUS_ANNOTATION])
        assert (entry["name"], entry["interface"]) == (f"{name}/media-net", "net1")
        assert entry["mtu"] > 0
    assert netclaim(lab, "status", "pods", "-n", name).count("net1 10.10.1.") == 2
    admin("delete", "namespace", name, "--wait=false")


def test_a_burst_outlives_the_controller(system: Kubectl, team: Kubectl) -> None:
    """Without it, annotated pods wait, and others start; one that dies in a burst is followed."""
    system("scale", DEPLOYMENT, "--replicas=0")
    eventually(lambda: replicas(system), lambda found: found == [], "no replica is left")
    team.apply(deployment("burst", BURST), pod("unrelated", ""))
    team.wait("pod/unrelated", "condition=Ready")
    waiting = team.items("pods", "--selector=app=burst")
    assert not any(each["status"].get("podIPs") for each in waiting)
    system("scale", DEPLOYMENT, "--replicas=2")
    eventually(lambda: len(team.items("resourceclaims")), bool, "the first claims")
    holder = system.get("lease", "netclaim-controller")["spec"]["holderIdentity"]
    system("delete", "pod", holder, "--force", "--grace-period=0")
    team("rollout", "status", "deployment/burst", f"--timeout={WAIT_S}s")
    claims = team.items("resourceclaims")
    owners = {each["metadata"]["ownerReferences"][0]["uid"] for each in claims}
    assert len(claims) == len(owners) == BURST


def test_without_the_policy_annotated_pods_are_refused(admin: Kubectl, team: Kubectl) -> None:
    """They would run without their networks, or Multus would attach these; others are let in."""
    stored = admin.get(POLICY)
    stored["metadata"] = {key: stored["metadata"][key] for key in ("name", "labels", "annotations")}
    admin("delete", POLICY)
    try:
        refusal = eventually(
            lambda: refused(team, pod("app", "media-net")), bool, "the policy's absence"
        )
        assert "did not take the annotation k8s.v1.cni.cncf.io/networks over" in refusal
        team.apply(pod("unrelated", ""))
    finally:
        admin("create", "--filename=-", stdin=json.dumps(stored))
    eventually(lambda: is_renamed(team), bool, "the policy's return")


def test_what_tenants_write_gives_them_no_more_than_a_claim(
    lab: Lab, admin: Kubectl, team: Kubectl
) -> None:
    """Each pod waits, and an event or its claim says why; a good one beside them starts."""
    admin("create", "namespace", f"{team.namespace}-rich")
    rich = lab.kubectl(f"{team.namespace}-rich")
    bridge = {"type": "bridge", "bridge": "br0", "isGateway": True}
    rich.apply(network("secret"))
    team.apply(network("bridge", bridge), network("broken", {"type": ["macvlan"]}))
    attacks = {
        f"{rich.namespace}/secret": "of another namespace, which netclaim's admin does not trust",
        "[" * 30_000: "is not JSON",
        "media-net," * 5_000: "more than 32768 characters",
        '[{"name": "media-net", "default-route": ["10.10.1.1"]}]': "default-route",
        "broken": "type is missing",
        "bridge": "needs the policy level privileged",
    }
    for number, text in enumerate(attacks):
        team.apply(pod(f"attack-{number}", text))
    team.apply(pod("good", "media-net"))
    team.wait("pod/good", "condition=Ready")
    for number, why in enumerate(attacks.values()):
        told = said_about(team, f"attack-{number}")
        eventually(told, lambda text, why=why: why in text, why)  # type: ignore[misc]
    phases = {name_of(each): each["status"]["phase"] for each in team.items("pods")}
    assert {phases[f"attack-{number}"] for number in range(len(attacks))} == {"Pending"}
    admin("delete", "namespace", rich.namespace, "--wait=false")


def test_the_controllers_token_makes_only_claims_of_annotated_pods(
    admin: Kubectl, team: Kubectl
) -> None:
    """And PodNetworks only of trusted namespaces."""
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": {}}
    claim["metadata"] = {"name": "free"}
    assert "only claims of annotated pods" in refused(team, claim, f"--as={CONTROLLER}")
    own: dict[str, Any] = {
        "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
        "kind": "PodNetwork",
        "metadata": {"name": "own"},
        "spec": {"type": "bridge", "bridge": "br0"},
    }
    as_controller = ("--dry-run=server", f"--as={CONTROLLER}")
    with pytest.raises(KubectlError, match="only PodNetworks of NetworkAttachmentDefinitions"):
        admin("create", "--filename=-", *as_controller, stdin=json.dumps(own))


def mirrored(kubectl: Kubectl, name: str) -> None:
    """Wait for the mirror of a pod's networks."""
    eventually(
        lambda: annotations(kubectl, name), lambda held: STATUS_ANNOTATION in held, "the mirror"
    )


def netclaim(lab: Lab, *arguments: str) -> str:
    """What a command says of the lab's cluster."""
    command = [sys.executable, "-m", "netclaim", *arguments]
    kubeconfig = f"--kubeconfig={lab.state.kubeconfig}"
    done = subprocess.run([*command, kubeconfig], capture_output=True, text=True, check=True)
    return done.stdout


def network(name: str, config: dict[str, Any] | None = None) -> dict[str, Any]:
    """A NetworkAttachmentDefinition; the seeds' media-net if nothing is said."""
    return definition(name, json.dumps(MEDIA_NET if config is None else config))


def pod(name: str, text: str, *, node: str = "", key: str = MULTUS_ANNOTATION) -> dict[str, Any]:
    """A pod with networks by annotation, unless there are none."""
    spec = pod_spec(node)
    meta: dict[str, Any] = {"name": name}
    if text:
        meta["annotations"] = {key: text}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def deployment(name: str, replicas: int, *, node: str = "") -> dict[str, Any]:
    """Annotated pods."""
    meta = {"labels": {"app": name}, "annotations": {MULTUS_ANNOTATION: "media-net"}}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": meta, "spec": pod_spec(node)},
    }
    head = {"apiVersion": "apps/v1", "kind": "Deployment"}
    return {**head, "metadata": {"name": name}, "spec": spec}


def pod_spec(node: str = "") -> dict[str, Any]:
    """One container that sleeps."""
    container = {
        "name": "main",
        "image": "alpine:latest",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sleep", "infinity"],
    }
    place = {"nodeSelector": {"kubernetes.io/hostname": node}} if node else {}
    return {"terminationGracePeriodSeconds": 0, "containers": [container], **place}


def annotations(kubectl: Kubectl, name: str) -> dict[str, str]:
    """The annotations of a pod."""
    found: dict[str, str] = kubectl.get("pod", name)["metadata"].get("annotations", {})
    return found


def is_renamed(kubectl: Kubectl) -> bool:
    """Whether admission takes annotations over in a namespace."""
    text = json.dumps(pod("probe", "media-net"))
    try:
        made = kubectl("create", "--dry-run=server", "-ojson", "--filename=-", stdin=text)
    except KubectlError:
        return False
    return ANNOTATION in json.loads(made)["metadata"]["annotations"]


def refused(kubectl: Kubectl, made: dict[str, Any], *options: str) -> str:
    """Why an object is not let in; empty if it would be."""
    try:
        kubectl("create", "--dry-run=server", "--filename=-", *options, stdin=json.dumps(made))
    except KubectlError as error:
        return str(error)
    return ""


def said_about(kubectl: Kubectl, name: str) -> Callable[[], str]:
    """What events say about a pod and its claim, when it is called."""

    def look() -> str:
        found = [
            each["message"]
            for each in kubectl.items("events")
            if each["involvedObject"]["name"].startswith(name)
        ]
        return "\n".join(found)

    return look


def replicas(system: Kubectl) -> list[dict[str, Any]]:
    """The controller's pods."""
    return system.items("pods", "--selector=app.kubernetes.io/name=netclaim-controller")


def names(kubectl: Kubectl, kind: str) -> set[str]:
    """The names of all objects of a kind."""
    return {name_of(each) for each in kubectl.items(kind)}


def name_of(found: dict[str, Any]) -> str:
    """The name of an object."""
    return str(found["metadata"]["name"])
