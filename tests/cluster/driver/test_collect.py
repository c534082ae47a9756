"""What no stage hears of is collected: the journal is lost while pods end."""

import json
from pathlib import Path

from lab.cluster import Lab
from lab.drivers.driver_set import DriverSet
from lab.kubectl import Kubectl
from tests.cluster.site.claims import pod, simple_claim
from tests.cluster.site.drivers import addresses, eventually, in_node, reserved_addresses

NODE = "kind-worker"
ON_NODE = {"kubernetes.io/hostname": NODE}


def results(lab: Lab, driver: str) -> dict[str, str]:
    """The CNI results that the driver on the node keeps: network, and path of the namespace."""
    directory = lab.root(NODE) / "var/lib/netclaim" / driver / "cni/results"
    entries = [json.loads(path.read_text()) for path in directory.iterdir()]
    return {entry["networkName"]: entry["netns"] for entry in entries}


def collected(lab: Lab, driver: str, *options: str) -> list[str]:
    """What `netclaim driver gc` prints on the node."""
    command = (lab.python, "-m", "netclaim", "driver", "gc", "--driver-name", driver, *options)
    return in_node(lab, NODE, *command).splitlines()


def test_pods_that_end_while_the_journal_is_lost(
    lab: Lab, drivers: DriverSet, kubectl: Kubectl, driver: str
) -> None:
    """The address and the result of a pod that ended unseen are gone after the first round.

    Those of one that still runs are left alone, and so is the primary network.
    """
    component = f"{NODE}/driver-{driver}"
    for name, link in (("ends", "eth1"), ("stays", "eth0")):
        kubectl.apply(simple_claim(name, link), pod(name, name, nodeSelector=ON_NODE))
    for name in ("ends", "stays"):
        kubectl.wait(f"pod/{name}", "condition=Ready")
    netns = results(lab, driver)["ends"]
    lab.kill(component)
    for path in (lab.root(NODE) / "var/lib/netclaim" / driver).glob("journal.db*"):
        path.unlink()
    kubectl("delete", "pod", "ends", "--wait=false")
    eventually(
        lambda: in_node(lab, NODE, "ip", "netns", "list"),
        lambda listed: Path(netns).name not in listed,
        "the end of the pod's namespace",
    )
    assert reserved_addresses(lab, NODE, "ends") != set()
    lab.restart(component)
    drivers.wait_ready(driver, NODE)
    primary = in_node(lab, NODE, "sh", "-c", "cat /var/lib/cni/networks/*/10.*")
    eventually(lambda: reserved_addresses(lab, NODE, "ends"), lambda left: not left, "no address")
    eventually(lambda: set(results(lab, driver)), lambda left: left == {"stays"}, "no result")
    (address,) = addresses(kubectl, "stays", "net1")
    assert reserved_addresses(lab, NODE, "stays") == {address.partition("/")[0]}
    assert in_node(lab, NODE, "sh", "-c", "cat /var/lib/cni/networks/*/10.*") == primary
    assert collected(lab, driver, "--dry-run") == ["nothing to remove"]
    kubectl("delete", "pod", "stays")
    eventually(lambda: results(lab, driver), lambda left: not left, "no results")
    assert collected(lab, driver) == ["nothing to remove"]
