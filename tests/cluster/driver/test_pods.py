"""Pods and claims in the shapes that people use them."""

import pytest

from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER
from lab.kubectl import Kubectl
from tests.cluster.site.claims import claim, macvlan, parameters, pod, request, simple_claim
from tests.cluster.site.drivers import (
    addresses,
    eventually,
    journal_rows,
    links,
    ready_condition,
    reserved_addresses,
    wait_claim,
    wait_event,
)
from tests.cluster.site.namespaces import own_namespace


def test_several_requests_and_several_claims(lab: Lab, kubectl: Kubectl, driver: str) -> None:
    """A pod with two claims, one of two requests, gets three interfaces; all go with the pod."""
    two = claim(
        "two",
        {
            "front": parameters(macvlan("front", master="eth0"), "front0"),
            "back": parameters(macvlan("back", master="eth1"), "back0"),
        },
        [request("front", "eth0"), request("back", "eth1")],
    )
    generic = claim(
        "one",
        {"any": parameters(macvlan("any", master="eth0"), "any0")},
        [request("any", "cni")],
    )
    before = links(lab, "kind-worker")
    kubectl.apply(two, generic, pod("many", "two", "one"))
    kubectl.wait("pod/many", "condition=Ready")
    for interface in ("front0", "back0", "any0"):
        assert len(addresses(kubectl, "many", interface)) == 1
    found = eventually(
        lambda: kubectl.get("resourceclaim", "two")["status"].get("devices", []),
        lambda devices: len(devices) == 2,
        "both devices in the status",
    )
    assert {d["networkData"]["interfaceName"] for d in found} == {"front0", "back0"}
    kubectl("delete", "pod", "many")
    eventually(lambda: journal_rows(lab, "kind-worker", driver), lambda n: n == 0, "no rows")
    for network in ("front", "back", "any"):
        assert reserved_addresses(lab, "kind-worker", network) == set()
    assert links(lab, "kind-worker") == before


@pytest.mark.versions("claims")
def test_an_entry_for_the_request_goes_over_one_for_all(served: Lab) -> None:
    """Key by key, though since 1.37 an allocation no longer says which of the two it was."""
    for_all = parameters(macvlan("entries"), "net1")
    own = {key: for_all[key] for key in ("apiVersion", "kind")} | {"ifName": "own0"}
    wanted = claim("entries", {"nic": own}, [request("nic", "eth1")])
    opaque = {"driver": DEFAULT_DRIVER, "parameters": for_all}
    wanted["spec"]["devices"]["config"].append({"opaque": opaque})
    with own_namespace(served) as kubectl:
        kubectl.apply(wanted, pod("entries", "entries"))
        kubectl.wait("pod/entries", "condition=Ready")
        assert len(addresses(kubectl, "entries", "own0")) == 1
        allocated = kubectl.get("resourceclaim", "entries")["status"]["allocation"]["devices"]
        cleared = served.binaries.release.minor >= 37
        assert [entry.get("requests") for entry in allocated["config"]] == [
            None if cleared else ["nic"],
            None,
        ]


def test_link_may_be_left_out(kubectl: Kubectl, driver: str) -> None:
    """Without `master` the allocated link is meant."""
    params = parameters(macvlan("implied", master=None))
    kubectl.apply(simple_claim("implied", "eth1", params), pod("implied", "implied"))
    kubectl.wait("pod/implied", "condition=Ready")
    assert len(addresses(kubectl, "implied", "net1")) == 1


def test_pods_without_claims_are_untouched(kubectl: Kubectl, driver: str) -> None:
    """A plain pod and a pod on the host's network start as ever, with no interface of ours."""
    kubectl.apply(pod("plain"), pod("host", hostNetwork=True))
    for name in ("plain", "host"):
        kubectl.wait(f"pod/{name}", "condition=Ready")
    shown = kubectl("exec", "plain", "--", "ls", "/sys/class/net")
    assert set(shown.split()) == {"lo", "eth0"}


def test_two_pods_share_a_claim(lab: Lab, kubectl: Kubectl, driver: str) -> None:
    """Both pods of a shared claim get an interface of their own, and keep it as the other goes."""
    params = parameters(macvlan("shared", master="eth1"))
    kubectl.apply(simple_claim("shared", "eth1", params), pod("first", "shared"))
    kubectl.wait("pod/first", "condition=Ready")
    kubectl.apply(pod("second", "shared"))
    kubectl.wait("pod/second", "condition=Ready")
    one, other = addresses(kubectl, "first", "net1"), addresses(kubectl, "second", "net1")
    assert one != other
    kubectl("delete", "pod", "first")
    assert addresses(kubectl, "second", "net1") == other
    wait_claim(kubectl, "shared", "True")
    kubectl("delete", "pod", "second")
    eventually(lambda: journal_rows(lab, "kind-worker", driver), lambda n: n == 0, "no rows")
    assert reserved_addresses(lab, "kind-worker", "shared") == set()


def test_second_pod_without_an_address(kubectl: Kubectl, driver: str) -> None:
    """A pod that finds no address waits for one; the claim stays ready for the pod that has it."""
    only = {"subnet": "10.20.0.0/24", "rangeStart": "10.20.0.7", "rangeEnd": "10.20.0.7"}
    config = macvlan("narrow", ipam={"type": "host-local", "ranges": [[only]]})
    kubectl.apply(simple_claim("narrow", "eth1", parameters(config)), pod("has", "narrow"))
    kubectl.wait("pod/has", "condition=Ready")
    before = ready_condition(wait_claim(kubectl, "narrow", "True"))
    kubectl.apply(pod("waits", "narrow"))
    wait_event(kubectl, "waits", "no IP addresses available")
    assert ready_condition(kubectl.get("resourceclaim", "narrow")) == before
    kubectl("delete", "pod", "has", "--wait=true")
    kubectl.wait("pod/waits", "condition=Ready")
    assert addresses(kubectl, "waits", "net1") == ["10.20.0.7/24"]


def test_dual_stack_and_chained_plugins(kubectl: Kubectl, driver: str) -> None:
    """A conflist with two address families and a chained plugin is applied whole."""
    ipam = {
        "type": "host-local",
        "ranges": [[{"subnet": "10.30.0.0/24"}], [{"subnet": "fd00:30::/64"}]],
    }
    config = macvlan("dual", master="eth1", ipam=ipam)
    config["plugins"].append({"type": "tuning", "mtu": 1400})
    kubectl.apply(simple_claim("dual", "eth1", parameters(config)), pod("dual", "dual"))
    kubectl.wait("pod/dual", "condition=Ready")
    found = wait_claim(kubectl, "dual", "True")["status"]["devices"][0]["networkData"]["ips"]
    assert [ip.partition("/")[2] for ip in found] == ["24", "64"]
    assert "mtu 1400" in kubectl("exec", "dual", "--", "ip", "link", "show", "net1")
