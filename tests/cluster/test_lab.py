"""The lab is a real cluster: what any Kubernetes does, it does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lab.api import LabApi
from lab.cluster import Lab
from lab.errors import UsageError
from lab.images.oci import Image, busybox_tree, write_images
from lab.kubectl import Kubectl
from lab.nodes.linux import Process
from lab.topology import DEFAULT_TOPOLOGY
from tests.cluster.site.drivers import eventually, in_node, links
from tests.cluster.site.manifests import deployment

NODES = ["kind-control-plane", "kind-worker", "kind-worker2"]
SCHEDULER = "kind-control-plane/kube-scheduler"

# Its first thread ends, and shows as a zombie; another goes on until standard input closes.
FIRST_THREAD_ENDS = """
import ctypes, os, sys, threading

def rest():
    print("ready", end="", flush=True)
    os.read(0, 1)
    os._exit(0)

threading.Thread(target=rest).start()
ctypes.CDLL(None).syscall(60, 0)  # exit(2) of this thread alone, on x86-64
"""


def restarts(kubectl: Kubectl) -> list[int]:
    """How often each pod's container was started again."""
    statuses = [pod["status"].get("containerStatuses", []) for pod in kubectl.items("pods")]
    return [status[0]["restartCount"] if status else -1 for status in statuses]


def test_nodes_are_ready_and_schedulable(admin: Kubectl) -> None:
    """The three nodes of the seeds are Ready, and none keeps pods away."""
    nodes = {node["metadata"]["name"]: node for node in admin.items("nodes")}
    assert sorted(nodes) == NODES
    for node in nodes.values():
        conditions = {c["type"]: c["status"] for c in node["status"]["conditions"]}
        assert conditions["Ready"] == "True"
        assert "taints" not in node["spec"]


def test_only_one_node_has_a_second_link(lab: Lab) -> None:
    """Only kind-worker has eth1; all have eth0."""
    assert {"eth0", "eth1"} <= links(lab, "kind-worker")
    for node in ("kind-control-plane", "kind-worker2"):
        assert "eth0" in links(lab, node)
        assert "eth1" not in links(lab, node)


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_resource_api_is_served(admin: Kubectl, version: str) -> None:
    """Every resource.k8s.io version from v1beta1 on lists ResourceClaims."""
    answer = json.loads(admin("get", "--raw", f"/apis/resource.k8s.io/{version}/resourceclaims"))
    assert answer["kind"] == "ResourceClaimList"


def test_fifteen_plain_pods(kubectl: Kubectl) -> None:
    """A Deployment of 15 pods becomes available; exec and logs answer; pods reach each other."""
    kubectl.apply(deployment("plain", 15))
    kubectl.wait("deployment/plain", "jsonpath={.status.availableReplicas}=15")
    pods = kubectl.items("pods")
    assert len({pod["status"]["podIP"] for pod in pods}) == 15
    name = pods[0]["metadata"]["name"]
    assert kubectl("logs", name) == f"hello from {name}\n"
    assert "inet 10.244." in kubectl("exec", name, "--", "ip", "addr", "show", "eth0")
    elsewhere = next(p for p in pods if p["spec"]["nodeName"] != pods[0]["spec"]["nodeName"])
    kubectl("exec", name, "--", "ping", "-c", "1", "-W", "5", elsewhere["status"]["podIP"])


def test_pods_reach_the_api(kubectl: Kubectl) -> None:
    """The address of the `kubernetes` service answers in a pod on a node without API server."""
    kubectl.apply(deployment("client", 1, node="kind-worker2"))
    kubectl.wait("deployment/client", "condition=Available")
    ask = r"printf 'GET / HTTP/1.0\r\n\r\n' | nc $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT"
    answer = kubectl("exec", "deployment/client", "--", "sh", "-c", ask)
    assert "Client sent an HTTP request to an HTTPS server" in answer


def test_reboot_brings_the_node_back_with_its_pods(lab: Lab, kubectl: Kubectl) -> None:
    """A rebooted node has a new boot id and an empty /run, and starts its pods again."""
    kubectl.apply(deployment("steady", 3, node="kind-worker"))
    kubectl.wait("deployment/steady", "jsonpath={.status.availableReplicas}=3")
    names = {pod["metadata"]["name"] for pod in kubectl.items("pods")}
    boot = in_node(lab, "kind-worker", "cat", "/proc/sys/kernel/random/boot_id")
    in_node(lab, "kind-worker", "touch", "/run/lost", "/var/lib/kept")
    lab.reboot("kind-worker")
    assert in_node(lab, "kind-worker", "cat", "/proc/sys/kernel/random/boot_id") != boot
    remains = in_node(lab, "kind-worker", "sh", "-c", "ls -d /run/lost /var/lib/kept 2>&1 || true")
    assert "/var/lib/kept\n" in remains
    assert "/run/lost': No such file" in remains
    assert {"eth0", "eth1"} <= links(lab, "kind-worker")
    restarted = "jsonpath={.status.containerStatuses[0].restartCount}=1"
    for name in names:
        kubectl.wait(f"pod/{name}", restarted)
        kubectl.wait(f"pod/{name}", "condition=Ready")
    assert {pod["metadata"]["name"] for pod in kubectl.items("pods")} == names
    assert restarts(kubectl) == [1, 1, 1]


