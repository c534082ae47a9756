"""The fault campaign's table, plan and report."""

import json
from pathlib import Path

import pytest

from faults.__main__ import chosen, options
from faults.actions import Freeze, Kill, Start, Thaw
from faults.audit import reported
from faults.burst import BurstResult
from faults.campaign import Plan
from faults.manifests import burst_pods
from faults.report import line, table, write_json
from faults.site import COMPONENTS
from faults.table import FAULTS, Fault


def test_table_covers_every_component() -> None:
    """Each component of the node and of the control plane is killed by some fault."""
    kills = [a for fault in FAULTS.values() for a in fault.breaks if isinstance(a, Kill)]
    assert {name for kill in kills for name in kill.components} == set(COMPONENTS)
    assert len(FAULTS) > 36


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_what_a_fault_stops_goes_on_again(fault: Fault) -> None:
    """Whatever is killed or frozen is started or thawed in the end.

    The driver's process is started by its keeper.
    """
    down: set[str] = set()
    for action in (*fault.breaks, *fault.mends):
        if isinstance(action, Kill | Freeze):
            down |= set(action.components)
        if isinstance(action, Kill):
            down.discard("driver")
        if isinstance(action, Start | Thaw):
            down -= set(action.components)
    assert down == set()
    assert fault.what
    assert all(0 <= moment <= 1 for moment in fault.moments)


def test_rounds_take_the_moments_in_turn() -> None:
    """All faults happen once before any happens again, then at another moment."""
    faults = (Fault("a", "", moments=(0.1, 0.9)), Fault("b", "", moments=(0.5,)))
    plan = Plan(faults, rounds=3, claimed=5, plain=1, mode="nri", limit_s=60)
    seen = [(fault.name, moment) for fault, moment in plan.bursts()]
    assert seen == [("a", 0.1), ("b", 0.5), ("a", 0.9), ("b", 0.5), ("a", 0.1), ("b", 0.5)]


def test_burst_has_pods_of_every_kind() -> None:
    """Of five pods with claims one has two interfaces, one a shared claim; plain ones between."""
    pods = burst_pods("b0", 10, 2, named=True)
    sources = [p.manifest["spec"].get("resourceClaims", [{}])[0] for p in pods]
    assert [len(p.interfaces) for p in pods].count(2) == 2
    assert sum("resourceClaimName" in source for source in sources) == 2
    assert [number for number, p in enumerate(pods) if not p.interfaces] == [5, 11]
    assert len({p.name for p in pods}) == 12


def test_only_known_faults_are_run() -> None:
    """Faults are chosen by name, in the table's order; an unknown name ends the campaign."""
    assert chosen("rebooted,none", "") == ["none", "rebooted"]
    assert chosen("", "none") == [name for name in FAULTS if name != "none"]
    with pytest.raises(SystemExit, match="no fault is called nonsense"):
        chosen("nonsense", "")


def test_options_of_the_driver_go_behind_two_dashes() -> None:
    """What stands behind -- is the driver's; a runtime hook is passed only if it is given."""
    given = options(["--pods", "30", "--", "--log-level=debug"])
    assert (given.pods, given.driver_options, given.runtime_hook) == (
        30,
        ["--log-level=debug"],
        None,
    )


def test_the_chart_is_asked_for() -> None:
    """Without it, the driver runs as a process of the lab."""
    assert options(["--chart"]).chart
    assert not options([]).chart


def results() -> list[BurstResult]:
    """Two bursts of one fault, one of them with more violations than a line shows."""
    bad = BurstResult("rebooted", "nri", 0.3, pods=20, claimed_s=[1.0, 3.0], plain_s=[2.0])
    bad.violations = [f"b0-c{number}: Running without net1" for number in range(8)]
    return [
        bad,
        BurstResult("rebooted", "nri", 0.6, pods=20, claimed_s=[5.0], leftovers=["link x"]),
    ]


def test_report_adds_up() -> None:
    """The table has a row for each fault and mode, with median and longest of all its bursts."""
    rows = table(results()).splitlines()
    assert rows[1].split() == ["rebooted", "nri", "2", "40", "8", "3.0/5.0", "2.0/2.0"]
    assert rows[2] == "2 bursts, 40 pods, 8 violations"


def test_lines_show_violations() -> None:
    """A burst's line is followed by its violations, the first ones in words."""
    bad, good = map(line, results())
    assert "8 violations, ready after 2.0/3.0 s claimed, 2.0/2.0 s plain" in bad
    assert "b0-c0: Running without net1" in bad
    assert bad.endswith("and 2 more")
    assert good.endswith("left over by the runtime: 1")


def test_json_has_everything(tmp_path: Path) -> None:
    """All violations of all bursts are in the file."""
    write_json(results(), tmp_path / "out.json")
    read = json.loads((tmp_path / "out.json").read_text())
    assert [len(each["violations"]) for each in read] == [8, 0]


def test_status_is_read_by_request() -> None:
    """A claim's device entries are found by the request that they were allocated for."""
    key = {"pool": "node", "device": "eth1", "shareID": "s1"}
    device = {
        **key,
        "conditions": [{"type": "Ready", "status": "True"}],
        "networkData": {"ips": ["10.0.0.2/24", "fe80::1/64"], "hardwareAddress": "aa:bb"},
    }
    status = {
        "allocation": {"devices": {"results": [{**key, "request": "net1"}]}},
        "devices": [device],
    }
    pod = {
        "spec": {"resourceClaims": [{"name": "network", "resourceClaimTemplateName": "one"}]},
        "status": {"resourceClaimStatuses": [{"name": "network", "resourceClaimName": "c"}]},
    }
    assert reported(pod, {"c": {"status": status}}) == {
        "net1": (True, frozenset({"10.0.0.2/24"}), "aa:bb")
    }
    assert reported(pod, {}) == {}
