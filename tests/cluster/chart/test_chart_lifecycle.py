"""The chart's life on a cluster of its own: install, use, upgrade, roll back, uninstall.

The driver runs as pods from its image. One test, since each step begins where the last one ended.
"""

import json
import secrets
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER
from lab.helm import CHART, CHART_NAMESPACE, Helm, HelmError, load_driver_image
from lab.kubectl import Kubectl
from lab.progress import Progress
from lab.topology import DEFAULT_TOPOLOGY
from tests.cluster.site.demo import MANIFEST, applied_demo, check_demo
from tests.cluster.site.drivers import addresses, eventually, in_node
from tests.cluster.site.manifests import deployment

NODES = ("kind-control-plane", "kind-worker", "kind-worker2")
BURST = 12  # pods that run from the upgrade to the end
WAVE = 4  # pods that start and end while the driver is replaced
DRIVERS = "--selector=app.kubernetes.io/name=netclaim"  # not the controller's pods
OUR_KINDS = {"podnetworks", "addresspools", "addressleases"}
AT_ONCE = "--set-string=update.nodes=100%"  # all nodes at a time
# What kubelet itself says when it asks for a claim before the API server knows that its node may
# read it; it asks again a minute later. It happens with every driver.
NOT_YET_ALLOWED = "no relationship found between node"
FAILURES = ("FailedPrepareDynamicResources", "FailedCreatePodSandBox", "Failed")
CLUSTER_KINDS = (
    "clusterroles,clusterrolebindings,validatingadmissionpolicies,"
    "validatingadmissionpolicybindings,deviceclasses,resourceslices"
)
NAMESPACED_KINDS = "pods,daemonsets,roles,rolebindings,services,resourcequotas,networkpolicies"


@pytest.fixture(scope="module")
def charted() -> Iterator[Lab]:
    """A lab with the driver's image and no driver."""
    lab = Lab(f"chart-{secrets.token_hex(3)}", Progress())
    lab.up(DEFAULT_TOPOLOGY, port=0)
    try:
        load_driver_image(lab)
        yield lab
    finally:
        lab.down()


@pytest.mark.versions("chart")
def test_a_release_from_install_to_uninstall(charted: Lab) -> None:
    """Upgrades cost no pod its start or its interface, and an uninstall leaves nothing behind.

    The first release has no controller, as earlier versions; the upgrade brings it and its kinds.
    """
    helm, admin = Helm(charted), charted.kubectl()
    before = {node: conflists(charted, node) for node in NODES}

    helm.install("--set=controller.enabled=false")
    assert our_kinds(admin) == set()
    check_everywhere(charted)
    check_doctor(charted)
    check_sight(charted)
    check_second_release_is_refused(helm)
    assert helm.test().count("Phase:          Succeeded") == 3  # a class, a template and the pod
    with applied_demo(admin):
        check_demo(charted, admin, DEFAULT_DRIVER)

    burst = charted.kubectl("burst")
    begin_burst(admin, burst)
    first = driver_pod(charted, "kind-worker")
    with ThreadPoolExecutor() as beside:
        upgrade = beside.submit(upgraded, charted, "--set-string=podAnnotations.round=two", AT_ONCE)
        while not upgrade.done():
            start_and_end_some(burst)
        upgrade.result()
    assert driver_pod(charted, "kind-worker") != first
    seen = burst_addresses(burst)
    assert failed_starts(burst) == []
    assert our_kinds(admin) == OUR_KINDS
    helm.rollback(1)
    assert our_kinds(admin) == OUR_KINDS  # their users lose nothing by it
    assert burst_addresses(burst) == seen
    check_everywhere(charted)

    helm.uninstall()
    check_free_nodes_are_clean(charted, before)
    assert burst_addresses(burst) == seen
    check_others_start(burst)
    helm.install()
    hands_over = charted.binaries.release.rolls_drivers
    if not hands_over:  # there the one that leaves keeps its node until its pods have ended
        end_burst(admin)
    wait_no_driver_leaves(charted)
    check_everywhere(charted)

    helm.uninstall()
    if hands_over:
        assert burst_addresses(burst) == seen
    wait_no_slices(admin)
    if hands_over:
        end_burst(admin)
    check_all_clean(charted, before)


