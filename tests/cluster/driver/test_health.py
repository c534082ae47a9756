"""A link that loses its carrier, and links that an admin taints: no pod lands there, or stays."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from lab.cluster import Lab
from lab.drivers.driver import netclaim_driver
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl
from tests.cluster.site.claims import claim, device_class, macvlan, parameters, pod, simple_claim
from tests.cluster.site.drivers import (
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
GOOD_NODE = "kind-worker"
CHECKED = "eth7"
STRICT, STRICT_CLASS = "strict.dra.networking", "strict"
PLUGINS = "/var/lib/rare-plugins"


def example(name: str) -> dict[str, Any]:
    """An object of the examples."""
    made: dict[str, Any] = yaml.safe_load((EXAMPLES / "health" / f"{name}.yaml").read_text())
    return made


def taints(kubectl: Kubectl, driver: str) -> dict[str, list[str]]:
    """The effects of the taints of each of the node's links, whose slots have all the same."""
    selector = f"--field-selector=spec.driver={driver},spec.nodeName={NODE}"
    found: dict[str, list[list[str]]] = {}
    for part in kubectl.items("resourceslices", selector):
        for device in part["spec"].get("devices", []):
            effects = [taint["effect"] for taint in device.get("taints", [])]
            found.setdefault(device["attributes"]["name"]["string"], []).append(effects)
    return {
        link: effects[0]
        for link, effects in found.items()
        if effects.count(effects[0]) == len(effects)
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
    if not lab.binaries.release.shares_devices:  # the link is several devices; taint all links
        del rule["spec"]["deviceSelector"]["device"]
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


def strict_leases(lab: Lab) -> set[str]:
    """The addresses that claims have by that driver."""
    roots = [lab.root(node) / "var/lib/cni/netclaim" / STRICT for node in (NODE, GOOD_NODE)]
    leased = (path for root in roots for path in root.glob("**/leases/*/*"))
    return {path.name for path in leased if path.name[0].isdigit()}


@pytest.fixture(scope="module")
def strict(lab: Lab, drivers: DriverSet) -> Iterator[str]:
    """A driver that evicts after a second, and checks the claims of one link beforehand.

    A plugin that its class uses is on one of two nodes with that link.
    """
    admin = lab.kubectl()
    admin.apply(*yaml.safe_load_all((EXAMPLES / "health" / "preflight-rbac.yaml").read_text()))
    for node in (NODE, GOOD_NODE):
        lab.plug(node, CHECKED)
    in_node(lab, GOOD_NODE, "mkdir", "-p", PLUGINS)
    in_node(lab, GOOD_NODE, "cp", "/opt/cni/bin/macvlan", f"{PLUGINS}/rare")
    drivers.up(
        netclaim_driver(
            STRICT,
            "--evict-after=1",
            f"--preflight={CHECKED}",
            f"--attachments={CHECKED}=1",
            f"--cni-bin-dir={PLUGINS}",
            "--cni-bin-dir=/opt/cni/bin",
        )
    )
    admin.apply(device_class(STRICT, STRICT_CLASS))
    yield STRICT
    admin("delete", "deviceclass", STRICT_CLASS)
    # A pod without a grace period is gone before kubelet has had its claims released.
    eventually(lambda: strict_leases(lab), lambda left: not left, "no address held")
    drivers.down(STRICT)
    admin("delete", "--filename", str(EXAMPLES / "health" / "preflight-rbac.yaml"))
    for node in (NODE, GOOD_NODE):
        in_node(lab, node, "ip", "link", "delete", CHECKED)


def strict_claim(
    name: str, link: str, class_name: str, config: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A claim for a link of that driver; with a network of its own, unless its class has one."""
    expression = f'device.attributes["{STRICT}"].name == "{link}"'
    exactly = {"deviceClassName": class_name, "selectors": [{"cel": {"expression": expression}}]}
    given = {} if config is None else {"nic": parameters(config)}
    return claim(name, given, [{"name": "nic", "exactly": exactly}], STRICT)


def test_pods_are_evicted_after_the_hold_down(
    lab: Lab, kubectl: Kubectl, strict: str, cables: None
) -> None:
    """If the driver is told to: the taint becomes NoExecute, and the pod's claim is released."""
    network = macvlan("held", master=USED)
    kubectl.apply(strict_claim("held", USED, STRICT_CLASS, network), pod("guest", "held"))
    wait_claim(kubectl, "held", "True")
    set_carriers(lab, on=False)
    kubectl.wait("pod/guest", "delete")
    wait_taints(kubectl, strict, "NoSchedule", "NoExecute")
    wait_released(lab, kubectl, "held", strict)
    kubectl.apply(pod("next", "held"))
    wait_event(kubectl, "next", "cannot allocate all claims")
    set_carriers(lab, on=True)
    kubectl.wait("pod/next", "condition=Ready")


def rare_class(name: str) -> dict[str, Any]:
    """A class of checked links, whose network needs the plugin that one node has."""
    made = device_class(STRICT, name)
    only = f'device.attributes["{STRICT}"].preflight'
    made["spec"]["selectors"].append({"cel": {"expression": only}})
    network = macvlan("rare", master=None, type="rare")
    made["spec"]["config"] = [{"opaque": {"driver": STRICT, "parameters": parameters(network)}}]
    return made


def test_a_node_that_cannot_serve_a_claim_is_left(kubectl: Kubectl, strict: str) -> None:
    """The scheduler chose it first; the pod runs on another one, and was never bound to this."""
    name = f"rare-{kubectl.namespace}"
    prefers = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE]}
    affinity = {"weight": 100, "preference": {"matchExpressions": [prefers]}}
    picky = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [affinity]},
    }
    kubectl.apply(rare_class(name))
    try:
        kubectl.apply(strict_claim("held", CHECKED, name), pod("app", "held", affinity=picky))
        wait_event(kubectl, "app", "device binding failed: claim=held, reason=Host")
        wait_event(kubectl, "held", "CNI plugin 'rare' is not installed")
        assert taints(kubectl, strict)[CHECKED] == ["NoSchedule"]
        kubectl.wait("pod/app", "condition=Ready")
        assert kubectl.get("pod", "app")["spec"]["nodeName"] == GOOD_NODE
        (device,) = kubectl.get("resourceclaim", "held")["status"]["devices"]
        assert "PreflightPassed" in [each["type"] for each in device["conditions"]]
        kubectl("delete", "pod", "app")
    finally:
        kubectl("delete", "deviceclass", name)


def test_a_claim_that_can_never_be_served_makes_room(kubectl: Kubectl, strict: str) -> None:
    """Its pod stays Pending and says why; the link, which is for one claim, goes to another."""
    here = {"kubernetes.io/hostname": GOOD_NODE}
    refused = macvlan("never", master=None, type="rare")
    kubectl.apply(
        strict_claim("never", CHECKED, STRICT_CLASS, refused),
        pod("hopeless", "never", nodeSelector=here),
    )
    wait_event(kubectl, "hopeless", "device binding failed: claim=never, reason=Policy")
    wait_event(kubectl, "never", "rare")
    kubectl.apply(
        strict_claim("fine", CHECKED, STRICT_CLASS, macvlan("fine", master=None)),
        pod("lucky", "fine", nodeSelector=here),
    )
    kubectl.wait("pod/lucky", "condition=Ready")
    assert "nodeName" not in kubectl.get("pod", "hopeless")["spec"]
    kubectl("delete", "pod", "lucky", "hopeless")
