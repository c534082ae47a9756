"""What a node has is what its slice says, as it changes."""

from collections.abc import Iterator
from typing import Any

import pytest

from lab.cluster import Lab
from lab.kubectl import Kubectl
from tests.cluster.site.claims import pod, simple_claim
from tests.cluster.site.drivers import (
    addresses,
    devices,
    eventually,
    in_node,
    reserved_addresses,
    scraped,
    slices,
    wait_claim,
    wait_event,
    wait_true_report,
)


@pytest.fixture
def plugged(lab: Lab, admin: Kubectl, driver: str) -> Iterator[str]:
    """A link that kind-worker2 gets during the test; gone at the end, and from the slice too.

    Otherwise the scheduler could give it to the next test's claim.
    """
    names = {"eth7", "storage0"}
    yield "eth7"
    for name in names:
        in_node(lab, "kind-worker2", "sh", "-c", f"ip link delete {name} 2>/dev/null || true")
    eventually(
        lambda: names & devices(admin, driver, "kind-worker2").keys(),
        lambda left: not left,
        "the links of the test gone from the slice",
    )


def test_slices_say_which_node_has_which_link(admin: Kubectl, driver: str) -> None:
    """Every node offers eth0, only kind-worker eth1; slices belong to their node."""
    nodes = {node["metadata"]["name"]: node["metadata"]["uid"] for node in admin.items("nodes")}
    for node, uid in nodes.items():
        offered = devices(admin, driver, node)
        assert ("eth1" in offered) == (node == "kind-worker")
        assert offered["eth0"]["ifName"] == "eth0"
        assert offered["eth0"]["mtu"] == 1500
        assert offered["eth0"]["ipv4"].startswith("172.18.0.")
        assert not any(name.startswith(("veth", "lo")) for name in offered)
        for part in slices(admin, driver, node):
            (owner,) = part["metadata"]["ownerReferences"]
            assert (owner["kind"], owner["uid"]) == ("Node", uid)


def test_link_shows_up_and_goes_live(lab: Lab, admin: Kubectl, driver: str, plugged: str) -> None:
    """A link that is added, changed, renamed and removed is so in the slice."""

    def wait(holds: Any, what: str) -> None:
        eventually(lambda: devices(admin, driver, "kind-worker2"), holds, what)

    lab.plug("kind-worker2", plugged)
    wait(lambda found: found.get("eth7", {}).get("state") == "up", "eth7 in the slice, up")
    in_node(lab, "kind-worker2", "ip", "link", "set", "eth7", "mtu", "9000")
    wait(lambda found: found["eth7"]["mtu"] == 9000, "the new MTU in the slice")
    in_node(lab, "kind-worker2", "ip", "link", "set", "eth7", "down")
    wait(lambda found: found["eth7"]["state"] == "down", "the link down in the slice")
    in_node(lab, "kind-worker2", "ip", "link", "set", "eth7", "name", "storage0")
    wait(lambda found: "storage0" in found and "eth7" not in found, "the new name in the slice")
    lab.unplug("kind-worker2", "storage0")
    wait(lambda found: "storage0" not in found, "the link gone from the slice")


def test_pod_waits_for_a_link_that_no_node_has(
    lab: Lab, kubectl: Kubectl, driver: str, plugged: str
) -> None:
    """The pod is Pending with the scheduler's reason, and starts when the link is plugged in."""
    kubectl.apply(simple_claim("later", link=plugged), pod("patient", "later"))
    wait_event(kubectl, "patient", "cannot allocate all claims")
    assert kubectl.get("pod", "patient")["status"]["phase"] == "Pending"
    lab.plug("kind-worker2", plugged)
    kubectl.wait("pod/patient", "condition=Ready")
    assert kubectl.get("pod", "patient")["spec"]["nodeName"] == "kind-worker2"
    assert addresses(kubectl, "patient", "net1")[0].startswith("10.20.0.")
    kubectl("delete", "pod", "patient")


