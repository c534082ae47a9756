"""What the driver asks of the API server in the lives of pods, counted on the node itself."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from lab.cluster import Lab
from lab.drivers.driver_set import FIRST_PORT
from lab.kubectl import Kubectl
from netclaim.framework.kube_api import LABELS_S
from netclaim.model.api.own_kinds.address_pool import KIND, PLURAL
from netclaim.model.api.own_kinds.pod_network import API_VERSION as API
from netclaim.network.pools.cluster import POOL_AGE_S
from tests.cluster.site.claims import macvlan, parameters, pod, simple_claim
from tests.cluster.site.drivers import FETCH, eventually, in_node, ready_condition
from tests.support.doc_pages import ROOT

pytestmark = pytest.mark.cluster

NODE = "kind-worker"
PODS = 5
FILES: Final = ROOT / "charts" / "netclaim" / "files"
DEFINITIONS: Final = ("addresspools.yaml", "addressleases.yaml")
ON_NODE = {"kubernetes.io/hostname": NODE}
# What does not depend on pods: what is known of the node, read again every few minutes.
IN_TIME = {("get", "nodes"), ("get", "endpointslices")}
WATCHED = {"resourceslices"}  # the driver's own
REPORTS = 80  # of two event loops, each twice a second


def samples(lab: Lab, name: str) -> list[Sample]:
    """The samples of a metric of the node's driver."""
    text = in_node(lab, NODE, lab.python, "-c", FETCH, f"http://127.0.0.1:{FIRST_PORT}/metrics")
    families = text_string_to_metric_families(text)
    return [sample for family in families for sample in family.samples if sample.name == name]


def all_requests(lab: Lab) -> Counter[tuple[str, str]]:
    """The requests of the node's driver so far, by verb and resource."""
    found: Counter[tuple[str, str]] = Counter()
    for sample in samples(lab, "netclaim_api_requests_total"):
        found[sample.labels["verb"], sample.labels["resource"]] += int(sample.value)
    return found


def requests(lab: Lab) -> Counter[tuple[str, str]]:
    """The same, without watches and without what comes in time."""
    found = all_requests(lab)
    return Counter({k: n for k, n in found.items() if k[0] != "watch" and k not in IN_TIME})


def reports(lab: Lab) -> float:
    """How often the driver's event loops have reported themselves."""
    return sum(sample.value for sample in samples(lab, "netclaim_loop_lag_seconds_count"))


def asked_meanwhile(lab: Lab) -> Counter[tuple[str, str]]:
    """What the driver asks while its event loops report themselves so many times."""
    before, first = all_requests(lab), reports(lab)
    eventually(lambda: reports(lab), lambda now: now >= first + REPORTS, "reports of the loops")
    return all_requests(lab) - before


def test_requests_without_pods(lab: Lab, kubectl: Kubectl, driver: str) -> None:
    """The driver watches its slices; else it asks for nothing while nothing happens.

    That holds once what earlier pods have left to do is done. What is due every few minutes may
    fall into one such stretch of time, but not into each.
    """
    published = f"--field-selector=spec.driver={driver},spec.nodeName={NODE}"
    eventually(lambda: kubectl.items("resourceslices", published), bool, "the node's devices")
    eventually(lambda: asked_meanwhile(lab), lambda made: not made, "a time without requests")
    asked = all_requests(lab)
    assert {resource for verb, resource in asked if verb == "watch"} == WATCHED
    # Each watch begins with a list, and goes on after it for as long as the server lets it.
    lists = {resource: n for (verb, resource), n in asked.items() if verb == "list"}
    assert lists.keys() <= WATCHED


def has_ended(lab: Lab, uids: set[str]) -> bool:
    """Whether the driver has released all these claims."""
    logs = lab.state.log(NODE).parent.glob(f"{NODE}@*.log")
    lines = [line for log in logs for line in log.read_text().splitlines()]
    ended = [line for line in lines if '"unprepare.done"' in line]
    return all(any(uid in line for line in ended) for uid in uids)