def check_doctor(lab: Lab) -> None:
    """The doctor has nothing to say of a fresh install, nor of a node from its driver's container.

    The kinds of links and the clock are the machine's own.
    """
    command = [sys.executable, "-m", "netclaim", "doctor", "--cluster", "--strict", "-o", "json"]
    kubeconfig = f"--kubeconfig={lab.state.kubeconfig}"
    done = subprocess.run([*command, kubeconfig], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    name = driver_pod(lab, "kind-worker")
    said = lab.kubectl(CHART_NAMESPACE)(
        "exec", name, "--", "netclaim", "doctor", "--node", "-o", "json"
    )
    checks = json.loads(said)["checks"]
    bad = {each["id"] for each in checks if each["outcome"] not in ("ok", "skipped")}
    assert bad <= {"kernel-links", "clock-synchronised"}, checks


def our_kinds(kubectl: Kubectl) -> set[str]:
    """The kinds of the controller that the API server knows."""
    found = objects(kubectl, "customresourcedefinitions")
    names = (each.rpartition("/")[2].partition(".") for each in found)
    return {plural for plural, _, group in names if group == "cni.networking.x-k8s.io"}


def check_sight(lab: Lab) -> None:
    """Of kubelet's directory, the driver's container sees what it needs and empty directories.

    A file that is there on the node stands for its certificate, and for another plugin's socket.
    """
    node, kubelet = "kind-worker", Path("var/lib/kubelet")
    secret, plugin = (lab.root(node) / kubelet / each for each in ("pki/key.pem", "plugins/other"))
    secret.touch()
    plugin.touch()
    listing = f"import json, os; print(json.dumps([*os.walk('/{kubelet}')]))"
    said = lab.kubectl(CHART_NAMESPACE)(
        "exec", driver_pod(lab, node), "--", "python3", "-c", listing
    )
    secret.unlink()
    plugin.unlink()
    seen = {place: {*directories, *files} for place, directories, files in json.loads(said)}
    assert seen[f"/{kubelet}/pods"] == seen[f"/{kubelet}/pki"] == set()
    assert seen[f"/{kubelet}/plugins"] == {DEFAULT_DRIVER}
    assert any(name.endswith(".sock") for name in seen[f"/{kubelet}/plugins/{DEFAULT_DRIVER}"])
    assert any(name.endswith(".sock") for name in seen[f"/{kubelet}/plugins_registry"])


def check_everywhere(lab: Lab) -> None:
    """The driver is Ready on every node; helm has waited for that, where no node has to go without.

    If the old pod ends first, a DaemonSet may have unavailable pods, and so helm waits for fewer.
    """
    if not lab.binaries.release.rolls_drivers:
        rollout(lab)
    assert driver_nodes(lab) == Counter(NODES)


def upgraded(lab: Lab, *options: str) -> None:
    """Change the release, and wait until every node has it."""
    Helm(lab).upgrade(*options)
    rollout(lab)


def rollout(lab: Lab) -> None:
    """Wait for the DaemonSet, as the documentation shows it."""
    lab.kubectl(CHART_NAMESPACE)("rollout", "status", "daemonset/netclaim", "--timeout=300s")


def check_second_release_is_refused(helm: Helm) -> None:
    """Two drivers of one name would take the node's journal from each other; nothing is made."""
    more = "--set=deviceClasses.cni\\.networking\\.x-k8s\\.io=null"
    with pytest.raises(HelmError, match=r"netclaim-system/netclaim runs the driver .* already"):
        helm("install", "second", str(CHART), more)
    assert "second" not in helm("list", "--all", "--short")
    another = ("--set=driverName=x.example", "--set=controller.enabled=false")
    helm("install", "second", str(CHART), more, *another, "--dry-run=server")


def driver_nodes(lab: Lab) -> Counter[str]:
    """On which nodes a Ready driver runs; pods that are ending do not count."""
    pods = lab.kubectl(CHART_NAMESPACE).items("pods", DRIVERS)
    return Counter(
        pod["spec"]["nodeName"]
        for pod in pods
        if "deletionTimestamp" not in pod["metadata"]
        and all(status["ready"] for status in pod["status"]["containerStatuses"])
    )


def driver_pod(lab: Lab, node: str) -> str:
    """The name of the driver's pod on a node that is not ending."""
    where = f"--field-selector=spec.nodeName={node}"
    pods = lab.kubectl(CHART_NAMESPACE).items("pods", DRIVERS, where)
    (name,) = [
        pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"]
    ]
    return str(name)


def start_and_end_some(burst: Kubectl) -> None:
    """Start pods with an interface each, and end them."""
    more = burst.get("deployment", "burst")
    labels = {"app": "wave"}
    pod = {**more["spec"]["template"], "metadata": {"labels": labels}}
    spec = {"replicas": WAVE, "selector": {"matchLabels": labels}, "template": pod}
    burst.apply(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "wave"}, "spec": spec}
    )
    burst.wait("deployment/wave", f"jsonpath={{.status.availableReplicas}}={WAVE}")
    burst("delete", "deployment/wave", "--cascade=foreground", "--timeout=180s")


