"""The driver on every Kubernetes that it serves: its kubelet, its API, its scheduler.

`make test` runs these on the newest and on the oldest release, `make test-versions` on each.
"""

import json
from pathlib import Path

import pytest
import yaml

from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER
from lab.drivers.driver_set import DriverSet
from lab.errors import UsageError
from lab.kubectl import KubectlError
from tests.cluster.site.claims import pod, simple_claim
from tests.cluster.site.demo import applied_demo, check_demo
from tests.cluster.site.drivers import addresses, eventually, journal_rows, reserved_addresses
from tests.cluster.site.namespaces import own_namespace

ROOT = Path(__file__).parents[3]
ADMISSION = ROOT / "deploy" / "claim-admission.yaml"
DEMO = ROOT / "examples" / "manifests" / "kubecon-demo.yaml"
NODE = "kind-worker"
COMPONENT = f"{NODE}/driver-{DEFAULT_DRIVER}"


@pytest.mark.versions("demo")
def test_fifteen_macvlans_on_the_node_that_has_eth1(served: Lab) -> None:
    """15 pods run on kind-worker with net1 and distinct addresses; nothing of it outlasts them."""
    admin = served.kubectl()
    with applied_demo(admin):
        check_demo(served, admin, DEFAULT_DRIVER)


@pytest.mark.versions("demo")
def test_the_release_is_the_one_that_was_asked_for(served: Lab) -> None:
    """The lab serves what its release has, and the driver publishes in the newest of it."""
    admin = served.kubectl()
    release = served.binaries.release
    assert json.loads(admin("get", "--raw=/version"))["minor"] == str(release.minor)
    group = json.loads(admin("get", "--raw=/apis/resource.k8s.io"))
    versions = [each["version"] for each in group["versions"]]
    newest = {32: ["v1beta1"], 33: ["v1beta2", "v1beta1"]}
    assert versions == newest.get(release.minor, ["v1", "v1beta2", "v1beta1"])
    assert versions[0] == release.resource_version
    slices = admin.items("resourceslices", "--show-managed-fields")
    written = {field["apiVersion"] for one in slices for field in one["metadata"]["managedFields"]}
    assert written == {f"resource.k8s.io/{versions[0]}"}


@pytest.mark.versions("lifecycle")
def test_a_killed_driver_comes_back(served: Lab) -> None:
    """Kubelet takes a driver again whose socket it found dead; a running pod notices nothing."""
    with own_namespace(served) as kubectl:
        kubectl.apply(simple_claim("before"), pod("before", "before"))
        kubectl.wait("pod/before", "condition=Ready")
        had = addresses(kubectl, "before", "net1")
        served.kill(COMPONENT)
        served.restart(COMPONENT)
        DriverSet(served).wait_ready(DEFAULT_DRIVER, NODE)
        assert addresses(kubectl, "before", "net1") == had
        kubectl("delete", "pod", "before")
        kubectl.apply(simple_claim("after"), pod("after", "after"))
        kubectl.wait("pod/after", "condition=Ready")
        assert len(addresses(kubectl, "after", "net1")) == 1
        kubectl("delete", "pod", "after")
        eventually(
            lambda: journal_rows(served, NODE, DEFAULT_DRIVER), lambda n: n == 0, "an empty journal"
        )
        assert reserved_addresses(served, NODE, "before") == set()


@pytest.mark.versions("lifecycle")
def test_an_update_under_a_running_pod(served: Lab) -> None:
    """The next process of a driver takes over what the one before it attached, and new pods."""
    with own_namespace(served) as kubectl:
        kubectl.apply(simple_claim("stays"), pod("stays", "stays"))
        kubectl.wait("pod/stays", "condition=Ready")
        had = addresses(kubectl, "stays", "net1")
        update(served)
        assert addresses(kubectl, "stays", "net1") == had
        kubectl("delete", "pod", "stays")
        kubectl.apply(simple_claim("comes"), pod("comes", "comes"))
        kubectl.wait("pod/comes", "condition=Ready")
        assert len(addresses(kubectl, "comes", "net1")) == 1
        kubectl("delete", "pod", "comes")
        eventually(
            lambda: journal_rows(served, NODE, DEFAULT_DRIVER), lambda n: n == 0, "an empty journal"
        )
        assert reserved_addresses(served, NODE, "stays") == set()


def update(lab: Lab) -> None:
    """Replace the driver's process as an update does: by a rolling one where kubelet knows that."""
    if lab.binaries.release.rolls_drivers:
        DriverSet(lab).roll(DEFAULT_DRIVER, NODE)
        return
    with pytest.raises(UsageError, match=r"from Kubernetes 1\.33 on"):
        DriverSet(lab).roll(DEFAULT_DRIVER, NODE)
    lab.restart(COMPONENT)
    DriverSet(lab).wait_ready(DEFAULT_DRIVER, NODE)


@pytest.mark.versions("admission")
def test_tenants_hear_the_policy_at_apply(served: Lab) -> None:
    """The admission policy takes the demo's template, and refuses it with another plugin."""
    admin = served.kubectl()
    admin("apply", "--filename", str(ADMISSION))
    template = next(
        each
        for each in yaml.safe_load_all(DEMO.read_text())
        if each["kind"] == "ResourceClaimTemplate"
    )
    for request in template["spec"]["spec"]["devices"]["requests"]:
        del request["adminAccess"]  # which most namespaces may not ask for, from 1.34 on

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
        assert 'netclaim has no CNI plugin macvaln; did you mean "macvlan"?' in refusal("macvaln")
        assert refusal("macvlan") == ""
    finally:
        admin("delete", "--filename", str(ADMISSION))
        # The API server goes on refusing for some seconds, and other tests use this cluster.
        eventually(lambda: refusal("bridge"), lambda said: not said, "the policy out of effect")
