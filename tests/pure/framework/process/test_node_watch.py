"""The driver learns where its node and the API servers are."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from netclaim.framework.journal.journal import open_journal
from netclaim.framework.kube_api import Api
from netclaim.framework.process.node_watch import NodeWatch
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.testing import FakeClock
from netclaim.model.node import NodeFacts
from tests.support.framework.parts import BOOT, DRIVER, ScriptedDriver
from tests.support.kube.stub import Reply, StubServer, client_of, serve_stub, status

ENDPOINTS = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
NODE = {
    "metadata": {"uid": "n1", "name": "node-1", "labels": {"zone": "a"}},
    "status": {
        "addresses": [
            {"type": "InternalIP", "address": "172.18.0.2"},
            {"type": "Hostname", "address": "node-1"},
        ]
    },
}
SLICE = {"endpoints": [{"addresses": ["172.18.0.3"]}, {"addresses": ["172.18.0.4"]}]}


@asynccontextmanager
async def watch_on(answer: Reply) -> AsyncIterator[tuple[NodeWatch, StubServer]]:
    """A watch that talks to the API server by its service's address, with this EndpointSlice."""
    clock = FakeClock()
    async with serve_stub() as server, client_of(server) as client:
        server.on("GET", "/apis/resource.k8s.io", Reply({"versions": [{"version": "v1"}]}))
        server.on("GET", "/api/v1/nodes/node-1", Reply(NODE))
        server.on("GET", ENDPOINTS, answer)
        metrics = Metrics(DRIVER, clock)
        api, driver = Api(client), ScriptedDriver()
        yield NodeWatch(driver, api, "node-1", "https://10.96.0.1:443", clock, metrics), server


@pytest.mark.parametrize(
    ("answer", "behind"),
    [
        (Reply(SLICE), ("172.18.0.3", "172.18.0.4")),
        (Reply(status(404, "NotFound"), status=404), ()),
        (Reply(status(403, "Forbidden"), status=403), ()),
    ],
    ids=["announced", "not announced", "forbidden"],
)
async def test_api_servers_are_known_by_their_own_addresses(
    tmp_path: Path, answer: Reply, behind: tuple[str, ...]
) -> None:
    """Not only by that of their service, and without the EndpointSlice at least by that."""
    async with watch_on(answer) as (watch, _), open_journal(tmp_path / "j.db", BOOT) as journal:
        known = await watch.ask(journal)
        assert known.facts == NodeFacts(
            name="node-1",
            addresses=("172.18.0.2",),
            labels={"zone": "a"},
            api_addresses=("10.96.0.1", *behind),
        )
        assert journal.node == known