def test_pod_that_loses_its_link_gets_its_interface_back(
    lab: Lab, kubectl: Kubectl, driver: str, plugged: str
) -> None:
    """With the link the interface goes; claim and pod say so. All is there again with the link."""
    lab.plug("kind-worker2", plugged)
    hardy = pod("hardy", "card")
    hardy["spec"]["containers"][0]["resources"] = {"claims": [{"name": "card"}]}
    kubectl.apply(simple_claim("card", link=plugged), hardy)
    kubectl.wait("pod/hardy", "condition=Ready")
    wait_claim(kubectl, "card", "True")
    wait_health(kubectl, "hardy", "Healthy")
    lab.unplug("kind-worker2", plugged)
    lost = wait_claim(kubectl, "card", "False")
    gone = wait_health(kubectl, "hardy", "Unhealthy")
    assert gone["message"] == "the device is gone from the node, or hidden"
    assert "networkData" not in lost["status"]["devices"][0]
    assert reserved_addresses(lab, "kind-worker2", "card") == set()
    wait_missing(lab, 1)
    lab.plug("kind-worker2", plugged)
    wait_claim(kubectl, "card", "True")
    wait_missing(lab, 0)
    wait_true_report(kubectl, "card", "hardy")
    wait_health(kubectl, "hardy", "Healthy")
    kubectl("delete", "pod", "hardy")


def wait_missing(lab: Lab, count: int) -> None:
    """Wait until the node's pods lack so many interfaces; one of an earlier test may be ending."""
    eventually(
        lambda: scraped(lab, "kind-worker2")["netclaim_missing_attachments"],
        lambda seen: seen == count,
        f"{count} missing attachments",
    )


def wait_health(kubectl: Kubectl, name: str, health: str) -> dict[str, Any]:
    """What a pod's status says of its only device, once its health is this (from 1.36 on)."""

    def look() -> list[dict[str, Any]]:
        (container,) = kubectl.get("pod", name)["status"]["containerStatuses"]
        claims = container.get("allocatedResourcesStatus", [])
        return [device for claim in claims for device in claim.get("resources", [])]

    (device,) = eventually(
        look, lambda seen: [d.get("health") for d in seen] == [health], f"{health} in {name}"
    )
    return device


def test_deleted_and_edited_slices_are_repaired(admin: Kubectl, driver: str) -> None:
    """A slice that somebody deletes or edits is as before within moments."""
    node = "kind-worker2"
    before = devices(admin, driver, node)
    names = [part["metadata"]["name"] for part in slices(admin, driver, node)]
    admin("delete", "resourceslice", *names)
    eventually(lambda: devices(admin, driver, node), lambda now: now == before, "slices again")
    name = slices(admin, driver, node)[0]["metadata"]["name"]
    admin("patch", "resourceslice", name, "--type=json", "--patch",
          '[{"op": "remove", "path": "/spec/devices/0"}]')  # fmt: skip
    eventually(lambda: devices(admin, driver, node), lambda now: now == before, "slices repaired")


@pytest.mark.versions("lifecycle")
def test_slices_come_back_after_a_kubelet_restart(lab: Lab, admin: Kubectl, driver: str) -> None:
    """Kubelet wipes its node's slices when it starts; the driver publishes them again."""
    node = "kind-worker2"
    before = {part["metadata"]["uid"] for part in slices(admin, driver, node)}
    lab.restart(f"{node}/kubelet")
    eventually(
        lambda: {part["metadata"]["uid"] for part in slices(admin, driver, node)},
        lambda now: bool(now) and not now & before,
        "new slices",
    )
    # Not as they were before: a link of the test before may have been on its way out of the slice.
    eventually(
        lambda: devices(admin, driver, node),
        lambda now: now.keys() == {"cni", "eth0"} and now["eth0"]["ifName"] == "eth0",
        "all devices",
    )
