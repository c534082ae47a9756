"""What an operator sees of a claim: metrics, log lines and a trace, of real drivers."""

import asyncio
import re
import socket
from collections import Counter
from dataclasses import dataclass
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from netclaim.framework.telemetry.traces import trace_id_of
from netclaim.kernel.host.netns import socket_in
from netclaim.local.cluster import ClusterNode, EmbeddedCluster
from netclaim.schema.kinds import CLAIM, TEMPLATE
from tests.embedded.local.test_cluster import (
    DRIVER,
    add_pod,
    all_gone,
    all_settled,
    claim_spec,
    in_cluster,
    make,
)
from tests.support.telemetry.otlp_collector import Collector, attributes

pytestmark = pytest.mark.embedded

NODE: Final = "kind-worker"
# 243, and a few more for each verb and resource that was asked of the API server by then.
IDLE_SERIES: Final = 300
COLLECTOR_PORT: Final = 4318  # OTLP's own; in the cluster's namespace nobody else is
LOOK_S: Final = 0.1  # between two scrapes


def worker(cluster: EmbeddedCluster) -> ClusterNode:
    """The node that the pods of these tests are on."""
    (node,) = (node for node in cluster.nodes if node.place.name == NODE)
    return node


async def scrape(node: ClusterNode) -> str:
    """What a node's driver serves, on the loopback address of the node."""
    sock = socket_in(node.netns, socket.AF_INET, socket.SOCK_STREAM, 0)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", 9178))
    reader, writer = await asyncio.open_connection(sock=sock)
    writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
    answer = (await reader.read()).decode()
    writer.close()
    return answer.partition("\r\n\r\n")[2]


@dataclass(frozen=True)
class Scraped:
    """The samples of one scrape."""

    text: str

    def value(self, name: str, **labels: str) -> float:
        """The sum of a metric's series that have these labels; 0 without any."""
        return sum(
            sample.value
            for family in text_string_to_metric_families(self.text)
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )


async def scraped_ready(node: ClusterNode) -> Scraped:
    """A scrape once the driver says that it is ready; pods may start before, on a busy machine."""
    while True:
        seen = Scraped(await scrape(node))
        if seen.value("netclaim_ready"):
            return seen
        await asyncio.sleep(LOOK_S)


async def log_of(node: ClusterNode) -> str:
    """What a node's driver has logged."""
    path = node.place.directory / f"{DRIVER}.log"
    return await asyncio.to_thread(path.read_text)


