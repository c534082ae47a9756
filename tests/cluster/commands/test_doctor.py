"""`netclaim doctor` on the lab: nothing to say while all is well, and each thing that breaks."""

import asyncio
import json
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.cluster import Lab
from lab.drivers.driver import ACCOUNT, DEFAULT_DRIVER, NAMESPACE, grant
from lab.kubectl import Kubectl
from lab.nodes.processes import Processes
from netclaim.doctor.cluster.sight import Account, ClusterSight
from netclaim.doctor.examine import examine
from netclaim.doctor.finding import Result
from netclaim.doctor.show import as_json
from netclaim.kube import connect, load_cluster
from netclaim.network.policy.levels import LABEL
from tests.cluster.site.claims import pod, simple_claim
from tests.cluster.site.drivers import eventually, wait_claim

NODE = "kind-worker2"
DRIVER_ON_NODE = f"{NODE}/driver-{DEFAULT_DRIVER}"
Report = dict[str, dict[str, Any]]  # the checks by their ids
Problems = dict[str, str]  # their remedies, by the checks' ids


def run(command: list[str]) -> tuple[int, Report]:
    """Run the command with JSON output; returns its exit code and what it found."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    return done.returncode, {each["id"]: each for each in found["checks"]}


def look(lab: Lab) -> Report:
    """Look at the cluster without a process of its own, which takes longer than to look."""

    async def results() -> list[Result]:
        async with connect(load_cluster(str(lab.state.kubeconfig))) as client:
            account = Account(NAMESPACE, ACCOUNT)
            return await examine(ClusterSight(client, driver=DEFAULT_DRIVER, account=account), None)

    found = json.loads(as_json([], asyncio.run(results())))
    return {each["id"]: each for each in found["checks"]}


def doctor(lab: Lab, *options: str) -> tuple[int, Report]:
    """Look at the cluster."""
    kubeconfig = f"--kubeconfig={lab.state.kubeconfig}"
    return run([sys.executable, "-m", "netclaim", "doctor", kubeconfig, "--cluster", "-o", "json",
                *options])  # fmt: skip


def doctor_on(lab: Lab, node: str, *options: str) -> tuple[int, Report]:
    """Look at a node, on the node."""
    command = [lab.python, "-m", "netclaim", "doctor", "--node", "-o", "json", *options]
    return run(lab.enter_command(node, command))


def problems(report: Report) -> Problems:
    """What has to be done, by check."""
    bad = ("error", "warning")
    return {name: each["remedy"] for name, each in report.items() if each["outcome"] in bad}


@pytest.fixture(scope="module")
def usual(lab: Lab, driver: str) -> tuple[set[str], set[str]]:
    """The warnings of a healthy lab: optional policies are not there, the kernel lacks kinds."""
    all_published(lab)
    return set(problems(look(lab))), set(problems(doctor_on(lab, NODE)[1]))


@pytest.fixture
def healthy(lab: Lab, usual: tuple[set[str], set[str]]) -> set[str]:
    """Wait for what an earlier test stopped, and return the warnings of a healthy cluster."""
    return eventually(
        lambda: set(problems(look(lab))), lambda now: now <= usual[0], "a healthy cluster"
    )


def all_published(lab: Lab) -> None:
    """Wait until every node has slices: a kubelet that starts deletes those of its node."""
    eventually(
        lambda: look(lab)["slices-nodes"]["outcome"], lambda now: now == "ok", "slices everywhere"
    )


def test_healthy_cluster(lab: Lab, driver: str) -> None:
    """On a healthy cluster with the driver there are no errors, and nothing is unknown."""
    all_published(lab)
    code, report = doctor(lab)
    assert code == 0
    assert {each["outcome"] for each in report.values()} <= {"ok", "warning", "skipped"}
    for name in ("rbac-driver", "policies-node", "slices-nodes", "slices-complete", "device-class"):
        assert report[name]["outcome"] == "ok", report[name]
    assert "policies-claims" in problems(report)  # the lab does not install these
    assert doctor(lab, "--strict")[0] == 1


def test_healthy_node(lab: Lab, kubectl: Kubectl, driver: str) -> None:
    """On a node with a pod that has an interface there are no errors, and its namespace is seen."""
    kubectl.apply(simple_claim("nic"), pod("app", "nic"))
    wait_claim(kubectl, "nic", "True")
    code, report = doctor_on(lab, "kind-worker")
    assert code == 0, problems(report)
    assert set(problems(report)) <= {"kernel-links", "clock-synchronised"}  # the machine's own
    assert report["driver-ready"]["outcome"] == "ok"
    assert report["netns-visible"]["found"].startswith("all of ")
    assert "1 attachment" in report["journal"]["found"]
    assert report["nri-config"]["found"] == "the runtime waits 2s for a plugin"


def rights_gone(lab: Lab) -> None:
    """The driver's role is not bound to its account any more."""
    lab.kubectl()("delete", "clusterrolebinding", "netclaim-driver")


