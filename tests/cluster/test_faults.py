"""Bursts of pods while something breaks: a slice of the fault campaign, and a test of its audit.

`make faults` runs the whole of it. The faults here are the ones that have caught a driver out, in
small bursts.
"""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.actions import Freeze, Thaw
from faults.audit import Auditor
from faults.burst import Burst, BurstResult, run_burst
from faults.looks import container_pid, journal_rows
from faults.manifests import burst_pods
from faults.site import Site, site
from faults.table import FAULTS, NONE
from lab.cluster import Lab
from lab.progress import Progress

# With the share of the burst at which the fault finds sandboxes with and without interfaces.
WORST = {
    "containerd-restarted": 0.3,
    "driver-restarted": 0.3,
    "driver-dead-2s-before": 0.0,
    "containerd-and-driver": 0.3,
    "journal-lost-ending": 0.3,
    "rebooted-running": 0.0,
}


class Campaign:
    """Burst after burst on one cluster, and a new one after a mess."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._dirty = False
        self._burst = ""

    def run(self, name: str, moment: float) -> BurstResult:
        """One small burst with a fault."""
        site, burst = self.fresh()
        self._burst = burst
        self._dirty = True  # unless it ends well
        result = run_burst(site, FAULTS[name], burst, mode="", moment=moment, claimed=5, plain=2)
        self._dirty = result.dirty
        return result

    def failed_prepares(self) -> set[str]:
        """Kubelet's events about claims of the last burst that the driver did not prepare."""
        return self._site.failed_prepares(self._burst)

    def fresh(self) -> tuple[Site, str]:
        """The cluster, settled, and a name for the next burst."""
        if self._dirty:
            self._site.reset()
        self._site.settle()
        return self._site, f"b{secrets.token_hex(2)}"


# The driver's keeper has kubelet's calls wait for the next process.
KEPT = {"driver-restarted", "driver-dead-2s-before"}


@pytest.fixture(scope="module")
def campaign() -> Iterator[Campaign]:
    """The campaign's cluster, gone afterwards without a trace."""
    lab = Lab(f"faults-{secrets.token_hex(3)}", Progress())
    with site(lab, ()) as made:
        yield Campaign(made)
    assert lab.leftovers() == []


@pytest.mark.versions("faults")
@pytest.mark.parametrize("name", WORST)
def test_no_pod_without_its_interfaces(campaign: Campaign, name: str) -> None:
    """Pods that start, run and end through the fault have their interfaces, and nothing stays.

    If only the driver's process dies, kubelet does not notice it.
    """
    assert campaign.run(name, WORST[name]).violations == []
    if name in KEPT:
        assert campaign.failed_prepares() == set()


def test_audit_sees_what_is_wrong(campaign: Campaign) -> None:
    """An interface that went, an address that nobody has: the audit reports each of them."""
    site, name = campaign.fresh()
    pods = burst_pods(name, 2, 1, named=False)
    auditor = Auditor(site, name, pods, NONE)
    burst = Burst(site, name, NONE, pods)
    burst.start(0.0)
    assert auditor.running() == []
    assert {row.split()[0] for row in journal_rows(site)} == {"bookings", "leases", "reports"}
    Freeze(("driver",)).run(site, name)  # it is not to mend this
    lease = sabotage(site, f"{name}-c0")
    found = auditor.running(limit_s=0)
    Thaw(("driver",)).run(site, name)
    assert f"{name}-c0: Running without net1" in found
    assert f"{name}-c0: net1 is not there, Ready=True" in found
    assert "leaked address faults-net1 10.20.3.200" in found
    assert not any(each.startswith(f"{name}-c1") for each in found)
    burst.end(0.0)
    left, _ = auditor.ended(limit_s=20)
    assert left == ["left over: address faults-net1 10.20.3.200"]
    lease.unlink()


def sabotage(site: Site, name: str) -> Path:
    """Take an interface from a pod behind everybody's back, and lease an address to nobody."""
    pod = site.api.get("pods", name)
    assert pod is not None
    pid = container_pid(site, pod)
    site.run("nsenter", f"--net=/proc/{pid}/ns/net", "ip", "link", "delete", "net1")
    leased = next(site.path("/var/lib/cni/netclaim").glob("*/*/*/leases/faults-net1/10.*"))
    lease = leased.with_name("10.20.3.200")
    lease.write_text("nobody\r\nnet1")
    return lease
