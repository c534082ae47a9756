"""Links as slots: what a cluster offers whose API server knows of no shares."""

import pytest

from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER
from lab.kubectl import Kubectl
from tests.cluster.site.claims import claim, parameters, pod, request, simple_claim
from tests.cluster.site.drivers import addresses, eventually, journal_rows, wait_claim, wait_event
from tests.cluster.site.namespaces import own_namespace

pytestmark = pytest.mark.older

NODE = "kind-worker"


def devices(kubectl: Kubectl) -> dict[str, dict[str, object]]:
    """What the node offers, by name."""
    found = kubectl.items("resourceslices", f"--field-selector=spec.nodeName={NODE}")
    mine = [each["spec"] for each in found if each["spec"]["driver"] == DEFAULT_DRIVER]
    return {device["name"]: device for spec in mine for device in spec["devices"]}


def test_pods_share_a_link_by_its_slots(older: Lab) -> None:
    """Two pods have eth1 at a time, by the same manifests as elsewhere, and nothing is left."""
    with own_namespace(older) as kubectl:
        offered = devices(kubectl)
        assert {name for name in offered if name.startswith("eth1")} == {
            f"eth1-slot-{number}" for number in range(8)
        }
        for name in ("one", "two"):
            kubectl.apply(simple_claim(name), pod(name, name))
        for name in ("one", "two"):
            kubectl.wait(f"pod/{name}", "condition=Ready")
            assert len(addresses(kubectl, name, "net1")) == 1
        slots = {
            wait_claim(kubectl, name, "True")["status"]["devices"][0]["device"]
            for name in ("one", "two")
        }
        assert len(slots) == 2
        assert slots < offered.keys()
        kubectl("delete", "pod", "one", "two")
        eventually(
            lambda: journal_rows(older, NODE, DEFAULT_DRIVER), lambda n: n == 0, "an empty journal"
        )


def test_a_slot_does_not_leave_the_node(older: Lab) -> None:
    """A claim that would take the link is told what an admin can set."""
    moves = {"cniVersion": "1.0.0", "name": "moves", "plugins": [{"type": "host-device"}]}
    with own_namespace(older) as kubectl:
        greedy = claim("greedy", {"nic": parameters(moves)}, [request("nic", "eth1")])
        kubectl.apply(greedy, pod("greedy", "greedy"))
        wait_event(kubectl, "greedy", "would take the shared link 'eth1' away from other claims")
        wait_event(kubectl, "greedy", "start the drivers with --slots eth1=1")
