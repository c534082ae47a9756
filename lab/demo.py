"""The demo of the KubeCon talk, in the talk's order, on a lab that is gone afterwards.

Every line with a `$` is a command that was run, followed by what it printed.
"""

from lab import CHECKOUT
from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER, netclaim_driver
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl
from lab.topology import DEFAULT_TOPOLOGY

__all__ = ["run_demo"]

MANIFEST = CHECKOUT / "examples" / "manifests" / "kubecon-demo.yaml"
APP = "--selector=app=demo-application"


def run_demo(lab: Lab, *, keep: bool) -> None:
    """Boot a lab, show the demo, and remove the lab unless it is to be kept."""
    lab.up(DEFAULT_TOPOLOGY, port=0)
    try:
        DriverSet(lab).up(netclaim_driver(DEFAULT_DRIVER))
        _tell(lab.kubectl())
    finally:
        if not keep:
            lab.down()
    if keep:
        name = lab.state.name
        print(f"\nThe cluster stays up: export KUBECONFIG={lab.state.kubeconfig}")
        print(f"Remove it with: python -m lab down --name {name}")


def _tell(kubectl: Kubectl) -> None:
    def show(*arguments: str) -> str:
        print(f"\n$ kubectl {' '.join(arguments)}")
        said = kubectl(*arguments)
        print(said, end="")
        return said

    _title("The environment: three nodes, and one of them has eth1")
    show("get", "nodes")
    _title("What can be claimed: the nodes' links, as devices")
    show("get", "resourceslices")
    names = "jsonpath={range .items[*]}{.spec.nodeName}: {.spec.devices[*].name}{'\\n'}{end}"
    show("get", "resourceslices", "-o", names)
    _title("The request: a macvlan on eth1, for each of 15 pods")
    show("label", "namespace", "default", "resource.kubernetes.io/admin-access=true")
    show("apply", "-f", str(MANIFEST))
    everyone = "--for=jsonpath={.status.availableReplicas}=15"  # Available: three quarters would do
    show("wait", "deployment/demo-application", everyone, "--timeout=180s")
    _title("All of them run on the node that has the link")
    show("get", "pods", "-o", "wide", APP)
    _title("Each has a claim of its own, allocated and reserved")
    show("get", "resourceclaims")
    _title("A claim's status shows what was done for it")
    first, second = kubectl.items("pods", APP)[:2]
    claim = next(
        claim["metadata"]["name"]
        for claim in kubectl.items("resourceclaims")
        if claim["metadata"]["ownerReferences"][0]["uid"] == first["metadata"]["uid"]
    )
    ready = "jsonpath={.status.devices[0].conditions[0].status}=True"
    kubectl.wait(f"resourceclaim/{claim}", ready)
    show("get", "resourceclaim", claim, "-o", "yaml")
    _title("The pod sees the interface")
    show("exec", first["metadata"]["name"], "--", "ip", "addr")
    _title("And reaches another pod through it")
    look = ["ip", "-4", "-o", "addr", "show", "net1"]
    address = kubectl("exec", second["metadata"]["name"], "--", *look).split()[3].partition("/")[0]
    show("exec", first["metadata"]["name"], "--", "ping", "-c", "3", "-I", "net1", address)


def _title(text: str) -> None:
    print(f"\n=== {text} ===")
