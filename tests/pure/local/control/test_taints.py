"""The embedded control plane on devices: shares, taints, rules and binding conditions."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from netclaim.local.api import Verbs
from netclaim.local.control.evict import Evictions
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import CLAIM, CLASS, EVENT, NODE, POD, RULE, SLICE
from netclaim.schema.refusal import RefusedError
from tests.pure.local.control.test_control import DRIVER, condition, make, pod_spec, settle
from tests.support.local.parts import new_verbs

POLICY = {"default": "100M", "validRange": {"min": "50M", "step": "50M"}}


def slice_spec(node: str, *devices: JsonObject) -> JsonObject:
    """The spec of a node's only slice."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": list(devices)}


def link(**fields: Any) -> JsonObject:
    """A link with a gigabit to share."""
    bandwidth = {"value": "1G", "requestPolicy": POLICY}
    return {
        "name": "eth1",
        "allowMultipleAllocations": True,
        "capacity": {"bandwidth": bandwidth},
        **fields,
    }


@pytest.fixture
def verbs() -> Verbs:
    """Two nodes, each with a link that can be shared, and a class for both."""
    verbs = new_verbs()
    make(
        verbs, CLASS, "c", {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]}
    )
    for node in ("one", "two"):
        make(verbs, NODE, node, {})
        make(verbs, SLICE, f"s-{node}", slice_spec(node, link()))
    return verbs


def start(verbs: Verbs, name: str, amount: str = "", **request: Any) -> None:
    """Make a pod with a claim of its own."""
    exactly: JsonObject = {"deviceClassName": "c", **request}
    if amount:
        exactly["capacity"] = {"requests": {"bandwidth": amount}}
    make(verbs, CLAIM, name, {"devices": {"requests": [{"name": "a", "exactly": exactly}]}})
    make(verbs, POD, name, pod_spec(resourceClaimName=name))
    settle(verbs)


def pod(verbs: Verbs, name: str) -> JsonObject:
    """A pod as it is now."""
    return verbs.get(POD, name, "default")


def result(verbs: Verbs, name: str) -> JsonObject:
    """What a claim got."""
    status = verbs.get(CLAIM, name, "default")["status"]
    (found,) = status["allocation"]["devices"]["results"]
    return dict(found)


def tainted(verbs: Verbs, node: str, effect: str, added: str = "2026-01-01T00:00:00Z") -> None:
    """Let a node's driver put a taint on its link."""
    taint = {"key": "example.com/down", "effect": effect, "timeAdded": added}
    old = verbs.get(SLICE, f"s-{node}")
    spec = slice_spec(node, link(taints=[taint]))
    verbs.replace(SLICE, {**old, "spec": spec}, old, manager="driver")


def rule(verbs: Verbs, effect: str, **selector: str) -> None:
    """Make a rule."""
    taint = {"key": "example.com/admin", "effect": effect}
    make(verbs, RULE, "keep-off", {"deviceSelector": selector, "taint": taint})


def test_shares_are_allocated_and_freed(verbs: Verbs) -> None:
    """Pods share links until they are used up; the next one starts when one is gone."""
    for name in ("a", "b", "c"):
        start(verbs, name, "600M")
    assert {pod(verbs, name)["spec"]["nodeName"] for name in ("a", "b")} == {"one", "two"}
    first, second = result(verbs, "a"), result(verbs, "b")
    assert first["shareID"] != second["shareID"]
    assert first["consumedCapacity"] == {"bandwidth": "600M"}
    assert condition(pod(verbs, "c")) == (
        "0/2 nodes are available: request a, capacity bandwidth: needs 600M (as asked):"
        " one (eth1: 400M of 1G free; claim default/a has 600M),"
        " two (eth1: 400M of 1G free; claim default/b has 600M)"
    )
    verbs.delete(POD, "a", "default", asked_grace_s=0)
    settle(verbs)
    assert pod(verbs, "c")["spec"]["nodeName"] == "one"
    start(verbs, "d")
    assert result(verbs, "d")["consumedCapacity"] == {"bandwidth": "100M"}


