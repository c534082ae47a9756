"""`netclaim status` on the lab: nodes, claims and pods as they are, and what kubelet believes."""

import json
import os
import subprocess
import sysconfig
from typing import Any

from lab.cluster import Lab
from lab.kubectl import Kubectl
from tests.cluster.site.claims import pod, simple_claim
from tests.cluster.site.drivers import in_node, wait_claim, wait_event


def plugin(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run netclaim as kubectl's plugin, with the lab's kubectl."""
    scripts = sysconfig.get_path("scripts")
    environment = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"}
    environment["KUBECONFIG"] = str(lab.state.kubeconfig)
    return subprocess.run(
        [str(lab.binaries.path("kubectl")), *arguments],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def status(lab: Lab, *arguments: str) -> dict[str, Any]:
    """What the plugin says, as JSON."""
    done = plugin(lab, "netclaim", "status", *arguments, "-o", "json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def alone(name: str) -> dict[str, Any]:
    """A claim for a link that nobody else has."""
    made = simple_claim(name)
    (request,) = made["spec"]["devices"]["requests"]
    request["exactly"]["capacity"] = {"requests": {"attachments": "2"}}
    return made


def test_who_uses_what(lab: Lab, kubectl: Kubectl, driver: str) -> None:
    """One pod has the link, another waits for it; kubectl finds the command as its plugin."""
    space = kubectl.namespace
    kubectl.apply(alone("first"), pod("has", "first"))
    wait_claim(kubectl, "first", "True")
    kubectl.apply(alone("second"), pod("waits", "second"))
    wait_event(kubectl, "waits", "cannot allocate all claims")

    found = status(lab, "pods", "-n", space)
    has, waits = found["pods"]
    assert (has["state"], has["node"]) == ("Ready", "kind-worker")
    assert [one["name"] for one in has["interfaces"]] == ["net1"]
    assert waits["state"] == "Waiting"
    assert "cannot allocate all claims" in waits["waiting"]
    assert [one["hint"] for one in found["problems"]] == [f"netclaim explain pod/waits -n {space}"]

    found = status(lab, "link/kind-worker/eth1")
    (device,) = found["devices"]
    assert (device["state"], device["attributes"]["state"]) == ("used", "up")
    assert [(use["claim"], use["pods"]) for use in device["usedBy"]] == [("first", ["has"])]

    nodes = {one["name"]: one for one in status(lab, "nodes")["nodes"]}
    assert all(one["ready"] and driver in one["drivers"] for one in nodes.values())
    assert nodes["kind-worker"]["used"] >= 1

    assert "kubectl-netclaim" in plugin(lab, "plugin", "list").stdout
    offered = plugin(lab, "__complete", "netclaim", "status", "cl").stdout
    assert offered.splitlines()[0] == "claims"


def test_what_kubelet_believes(lab: Lab, kubectl: Kubectl, driver: str) -> None:
    """Kubelet, the API server as its node may ask it, and the journal agree on a running pod."""
    made = pod("has", "first")
    names = [one["name"] for one in made["spec"]["resourceClaims"]]
    for container in made["spec"]["containers"]:
        container["resources"] = {"claims": [{"name": name} for name in names]}
    kubectl.apply(simple_claim("first"), made)
    kubectl.wait("pod/has", "condition=Ready")
    command = (lab.python, "-m", "netclaim", "status", "kubelet", "-o", "json")
    config = ("--kubeconfig", "/etc/kubernetes/kubelet.conf")
    found = json.loads(in_node(lab, "kind-worker", *command, *config))
    (row,) = [one for one in found["claims"] if one["namespace"] == kubectl.namespace]
    assert (found["notes"], found["differences"]) == ([], [])
    assert row["kubelet"] == row["api"] == ["kind-worker/eth1"]
    assert (row["journal"], row["pods"]) == ("ready", ["has"])
    assert row["interfaces"][0].startswith("has: net1 10.20.0.")
