"""`netclaim explain` where things are counted: what is left, who has the rest, what was rounded."""

import json
from typing import Any

from tests.pure.explain.test_explain import Explain, explain
from tests.support.explain_objects import (
    DRIVER,
    claim,
    deployment,
    device_class,
    link,
    links,
    template,
)

__all__ = ["explain"]  # the fixture

POLICY = {"default": "100M", "validRange": {"min": "50M", "step": "50M"}}


def shared(name: str = "eth1", **more: Any) -> dict[str, Any]:
    """A link with a gigabit that claims can share."""
    bandwidth = {"value": "1G", "requestPolicy": POLICY}
    return link(name, allowMultipleAllocations=True, capacity={"bandwidth": bandwidth}, **more)


def share(name: str, amount: str, user: str) -> dict[str, Any]:
    """A claim that has a share of the link."""
    result = {
        "request": "nic",
        "driver": DRIVER,
        "pool": "one",
        "device": "eth1",
        "shareID": f"id-of-{name}",
        "consumedCapacity": {"bandwidth": amount},
    }
    reserved = [{"resource": "pods", "name": user, "uid": user}]
    given = {"allocation": {"devices": {"results": [result]}}, "reservedFor": reserved}
    return {**claim(name), "status": given}


def ask(name: str, amount: str, **more: Any) -> dict[str, Any]:
    """A claim for bandwidth."""
    return claim(name, capacity={"requests": {"bandwidth": amount}}, **more)


TAKEN = (share("db", "250M", "db-0"), share("web", "600M", "web-0"))


def test_what_is_left_and_who_has_the_rest(explain: Explain) -> None:
    """A capacity that is used up is shown with what is left, and each holder's pod and amount."""
    told = explain(
        links("one", shared()), device_class(), *TAKEN, ask("nic", "300M"), arguments=("nic",)
    )
    assert told.code == 1
    assert told.lines[0] == (
        "claim default/nic: cannot be allocated: request nic: none of 1 device on 1 node fits;"
        " 1 would fit, but is taken, used up or tainted"
    )
    assert told.lines[1] == (
        "nearest: one/eth1: capacity bandwidth: needs 300M (as asked), 150M of 1G free;"
        " claim default/web, which pod web-0 uses, has 600M;"
        " claim default/db, which pod db-0 uses, has 250M"
    )
    assert told.rows[0][3] == (
        "capacity bandwidth: needs 300M (as asked), 150M of 1G free;"
        " claim default/db has 250M; claim default/web has 600M"
    )


def test_a_share_that_fits(explain: Explain) -> None:
    """A link of which enough is left says what would be taken, and what made it so much."""
    slices = links("one", shared())
    told = explain(slices, device_class(), *TAKEN, ask("nic", "101M"), arguments=("nic",))
    assert (told.code, told.lines[0]) == (0, "claim default/nic: fits on one (eth1)")
    assert told.rows[0][3] == (
        "fits; bandwidth: takes 150M (101M rounded up by its request policy: from 50M in steps of"
        " 50M), 150M of 1G free"
    )
    told = explain(slices, device_class(), claim("nic"), arguments=("-o", "json"))
    (answer,) = json.loads("\n".join(told.lines))["answers"]
    assert answer["devices"][0]["takes"] == [
        "bandwidth: takes 100M (the default of its request policy), 1G of 1G free"
    ]


def test_what_a_claim_has(explain: Explain) -> None:
    """A claim that has a share says how much of the link that is."""
    told = explain(links("one", shared()), device_class(), *TAKEN, arguments=("db",))
    assert told.lines == [
        "claim default/db: allocated: db has one/eth1 (bandwidth 250M), which pod db-0 uses"
    ]


def test_more_than_there_is(explain: Explain) -> None:
    """A request that not even an unused link could serve says so, even if shares are in use."""
    told = explain(links("one", shared()), device_class(), *TAKEN, ask("nic", "2G"))
    assert "nearest: one/eth1: capacity bandwidth: 2G is more than all, 1G" in told.lines
    told = explain(links("one", link("eth0")), device_class(), ask("nic", "2G"))
    assert "nearest: one/eth0: capacity bandwidth: the device has none" in told.lines


def test_pods_of_a_deployment_share(explain: Explain) -> None:
    """Pods take shares until a link is used up; the first that gets none says who has it."""
    wanted = template("t", capacity={"requests": {"bandwidth": "300M"}})
    told = explain(links("one", shared()), device_class(), wanted, deployment("web", 4, net="t"))
    assert told.lines[0].startswith("deployment default/web: 3 of 4 pods fit, one more cannot be")
    assert "100M of 1G free" in told.lines[1]
    assert told.lines[1].count(", which deployment web uses, has 300M") == 3


def test_counters_that_are_exhausted(explain: Explain) -> None:
    """A counter that devices share is shown with what is left, and which device takes the rest."""
    takes = [{"counterSet": "card", "counters": {"queues": {"value": "6"}}}]
    counters = links("one", slices=2)
    counters["metadata"]["name"] = "counters"
    del counters["spec"]["devices"]
    counters["spec"]["sharedCounters"] = [{"name": "card", "counters": {"queues": {"value": "8"}}}]
    parts = [link(name, consumesCounters=takes) for name in ("eth1", "eth2")]
    held = share("db", "0", "db-0")
    for key in ("shareID", "consumedCapacity"):
        del held["status"]["allocation"]["devices"]["results"][0][key]
    told = explain(
        links("one", *parts, slices=2), counters, device_class(), held, claim("nic"),
        arguments=("nic",),
    )  # fmt: skip
    rows = {row[1]: row[3] for row in told.rows}
    assert rows["eth2"] == (
        "counter card/queues: needs 6, 2 of 8 free; claim default/db has 6 by device eth1"
    )


def test_rule_in_a_file(explain: Explain) -> None:
    """A DeviceTaintRule of a file, of any version, keeps claims away, and is named."""
    rule = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "repair"},
        "spec": {"deviceSelector": {}, "taint": {"key": "example.com/x", "effect": "NoExecute"}},
    }
    told = explain(links("one", shared()), device_class(), rule, claim("nic"))
    assert told.code == 1
    assert told.lines[1].endswith(
        "taint example.com/x:NoExecute by DeviceTaintRule repair is not tolerated"
    )


def test_of_many_who_have_the_rest_the_first_are_named(explain: Explain) -> None:
    """Thousands can share a device; the answer names those that have most, and counts the rest."""
    holders = [share(f"web-{number:02}", "50M", f"web-{number:02}") for number in range(20)]
    told = explain(
        links("one", shared()), device_class(), *holders, ask("nic", "300M"), arguments=("nic",)
    )
    nearest = next(line for line in told.lines if line.startswith("nearest: "))
    assert nearest.count(" has 50M") == 5
    assert nearest.endswith("; 15 more")


def test_of_many_pods_of_one_claim_the_first_are_named(explain: Explain) -> None:
    """Of the many pods that share a claim, the first are named and the others counted."""
    holder = share("web", "1G", "web-00")
    holder["status"]["reservedFor"] = [
        {"resource": "pods", "name": f"web-{number:02}", "uid": f"uid-{number}"}
        for number in range(20)
    ]
    told = explain(
        links("one", shared()), device_class(), holder, ask("nic", "300M"), arguments=("nic",)
    )
    nearest = next(line for line in told.lines if line.startswith("nearest: "))
    assert "pod web-04 and 15 more use" in nearest
    assert "web-05" not in nearest