@pytest.mark.parametrize("by_rule", [False, True])
@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_taints_keep_pods_away(verbs: Verbs, effect: str, *, by_rule: bool) -> None:
    """A taint of the driver's or of a rule keeps pods off a device, unless they tolerate it."""
    if by_rule:
        rule(verbs, effect, driver=DRIVER, pool="one")
    else:
        tainted(verbs, "one", effect)
    start(verbs, "a", "600M")
    assert pod(verbs, "a")["spec"]["nodeName"] == "two"
    start(verbs, "b", "600M")
    key = "example.com/admin" if by_rule else "example.com/down"
    by = " by DeviceTaintRule keep-off" if by_rule else ""
    assert f"taint {key}:{effect}{by} is not tolerated: one (eth1)" in condition(pod(verbs, "b"))
    start(verbs, "c", "600M", tolerations=[{"key": key, "operator": "Exists"}])
    assert pod(verbs, "c")["spec"]["nodeName"] == "one"


def test_no_execute_evicts_once_it_is_no_longer_tolerated(verbs: Verbs) -> None:
    """A NoExecute taint deletes pods at once, or after their seconds, or never; as in 1.37."""
    forever = {"operator": "Exists", "effect": "NoExecute"}
    start(verbs, "now", tolerations=[{"operator": "Exists"}])  # for the scheduler alone
    start(verbs, "later", tolerations=[{**forever, "tolerationSeconds": 60}])
    start(verbs, "never", tolerations=[forever])
    added = datetime(2026, 1, 1, tzinfo=UTC)
    for node in ("one", "two"):
        tainted(verbs, node, "NoExecute", added.strftime("%Y-%m-%dT%H:%M:%SZ"))
    evictions = Evictions()
    due = evictions.evict(verbs, added)
    assert due == added + timedelta(seconds=60)
    ending = [one["metadata"]["name"] for one in verbs.list(POD) if _is_ending(one)]
    assert ending == ["now"]
    assert pod(verbs, "now")["status"]["conditions"][-1]["type"] == "DisruptionTarget"
    assert "DeviceTaintManagerEviction" in [one["reason"] for one in verbs.list(EVENT)]
    assert evictions.evict(verbs, added + timedelta(seconds=60)) is None
    ending = [one["metadata"]["name"] for one in verbs.list(POD) if _is_ending(one)]
    assert ending == ["later", "now"]


def _is_ending(found: JsonObject) -> bool:
    return "deletionTimestamp" in found["metadata"]


def test_status_of_a_rule(verbs: Verbs) -> None:
    """A rule says what it would do, what it is doing and what it has done."""
    start(verbs, "a")
    start(verbs, "b", tolerations=[{**FOREVER, "tolerationSeconds": 3600}])
    rule(verbs, "None", driver=DRIVER)
    evictions = Evictions()
    evictions.evict(verbs)
    assert said(verbs) == (
        "NoEffect",
        "2 published and 2 allocated devices selected; NoExecute would evict 2 pods in 1 namespace",
    )
    old = verbs.get(RULE, "keep-off")
    spec = {**old["spec"], "taint": {**old["spec"]["taint"], "effect": "NoExecute"}}
    verbs.replace(RULE, {**old, "spec": spec}, old, manager="admin")
    evictions.evict(verbs)
    assert said(verbs) == ("PodsPendingEviction", "1 pod in 1 namespace wait; 1 pod evicted so far")
    verbs.delete(POD, "b", "default", asked_grace_s=0)
    revision = verbs.store.revision
    evictions.evict(verbs)
    assert said(verbs) == ("Completed", "1 pod evicted so far")
    assert verbs.store.revision == revision + 1
    evictions.evict(verbs)
    assert verbs.store.revision == revision + 1


