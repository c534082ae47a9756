"""`netclaim explain` on the lab: what it says is what the scheduler does."""

import json
import subprocess
import sys
from typing import Any

from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER
from lab.kubectl import Kubectl
from tests.cluster.site.claims import claim, macvlan, parameters, pod, request, simple_claim
from tests.cluster.site.drivers import wait_claim, wait_event

ATTRIBUTES = f'device.attributes["{DEFAULT_DRIVER}"]'


def explain(lab: Lab, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command on the lab, as a user does."""
    command = [sys.executable, "-m", "netclaim", "explain"]
    command += [f"--kubeconfig={lab.state.kubeconfig}", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def mistaken(name: str, expression: str) -> dict[str, Any]:
    """A claim whose selector is wrong."""
    made = simple_claim(name)
    exactly = made["spec"]["devices"]["requests"][0]["exactly"]
    exactly["selectors"] = [{"cel": {"expression": expression}}]
    return made


def test_value_with_a_space(lab: Lab, kubectl: Kubectl, driver: str) -> None:
    """A pod that the scheduler leaves waiting is explained down to the space in its selector."""
    kubectl.apply(mistaken("typo", f'{ATTRIBUTES}.name == "eth1 "'), pod("waits", "typo"))
    wait_event(kubectl, "waits", "cannot allocate all claims")
    told = explain(lab, "waits", "-n", kubectl.namespace)
    assert told.returncode == 1, told.stderr
    lines = told.stdout.splitlines()
    assert lines[0].startswith(f"pod {kubectl.namespace}/waits: cannot be allocated: request nic:")
    assert lines[1] == (
        "nearest: kind-worker/eth1: selectors[0] of request nic is false:"
        f' {ATTRIBUTES}.name == "eth1 " - name is "eth1"; they differ only in white space'
    )


def test_attribute_that_no_device_has(lab: Lab, kubectl: Kubectl, driver: str) -> None:
    """A misspelt attribute fails the pod, and the one that was meant is named."""
    kubectl.apply(mistaken("typo", f'{ATTRIBUTES}.nmae == "eth1"'), pod("fails", "typo"))
    wait_event(kubectl, "fails", "no such key: nmae")
    told = explain(lab, "claim/typo", "-n", kubectl.namespace, "-o", "json")
    assert told.returncode == 1, told.stderr
    (answer,) = json.loads(told.stdout)["answers"]
    assert "which fails the pod" in answer["summary"]
    assert answer["nearest"]["why"][0].endswith('did you mean "name"?')


def test_allocated_and_taken(lab: Lab, kubectl: Kubectl, driver: str) -> None:
    """A claim that has its device says for whom; another one for the same device says by whom."""
    alone = {"requests": {"attachments": "2"}}
    given = {"nic": parameters(macvlan("first"))}
    kubectl.apply(claim("first", given, [request("nic", "eth1", capacity=alone)]))
    kubectl.apply(pod("has", "first"))
    wait_claim(kubectl, "first", "True")
    space = kubectl.namespace
    told = explain(lab, "-n", space)
    assert told.returncode == 0, told.stderr
    assert told.stdout == (
        f"pod {space}/has: allocated: first has kind-worker/eth1 (attachments 32), "
        "which pod has uses\n"
    )
    # As if it were applied: the file's claim on the cluster's devices.
    later = json.dumps(simple_claim("second"))
    told = explain(lab, "-f", "-", "-n", space, stdin=later)
    assert told.returncode == 1, told.stderr
    assert told.stdout.splitlines()[1] == (
        "nearest: kind-worker/eth1: capacity attachments: needs 1 (the default of its request "
        f"policy), 0 of 32 free; claim {space}/first, which pod has uses, has 32"
    )
