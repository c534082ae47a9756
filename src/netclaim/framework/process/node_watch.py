"""The node as the API server describes it: asked for at the start, and followed from then on.

Promise: the driver learns of every change that it wants to know of, and the journal keeps the last
state, for a start while the API server is away. Limit: the API server is asked as often as the
driver says; for most drivers that is once, and when the settings change.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import structlog

from netclaim.framework.contract import Driver
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.records import KnownNode
from netclaim.framework.journal.store import JournalError
from netclaim.framework.kube_api import Api
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.tools.clock import Clock
from netclaim.framework.tools.supervise import PASSING, STARTING, retry
from netclaim.kube import ForbiddenError, NotFoundError
from netclaim.model.claims.claim import JsonObject
from netclaim.model.on_node.node import NodeFacts
from netclaim.tasks import race

log = structlog.get_logger()


@dataclass(slots=True)
class NodeWatch:
    driver: Driver
    api: Api
    name: str
    server: str  # the API server's address
    clock: Clock
    metrics: Metrics
    _again: asyncio.Event = field(default_factory=asyncio.Event)

    def look_again(self) -> None:
        """Ask again soon: changed settings may change what the driver wants to know."""
        self._again.set()

    async def ask(self, journal: Journal) -> KnownNode:
        """Ask until there is an answer, and keep it in the journal."""
        node = await retry(
            "node", self._ask, backoff=STARTING, clock=self.clock, metrics=self.metrics
        )
        await journal.put_node(node)
        return node

    async def follow(self, journal: Journal, node: KnownNode) -> None:
        """Ask as often as the driver wants; returns when the Node object was replaced."""
        known = node
        while True:
            now = await retry(
                "node",
                self._ask,
                clock=self.clock,
                metrics=self.metrics,
                retried=PASSING,
            )
            if now != known:
                await self._learn(journal, now)
            if now.uid != node.uid:
                break
            known = now
            await self._until_aged()
        log.warning("serve.node_replaced", node=self.name)

    async def _ask(self) -> KnownNode:
        found = await (await self.api()).get_node(self.name)
        servers = {*await _resolved(self.server), *await self._endpoints()}
        return KnownNode(found["metadata"]["uid"], _node_facts(found, servers))

    async def _endpoints(self) -> tuple[str, ...]:
        """Where the API servers are, if the one that we talk to is behind a service's address."""
        try:
            return await (await self.api()).get_server_addresses()
        except NotFoundError:  # a cluster whose API servers do not announce themselves
            return ()
        except ForbiddenError as error:
            hint = "grant the driver the right to get the endpointslice kubernetes"
            log.warning("serve.endpoints_forbidden", error=str(error), hint=hint)
            return ()

    async def _learn(self, journal: Journal, node: KnownNode) -> None:
        self.driver.learn_node(node.facts)
        try:
            await journal.put_node(node)
        except JournalError as error:  # it is asked for again at the next start
            log.warning("serve.node_not_kept", error=str(error))

    async def _until_aged(self) -> None:
        """Wait until what is known of the node is too old for the driver, or `look_again`."""
        age_s = self.driver.node_age_s
        if age_s is None:
            await self._again.wait()
        else:
            # Spread: a new version is rolled out on all nodes at about the same time.
            aged = self.clock.sleep(age_s * (1 - self.clock.jitter() / 4))
            await race(aged, self._again.wait())
        self._again.clear()


async def _resolved(server: str) -> set[str]:
    """The addresses that the API server's URL leads to."""
    host = urlsplit(server).hostname or ""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None)
    except OSError as error:  # known by a proxy, say; the node's own addresses are known anyway
        log.warning("serve.api_unresolved", host=host, error=str(error))
        return set()
    return {str(address[0]) for *_, address in found}


def _node_facts(node: JsonObject, servers: Collection[str]) -> NodeFacts:
    """What a driver may want to know of its node and of the API server's addresses."""
    listed = (node.get("status") or {}).get("addresses") or ()
    return NodeFacts(
        name=node["metadata"]["name"],
        addresses=tuple(each["address"] for each in listed if each["type"].endswith("IP")),
        labels=node["metadata"].get("labels") or {},
        api_addresses=tuple(sorted(servers)),
    )
