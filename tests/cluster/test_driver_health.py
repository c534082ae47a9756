"""A link that loses its carrier, and links that an admin taints: no pod lands there, or stays."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from lab.cluster import Lab
from lab.driver_set import DriverSet
from lab.drivers import netclaim_driver
from lab.kubectl import Kubectl
from tests.cluster.claims import claim, device_class, macvlan, parameters, pod, simple_claim
from tests.cluster.drivers import (
    EXAMPLES,
    eventually,
    in_node,
    journal_rows,
    reserved_addresses,
    wait_claim,
    wait_event,
)

NODE = "kind-worker2"
USED, FREE = "eth8", "eth9"
EVICTING = "evicting.dra.networking"


def example(name: str) -> dict[str, Any]:
    """An object of the examples."""
    made: dict[str, Any] = yaml.safe_load((EXAMPLES / "health" / f"{name}.yaml").read_text())
    return made


def taints(kubectl: Kubectl, driver: str) -> dict[str, list[str]]:
    """The effects of the taints of each of the node's devices."""
    selector = f"--field-selector=spec.driver={driver},spec.nodeName={NODE}"
    return {
        device["name"]: [taint["effect"] for taint in device.get("taints", [])]
        for part in kubectl.items("resourceslices", selector)
        for device in part["spec"].get("devices", [])
    }


def wait_taints(kubectl: Kubectl, driver: str, *effects: str) -> None:
    """Wait until both links have taints of these effects."""
    eventually(
        lambda: taints(kubectl, driver),
        lambda found: found.get(USED) == found.get(FREE) == list(effects),
        f"taints {effects} at {USED} and {FREE}",
    )


def wait_healthy(kubectl: Kubectl, name: str, status: str) -> dict[str, Any]:
    """The Healthy condition of a claim's only device, once it has this status."""

    def look() -> list[dict[str, Any]]:
        devices = kubectl.get("resourceclaim", name)["status"].get("devices", [])
        return [c for d in devices for c in d["conditions"] if c["type"] == "Healthy"]

    (condition,) = eventually(
        look, lambda seen: [c["status"] for c in seen] == [status], f"Healthy={status} of {name}"
    )
    return condition


def wait_released(lab: Lab, kubectl: Kubectl, name: str, driver: str) -> None:
    """Wait until a claim is free, and nothing of it is left on the node."""
    eventually(
        lambda: (
            kubectl.get("resourceclaim", name).get("status", {}).get("allocation"),
            reserved_addresses(lab, NODE, name),
            journal_rows(lab, NODE, driver),
        ),
        lambda seen: seen == (None, set(), 0),
        f"{name} released",
    )


@pytest.fixture
def cables(lab: Lab, admin: Kubectl, driver: str) -> Iterator[None]:
    """Two more links of the node, with carrier; gone at the end, and from the slice too."""
    for link in (USED, FREE):
        lab.plug(NODE, link)
    yield
    for link in (USED, FREE):
        in_node(lab, NODE, "ip", "link", "delete", link)
    eventually(
        lambda: taints(admin, driver).keys() & {USED, FREE},
        lambda left: not left,
        "the links of the test gone from the slice",
    )


def set_carriers(lab: Lab, *, on: bool) -> None:
    """Pull both cables, or plug them in again."""
    for link in (USED, FREE):
        lab.set_carrier(NODE, link, on=on)


def try_tolerant(kubectl: Kubectl) -> None:
    """A claim that tolerates the taint, as the example does, gets the link without carrier."""
    (asked,) = example("patient-claim")["spec"]["devices"]["requests"]
    tolerant = simple_claim("tolerant", link=FREE)
    exactly = tolerant["spec"]["devices"]["requests"][0]["exactly"]
    exactly["tolerations"] = asked["exactly"]["tolerations"]
    kubectl.apply(tolerant, pod("brave", "tolerant"))
    kubectl.wait("pod/brave", "condition=Ready")
    kubectl("delete", "pod/brave", "resourceclaim/tolerant")


