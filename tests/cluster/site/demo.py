"""The demo of the KubeCon talk on a cluster: applied as its slides print it, and seen through."""

import ipaddress
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lab.cluster import Lab
from lab.kubectl import Kubectl
from tests.cluster.site.drivers import (
    EXAMPLES,
    addresses,
    eventually,
    journal_rows,
    links,
    ready_condition,
    reserved_addresses,
)

MANIFEST = str(EXAMPLES / "manifests" / "kubecon-demo.yaml")
NETWORK = ipaddress.ip_network("10.10.1.0/24")
LINK = re.compile(r"eth1(-slot-\d)?")  # or a slot of it, where the API server knows no shares


@contextmanager
def applied_demo(admin: Kubectl) -> Iterator[None]:
    """The manifest applied, in the namespace that it names; removed at the end."""
    label = "resource.kubernetes.io/admin-access"
    admin("label", "namespace", "default", f"{label}=true", "--overwrite")
    admin("apply", f"--filename={MANIFEST}")
    try:
        yield
    finally:
        admin("delete", f"--filename={MANIFEST}", "--ignore-not-found", "--wait=true")
        admin("label", "namespace", "default", f"{label}-")


def claims_with_status(kubectl: Kubectl) -> list[dict[str, Any]]:
    """All claims once every one of them is reported Ready."""
    return eventually(
        lambda: kubectl.items("resourceclaims"),
        lambda claims: all((ready_condition(c) or {}).get("status") == "True" for c in claims),
        "Ready=True of every claim",
    )


def check_demo(lab: Lab, demo: Kubectl, driver: str) -> None:
    """See 15 pods run with net1, and nothing of it outlast them; the demo must be applied."""
    links_before = links(lab, "kind-worker")
    # Available alone would be true with three quarters of them.
    demo.wait("deployment/demo-application", "jsonpath={.status.availableReplicas}=15")
    pods = demo.items("pods", "--selector=app=demo-application")
    assert len(pods) == 15
    assert {pod["spec"]["nodeName"] for pod in pods} == {"kind-worker"}

    seen = {
        pod["metadata"]["name"]: addresses(demo, pod["metadata"]["name"], "net1") for pod in pods
    }
    assert all(len(found) == 1 for found in seen.values())
    interfaces = {ipaddress.ip_interface(found[0]) for found in seen.values()}
    assert len(interfaces) == 15
    assert {interface.network for interface in interfaces} == {NETWORK}

    first, second, *_ = seen
    target = seen[second][0].partition("/")[0]
    demo("exec", first, "--", "ping", "-c", "2", "-W", "5", "-I", "net1", target)

    claims = claims_with_status(demo)
    assert len(claims) == 15
    for claim in claims:
        check_status(claim, seen, driver)

    demo("delete", "deployment", "demo-application")
    demo("delete", "pods", "--selector=app=demo-application", "--grace-period=1", "--wait=true")
    eventually(lambda: demo.items("resourceclaims"), lambda left: left == [], "no claim left")
    eventually(
        lambda: journal_rows(lab, "kind-worker", driver), lambda n: n == 0, "an empty journal"
    )
    assert reserved_addresses(lab, "kind-worker", "macvlan-eth1") == set()
    assert links(lab, "kind-worker") == links_before


def check_status(claim: dict[str, Any], seen: dict[str, list[str]], driver: str) -> None:
    """A claim's status has the slides' shape, and says what the pod itself sees."""
    pod = claim["metadata"]["ownerReferences"][0]["name"]
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    assert (result["driver"], result["pool"], result["request"]) == (
        driver,
        "kind-worker",
        "macvlan-eth1",
    )
    assert LINK.fullmatch(result["device"])
    (device,) = claim["status"]["devices"]
    assert (device["driver"], device["pool"], device["device"]) == (
        driver,
        "kind-worker",
        result["device"],
    )
    (interface,) = device["data"]["interfaces"]
    assert device["data"]["cniVersion"] == "1.0.0"
    assert interface["name"] == "net1"
    assert interface["sandbox"].startswith("/var/run/netns/cni-")
    (address,) = device["data"]["ips"]
    assert (address["address"], address["gateway"], address["interface"]) == (
        seen[pod][0],
        "10.10.1.1",
        0,
    )
    assert device["networkData"] == {
        "interfaceName": "net1",
        "hardwareAddress": interface["mac"],
        "ips": seen[pod],
    }
    condition = ready_condition(claim)
    assert condition is not None
    assert condition["reason"] == "NetworkInterfaceReady"