@pytest.fixture
def pool(lab: Lab) -> Iterator[str]:
    """A pool that everybody may use, of a controller that has found it good."""
    admin = lab.kubectl()
    definitions = [yaml.safe_load((FILES / name).read_text()) for name in DEFINITIONS]
    admin.apply(*definitions)
    for each in definitions:
        admin.wait(f"crd/{each['metadata']['name']}", "condition=Established")
    spec = {"ranges": [{"cidr": "10.24.0.0/16"}], "namespaces": {}}
    admin.apply({"apiVersion": API, "kind": KIND, "metadata": {"name": "counted"}, "spec": spec})
    conditions = [{"type": "Ready", "status": "True"}]
    status = {"status": {"observedGeneration": 1, "conditions": conditions}}
    admin(
        *("patch", f"{PLURAL}/counted", "--subresource=status", "--type=merge"),
        *("--patch", json.dumps(status)),
    )
    yield "counted"
    admin("delete", "crd", *(each["metadata"]["name"] for each in definitions))


def counted(
    lab: Lab, kubectl: Kubectl, driver: str, spec: dict[str, Any]
) -> tuple[Counter[tuple[str, str]], float]:
    """What the driver asked for while pods with claims of this spec lived, and how long it took."""
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "nic"},
        "spec": {"spec": spec},
    }
    published = f"--field-selector=spec.driver={driver},spec.nodeName={NODE}"
    eventually(lambda: kubectl.items("resourceslices", published), bool, "the node's devices")
    names = [f"pod-{number}" for number in range(PODS)]
    own = [{"name": "nic", "resourceClaimTemplateName": "nic"}]
    before, started = requests(lab), time.monotonic()
    kubectl.apply(
        template, *(pod(name, nodeSelector=ON_NODE, resourceClaims=own) for name in names)
    )
    for name in names:
        kubectl.wait(f"pod/{name}", "condition=Ready")
    claims = eventually(
        lambda: kubectl.items("resourceclaims"),
        lambda found: all((ready_condition(c) or {}).get("status") == "True" for c in found),
        "Ready=True of every claim",
    )
    uids = {each["metadata"]["uid"] for each in claims}
    assert len(uids) == PODS
    kubectl("delete", "pods", *names, "--wait=true")
    eventually(lambda: has_ended(lab, uids), bool, "the release of every claim")
    made, taken_s = requests(lab) - before, time.monotonic() - started
    # The pods may have been prepared one after the other, but not more often than that.
    assert 1 <= made.pop(("get", "namespaces")) <= 1 + taken_s / LABELS_S
    return made, taken_s


def test_requests_of_pods(lab: Lab, kubectl: Kubectl, driver: str) -> None:
    """For each pod its claim is read once and its status is written once; nothing else."""
    made, _ = counted(lab, kubectl, driver, simple_claim("nic")["spec"])
    assert made == {("get", "resourceclaims"): PODS, ("patch", "resourceclaims/status"): PODS}


def test_requests_of_pods_with_an_address_of_a_pool(
    lab: Lab, kubectl: Kubectl, driver: str, pool: str
) -> None:
    """Besides, a lease is created and deleted for each; the pool is read for all of them.

    Leases are listed only for what runs when the node is looked over, every ten minutes.
    """
    network = macvlan("pooled", ipam={"type": "netclaim", "pool": pool})
    spec = simple_claim("nic", params=parameters(network))["spec"]
    made, taken_s = counted(lab, kubectl, driver, spec)
    assert 1 <= made.pop(("get", "addresspools")) <= 1 + taken_s / POOL_AGE_S
    assert made.pop(("list", "addressleases"), 0) <= 1
    assert made == {
        ("get", "resourceclaims"): PODS,
        ("create", "addressleases"): PODS,
        ("delete", "addressleases"): PODS,
        ("patch", "resourceclaims/status"): PODS,
    }
