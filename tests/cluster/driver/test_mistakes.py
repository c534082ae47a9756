"""Parameters that cannot be: the pod does not start, and its events say which field to change."""

from typing import Any

from lab.drivers.driver import DEFAULT_DRIVER
from lab.kubectl import Kubectl
from tests.cluster.site.claims import claim, macvlan, parameters, pod, request, simple_claim
from tests.cluster.site.drivers import ready_condition, wait_claim, wait_event

GOOD = parameters(macvlan("good", master="eth0"))
ENTRY = "spec.devices.config[nic].opaque.parameters"
PLUGIN = f"{ENTRY}.config.plugins[0]"

# name: parameters, what an event of the pod must say
MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "misspelt": ({**GOOD, "ifname": "net1"}, f'{ENTRY}.ifname: unknown key "ifname"'),
    "api-version": ({**GOOD, "apiVersion": "v7"}, f'{ENTRY}.apiVersion: unknown apiVersion "v7"'),
    "kind": ({**GOOD, "kind": "Bridge"}, f'{ENTRY}.kind: unknown kind "Bridge"; write CNI'),
    "long-name": ({**GOOD, "ifName": "n" * 16}, f"{ENTRY}.ifName"),
    "taken-name": ({**GOOD, "ifName": "eth0"}, f"{ENTRY}.ifName: the pod already has"),
    "no-config": (
        {k: v for k, v in GOOD.items() if k != "config"},
        f"{ENTRY}.config: config is missing",
    ),
    "no-plugins": ({**GOOD, "config": {"cniVersion": "1.0.0", "name": "x"}}, f"{ENTRY}.config"),
    "no-json": ({"interface": "net1", "config": "{oops"}, f"{ENTRY}.config"),
    "version": (parameters({**macvlan("v"), "cniVersion": "9.9.9"}), f"{ENTRY}.config.cniVersion"),
    "other-link": (
        parameters(macvlan("other", master="eth9")),
        f"{PLUGIN}.master: names the link 'eth9', but 'eth0' was allocated",
    ),
    "no-plugin": (
        parameters({"cniVersion": "1.0.0", "name": "x", "plugins": [{"type": "warp-drive"}]}),
        "warp-drive",
    ),
}


def test_every_mistake_is_told(kubectl: Kubectl, driver: str) -> None:
    """Each pod with a mistake waits, and one of its events names the field and the remedy."""
    label = "resource.kubernetes.io/admin-access=true"  # all on one link at the same time
    kubectl("label", "namespace", kubectl.namespace, label)
    for name, (params, _) in MISTAKES.items():
        kubectl.apply(
            claim(name, {"nic": params}, [request("nic", "eth0", adminAccess=True)]),
            pod(name, name),
        )
    for name, (_, message) in MISTAKES.items():
        wait_event(kubectl, name, message)
    phases = {p["metadata"]["name"]: p["status"]["phase"] for p in kubectl.items("pods")}
    assert phases == dict.fromkeys(MISTAKES, "Pending")


def test_request_without_configuration(kubectl: Kubectl, driver: str) -> None:
    """A claim that has no parameters for us is told where to put them."""
    kubectl.apply(claim("bare", {}, [request("nic", "eth0")]), pod("bare", "bare"))
    wait_event(kubectl, "bare", f"no configuration for the driver {DEFAULT_DRIVER}: add an entry")


def test_one_name_for_two_interfaces(kubectl: Kubectl, driver: str) -> None:
    """Two requests of a claim, or two claims of a pod, cannot name one interface."""
    both = {
        "a": parameters(macvlan("a", master="eth0")),
        "b": parameters(macvlan("b", master="eth1")),
    }
    kubectl.apply(
        claim("same", both, [request("a", "eth0"), request("b", "eth1")]), pod("same", "same")
    )
    wait_event(kubectl, "same", "the requests a, b all name their interface 'net1'")
    kubectl("delete", "pod/same", "resourceclaim/same")
    kubectl.apply(
        claim("one", {"a": both["a"]}, [request("a", "eth0")]),
        claim("two", {"b": both["b"]}, [request("b", "eth1")]),
        pod("clash", "one", "two"),
    )
    wait_event(kubectl, "clash", "use a different name for each claim of the pod")


def test_claim_of_a_pod_on_the_hosts_network(kubectl: Kubectl, driver: str) -> None:
    """A pod that can have no interface of its own does not start, and says why."""
    kubectl.apply(simple_claim("nowhere"), pod("host", "nowhere", hostNetwork=True))
    wait_event(kubectl, "host", "remove hostNetwork or the claim")
    condition = ready_condition(wait_claim(kubectl, "nowhere", "False"))
    assert condition is not None
    assert "on the node's own network" in condition["message"]