def begin_burst(admin: Kubectl, burst: Kubectl) -> None:
    """Start pods with an interface each; returns while they are being started."""
    admin("create", "namespace", burst.namespace)
    admin("label", "namespace", burst.namespace, "resource.kubernetes.io/admin-access=true")
    for document in yaml.safe_load_all(Path(MANIFEST).read_text()):
        document["metadata"].pop("namespace", None)
        if document["kind"] == "Deployment":
            document["metadata"]["name"] = "burst"
            document["spec"]["replicas"] = BURST
            document["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 0
        burst.apply(document)  # the class, too, which the demo had its own of
    eventually(
        lambda: burst.items("pods"),
        lambda pods: any(pod["spec"].get("nodeName") for pod in pods),
        "a pod of the burst on its node",
    )


def burst_addresses(burst: Kubectl) -> dict[str, list[str]]:
    """The address of each pod of the burst; all of them run, and no address is there twice."""
    burst.wait("deployment/burst", f"jsonpath={{.status.availableReplicas}}={BURST}")
    pods = burst.items("pods", "--selector=app=demo-application")
    seen = {p["metadata"]["name"]: addresses(burst, p["metadata"]["name"], "net1") for p in pods}
    assert len({each for found in seen.values() for each in found}) == BURST == len(seen)
    assert all(len(found) == 1 for found in seen.values())
    assert {status["restartCount"] for status in container_statuses(pods)} == {0}
    return seen


def container_statuses(pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of all containers of all pods."""
    return [status for pod in pods for status in pod["status"]["containerStatuses"]]


def failed_starts(kubectl: Kubectl) -> list[str]:
    """What kubelet says about pods that it could not start at once."""
    events = kubectl.items("events")
    return [
        event["message"]
        for event in events
        if event["reason"] in FAILURES and NOT_YET_ALLOWED not in event["message"]
    ]


def check_others_start(burst: Kubectl) -> None:
    """Pods without claims start and end on every node while the driver is leaving."""
    burst.apply(deployment("plain", 6))
    burst.wait("deployment/plain", "jsonpath={.status.availableReplicas}=6")
    burst("delete", "deployment/plain", "--cascade=foreground", "--timeout=180s")


def wait_no_driver_leaves(lab: Lab) -> None:
    """A driver that was leaving ends when a new one has taken over."""
    kubectl = lab.kubectl(CHART_NAMESPACE)
    eventually(
        lambda: [p for p in kubectl.items("pods") if "deletionTimestamp" in p["metadata"]],
        lambda leaving: leaving == [],
        "no driver that leaves",
    )


def wait_no_slices(admin: Kubectl) -> None:
    """Kubelet removes the slices of a driver that has been away for half a minute."""
    eventually(lambda: admin.items("resourceslices"), lambda found: found == [], "no slice left")


def end_burst(admin: Kubectl) -> None:
    """End the pods; they can, since the driver on their node is still there for it.

    One that has just begun to leave is away for 40 s first, and kubelet asks it again in its time.
    """
    admin("delete", "namespace", "burst", "--wait=true", "--timeout=300s")


def check_free_nodes_are_clean(lab: Lab, before: dict[str, Any]) -> None:
    """Nodes without pods that have interfaces are done with the driver at once."""
    for node in ("kind-control-plane", "kind-worker2"):
        wait_clean(lab, node, before)
    kubectl = lab.kubectl(CHART_NAMESPACE)
    eventually(
        lambda: {pod["spec"]["nodeName"] for pod in kubectl.items("pods")},
        lambda nodes: nodes == {"kind-worker"},
        "drivers only where pods need them",
    )


def check_all_clean(lab: Lab, before: dict[str, Any]) -> None:
    """Nothing is left on any node, nor in the API, and pods start."""
    for node in NODES:
        wait_clean(lab, node, before)
    kubectl = lab.kubectl(CHART_NAMESPACE)
    eventually(
        lambda: objects(kubectl, NAMESPACED_KINDS), lambda found: found == [], "an empty namespace"
    )
    assert [name for name in objects(kubectl, CLUSTER_KINDS) if "netclaim" in name] == []
    default = lab.kubectl()
    default.apply(deployment("after", 6))
    default.wait("deployment/after", "jsonpath={.status.availableReplicas}=6")


def objects(kubectl: Kubectl, kinds: str) -> list[str]:
    """The names of all objects of these kinds."""
    return kubectl("get", kinds, "--output=name").split()


def wait_clean(lab: Lab, node: str, before: dict[str, Any]) -> None:
    """Wait until a node has no file, socket or entry of the driver."""
    eventually(lambda: traces(lab, node), lambda found: found == [], f"no trace on {node}")
    assert conflists(lab, node) == before[node]


def traces(lab: Lab, node: str) -> list[str]:
    """What the driver has left on a node; the directories that a pod mounts stay, empty."""
    roots = ["/run/netclaim", "/var/lib/netclaim", "/var/lib/cni/netclaim", "/var/run/cdi"]
    roots += [f"/var/lib/kubelet/plugins/{DEFAULT_DRIVER}", "/var/lib/kubelet/plugins_registry"]
    shown = in_node(lab, node, "sh", "-c", f"find {' '.join(roots)} -mindepth 1 2>/dev/null; true")
    programs = in_node(lab, node, "sh", "-c", "ls /opt/cni/bin | grep netclaim; true")
    return [*shown.split(), *programs.split()]


def conflists(lab: Lab, node: str) -> dict[str, str]:
    """The runtime's network configuration on a node."""
    directory = lab.root(node) / "etc/cni/net.d"
    return {path.name: path.read_text() for path in sorted(directory.iterdir())}
