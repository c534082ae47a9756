"""The node as the API server describes it: asked for at the start, and followed from then on.

Promise: the driver knows of every change that it wants to know of, and the journal keeps the last
one, for a start while the API server is away. Limit: asks as often as the driver says, most only
once and when the settings change.
"""

import asyncio
from urllib.parse import urlsplit

import structlog

from netclaim.framework.clock import Clock
from netclaim.framework.contract import Driver
from netclaim.framework.journal import Journal
from netclaim.framework.kube_api import ApiSource
from netclaim.framework.metrics import Metrics
from netclaim.framework.records import KnownNode
from netclaim.framework.store import JournalError
from netclaim.framework.supervise import PASSING, STARTING, Backoff, retry
from netclaim.model.claim import JsonObject
from netclaim.model.node import NodeFacts

__all__ = ["NodeWatch"]

log = structlog.get_logger()


class NodeWatch:
    """Knows one node."""

    def __init__(
        self,
        driver: Driver,
        api: ApiSource,
        name: str,
        *,
        server: str,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        """`server` is the API server's address."""
        self._driver = driver
        self._api = api
        self._name = name
        self._server = server
        self._clock = clock
        self._metrics = metrics
        self._again = asyncio.Event()

    def look_again(self) -> None:
        """The driver's settings have changed, and with them perhaps what it asks of the node."""
        self._again.set()

    async def ask(self, journal: Journal) -> KnownNode:
        """Ask until there is an answer, and keep it."""
        node = await retry(
            "node", self._ask, backoff=STARTING, clock=self._clock, metrics=self._metrics
        )
        await journal.put_node(node)
        return node

    async def follow(self, journal: Journal, node: KnownNode) -> None:
        """Ask for the node as often as the driver wants to; returns if it is another one."""
        known = node
        while True:
            now = await retry(
                "node",
                self._ask,
                backoff=Backoff(),
                clock=self._clock,
                metrics=self._metrics,
                retried=PASSING,
            )
            if now != known:
                await self._learn(journal, now)
            if now.uid != node.uid:
                break
            known = now
            await self._until_aged()
        log.warning("serve.node_replaced", node=self._name)

    async def _ask(self) -> KnownNode:
        found = await (await self._api()).get_node(self._name)
        return KnownNode(found["metadata"]["uid"], await _node_facts(found, self._server))

    async def _learn(self, journal: Journal, node: KnownNode) -> None:
        self._driver.learn_node(node.facts)
        try:
            await journal.put_node(node)
        except JournalError as error:  # it is asked for again at the next start
            log.warning("serve.node_not_kept", error=str(error))

    async def _until_aged(self) -> None:
        """Wait until what is known of the node may be too old for the driver; most never mind."""
        age_s = self._driver.node_age_s
        if age_s is None:
            await self._again.wait()
        else:
            # Spread: a new version is rolled out on all nodes at about the same time.
            await self._clock.sleep(age_s * (1 - self._clock.jitter() / 4))
        self._again.clear()


async def _node_facts(node: JsonObject, server: str) -> NodeFacts:
    """What a driver may want to know of its node, and of the way to the API server."""
    listed = (node.get("status") or {}).get("addresses") or ()
    host = urlsplit(server).hostname or ""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None)
    except OSError as error:  # known by a proxy, say; the node's own addresses are known anyway
        log.warning("serve.api_unresolved", host=host, error=str(error))
        found = []
    return NodeFacts(
        name=node["metadata"]["name"],
        addresses=tuple(each["address"] for each in listed if each["type"].endswith("IP")),
        labels=node["metadata"].get("labels") or {},
        api_addresses=tuple(sorted({str(address[0]) for *_, address in found})),
    )
