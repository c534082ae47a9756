"""What an operator of a real cluster sees: metrics of a node, and one id for all of a claim."""

import json
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from lab.cluster import Lab
from lab.drivers.driver_set import FIRST_PORT, DriverSet
from lab.kubectl import Kubectl
from netclaim.framework.telemetry.traces import trace_id_of
from tests.cluster.site.claims import pod, simple_claim
from tests.cluster.site.drivers import FETCH, eventually, in_node

pytestmark = pytest.mark.cluster

NODE = "kind-worker"


def scraped(lab: Lab) -> dict[str, float]:
    """The metrics of the node's driver, summed over all labels but the runtime's ways to call."""
    text = in_node(lab, NODE, lab.python, "-c", FETCH, f"http://127.0.0.1:{FIRST_PORT}/metrics")
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = " ".join(filter(None, (sample.name, sample.labels.get("hook"))))
            found[key] = found.get(key, 0) + sample.value
    return found


def lines_with(lab: Lab, words: str) -> list[dict[str, Any]]:
    """The log lines of all processes on the node that have these words, by time."""
    logs = lab.state.log(NODE).parent.glob(f"{NODE}@*.log")
    found = [line for log in logs for line in log.read_text().splitlines() if words in line]
    return sorted(map(json.loads, found), key=lambda line: str(line["timestamp"]))


def test_one_id_over_a_rolling_update(
    lab: Lab, drivers: DriverSet, kubectl: Kubectl, driver: str
) -> None:
    """Two processes log one claim under one id; the metrics of the second know the pod."""
    kubectl.apply(simple_claim("nic"), pod("user", "nic"))
    kubectl.wait("pod/user", "condition=Ready")
    uid = kubectl.get("resourceclaim", "nic")["metadata"]["uid"]
    drivers.roll(driver, NODE)
    seen = scraped(lab)
    assert seen["netclaim_ready"] == seen["netclaim_seat_held"] == seen["netclaim_registered"] == 1
    assert seen["netclaim_runtime_hooked nri"] == seen["netclaim_runtime_hooked cni"] == 1
    assert seen["netclaim_attachments"] >= 1
    assert seen["netclaim_network_addresses"] >= 1
    kubectl("delete", "pod", "user", "--wait=true")

    def events() -> list[dict[str, Any]]:
        return lines_with(lab, trace_id_of(uid))

    def is_over(found: list[dict[str, Any]]) -> bool:
        return bool(found) and found[-1]["event"] == "unprepare.done"

    found = eventually(events, is_over, "the claim's release")
    names = [line["event"] for line in found]
    assert names[0] == "prepare.done"
    assert {"attach.done", "report.done", "detach.done"} <= set(names)
    assert all((line["node"], line["driver"]) == (NODE, driver) for line in found)
    namespace = kubectl.get("resourceclaim", "nic")["metadata"]["namespace"]
    assert all(f"{namespace}/nic" in (line.get("claims") or [line["claim"]]) for line in found)
