"""A pool that is too small, on a cluster where everything that looks after it dies once.

No address is in two pods at a time, and none is lost, whatever is killed, rebooted or gone for
good. Everything is watched from the beginning to the end, and not only looked at in between.
"""

import json
import secrets
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from lab.cluster import Lab
from lab.helm import CHART_NAMESPACE, Helm, load_driver_image
from lab.kubectl import Kubectl
from lab.progress import Progress
from tests.cluster.chart.test_chart_pools import deployment, of_kind, ready_pods, unschedulable
from tests.cluster.site.drivers import eventually

TOPOLOGY = """
nodes: [kind-control-plane, kind-worker, kind-worker2]
networks:
- name: primary
  subnet: 172.18.0.0/24
  links: {kind-control-plane: eth0, kind-worker: eth0, kind-worker2: eth0}
- name: media
  links: {kind-control-plane: eth1, kind-worker: eth1, kind-worker2: eth1}
"""
NETWORK = "media"
POOL = "small"
SIZE = 61  # addresses: a /26 without its gateway, and the two that mean the network itself
MORE = 5  # pods than that
REBOOTED, LOST = "kind-worker", "kind-worker2"
OURS = ("app.kubernetes.io/name=netclaim", "app.kubernetes.io/name=netclaim-controller")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab of its own, which loses a node; all three have a link to a second network."""
    topology: Path = tmp_path_factory.mktemp("networks") / "topology.yaml"
    topology.write_text(TOPOLOGY)
    made = Lab(f"pool-{secrets.token_hex(3)}", Progress())
    made.up(topology, port=0)
    try:
        load_driver_image(made)
        Helm(made).install()
        yield made
    finally:
        made.down()


@dataclass
class Witness:
    """Every claim and lease there was, one change after the other, and what was wrong meanwhile."""

    faults: list[str] = field(default_factory=list)
    changes: int = 0
    _addresses: dict[str, set[str]] = field(default_factory=dict)  # claims by UID: what they report
    _holders: dict[str, str] = field(default_factory=dict)  # leases: the claim's UID

    def claim(self, kind: str, claim: dict[str, Any]) -> None:
        """Note a claim: no other may report its addresses."""
        uid = claim["metadata"]["uid"]
        devices = claim.get("status", {}).get("devices", ())
        mine = {ip for each in devices for ip in each.get("networkData", {}).get("ips", ())}
        self._addresses.pop(uid, None)
        if kind == "DELETED":
            return
        for other, theirs in self._addresses.items():
            if both := mine & theirs:
                self.faults.append(f"{both} of the claims {uid} and {other}")
        self._addresses[uid] = mine

    def lease(self, kind: str, lease: dict[str, Any]) -> None:
        """Note a lease: it ends before another claim has it."""
        name, uid = lease["metadata"]["name"], lease["spec"]["claim"]["uid"]
        before = self._holders.pop(name, uid)
        if before != uid:
            self.faults.append(f"{name} went from the claim {before} to {uid}")
        if kind != "DELETED":
            self._holders[name] = uid

    @contextmanager
    def watching(self, user: Kubectl) -> Iterator[None]:
        """Follow claims and leases while the block runs."""
        started = [
            self._follow(user, "resourceclaims", self.claim),
            self._follow(user, "addressleases", self.lease),
        ]
        try:
            yield
        finally:
            for process, thread in started:
                process.terminate()
                thread.join()
                process.communicate()

    def _follow(self, user: Kubectl, kind: str, note: Any) -> tuple[subprocess.Popen[str], Thread]:
        process = user.start("get", kind, "--watch", "--output-watch-events", "--output=json")
        assert process.stdout is not None

        def read(lines: Iterable[str]) -> None:
            for line in lines:  # one for each change
                if not line.endswith("\n"):
                    return  # kubectl was ended in the middle of it
                event = json.loads(line)
                self.changes += 1
                note(event["type"], event["object"])

        thread = Thread(target=read, args=(process.stdout,))
        thread.start()
        return process, thread


def leased(user: Kubectl) -> int:
    """How many addresses are leased."""
    return len(user.items("addressleases"))


def full(user: Kubectl, *, without: frozenset[str] = frozenset()) -> None:
    """Wait until every address is in a pod that is ready, and the others have no node."""
    eventually(
        lambda: (len(set(ready_pods(user)) - without), leased(user), len(unschedulable(user))),
        lambda found: found == (SIZE, SIZE, MORE),
        "every address is in a pod",
    )


def test_no_address_is_given_twice_and_none_is_lost(lab: Lab) -> None:
    """While drivers and controllers are killed, one node is rebooted and one never comes back."""
    user, system, seen = lab.kubectl("default"), lab.kubectl(CHART_NAMESPACE), Witness()

    def kill_ours() -> None:
        for label in OURS:
            system("delete", "pods", f"-l{label}", "--force", "--grace-period=0", "--wait=false")

    ipam = {"type": "netclaim", "pool": POOL}
    network = {"type": "macvlan", "parent": {"name": "eth1"}, "ipam": ipam}
    ranges = [{"cidr": "10.78.0.0/26", "gateway": "10.78.0.1"}]
    with seen.watching(user):
        user.apply(
            of_kind("AddressPool", POOL, {"ranges": ranges}),
            of_kind("PodNetwork", NETWORK, network),
            deployment(SIZE + MORE),
        )
        eventually(lambda: leased(user), lambda count: count > SIZE // 3, "some pods start")
        kill_ours()
        full(user)

        lab.reboot(REBOOTED)
        kill_ours()
        full(user)

        lab.power_off(LOST)
        there = f"--field-selector=spec.nodeName={LOST}"
        gone = frozenset(each["metadata"]["name"] for each in user.items("pods", there))
        user("delete", "node", LOST)
        user("delete", "pods", there, "--force", "--grace-period=0", "--wait=false")
        full(user, without=gone)

        user("delete", "deployment", "camera", "--wait=true")
        eventually(lambda: leased(user), lambda count: count == 0, "no address is leased")
    assert seen.faults == []
    assert seen.changes > 4 * SIZE
