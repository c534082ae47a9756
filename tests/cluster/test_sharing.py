"""Links that pods share, as the scheduler counts it: room for so many, and a link alone."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import yaml

from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER, netclaim_driver
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl
from netclaim.manifests.versions.conversion import to_v1
from tests.cluster.site.claims import claim, device_class, macvlan, parameters, pod
from tests.cluster.site.drivers import (
    EXAMPLES,
    addresses,
    events,
    eventually,
    in_node,
    journal_rows,
    links,
    reserved_addresses,
    wait_event,
)

DRIVER = "sharing.dra.networking"
CONFIG = "/etc/netclaim/sharing.yaml"
ROOM = {"kind-worker": 10, "kind-worker2": 5}
DEMO = EXAMPLES / "manifests" / "kubecon-demo.yaml"


@pytest.fixture(scope="module")
def nodes(lab: Lab, drivers: DriverSet) -> Iterator[Lab]:
    """Two nodes with an eth1, for ten claims on one of them and for five on the other."""
    lab.plug("kind-worker2", "eth1")
    for node in lab.require_up().nodes:
        file = lab.root(node) / CONFIG.lstrip("/")
        file.parent.mkdir(exist_ok=True)
        file.write_text(f'attachments: ["eth1={ROOM.get(node, 1)}"]\n')
    drivers.up(netclaim_driver(DRIVER, f"--config={CONFIG}"))
    lab.kubectl().apply(device_class(DRIVER, DRIVER))
    yield lab
    lab.kubectl()("delete", "deviceclass", DRIVER)
    drivers.down(DRIVER)
    lab.unplug("kind-worker2", "eth1")


def demo(replicas: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The demo's claim template and Deployment for this driver, without admin access."""
    text = DEMO.read_text().replace(DEFAULT_DRIVER, DRIVER)
    objects = {each["kind"]: each for each in yaml.safe_load_all(text)}
    template = to_v1(objects["ResourceClaimTemplate"], "ResourceClaimTemplate", "v1beta1")
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    del request["exactly"]["adminAccess"]
    request["exactly"]["deviceClassName"] = DRIVER
    deployment = objects["Deployment"]
    deployment["spec"]["replicas"] = replicas
    deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 0
    for each in (template, deployment):
        del each["metadata"]["namespace"]
    return template, deployment


