"""Several devices for one request, and several pods on one claim."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from lab.cluster import Lab
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl
from tests.cluster.site.claims import claim, macvlan, parameters, pod
from tests.cluster.site.drivers import (
    EXAMPLES,
    addresses,
    devices,
    eventually,
    in_node,
    journal_rows,
    links,
    reserved_addresses,
    wait_event,
)

NODE = "kind-worker2"
LINKS = ("data1", "data2", "data3")
DATA_LINKS = "data-links"  # the examples' class


def example(path: str) -> list[dict[str, Any]]:
    """The objects of an example; its pods end at once."""
    objects = list(yaml.safe_load_all((EXAMPLES / path).read_text()))
    for each in objects:
        spec = each.get("spec", {})
        spec = spec.get("template", each).get("spec", {})
        if "containers" in spec:
            spec["terminationGracePeriodSeconds"] = 0
    return objects


def shown(kubectl: Kubectl, name: str) -> list[tuple[str, str, list[str]]]:
    """Device, interface and addresses of each entry of a claim's status."""
    devices = kubectl.get("resourceclaim", name)["status"].get("devices", [])
    return [
        (each["device"], network["interfaceName"], network["ips"])
        for each in devices
        if (network := each.get("networkData"))
    ]


def wait_shown(kubectl: Kubectl, claim: str, pod: str) -> None:
    """Wait until the claim's three devices are shown as the pod has them, numbered in order."""
    expected = [
        (link, f"net{number}", addresses(kubectl, pod, f"net{number}"))
        for number, link in enumerate(LINKS)
    ]
    assert len({each for _, _, found in expected for each in found}) == len(LINKS)
    eventually(lambda: shown(kubectl, claim), lambda seen: seen == expected, "three interfaces")


@pytest.fixture
def data_links(lab: Lab, admin: Kubectl, driver: str) -> Iterator[None]:
    """Three links more on a node, on the same network as eth1 of another, with large packets.

    A pod that wants all of them gets those that are in the slice when it is scheduled.
    """
    for link in LINKS:
        lab.plug(NODE, link)
        in_node(lab, NODE, "ip", "link", "set", link, "mtu", "9000")
    eventually(
        lambda: devices(admin, driver, NODE),
        lambda found: all(found.get(link, {}).get("mtu") == 9000 for link in LINKS),
        "the links in the slice",
    )
    yield
    for link in LINKS:
        lab.unplug(NODE, link)
    eventually(
        lambda: devices(admin, driver, NODE).keys() & {*LINKS},
        lambda left: not left,
        "the links gone from the slice",
    )


def test_an_interface_on_every_link_of_a_node(
    lab: Lab, kubectl: Kubectl, data_links: None, driver: str
) -> None:
    """A pod has all three links, each with an address that answers; or alone, once they are."""
    neighbour = claim(
        "neighbour",
        {"nic": parameters(macvlan("neighbour", ipam=fixed("10.40.0.200/24")))},
        [{"name": "nic", "exactly": {"deviceClassName": "netclaim-test", "selectors": on("eth1")}}],
    )
    objects = example("manifests/several-interfaces.yaml")
    kubectl.apply(*objects, neighbour, pod("neighbour", "neighbour"))
    try:
        for name in ("trainer", "neighbour"):
            kubectl.wait(f"pod/{name}", "condition=Ready")
        (made,) = [
            each["metadata"]["name"]
            for each in kubectl.items("resourceclaims")
            if each["metadata"]["name"] != "neighbour"
        ]
        wait_shown(kubectl, made, "trainer")
        for _, _, (ip,) in shown(kubectl, made):
            kubectl("exec", "neighbour", "--", "ping", "-c", "1", "-w", "20", ip.partition("/")[0])
        kubectl("delete", "pod", "trainer")
        eventually(lambda: journal_rows(lab, NODE, driver), lambda rows: rows == 0, "no rows")
        assert reserved_addresses(lab, NODE, "data") == set()
        some = alternatives(many=9, some=3)
        kubectl.apply(some, pod("some", "some"))
        kubectl.wait("pod/some", "condition=Ready")
        wait_shown(kubectl, "some", "some")
        whole = example("whole-links.yaml")
        kubectl.apply(*whole)
        wait_event(kubectl, "trainer", "cannot allocate all claims")
        kubectl("delete", "pod", "some")
        kubectl.wait("pod/trainer", "condition=Ready")
        assert not links(lab, NODE) & {*LINKS}
        inside = kubectl("exec", "trainer", "--", "ls", "/sys/class/net").split()
        assert {"net0", "net1", "net2"} <= {*inside}
        kubectl("delete", "pod", "trainer")
        eventually(lambda: links(lab, NODE), lambda found: {*LINKS} <= found, "the links at home")
    finally:
        kubectl("delete", "deviceclass", DATA_LINKS)


