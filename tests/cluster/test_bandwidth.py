"""Shares of a link on a real cluster: what was claimed is what flows, and no more is promised."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lab.cluster import Lab
from lab.drivers.driver import netclaim_driver
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl
from lab.traffic import TOLERANCE, fair_rate, loaded
from netclaim.kernel import Netns, open_netns
from tests.cluster.site.claims import claim, device_class, macvlan, parameters, pod
from tests.cluster.site.drivers import eventually, journal_rows, wait_claim, wait_event

DRIVER = "limited.dra.networking"
CLASS = "limited-links"
NODE, FAR_NODE = "kind-worker", "kind-worker2"
ALONE = {"attachments": "2"}


@pytest.fixture
def limited(lab: Lab, drivers: DriverSet, kubectl: Kubectl) -> Iterator[Kubectl]:
    """A driver whose links share out 1G each, and a second node on the cable of eth1."""
    lab.plug(FAR_NODE, "eth1", "second")
    drivers.up(netclaim_driver(DRIVER, "--link-bandwidth=eth1=1G"))
    try:
        kubectl.apply(device_class(DRIVER, CLASS))
        yield kubectl
    finally:
        kubectl("delete", "deviceclass", CLASS, "--ignore-not-found")
        drivers.down(DRIVER)
        lab.unplug(FAR_NODE, "eth1")


def share(name: str, capacity: dict[str, str]) -> dict[str, Any]:
    """A claim of so much of eth1, with a macvlan on it; all are in one network."""
    expression = f'device.attributes["{DRIVER}"].name == "eth1"'
    asked = {
        "deviceClassName": CLASS,
        "selectors": [{"cel": {"expression": expression}}],
        "capacity": {"requests": capacity},
    }
    network = parameters(macvlan("limited", ipam=ipam(name)))
    return claim(name, {"nic": network}, [{"name": "nic", "exactly": asked}], driver=DRIVER)


def ipam(name: str) -> dict[str, Any]:
    """An address by the claim's name: the nodes do not know of each other's leases."""
    addresses = {"far": "10.20.7.1/24", "slow": "10.20.7.2/24", "fast": "10.20.7.3/24"}
    address = addresses.get(name, "10.20.7.4/24")
    return {"type": "static", "addresses": [{"address": address}]}


def on(node: str, name: str) -> dict[str, Any]:
    """A pod on a node that uses the claim of its name."""
    return pod(name, name, nodeSelector={"kubernetes.io/hostname": node})


@contextmanager
def inside(lab: Lab, node: str, kubectl: Kubectl, name: str) -> Iterator[tuple[Netns, str]]:
    """The namespace of a claim's pod, and the address that it has by the claim."""
    (device,) = wait_claim(kubectl, name, "True")["status"]["devices"]
    (interface,) = device["data"]["interfaces"]
    init = lab.state.load().inits[node]
    path = interface["sandbox"].removeprefix("/var")  # a link that would lead out of the node
    with open_netns(f"/proc/{init.pid}/root{path}") as netns:
        yield netns, device["networkData"]["ips"][0].partition("/")[0]


def check_both_ways(bits: int, near: tuple[Netns, str], far: tuple[Netns, str]) -> None:
    """A pod sends and receives within a tenth of what it claimed."""
    (near_netns, near_address), (far_netns, far_address) = near, far
    sent = fair_rate(near_netns, far_netns, far_address, expected=bits)
    assert abs(sent - 1) <= TOLERANCE
    received = fair_rate(far_netns, near_netns, near_address, expected=bits)
    assert abs(received - 1) <= TOLERANCE


def test_shares_get_what_they_claim(lab: Lab, limited: Kubectl) -> None:
    """100M and 300M of 1G flow at those rates, both ways, also side by side; 700M have to wait."""
    limited.apply(share("far", ALONE), on(FAR_NODE, "far"))
    limited.apply(share("slow", {"bandwidth": "100M"}), on(NODE, "slow"))
    limited.apply(share("fast", {"bandwidth": "300M"}), on(NODE, "fast"))
    with (
        inside(lab, FAR_NODE, limited, "far") as far,
        inside(lab, NODE, limited, "slow") as slow,
        inside(lab, NODE, limited, "fast") as fast,
    ):
        check_both_ways(100_000_000, slow, far)
        with loaded(slow[0], *far):
            sent = fair_rate(fast[0], *far, expected=300_000_000)
        assert abs(sent - 1) <= TOLERANCE
        check_both_ways(300_000_000, fast, far)
    (device,) = limited.get("resourceclaim", "fast")["status"]["devices"]
    assert device["data"]["bandwidth"] == "300M"
    (device,) = limited.get("resourceclaim", "far")["status"]["devices"]
    assert "bandwidth" not in device["data"]

    limited.apply(share("greedy", {"bandwidth": "700M"}), on(NODE, "greedy"))
    wait_event(limited, "greedy", "cannot allocate all claims")
    assert limited.get("pod", "greedy")["status"]["phase"] == "Pending"
    limited("delete", "pod", "fast", "--wait=true")
    limited("delete", "resourceclaim", "fast", "--wait=true")
    limited.wait("pod/greedy", "condition=Ready")

    limited("delete", "pods,resourceclaims", "--all", "--wait=true")
    for node in (NODE, FAR_NODE):
        eventually(lambda: journal_rows(lab, node, DRIVER), lambda n: n == 0, "no rows")  # noqa: B023