def on_eth1(name: str, config: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A claim for eth1, with whatever its request says more."""
    selector = {"cel": {"expression": f'device.attributes["{DRIVER}"].name == "eth1"'}}
    asked = {"deviceClassName": DRIVER, "selectors": [selector], **more}
    return claim(name, {"nic": parameters(config)}, [{"name": "nic", "exactly": asked}], DRIVER)


def waits(kubectl: Kubectl, name: str) -> None:
    """See that the scheduler says of a pod that there is no device for it."""
    wait_event(kubectl, name, "cannot allocate all claims")
    assert any("0/3 nodes are available" in text for text in events(kubectl, name))


def test_the_demo_without_admin_access(nodes: Lab, kubectl: Kubectl) -> None:
    """Fifteen pods fill ten and five places; the sixteenth waits, and starts when one is free."""
    kubectl.apply(*demo(15))
    kubectl.wait("deployment/demo-application", "jsonpath={.status.availableReplicas}=15")
    pods = kubectl.items("pods")
    assert Counter(each["spec"]["nodeName"] for each in pods) == ROOM
    claims = kubectl.items("resourceclaims")
    results = [each["status"]["allocation"]["devices"]["results"][0] for each in claims]
    assert len({each["shareID"] for each in results}) == 15
    assert {each["consumedCapacity"]["attachments"] for each in results} == {"1"}
    one = pods[0]["metadata"]["name"]
    assert len(addresses(kubectl, one, "net1")) == 1

    kubectl.apply(on_eth1("late", macvlan("late", master=None)), pod("sixteenth", "late"))
    waits(kubectl, "sixteenth")
    kubectl("scale", "deployment/demo-application", "--replicas=14")
    kubectl.wait("pod/sixteenth", "condition=Ready")
    assert len(addresses(kubectl, "sixteenth", "net1")) == 1
    kubectl("delete", "deployment/demo-application", "pod/sixteenth", "--wait=true")
    for node in ROOM:
        eventually(partial(journal_rows, nodes, node, DRIVER), lambda n: n == 0, "no rows")
        assert reserved_addresses(nodes, node, "macvlan-eth1") == set()


def test_a_link_alone(nodes: Lab, kubectl: Kubectl) -> None:
    """A claim for the whole link waits for the last share of it; then nobody else gets any."""
    worker: dict[str, Any] = {"nodeSelector": {"kubernetes.io/hostname": "kind-worker2"}}
    shared = on_eth1("shared", macvlan("shared", master=None))
    kubectl.apply(shared, pod("shares", "shared", **worker))
    kubectl.wait("pod/shares", "condition=Ready")
    moves = {"cniVersion": "1.0.0", "name": "whole", "plugins": [{"type": "host-device"}]}
    alone = on_eth1("whole", moves, capacity={"requests": {"wholeLink": "1"}})
    kubectl.apply(alone, pod("alone", "whole", **worker))
    waits(kubectl, "alone")
    kubectl("delete", "pod/shares", "resourceclaim/shared", "--wait=true")
    kubectl.wait("pod/alone", "condition=Ready")
    assert "eth1" not in links(nodes, "kind-worker2")
    (result,) = kubectl.get("resourceclaim", "whole")["status"]["allocation"]["devices"]["results"]
    assert result["consumedCapacity"]["wholeLink"] == "2"

    kubectl.apply(on_eth1("second", macvlan("second", master=None)))
    kubectl.apply(pod("second", "second", **worker))
    waits(kubectl, "second")
    kubectl("delete", "pod/alone", "resourceclaim/whole", "--wait=true")
    kubectl.wait("pod/second", "condition=Ready")
    assert "eth1" in links(nodes, "kind-worker2")


def test_two_shares_in_one_pod(nodes: Lab, kubectl: Kubectl) -> None:
    """Two requests of a claim and a second claim: three interfaces on one link, and no trace."""
    first = on_eth1("both", macvlan("left", master=None))
    (asked,) = first["spec"]["devices"]["requests"]
    first["spec"]["devices"]["requests"].append({**asked, "name": "right"})
    right = parameters(macvlan("right", master=None), "net2")
    entry = {"requests": ["right"], "opaque": {"driver": DRIVER, "parameters": right}}
    first["spec"]["devices"]["config"].append(entry)
    match = {"matchAttribute": f"{DRIVER}/ifName", "requests": ["nic", "right"]}
    first["spec"]["devices"]["constraints"] = [match]
    other = on_eth1("other", macvlan("other", master=None))
    other["spec"]["devices"]["config"][0]["opaque"]["parameters"]["ifName"] = "net3"
    kubectl.apply(first, other, pod("three", "both", "other"))
    kubectl.wait("pod/three", "condition=Ready")
    for interface in ("net1", "net2", "net3"):
        assert len(addresses(kubectl, "three", interface)) == 1
    node = kubectl.get("pod", "three")["spec"]["nodeName"]
    found = eventually(
        lambda: kubectl.get("resourceclaim", "both")["status"].get("devices", []),
        lambda devices: len(devices) == 2 and all("networkData" in each for each in devices),
        "a status for each share",
    )
    assert len({each["shareID"] for each in found}) == 2
    assert {each["networkData"]["interfaceName"] for each in found} == {"net1", "net2"}
    kubectl("delete", "pod/three", "--wait=true")
    eventually(lambda: journal_rows(nodes, node, DRIVER), lambda n: n == 0, "no rows")
    assert in_node(nodes, node, "ip", "-o", "link", "show", "type", "macvlan") == ""
