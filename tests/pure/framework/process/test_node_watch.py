"""The driver learns where its node and the API servers are."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from netclaim.framework.journal.journal import open_journal
from netclaim.framework.kube_api import Api
from netclaim.framework.process.node_watch import NodeWatch
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.testing import FakeClock
from netclaim.model.on_node.node import NodeFacts
from netclaim.tasks import TaskScope
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


class Learning(ScriptedDriver):
    """A driver that wants to know of the node once a minute."""

    node_age_s = 60.0

    def __init__(self) -> None:
        super().__init__()
        self.learned: asyncio.Queue[NodeFacts] = asyncio.Queue()

    def learn_node(self, node: NodeFacts) -> None:
        """Note it."""
        self.learned.put_nowait(node)


@asynccontextmanager
async def watch_on(
    answer: Reply, driver: ScriptedDriver | None = None
) -> AsyncIterator[tuple[NodeWatch, StubServer]]:
    """A watch that talks to the API server by its service's address, with this EndpointSlice."""
    clock = FakeClock()
    async with serve_stub() as server, client_of(server) as client:
        server.on("GET", "/apis/resource.k8s.io", Reply({"versions": [{"version": "v1"}]}))
        server.on("GET", "/api/v1/nodes/node-1", Reply(NODE))
        server.on("GET", ENDPOINTS, answer)
        metrics = Metrics(DRIVER, clock)
        api, driver = Api(client), driver or ScriptedDriver()
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


async def test_api_servers_that_move_are_learned_while_the_driver_runs(tmp_path: Path) -> None:
    """Behind the service there are other ones; while nothing changes, nothing is said."""
    driver = Learning()
    moved = {"endpoints": [{"addresses": ["172.18.0.9"]}]}
    async with (
        watch_on(Reply(SLICE), driver) as (watch, server),
        open_journal(tmp_path / "j.db", BOOT) as journal,
        TaskScope() as tasks,
    ):
        server.on("GET", "/api/v1/nodes/node-1", *[Reply(NODE)] * 3)
        server.on("GET", ENDPOINTS, Reply(SLICE), Reply(moved), Reply(SLICE))
        known = await watch.ask(journal)
        tasks.start(watch.follow(journal, known))
        async with asyncio.timeout(60):
            now = await driver.learned.get()
            back = await driver.learned.get()
        assert now.api_addresses == ("10.96.0.1", "172.18.0.9")
        assert (now.name, now.addresses) == ("node-1", ("172.18.0.2",))
        assert back == known.facts
