"""What the driver's tests share: looking at nodes, claims and the journal."""

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from prometheus_client.parser import text_string_to_metric_families

from lab.cluster import Lab
from lab.drivers.driver_set import FIRST_PORT
from lab.kubectl import WAIT_S, Kubectl

T = TypeVar("T")

EXAMPLES = Path(__file__).parents[3] / "examples"
POLL_S = 0.2
FETCH = "import sys, urllib.request as u; sys.stdout.buffer.write(u.urlopen(sys.argv[1]).read())"
COUNT_ROWS = """
import sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
tables = [name for (name,) in db.execute("select name from sqlite_master where type = 'table'")]
rows = sum(db.execute(f"select count(*) from {t}").fetchone()[0] for t in tables if t != "meta")
print(rows)
"""


def eventually(
    look: Callable[[], T], holds: Callable[[T], bool], what: str, *, limit_s: float = WAIT_S
) -> T:
    """What `look` sees once it `holds`; fails with the last sight of it."""
    deadline = time.monotonic() + limit_s
    while True:
        seen = look()
        if holds(seen):
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come about; last seen: {seen!r}")
        time.sleep(POLL_S)


def slices(kubectl: Kubectl, driver: str, node: str) -> list[dict[str, Any]]:
    """A node's slices of a driver."""
    selector = f"--field-selector=spec.driver={driver},spec.nodeName={node}"
    return kubectl.items("resourceslices", selector)


def devices(kubectl: Kubectl, driver: str, node: str) -> dict[str, dict[str, Any]]:
    """A node's devices by name, with their attributes as plain values."""
    found = {}
    for part in slices(kubectl, driver, node):
        for device in part["spec"].get("devices", []):
            attributes = device.get("attributes", {})
            found[device["name"]] = {n: next(iter(v.values())) for n, v in attributes.items()}
    return found


def in_node(lab: Lab, node: str, *command: str) -> str:
    """What a command prints inside a node."""
    done = subprocess.run(
        lab.enter_command(node, command), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command} on {node}: {done.stderr}"
    return done.stdout


def scraped(lab: Lab, node: str) -> dict[str, float]:
    """The metrics of a node's driver, summed over all labels but the runtime's ways to call."""
    text = in_node(lab, node, lab.python, "-c", FETCH, f"http://127.0.0.1:{FIRST_PORT}/metrics")
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = " ".join(filter(None, (sample.name, sample.labels.get("hook"))))
            found[key] = found.get(key, 0) + sample.value
    return found


def links(lab: Lab, node: str) -> set[str]:
    """The names of a node's links, without those of pods' primary interfaces, which come and go."""
    shown: list[dict[str, Any]] = json.loads(in_node(lab, node, "ip", "-json", "link"))
    return {link["ifname"] for link in shown if not link["ifname"].startswith("veth")}


def journal_rows(lab: Lab, node: str, driver: str) -> int:
    """How much the driver on a node remembers."""
    python = lab.python
    return int(
        in_node(lab, node, python, "-c", COUNT_ROWS, f"/var/lib/netclaim/{driver}/journal.db")
    )


def reserved_addresses(lab: Lab, node: str, network: str) -> set[str]:
    """The addresses that claims have on a network of this name, of whichever namespace."""
    directory = lab.root(node) / "var/lib/cni/netclaim"
    leased = directory.glob(f"*/namespace/*/leases/{network}/*")
    return {path.name for path in leased if path.name[0].isdigit()}


def addresses(kubectl: Kubectl, pod: str, interface: str) -> list[str]:
    """The IPv4 addresses that a pod has on an interface, as `ip` inside it shows them."""
    shown = kubectl("exec", pod, "--", "ip", "-4", "-o", "addr", "show", interface)
    return [line.split()[3] for line in shown.splitlines()]


def ready_condition(claim: dict[str, Any]) -> dict[str, Any] | None:
    """The Ready condition of a claim's only device, if it was reported."""
    devices = claim.get("status", {}).get("devices", [])
    conditions = devices[0].get("conditions", []) if devices else []
    return next((c for c in conditions if c["type"] == "Ready"), None)


def wait_claim(kubectl: Kubectl, name: str, status: str) -> dict[str, Any]:
    """The claim once its device is Ready=`status`."""

    def matches(claim: dict[str, Any]) -> bool:
        condition = ready_condition(claim)
        return condition is not None and condition["status"] == status

    return eventually(
        lambda: kubectl.get("resourceclaim", name), matches, f"Ready={status} of claim {name}"
    )


def wait_true_report(kubectl: Kubectl, claim: str, pod: str, interface: str = "net1") -> None:
    """Wait until the claim's status has the addresses that the pod really has."""

    def look() -> tuple[list[str], list[str]]:
        device = kubectl.get("resourceclaim", claim)["status"].get("devices", [{}])[0]
        has = interface in kubectl("exec", pod, "--", "ip", "-o", "link")
        real = addresses(kubectl, pod, interface) if has else []
        return device.get("networkData", {}).get("ips", []), real

    eventually(look, lambda seen: seen[0] == seen[1] != [], f"the addresses of {pod} in {claim}")


def events(kubectl: Kubectl, name: str) -> list[str]:
    """What was said of an object."""
    found = kubectl.items("events", f"--field-selector=involvedObject.name={name}")
    return [event["message"] for event in found]


def wait_event(kubectl: Kubectl, name: str, text: str) -> None:
    """Wait until an event of the object says this."""
    eventually(
        lambda: events(kubectl, name),
        lambda said: any(text in message for message in said),
        f"an event of {name} that says {text!r}",
    )