FOREVER = {"operator": "Exists", "effect": "NoExecute"}


def said(verbs: Verbs) -> tuple[str, str]:
    """The reason and the message of the rule's condition."""
    (found,) = verbs.get(RULE, "keep-off")["status"]["conditions"]
    return found["reason"], found["message"]


def test_rules_are_judged(verbs: Verbs) -> None:
    """A rule needs a key and an effect, gets its time, and a new one with a new effect."""
    with pytest.raises(RefusedError, match=r"spec\.taint\.effect: Unsupported value"):
        rule(verbs, "Sometimes")
    with pytest.raises(RefusedError, match=r"spec\.deviceSelector\.driver: Invalid value"):
        rule(verbs, "NoSchedule", driver="not a driver")
    taint = {
        "key": "example.com/admin",
        "effect": "NoSchedule",
        "timeAdded": "2026-01-01T00:00:00Z",
    }
    made = make(verbs, RULE, "old", {"taint": taint})
    changed = {**made, "spec": {"taint": {**taint, "effect": "NoExecute"}}}
    after = verbs.replace(RULE, changed, made, manager="admin")
    assert after["spec"]["taint"]["timeAdded"] > taint["timeAdded"]
    assert after["metadata"]["generation"] == 2


CONDITIONS = {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}


def report(verbs: Verbs, name: str, kind: str) -> None:
    """Let a driver report a condition of a claim's device."""
    claim = verbs.get(CLAIM, name, "default")
    got = result(verbs, name)
    when = "2026-01-01T00:00:00Z"
    said = {"type": kind, "status": "True", "reason": "Said", "lastTransitionTime": when}
    device = {key: got[key] for key in ("driver", "pool", "device", "shareID") if key in got}
    status = {**claim["status"], "devices": [{**device, "conditions": [said]}]}
    verbs.replace(CLAIM, {**claim, "status": status}, claim, manager="d", subresource="status")


def conditional(verbs: Verbs, *nodes: str) -> None:
    """Let the links of nodes have binding conditions."""
    for node in nodes:
        old = verbs.get(SLICE, f"s-{node}")
        spec = slice_spec(node, link(**CONDITIONS))
        verbs.replace(SLICE, {**old, "spec": spec}, old, manager="driver")


def test_pod_waits_for_binding_conditions(verbs: Verbs) -> None:
    """A pod gets its node when its devices' conditions are true; its claim is allocated before."""
    conditional(verbs, "one", "two")
    start(verbs, "a")
    assert "nodeName" not in pod(verbs, "a")["spec"]
    node = pod(verbs, "a")["status"]["nominatedNodeName"]
    assert result(verbs, "a")["bindingConditions"] == ["ready"]
    report(verbs, "a", "ready")
    settle(verbs)
    assert pod(verbs, "a")["spec"]["nodeName"] == node


def test_device_that_fails_to_bind(verbs: Verbs) -> None:
    """A failure frees the devices; after a pause the pod is tried on another node."""
    conditional(verbs, "one", "two")
    start(verbs, "a")
    node = pod(verbs, "a")["status"]["nominatedNodeName"]
    report(verbs, "a", "broken")
    settle(verbs)
    assert "allocation" not in verbs.get(CLAIM, "a", "default").get("status", {})
    said = pod(verbs, "a")["status"]["conditions"][0]
    assert (said["reason"], said["message"]) == (
        "SchedulerError",
        "device eth1 of claim a failed to bind: Said",
    )
    old = pod(verbs, "a")
    paused = {**said, "lastTransitionTime": "2026-01-01T00:00:00Z"}  # long ago
    status = {**old["status"], "conditions": [paused]}
    verbs.replace(POD, {**old, "status": status}, old, manager="t", subresource="status")
    settle(verbs)
    assert pod(verbs, "a")["status"]["nominatedNodeName"] not in ("", node)
    assert pod(verbs, "a")["status"]["conditions"] == []
