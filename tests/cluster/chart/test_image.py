"""Netclaim's own image, on real nodes."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from lab.cluster import Lab
from lab.drivers.driver_pod import driver_pod
from lab.images.driver_image import DRIVER_IMAGE, LOCK, DriverImage, build_driver_image
from lab.kubectl import Kubectl
from netclaim import __version__
from scripts.bill_of_materials import bill_of_materials
from tests.cluster.site.claims import claim, device_class, macvlan, parameters, pod, request
from tests.cluster.site.drivers import addresses, wait_true_report

NODE = "kind-worker"
DRIVER = "image.netclaim.test"
LIMIT_MB = 150  # what a node should have to fetch and keep for it, at most

# Everything that may be imported, the standard library's own extensions too, and the library that
# masquerading loads. Warnings are errors, so that what this Python deprecates is found here.
IMPORT_ALL = """
import ctypes, importlib, pathlib, pkgutil, sys, sysconfig
import netclaim
names = [module.name for module in pkgutil.walk_packages(netclaim.__path__, "netclaim.")]
extensions = pathlib.Path(sysconfig.get_path("platstdlib"), "lib-dynload").glob("*.so")
names += [path.name.partition(".")[0] for path in extensions]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
ctypes.CDLL("libnftables.so.1")
print(sys.version_info.major, sys.version_info.minor, len(names) > 400)
"""


@pytest.fixture(scope="module")
def image(lab: Lab) -> DriverImage:
    """The image of this checkout, on the node."""
    built = build_driver_image(lab.progress)
    with built.path.open("rb") as content:
        lab.load_image(content, [NODE])
    return built


@pytest.fixture(scope="module")
def driver(lab: Lab, image: DriverImage) -> Iterator[str]:
    """The driver from the image, running as a pod on the node, with a class for its devices."""
    admin = lab.kubectl()
    with driver_pod(lab, NODE, DRIVER):
        admin.apply(device_class(DRIVER, "image-test"))
        yield DRIVER
        admin("delete", "deviceclass", "image-test")


def run(kubectl: Kubectl, name: str, **container: Any) -> str:
    """What a container of the image prints until it ends, as the user that the image names."""
    kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {
                "nodeName": NODE,
                "restartPolicy": "Never",
                "containers": [
                    {
                        "name": "main",
                        "image": DRIVER_IMAGE,
                        "imagePullPolicy": "Never",
                        "securityContext": {
                            "runAsNonRoot": True,
                            "readOnlyRootFilesystem": True,
                            "allowPrivilegeEscalation": False,
                            "capabilities": {"drop": ["ALL"]},
                        },
                        **container,
                    }
                ],
            },
        }
    )
    kubectl.wait(f"pod/{name}", "jsonpath={.status.containerStatuses[0].state.terminated}")
    said = kubectl("logs", name)
    ended = kubectl.get("pod", name)["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["exitCode"] == 0, said
    return said


def test_its_size(image: DriverImage) -> None:
    """The image is smaller than its limit, unpacked."""
    assert image.packed < image.unpacked < LIMIT_MB * 1_000_000


def test_what_it_is_made_of(image: DriverImage) -> None:
    """The list for a release has every Python package of the lock, and Debian's C library."""
    listed = json.loads(bill_of_materials(image.path, 0))["components"]
    locked = re.findall(r"^([a-z0-9][a-z0-9.-]*)==\S+ \\$", LOCK.read_text(), re.MULTILINE)
    assert {name.replace(".", "-") for name in locked} <= {each["name"] for each in listed}
    assert any(each["purl"].startswith("pkg:deb/debian/libc6@") for each in listed)


def test_a_command_needs_no_privilege(image: DriverImage, kubectl: Kubectl) -> None:
    """The image's program runs as its user, without capabilities, on a read-only file system."""
    assert run(kubectl, "version", args=["--version"]) == f"netclaim {__version__}\n"


def test_everything_can_be_imported(image: DriverImage, kubectl: Kubectl) -> None:
    """Every module of netclaim and of Python's library finds what it needs, on Python 3.13."""
    python = ["/usr/bin/python3", "-W", "error", "-c", IMPORT_ALL]
    assert run(kubectl, "imports", command=python) == "3 13 True\n"


def test_the_driver_attaches(driver: str, kubectl: Kubectl) -> None:
    """The driver in the pod registers with kubelet, and gives another pod its interface."""
    given = {"nic": parameters(macvlan("image", master="eth1"))}
    asked = request("nic", "eth1", "image-test")
    selector = asked["exactly"]["selectors"][0]["cel"]
    selector["expression"] = f'device.attributes["{driver}"].name == "eth1"'
    kubectl.apply(claim("held", given, [asked], driver), pod("user", "held"))
    kubectl.wait("pod/user", "condition=Ready")
    assert len(addresses(kubectl, "user", "net1")) == 1
    wait_true_report(kubectl, "held", "user")