def policy_gone(lab: Lab) -> None:
    """One of the policies is not there any more, and another one's binding."""
    lab.kubectl()("delete", "validatingadmissionpolicy", "netclaim-driver-events")
    lab.kubectl()("delete", "validatingadmissionpolicybinding", "netclaim-driver-slices")


def policy_weakened(lab: Lab) -> None:
    """A policy lets everything through that it cannot judge."""
    patch = json.dumps({"spec": {"failurePolicy": "Ignore"}})
    kind = "validatingadmissionpolicy"
    lab.kubectl()("patch", kind, "netclaim-driver-slices", "--type=merge", f"--patch={patch}")


def class_gone(lab: Lab) -> None:
    """No class selects the driver's devices."""
    lab.kubectl()("delete", "deviceclass", "--all")


def level_mistyped(lab: Lab) -> None:
    """A namespace has a level that there is not."""
    lab.kubectl()("label", "namespace", NAMESPACE, f"{LABEL}=priviliged")


def ghost_slice(lab: Lab) -> None:
    """A slice of a node that is gone, one of two of its pool."""
    lab.kubectl().apply(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "ghost"},
            "spec": {
                "driver": DEFAULT_DRIVER,
                "nodeName": "ghost",
                "pool": {"name": "ghost", "generation": 1, "resourceSliceCount": 2},
            },
        }
    )


@contextmanager
def mended(lab: Lab) -> Iterator[None]:
    """Put the cluster's objects back, whatever was done to them."""
    kubectl = lab.kubectl()
    classes = kubectl.items("deviceclass")
    try:
        yield
    finally:
        grant(kubectl, list(Processes(lab.state).running.drivers))
        for each in classes:
            kubectl.apply({**each, "metadata": {"name": each["metadata"]["name"]}})
        kubectl("delete", "resourceslice", "ghost", "--ignore-not-found")
        kubectl("label", "namespace", NAMESPACE, f"{LABEL}-")


