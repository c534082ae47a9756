"""A GPU and a card of one PCIe root, by one claim for two drivers, and what a container reads."""

import json
from collections.abc import Iterator

import pytest

from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER, program_driver
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl
from lab.topology import Hardware
from netclaim.model import JsonObject
from tests.cluster.site.drivers import EXAMPLES, addresses, eventually, in_node

NODE = "kind-worker2"
GPUS = "gpu.example.com"
ROOT = "resource.kubernetes.io/pcieRoot"
# The first GPU is on the root of the second card. No GPU is on that of the third.
CARDS = {"rail0": "pci0000:17", "rail1": "pci0000:3a", "rail2": "pci0000:80"}
ROOTS = ("--gpus=2", "--pcie-root=pci0000:3a", "--pcie-root=pci0000:17")


@pytest.fixture
def cards(lab: Lab, driver: str, drivers: DriverSet) -> Iterator[None]:
    """Cards in one node, and GPUs in all of them."""
    for number, (link, root) in enumerate(CARDS.items()):
        lab.plug(NODE, link, hardware=Hardware(speed_mbps=100000, numa_node=number, pcie_root=root))
    drivers.up(program_driver(GPUS, EXAMPLES / "gpu.py", *ROOTS))
    yield
    drivers.down(GPUS)
    for link in CARDS:
        lab.unplug(NODE, link)


def metadata(kubectl: Kubectl, pod: str) -> dict[str, JsonObject]:
    """The devices that a pod's container read about when it started, by request."""
    text = eventually(lambda: kubectl("logs", pod), bool, f"output of {pod}")
    objects = [json.loads(line) for line in text.splitlines()]
    newest = [obj for obj in objects if obj["apiVersion"].endswith("/v1beta1")]
    assert len(objects) == 2 * len(newest)
    assert {obj["podClaimName"] for obj in newest} == {"pair"}
    return {request["name"]: request["devices"][0] for obj in newest for request in obj["requests"]}


@pytest.mark.timeout(600)
def test_a_gpu_and_a_card_of_one_root(lab: Lab, kubectl: Kubectl, cards: None) -> None:
    """Each pod has a pair of one root, and reads its interface's name and address in a file."""
    kubectl("apply", f"--filename={EXAMPLES / 'gpu-nic.yaml'}")
    kubectl.wait("statefulset/trainer", "jsonpath={.status.readyReplicas}=2")
    # Now, so that it does not share one of the two cards that have a GPU and are to be alone.
    kubectl("apply", f"--filename={EXAMPLES / 'nic-extended.yaml'}")
    kubectl.wait("pod/extended", "condition=Ready")
    pods = [pod["metadata"]["name"] for pod in kubectl.items("pods", "--selector=app=trainer")]
    read = {pod: metadata(kubectl, pod) for pod in pods}
    roots = {
        pod: {each["attributes"][ROOT]["string"] for each in devices.values()}
        for pod, devices in read.items()
    }
    assert sorted(root for found in roots.values() for root in found) == [
        "pci0000:17",
        "pci0000:3a",
    ]
    assert {devices["nic"]["name"] for devices in read.values()} == {"rail0", "rail1"}
    for pod, devices in read.items():
        network = devices["nic"]["networkData"]
        assert network["interfaceName"] == "net1"
        assert network["ips"] == addresses(kubectl, pod, "net1")
        shown = kubectl("exec", pod, "--", "cat", "/sys/class/net/net1/address")
        assert network["hardwareAddress"] == shown.strip()
    check_extended(kubectl)
    directory = f"/var/lib/kubelet/plugins/{DEFAULT_DRIVER}/metadata"
    uids = {claim["metadata"]["uid"] for claim in kubectl.items("resourceclaims")}
    assert uids <= set(in_node(lab, NODE, "ls", directory).split())
    kubectl("delete", "statefulset/trainer", "pod/extended", "--timeout=180s")
    eventually(
        lambda: set(in_node(lab, NODE, "ls", directory).split()),
        lambda there: not there & uids,
        "no metadata of claims that are gone",
    )


def check_extended(kubectl: Kubectl) -> None:
    """A pod that asks for `example.com/nic` has an interface by the class's configuration."""
    status = kubectl.get("pod", "extended")["status"]["extendedResourceClaimStatus"]
    (mapping,) = status["requestMappings"]
    assert mapping["resourceName"] == "example.com/nic"
    claim = kubectl.get("resourceclaim", status["resourceClaimName"])
    (device,) = claim["status"]["devices"]
    assert device["networkData"]["ips"] == addresses(kubectl, "extended", "net1")