def test_killed_component_comes_back(lab: Lab, kubectl: Kubectl) -> None:
    """A killed scheduler stays dead; a second `up` starts it again and touches nothing else."""
    lab.kill("scheduler")
    before = lab.state.load().components
    assert not before[SCHEDULER].alive
    lab.up(DEFAULT_TOPOLOGY, port=0)
    after = lab.state.load().components
    assert after[SCHEDULER].alive
    assert {n: p for n, p in after.items() if n != SCHEDULER} == {
        n: p for n, p in before.items() if n != SCHEDULER
    }
    kubectl.apply(deployment("scheduled", 1))
    kubectl.wait("deployment/scheduled", "condition=Available")


def test_restarted_api_server_serves_again(lab: Lab, admin: Kubectl) -> None:
    """The API server takes its port over from the one that was killed, each time."""
    for _ in range(3):
        lab.restart("apiserver")
        eventually(lambda: api(lab).ready(), lambda ready: ready, "the API server ready again")
    assert admin.items("nodes")


def api(lab: Lab) -> LabApi:
    """The lab's API server, asked without kubectl."""
    return LabApi(lab.state.load().port, lab.state.pki)


def test_process_has_ended_when_its_last_thread_has() -> None:
    """A process whose first thread has ended is waited for until the others have, too."""
    with subprocess.Popen(
        [sys.executable, "-c", FIRST_THREAD_ENDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        process = Process.of(program.pid)
        assert process is not None
        assert program.stdout is not None
        assert program.stdin is not None
        assert program.stdout.read(5) == b"ready"
        eventually(lambda: process.alive, lambda alive: not alive, "the first thread's end")
        assert not process.wait_gone(0.0)
        program.stdin.close()
        assert process.wait_gone(60)


def test_paused_component_does_nothing_until_it_is_resumed(lab: Lab, kubectl: Kubectl) -> None:
    """No pod is scheduled while the scheduler is paused; resumed, it is the same process."""
    before = lab.state.load().components
    lab.pause("scheduler")
    try:
        status = Path(f"/proc/{before[SCHEDULER].pid}/status")
        eventually(status.read_text, lambda text: "State:\tT" in text, "a stopped scheduler")
        kubectl.apply(deployment("waiting", 1))
    finally:
        lab.resume("scheduler")
    kubectl.wait("deployment/waiting", "condition=Available")
    assert lab.state.load().components == before


def test_stopped_component_stays_dead(lab: Lab) -> None:
    """A component that was asked to end is dead until it is restarted."""
    lab.stop("scheduler")
    assert not lab.state.load().components[SCHEDULER].alive
    lab.restart("scheduler")
    assert lab.state.load().components[SCHEDULER].alive


def test_restarted_runtime_keeps_its_pods(lab: Lab, kubectl: Kubectl) -> None:
    """Containerd restarted under running pods leaves them running."""
    kubectl.apply(deployment("lasting", 2, node="kind-worker2"))
    kubectl.wait("deployment/lasting", "jsonpath={.status.availableReplicas}=2")
    lab.restart("kind-worker2/containerd")
    kubectl.apply(deployment("later", 1, node="kind-worker2"))
    kubectl.wait("deployment/later", "condition=Available")
    assert restarts(kubectl) == [0, 0, 0]


def test_loaded_image_runs(lab: Lab, kubectl: Kubectl, tmp_path: Path) -> None:
    """An image built here and loaded into the nodes runs without a registry."""
    tree = busybox_tree(lab.binaries.path("busybox"))
    tree.add_file("/greeting", "built without an engine\n")
    command = ["/bin/sh", "-c", "cat /greeting; exec sleep infinity"]
    write_images([Image("netclaim.dev/test:1", [tree], command=command)], tmp_path / "image.tar")
    with (tmp_path / "image.tar").open("rb") as content:
        lab.load_image(content, NODES)
    kubectl("run", "greeter", "--image=netclaim.dev/test:1", "--image-pull-policy=Never")
    kubectl.wait("pod/greeter", "condition=Ready")
    assert kubectl("logs", "greeter") == "built without an engine\n"
    kubectl("delete", "pod", "greeter", "--grace-period=0", "--force")


def test_other_topology_is_refused_while_up(lab: Lab, tmp_path: Path) -> None:
    """A second `up` with another topology says that the lab has to come down first."""
    other = tmp_path / "other.yaml"
    other.write_text(DEFAULT_TOPOLOGY.read_text().replace("eth1", "eth7"))
    with pytest.raises(UsageError, match="another topology; take it down first"):
        lab.up(other, port=0)


def test_unknown_names_are_told(lab: Lab) -> None:
    """A node or component that is not there is answered with those that are."""
    with pytest.raises(UsageError, match="unknown node 'nobody'; the nodes are kind-control-plane"):
        lab.enter_command("nobody", ["true"])
    with pytest.raises(UsageError, match="'kubelet' is on several nodes; name one of kind-"):
        lab.component("kubelet")
    with pytest.raises(UsageError, match=r"'nonsense' is unknown; name one of .*kube-apiserver"):
        lab.component("nonsense")
