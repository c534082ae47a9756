"""A link that several pods have at a time, each with an interface of its own on it."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER, netclaim_driver
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl
from tests.cluster.site.claims import claim, parameters, pod
from tests.cluster.site.drivers import (
    EXAMPLES,
    addresses,
    eventually,
    journal_rows,
    ready_condition,
    reserved_addresses,
    wait_event,
)

DRIVER = "shared.dra.networking"
NODE = "kind-worker"
CLASS = "storage-network"


@pytest.fixture(scope="module")
def shared_driver(drivers: DriverSet) -> Iterator[None]:
    """The driver under a name of its own."""
    drivers.up(netclaim_driver(DRIVER))
    yield
    drivers.down(DRIVER)


@pytest.fixture
def clients(kubectl: Kubectl, shared_driver: None) -> Iterator[Kubectl]:
    """The example, for that driver, in a namespace of the test's own."""
    text = (EXAMPLES / "manifests" / "shared-link.yaml").read_text()
    objects = list(yaml.safe_load_all(text.replace(DEFAULT_DRIVER, DRIVER)))
    for each in objects:
        each["metadata"].pop("namespace", None)
        if each["kind"] == "Deployment":
            each["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 0
    kubectl.apply(*objects)
    try:
        kubectl.wait("deployment/storage-clients", "jsonpath={.status.availableReplicas}=6")
        yield kubectl
    finally:
        kubectl("delete", "deviceclass", CLASS)


def shares(found: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Device and share of entries that have both."""
    return {(each["device"], each["shareID"]) for each in found}


def test_pods_share_a_link_without_special_rights(lab: Lab, clients: Kubectl) -> None:
    """Six pods have eth1, a share each, and an address each; nothing of it outlasts them."""
    names = [p["metadata"]["name"] for p in clients.items("pods")]
    seen = [addresses(clients, name, "net1") for name in names]
    assert len({found for (found,) in seen}) == 6
    claims = eventually(
        lambda: clients.items("resourceclaims"),
        lambda found: all((ready_condition(c) or {}).get("status") == "True" for c in found),
        "Ready=True of every claim",
    )
    allocated = [c["status"]["allocation"]["devices"]["results"][0] for c in claims]
    assert {device for device, _ in shares(allocated)} == {"eth1"}
    assert len(shares(allocated)) == 6
    assert shares([c["status"]["devices"][0] for c in claims]) == shares(allocated)
    clients("delete", "deployment", "storage-clients")
    eventually(lambda: journal_rows(lab, NODE, DRIVER), lambda rows: rows == 0, "no rows")
    assert reserved_addresses(lab, NODE, "storage") == set()


def test_nobody_takes_a_shared_link_away(clients: Kubectl) -> None:
    """A claim that would move the link into its pod is told why not, and the others keep it."""
    network = {"cniVersion": "1.0.0", "name": "greedy", "plugins": [{"type": "host-device"}]}
    expression = f'device.attributes["{DRIVER}"].name == "eth1"'
    selectors = [{"cel": {"expression": expression}}]
    asked = {"name": "nic", "exactly": {"deviceClassName": CLASS, "selectors": selectors}}
    greedy = claim("greedy", {"nic": parameters(network)}, [asked], driver=DRIVER)
    clients.apply(greedy, pod("greedy", "greedy"))
    wait_event(clients, "greedy", "would take the shared link 'eth1' away from other claims")
    remedy = 'write `capacity: {requests: {wholeLink: "1"}}` into the request nic'
    wait_event(clients, "greedy", remedy)
    one = clients.items("pods", "--selector=app=storage-clients")[0]["metadata"]["name"]
    assert len(addresses(clients, one, "net1")) == 1
