"""The driver on the oldest Kubernetes that it serves: its kubelet, its API, its scheduler."""

import json
from pathlib import Path

import pytest
import yaml

from lab.cluster import Lab
from lab.driver_set import DriverSet
from lab.drivers import DEFAULT_DRIVER
from lab.kubectl import KubectlError
from tests.cluster.conftest import OLDEST
from tests.cluster.demo import applied_demo, check_demo
from tests.cluster.drivers import eventually

pytestmark = pytest.mark.older

ROOT = Path(__file__).parents[2]
ADMISSION = ROOT / "deploy" / "claim-admission.yaml"
DEMO = ROOT / "examples" / "manifests" / "kubecon-demo.yaml"


def test_the_demo_runs_on_the_oldest_release(older: Lab) -> None:
    """The talk's demo is the same where only v1beta1 of the API and of kubelet's plugins exists."""
    admin = older.kubectl()
    assert json.loads(admin("get", "--raw=/version"))["minor"] == OLDEST.partition(".")[2]
    served = json.loads(admin("get", "--raw=/apis/resource.k8s.io"))["versions"]
    assert [each["version"] for each in served] == ["v1beta1"]
    with applied_demo(admin):
        check_demo(older, admin, DEFAULT_DRIVER)


def test_a_killed_driver_comes_back_on_the_oldest_release(older: Lab) -> None:
    """That kubelet takes a driver again whose socket it found dead."""
    component = f"kind-worker/driver-{DEFAULT_DRIVER}"
    older.kill(component)
    older.restart(component)
    DriverSet(older).wait_ready(DEFAULT_DRIVER, "kind-worker")
    admin = older.kubectl()
    with applied_demo(admin):
        check_demo(older, admin, DEFAULT_DRIVER)


def test_tenants_hear_the_policy_at_apply_on_the_oldest_release(older: Lab) -> None:
    """The admission policy takes the demo's template, and refuses it with another plugin."""
    admin = older.kubectl()
    admin("apply", "--filename", str(ADMISSION))
    template = next(
        each
        for each in yaml.safe_load_all(DEMO.read_text())
        if each["kind"] == "ResourceClaimTemplate"
    )

    def refusal(plugin: str) -> str:
        """What the API server says to the demo's template with this plugin."""
        (config,) = template["spec"]["spec"]["devices"]["config"]
        config["opaque"]["parameters"]["config"]["plugins"][0]["type"] = plugin
        try:
            text = yaml.safe_dump(template)
            admin("apply", "--dry-run=server", "--filename=-", stdin=text)
        except KubectlError as error:
            return str(error)
        return ""

    try:
        said = eventually(lambda: refusal("bridge"), bool, "the policy in effect")
        assert "the CNI plugin bridge in the parameters needs the policy level privileged" in said
        assert refusal("macvlan") == ""
    finally:
        admin("delete", "--filename", str(ADMISSION))