def alternatives(**counts: int) -> dict[str, Any]:
    """A claim for so many links, or else for so many."""
    wanted = [
        {"name": name, "deviceClassName": DATA_LINKS, "count": count}
        for name, count in counts.items()
    ]
    params = parameters(macvlan("some", master=None), "net%d")
    return claim("some", {"nics": params}, [{"name": "nics", "firstAvailable": wanted}])


def on(link: str) -> list[dict[str, Any]]:
    """The selectors for a link."""
    expression = f'device.attributes["cni.dra.networking.x-k8s.io"].name == "{link}"'
    return [{"cel": {"expression": expression}}]


def fixed(address: str) -> dict[str, Any]:
    """Address management that gives one address."""
    return {"type": "static", "addresses": [{"address": address}]}


def test_three_pods_on_one_claim(
    lab: Lab, drivers: DriverSet, kubectl: Kubectl, driver: str
) -> None:
    """The status lists each pod with what it has, also after a restart; the last one cleans up."""
    names = [f"team-{number}" for number in range(3)]
    objects = [
        each for each in example("manifests/shared-claim.yaml") if each["kind"] != "DeviceClass"
    ]
    for each in objects:
        if each["kind"] == "ResourceClaim":
            (asked,) = each["spec"]["devices"]["requests"]
            asked["exactly"]["deviceClassName"] = "netclaim-test"
        else:
            each["spec"]["podManagementPolicy"] = "Parallel"
    kubectl.apply(*objects)
    kubectl.wait("statefulset/team", "jsonpath={.status.readyReplicas}=3")

    def is_true(device: dict[str, Any]) -> bool:
        listed = [(each["name"], each["ips"]) for each in device.get("data", {}).get("pods", [])]
        real = [(name, addresses(kubectl, name, "net1")) for name in names]
        return listed == real and device["networkData"]["ips"] in [ips for _, ips in real]

    def wait_listed() -> dict[str, Any]:
        return eventually(
            lambda: kubectl.get("resourceclaim", "team-net")["status"].get("devices", [{}])[0],
            is_true,
            "each pod's own addresses in the status",
        )

    before = wait_listed()
    assert len({ip for each in before["data"]["pods"] for ip in each["ips"]}) == 3
    component = f"kind-worker/driver-{driver}"
    lab.kill(component)
    lab.restart(component)
    drivers.wait_ready(driver, "kind-worker")
    old = kubectl.get("pod", "team-1")["metadata"]["uid"]
    kubectl("delete", "pod", "team-1", "--wait=true")
    eventually(
        lambda: {each["metadata"]["name"]: each for each in kubectl.items("pods")},
        lambda pods: pods.get("team-1", {}).get("metadata", {}).get("uid", old) != old,
        "another team-1",
    )
    kubectl.wait("pod/team-1", "condition=Ready")
    after = wait_listed()
    assert old not in {each["uid"] for each in after["data"]["pods"]}
    assert (
        after["conditions"][0]["lastTransitionTime"]
        == (before["conditions"][0]["lastTransitionTime"])
    )
    elsewhere = pod("elsewhere", "team-net", nodeSelector={"kubernetes.io/hostname": NODE})
    kubectl.apply(elsewhere)
    wait_event(kubectl, "elsewhere", "node(s) didn't match")
    kubectl("delete", "statefulset", "team")
    eventually(lambda: journal_rows(lab, "kind-worker", driver), lambda n: n == 0, "no rows")
    assert reserved_addresses(lab, "kind-worker", "team") == set()