def test_metrics_of_pods() -> None:
    """Plugins, addresses, requests and refusals are counted as they happen."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        make(cluster, TEMPLATE, "good", {"spec": claim_spec("eth1", "10.20.0.0/28")})
        refused = claim_spec("eth1", type="bridge", bridge="br7")
        make(cluster, TEMPLATE, "refused", {"spec": refused})
        for number in range(3):
            add_pod(cluster, f"p{number}", resourceClaimTemplateName="good")
        add_pod(cluster, "no", resourceClaimTemplateName="refused")
        await all_settled(cluster, 4)
        seen = await scraped_ready(worker(cluster))
        assert seen.value("netclaim_attachments") == 3
        assert seen.value("netclaim_registered") == 1
        assert seen.value("netclaim_seat_held") == 1
        assert seen.value("netclaim_runtime_hooked", hook="nri") == 1
        added = {"plugin": "macvlan", "command": "ADD", "outcome": "ok"}
        assert seen.value("netclaim_plugin_seconds_count", **added) == 3
        network = {"network": "default/n", "family": "ipv4"}
        assert seen.value("netclaim_network_addresses", state="used", **network) == 3
        # 14 hosts of a /28, less the gateway and the three.
        assert seen.value("netclaim_network_addresses", state="free", **network) == 10
        refusals = {"what": "claim", "reason": "policy"}
        assert seen.value("netclaim_refusals_total", **refusals) >= 1
        got = {"verb": "get", "resource": "resourceclaims", "code": "200"}
        assert seen.value("netclaim_api_requests_total", **got) >= 4
        patched = {"verb": "patch", "resource": "resourceclaims/status", "code": "200"}
        assert seen.value("netclaim_api_requests_total", **patched) >= 3
        assert seen.value("netclaim_api_seconds_count", verb="watch") >= 1
        await all_gone(cluster)

    in_cluster(scenario)


def test_an_idle_node_has_few_series() -> None:
    """All that a Prometheus stores of a node before any pod came: framework, network and process.

    Each further one is one on every node of the cluster.
    """

    async def scenario(cluster: EmbeddedCluster) -> None:
        text = await scrape(worker(cluster))
        series = [line for line in text.splitlines() if line and not line.startswith("#")]
        names = Counter(re.split(r"[{ ]", line)[0] for line in series)
        assert len(series) < IDLE_SERIES, names.most_common(12)
        assert not [name for name in names if name.endswith("_created")]
        of_claims = ("netclaim_attachments", "netclaim_network_addresses", "netclaim_plugin")
        assert {name for name in names if name.startswith(of_claims)} <= {of_claims[0]}, names

    in_cluster(scenario)


def test_log_lines_name_their_claim() -> None:
    """Every line about a claim, from prepare to unprepare, has its names and its trace."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        make(cluster, TEMPLATE, "t", {"spec": claim_spec("eth1")})
        pod = add_pod(cluster, "p", resourceClaimTemplateName="t")
        await all_settled(cluster, 1)
        (claim,) = cluster.store.list(CLAIM)
        await all_gone(cluster)
        await cluster.store.wait_for(lambda: not list(cluster.store.list(CLAIM)))
        trace_id = trace_id_of(claim["metadata"]["uid"])
        lines = [line for line in plain(await log_of(worker(cluster))) if trace_id in line]
        events = [re.split(r"\s+", line)[2] for line in lines]
        assert {"prepare.done", "attach.done", "report.done", "detach.done"} <= set(events), events
        assert events[0] == "prepare.done"
        for line in lines:
            assert f"default/{claim['metadata']['name']}" in line
            assert f"node={NODE}" in line
            assert f"driver={DRIVER}" in line
        of_pod = [line for line in lines if "attach.done" in line or "detach.done" in line]
        assert all(f"pod_uid={pod['metadata']['uid']}" in line for line in of_pod)

    in_cluster(scenario)


def plain(text: str) -> list[str]:
    """The lines without colours, and without the brackets around levels."""
    return [
        re.sub(r"\x1b\[[0-9;]*m|\[(?:info|warning) *\]", "- ", each) for each in text.splitlines()
    ]


def test_a_claim_is_one_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is done for a claim is in one trace, with the plugins below attach and detach."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://172.18.0.1:{COLLECTOR_PORT}")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")

    async def scenario(cluster: EmbeddedCluster) -> None:
        collector = Collector()
        async with collector.serving(cluster.topology.gateway, COLLECTOR_PORT):
            make(cluster, TEMPLATE, "t", {"spec": claim_spec("eth1")})
            pod = add_pod(cluster, "p", resourceClaimTemplateName="t")
            await all_settled(cluster, 1)
            (claim,) = cluster.store.list(CLAIM)
            await all_gone(cluster)
            found = await collector.wait_for("prepare", "attach", "report", "detach", "unprepare")
        trace_id = trace_id_of(claim["metadata"]["uid"])
        assert {span.trace_id.hex() for _, span in found} == {trace_id}
        verbs = {span.name: span for _, span in found if not span.parent_span_id}
        assert set(verbs) == {"prepare", "attach", "report", "detach", "unprepare"}
        below = {span.name: span for _, span in found if span.parent_span_id}
        assert below["macvlan ADD"].parent_span_id == verbs["attach"].span_id
        assert below["macvlan DEL"].parent_span_id == verbs["detach"].span_id
        said = attributes(verbs["attach"])
        assert said["netclaim.claim"] == f"default/{claim['metadata']['name']}"
        assert said["netclaim.pod_uid"] == pod["metadata"]["uid"]
        about, _ = found[0]
        assert (about["service.name"], about["k8s.node.name"]) == ("netclaim", NODE)

    in_cluster(scenario)
