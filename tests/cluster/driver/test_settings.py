"""The settings file on a real cluster: a label of a node decides what it offers, while it runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.cluster import Lab
from lab.drivers.driver import netclaim_driver
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl
from tests.cluster.site.claims import claim, device_class, macvlan, parameters, pod
from tests.cluster.site.drivers import addresses, eventually

DRIVER = "settings.dra.networking"
NODE = "kind-worker"
LABEL = "example.com/second-network"
MINE = f'device.attributes["{DRIVER}"]'
HIDDEN = f"""\
linkFilter: '{MINE}.name != "eth1"'
"""
BY_LABEL = f"""\
linkFilter: |
  {MINE}.name != "eth1" || node.labels[?"{LABEL}"].orValue("") == "yes"
"""


@pytest.fixture(scope="module")
def config(
    lab: Lab, drivers: DriverSet, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The file of a driver under a name of its own, which hides eth1 at first."""
    file = tmp_path_factory.mktemp("settings") / "config.yaml"
    file.write_text(HIDDEN)
    drivers.up(netclaim_driver(DRIVER, f"--config={file}"))
    lab.kubectl().apply(device_class(DRIVER, DRIVER))
    yield file
    lab.kubectl()("label", "node", NODE, f"{LABEL}-")
    lab.kubectl()("delete", "deviceclass", DRIVER)
    drivers.down(DRIVER)


def offered(kubectl: Kubectl) -> set[str]:
    """The devices of the node."""
    found = kubectl.items("resourceslices", f"--field-selector=spec.driver={DRIVER}")
    mine = [each["spec"] for each in found if each["spec"].get("nodeName") == NODE]
    return {device["name"] for spec in mine for device in spec.get("devices", ())}


def claim_of_eth1() -> dict[str, Any]:
    """A macvlan on eth1."""
    selector = {"cel": {"expression": f'{MINE}.name == "eth1"'}}
    asked = {"deviceClassName": DRIVER, "selectors": [selector]}
    given = {"nic": parameters(macvlan("settings", master=None))}
    return claim("nic", given, [{"name": "nic", "exactly": asked}], DRIVER)


def test_a_label_shows_a_link_and_pods_outlive_its_hiding(config: Path, kubectl: Kubectl) -> None:
    """A file that asks for the label shows eth1 where the node has it; hiding it again hurts none.

    The driver has no further rights for it than `deploy/` gives.
    """
    eventually(lambda: offered(kubectl), lambda names: names == {"cni", "eth0"}, "without eth1")
    kubectl("label", "node", NODE, f"{LABEL}=yes")
    config.write_text(BY_LABEL)
    eventually(lambda: offered(kubectl), lambda names: "eth1" in names, "eth1 by the label")
    kubectl.apply(claim_of_eth1(), pod("user", "nic"))
    kubectl.wait("pod/user", "condition=Ready")
    before = addresses(kubectl, "user", "net1")
    config.write_text(HIDDEN)
    eventually(lambda: offered(kubectl), lambda names: "eth1" not in names, "eth1 hidden again")
    assert addresses(kubectl, "user", "net1") == before != []