@pytest.mark.versions("taints")
def test_a_link_without_carrier_gets_no_pod(
    lab: Lab, kubectl: Kubectl, driver: str, cables: None
) -> None:
    """Slice and claim say so while it lasts; the pod that runs stays, and one that waits starts."""
    release = lab.binaries.release
    kubectl.apply(simple_claim("held", link=USED), pod("steady", "held"))
    wait_claim(kubectl, "held", "True")
    set_carriers(lab, on=False)
    lost = wait_healthy(kubectl, "held", "False")
    assert (lost["reason"], driver in lost["message"]) == ("NoCarrier", True)
    if release.taints_devices:
        wait_taints(kubectl, driver, "NoSchedule")
        kubectl.apply(simple_claim("wanted", link=FREE), pod("patient", "wanted"))
        wait_event(kubectl, "patient", "cannot allocate all claims")
        try_tolerant(kubectl)
    set_carriers(lab, on=True)
    wait_taints(kubectl, driver)
    assert wait_healthy(kubectl, "held", "True")["reason"] == "NoTaint"
    assert wait_claim(kubectl, "held", "True")
    kubectl.wait("pod/steady", "condition=Ready")
    if release.taints_devices:
        kubectl.wait("pod/patient", "condition=Ready")


@pytest.mark.versions("taints")
def test_a_rule_evicts_the_pods_of_a_link(
    lab: Lab, kubectl: Kubectl, driver: str, cables: None
) -> None:
    """The pod goes, its claim is released and nothing stays on the node; without it one starts."""
    version = lab.binaries.release.taint_rules
    kubectl.apply(simple_claim("held", link=USED), pod("guest", "held"))
    wait_claim(kubectl, "held", "True")
    rule = example("replace-cable")
    rule["apiVersion"] = f"resource.k8s.io/{version}"
    rule["metadata"]["name"] = name = f"service-{kubectl.namespace}"
    rule["spec"]["deviceSelector"] |= {"pool": NODE, "device": USED}
    if not version:  # no such object; the pod is where it was
        kubectl.wait("pod/guest", "condition=Ready")
        return
    kubectl.apply(rule)
    try:
        kubectl.wait("pod/guest", "delete")
        wait_released(lab, kubectl, "held", driver)
        kubectl.apply(pod("next", "held"))
        wait_event(kubectl, "next", "cannot allocate all claims")
    finally:
        kubectl("delete", "devicetaintrule", name)
    kubectl.wait("pod/next", "condition=Ready")


@pytest.fixture
def evicting(drivers: DriverSet, admin: Kubectl, cables: None) -> Iterator[str]:
    """A driver that evicts after a second without carrier, with a class for its devices."""
    drivers.up(netclaim_driver(EVICTING, "--evict-after=1"))
    admin.apply(device_class(EVICTING, "evicting"))
    yield EVICTING
    admin("delete", "deviceclass", "evicting")
    drivers.down(EVICTING)


def test_pods_are_evicted_after_the_hold_down(lab: Lab, kubectl: Kubectl, evicting: str) -> None:
    """If the driver is told to: the taint becomes NoExecute, and the pod's claim is released."""
    expression = f'device.attributes["{evicting}"].name == "{USED}"'
    exactly = {
        "deviceClassName": "evicting",
        "selectors": [{"cel": {"expression": expression}}],
    }
    given = {"nic": parameters(macvlan("held", master=USED))}
    requests = [{"name": "nic", "exactly": exactly}]
    kubectl.apply(claim("held", given, requests, evicting), pod("guest", "held"))
    wait_claim(kubectl, "held", "True")
    set_carriers(lab, on=False)
    kubectl.wait("pod/guest", "delete")
    wait_taints(kubectl, evicting, "NoSchedule", "NoExecute")
    wait_released(lab, kubectl, "held", evicting)
    kubectl.apply(pod("next", "held"))
    wait_event(kubectl, "next", "cannot allocate all claims")
    set_carriers(lab, on=True)
    kubectl.wait("pod/next", "condition=Ready")
