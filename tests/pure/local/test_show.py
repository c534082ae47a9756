"""The outcome of a trial: one line for equal failures, right grammar, and the same as JSON."""

import io
import json
from dataclasses import replace

from netclaim.local.result.given import GivenDevice
from netclaim.local.result.interfaces import Interface
from netclaim.local.result.outcome import PodOutcome
from netclaim.local.result.show import Result, as_json, show_result, unschedulable
from netclaim.screen import PlainScreen

NET1 = Interface("net1", ("10.0.0.2/24",), "aa", "eth1", "x")
READY = PodOutcome("default", "p", "1", "n", "10.244.0.2", "ready", (NET1,))
NO_NODE = PodOutcome(
    "default", "web-1", "2", "", "", "stopped", stage="schedule", reason="0/3 nodes",
    owner="Deployment web",
)  # fmt: skip


def shown(*pods: PodOutcome, uncreated: int = 0, keep: bool = False) -> list[str]:
    """What is shown below the table."""
    stream = io.StringIO()
    result = Result(pods, uncreated, timeout_s=5)
    show_result(result, PlainScreen(stream), keep=keep)
    return stream.getvalue().splitlines()[1 + len(pods) :]


def test_table_has_all_pods() -> None:
    """Interfaces of those that have them, and the state of all."""
    stream = io.StringIO()
    no_address = replace(READY, name="r", state="stopped", stage="address", reason="twice")
    show_result(Result((READY, NO_NODE, no_address)), PlainScreen(stream))
    assert stream.getvalue().splitlines()[:5] == [
        "NAMESPACE   POD     NODE   STATUS    INTERFACES",
        "default     p       n      Ready     net1 10.0.0.2/24",
        "default     web-1   -      Pending   -",
        "default     r       n      Error     net1 10.0.0.2/24",
        "default/web-1: no node fits: 0/3 nodes",
    ]


def test_devices_without_interfaces() -> None:
    """They have a column, and each edit that containers get has a line; so has a device without."""
    gpu = GivenDevice("gpu-0", "gpu.example.com", "gpu", "pair", ("main",), ("A=1", "B=2"))
    other = GivenDevice("gpu-1", "gpu.example.com", "other", "pair")
    result = Result((replace(READY, devices=(gpu, other)), NO_NODE))
    stream = io.StringIO()
    show_result(result, PlainScreen(stream))
    assert stream.getvalue().splitlines()[:7] == [
        "NAMESPACE   POD     NODE   STATUS    INTERFACES         DEVICES",
        "default     p       n      Ready     net1 10.0.0.2/24   gpu-0, gpu-1",
        "default     web-1   -      Pending   -                  -",
        "POD   DEVICE   CONTAINERS      WHAT THEY GET",
        "p     gpu-0    main            env A=1",
        "                               env B=2",
        "p     gpu-1    none names it   -",
    ]
    document = json.loads(as_json(result))
    assert document["summary"]["devices"] == 2
    assert document["pods"][0]["devices"][0] == {
        "name": "gpu-0",
        "driver": "gpu.example.com",
        "request": "gpu",
        "claim": "pair",
        "containers": ["main"],
        "env": ["A=1", "B=2"],
        "deviceNodes": [],
        "mounts": [],
    }
    stream = io.StringIO()
    show_result(Result((replace(READY, devices=(gpu,)),)), PlainScreen(stream))
    last = stream.getvalue().splitlines()[-1]
    assert last == "1 pod ready, with 1 claimed interface and 1 other device"


def test_one_pod_is_singular() -> None:
    """One pod did not get what it claims; several did not get what they claim."""
    assert shown(NO_NODE)[-1] == "1 of 1 pod did not get what it claims"
    assert shown(NO_NODE, READY)[-1] == "1 of 2 pods did not get what it claims"
    other = replace(NO_NODE, name="web-2")
    assert shown(NO_NODE, other, READY)[-1] == "2 of 3 pods did not get what they claim"
    assert shown(READY) == ["1 pod ready, with 1 claimed interface"]


def test_equal_failures_are_one_line() -> None:
    """Pods of one owner that fail alike are counted, also where the reason names their claims."""
    failed = replace(NO_NODE, stage="prepare")
    pods = [
        replace(failed, name=f"web-{n}", uid=str(n), reason=f"claim web-{n}-net-x{n}: no link eth9")
        for n in range(12)
    ]
    line, _ = shown(*pods)
    assert line == (
        "12 pods of Deployment web in namespace default: the driver could not prepare the claim:"
        " claim web-0-net-x0: no link eth9"
    )


def test_different_failures_are_lines_of_their_own() -> None:
    """Another reason, owner or namespace is another line; pods without an owner have names."""
    others = [
        replace(NO_NODE, name="web-2", reason="0/2 nodes"),
        replace(NO_NODE, name="db-0", owner="StatefulSet db"),
        replace(NO_NODE, name="a", owner=""),
        replace(NO_NODE, name="b", owner=""),
    ]
    lines = shown(NO_NODE, *others, keep=True)
    assert [line.partition(":")[0] for line in lines[:-1]] == [
        "default/web-1", "default/web-2", "default/db-0", "default/a", "default/b",
    ]  # fmt: skip


def test_pod_without_a_node_points_to_explain() -> None:
    """The pointer is shown once, and not where the command itself is going to be shown."""
    lines = shown(NO_NODE, replace(NO_NODE, name="web-2", reason="other"))
    assert sum("netclaim explain" in line for line in lines) == 1
    assert not any("netclaim explain" in line for line in shown(NO_NODE, keep=True))
    assert unschedulable(Result((READY, NO_NODE))) is NO_NODE


def test_pods_that_are_still_starting_are_counted() -> None:
    """The line says how many, also of those that nobody has created yet, and after which time."""
    starting = replace(READY, state="starting", name="q", interfaces=())
    lines = shown(READY, starting, uncreated=2)
    assert lines == [
        "default/q: still starting",
        "3 pods were still starting after 5 s (--timeout)",
        "3 of 4 pods did not get what they claim",
    ]
    assert "1 pod was still starting after 5 s (--timeout)" in shown(starting)


def test_uncreated_pods_are_not_well() -> None:
    """A result without pods that should be there is a failure."""
    assert Result(()).is_well
    assert not Result((), 1).is_well


def test_json_has_pods_and_a_summary() -> None:
    """Programs get what people see."""
    found = json.loads(as_json(Result((READY, NO_NODE), uncreated=1)))
    assert found["pods"][0] == {
        "namespace": "default",
        "name": "p",
        "owner": "",
        "node": "n",
        "ready": True,
        "state": "ready",
        "interfaces": [
            {"name": "net1", "ips": ["10.0.0.2/24"], "mac": "aa", "device": "eth1", "claim": "x"}
        ],
        "devices": [],
        "stage": "",
        "reason": "",
    }
    assert (found["pods"][1]["ready"], found["pods"][1]["stage"]) == (False, "schedule")
    summary = {"pods": 3, "ready": 1, "starting": 1, "stopped": 1, "interfaces": 1, "devices": 0}
    assert found["summary"] == summary