@pytest.mark.parametrize(
    ("break_it", "found"),
    [
        (rights_gone, {"rbac-driver": "deploy/rbac.yaml; or"}),
        (policy_gone, {"policies-node": "deploy/node-admission.yaml; or"}),
        (policy_weakened, {"policies-node": "deploy/node-admission.yaml; or"}),
        (class_gone, {"device-class": "| kubectl apply -f -"}),
        (level_mistyped, {"namespace-levels": f"kubectl label namespace {NAMESPACE}"}),
        (
            ghost_slice,
            {
                "slices-orphaned": "kubectl delete resourceslice ghost",
                "slices-complete": "restarting the driver",
            },
        ),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_broken_cluster(
    lab: Lab, healthy: set[str], break_it: Callable[[Lab], None], found: Problems
) -> None:
    """What was broken is found by its check, which says how to mend it, and by no other."""
    with mended(lab):
        break_it(lab)
        there = problems(look(lab))
    assert set(there) - healthy == set(found), there
    for name, remedy in found.items():
        assert remedy in there[name]


@contextmanager
def without(path: Path, aside: Path) -> Iterator[None]:
    """Have a file elsewhere for a while."""
    path.rename(aside)
    try:
        yield
    finally:
        aside.rename(path)


@contextmanager
def stopped(lab: Lab, component: str) -> Iterator[None]:
    """Have a component stopped for a while."""
    lab.stop(component)
    try:
        yield
    finally:
        lab.restart(component)


def on_node(lab: Lab, usual: tuple[set[str], set[str]]) -> Problems:
    """What has to be done on the node beyond what always has."""
    _, report = doctor_on(lab, NODE)
    return {name: each for name, each in problems(report).items() if name not in usual[1]}


def recovered(lab: Lab, usual: tuple[set[str], set[str]]) -> None:
    """Wait until neither the node nor the cluster has more to do than always.

    A kubelet that was started, for example, deletes the slices of its node, and the driver
    publishes them again.
    """
    eventually(lambda: on_node(lab, usual), lambda left: not left, "a node without problems")
    eventually(lambda: set(problems(look(lab))) - usual[0], lambda left: not left, "all slices")


def test_node_without_its_driver(lab: Lab, driver: str, usual: tuple[set[str], set[str]]) -> None:
    """A stopped driver, then what it would put back: the entry, the program; then its slices."""
    root = lab.root(NODE)
    conflist = root / "etc/cni/net.d/10-lab.conflist"
    with stopped(lab, DRIVER_ON_NODE):
        there = on_node(lab, usual)
        assert set(there) == {"driver-live", "driver-socket", "driver-registered"}
        assert there["driver-live"].startswith("start the driver on this node")
        assert there["driver-registered"].startswith("start or restart the driver")

        network = json.loads(conflist.read_text())
        network["plugins"] = [p for p in network["plugins"] if p["type"] != "netclaim-attach"]
        conflist.write_text(json.dumps(network))
        (root / "opt/cni/bin/netclaim-attach").unlink()
        there = on_node(lab, usual)
        assert "which adds it within a second" in there["cni-list"]
        assert "restart the driver, which installs it" in there["cni-attach-program"]

        kubectl = lab.kubectl()
        kubectl("delete", "resourceslice", f"--field-selector=spec.nodeName={NODE}")
        report = look(lab)
        there = problems(report)
        assert set(there) - usual[0] == {"slices-nodes"}
        assert NODE in report["slices-nodes"]["found"]
        assert there["slices-nodes"].startswith(f"run `netclaim doctor --node` on {NODE}")
    recovered(lab, usual)


def test_node_without_its_runtime(lab: Lab, driver: str, usual: tuple[set[str], set[str]]) -> None:
    """A stopped runtime is found, and that nobody listens on its NRI socket."""
    with stopped(lab, f"{NODE}/containerd"):
        there = on_node(lab, usual)
        assert {"runtime", "nri-socket", "driver-ready"} <= set(there)
        assert "systemctl status containerd" in there["runtime"]
    recovered(lab, usual)


def test_node_without_its_kubelet(lab: Lab, driver: str, usual: tuple[set[str], set[str]]) -> None:
    """A stopped kubelet is found."""
    with stopped(lab, f"{NODE}/kubelet"):
        assert on_node(lab, usual) == {
            "kubelet-live": "systemctl status kubelet; journalctl -u kubelet"
        }
    recovered(lab, usual)


def test_missing_files(lab: Lab, driver: str, usual: tuple[set[str], set[str]]) -> None:
    """A plugin's program that is missing, and a registration socket, are found."""
    root = lab.root(NODE)
    with without(root / "opt/cni/bin/ptp", root / "opt/cni/ptp"):
        there = on_node(lab, usual)
        assert set(there) == {"cni-primary-programs"}
        assert "install the CNI plugins there again" in there["cni-primary-programs"]
    kubelet = root / "var/lib/kubelet"
    registration = kubelet / f"plugins_registry/{DEFAULT_DRIVER}-reg.sock"
    with without(registration, kubelet / "aside.sock"):
        there = on_node(lab, usual)
        assert "restart the driver, which makes a new socket" in there["driver-registered"]
    recovered(lab, usual)


def test_frozen_driver(lab: Lab, driver: str, usual: tuple[set[str], set[str]]) -> None:
    """A driver that does not answer is found, and does not hold the command up for ever."""
    lab.pause(DRIVER_ON_NODE)
    try:
        assert {"driver-live", "driver-registered"} <= set(on_node(lab, usual))
    finally:
        lab.resume(DRIVER_ON_NODE)
    recovered(lab, usual)


@pytest.mark.older
def test_oldest_release(older: Lab) -> None:
    """On the oldest release, whose API is another version, everything is looked at as well."""
    report = look(older)
    assert {each["outcome"] for each in report.values()} <= {"ok", "warning", "error", "skipped"}
    assert set(problems(report)) <= {"policies-claims", "device-class"}  # what its lab lacks
    assert report["dra-served"]["found"] == "resource.k8s.io/v1beta1 is served"
    assert report["slices-complete"]["outcome"] == "ok"


def test_archive(lab: Lab, kubectl: Kubectl, driver: str, tmp_path: Path) -> None:
    """The archive has the cluster's objects without what kubectl wrote into them, for its owner."""
    secret = "canary-0f3a"
    nic = simple_claim("nic")
    nic["metadata"]["annotations"] = {"team.example.com/password": secret}
    parameters = nic["spec"]["devices"]["config"][0]["opaque"]["parameters"]
    parameters["config"]["plugins"][0]["psk"] = secret
    kubectl.apply(nic)
    path = tmp_path / "support.tgz"
    code, _ = doctor(lab, f"--output={path}")
    assert code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as archive:
        files = {
            member.name.partition("/")[2]: archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in archive.getmembers()
        }
    assert {"README.txt", "doctor.json", "cluster/slices.json", "cluster/claims.json"} <= set(files)
    claims = json.loads(files["cluster/claims.json"])
    assert kubectl.namespace in {each["metadata"]["namespace"] for each in claims}
    assert not [name for name, content in files.items() if secret.encode() in content]
