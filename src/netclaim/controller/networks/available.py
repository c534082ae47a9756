"""Which nodes have a network, worked out anew only for nodes whose links have changed.

Promise: the same answer as `wanted.availability` for all nodes, which evaluates the network's
selector for every link of the cluster: with thousands of nodes that takes a second for each
network, while a namespace waits for its templates. No I/O.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from netclaim.controller.cluster.slim import unpacked_slice
from netclaim.controller.networks.wanted import availability
from netclaim.model.api.own_kinds.pod_network import NodeAvailability, PodNetwork, PodNetworkSpec
from netclaim.model.claims.claim import JsonObject

Versions: TypeAlias = tuple[str, ...]
"""The versions of a node's slices."""


@dataclass(slots=True)
class _Known:
    """The answer for a network, and what it was made of."""

    spec: PodNetworkSpec
    revision: int = -1  # before the first look
    nodes: dict[str, tuple[Versions, NodeAvailability]] = field(default_factory=dict)


class Available:
    """Remembers the answer for each network and node."""

    def __init__(self, driver: str) -> None:
        self._driver = driver
        self._known: dict[str, _Known] = {}

    def of(
        self,
        network: PodNetwork,
        revision: int,
        nodes: Collection[str],
        slices: Iterable[JsonObject],
    ) -> list[NodeAvailability]:
        """Whether each node has the network, in the order of the nodes' names.

        With the same revision, nodes and slices are taken to be the same.
        """
        known = self._known.get(network.name)
        if known is None or known.spec != network.spec:
            known = self._known[network.name] = _Known(network.spec)
        if known.revision != revision:
            self._look(network, known, nodes, slices)
            known.revision = revision
        return [known.nodes[node][1] for node in sorted(known.nodes)]

    def _look(
        self,
        network: PodNetwork,
        known: "_Known",
        nodes: Collection[str],
        slices: Iterable[JsonObject],
    ) -> None:
        there: dict[str, list[JsonObject]] = {}
        for found in slices:
            there.setdefault(found["spec"].get("nodeName", ""), []).append(found)
        versions = {node: _versions(there.get(node, ())) for node in nodes}
        before = known.nodes
        known.nodes = {node: before[node] for node in nodes if node in before}
        stale = [
            node
            for node in nodes
            if node not in known.nodes or known.nodes[node][0] != versions[node]
        ]
        if stale:
            slices_of_it = (found for node in stale for found in there.get(node, ()))
            changed = map(unpacked_slice, slices_of_it)
            for each in availability(network, self._driver, stale, changed):
                known.nodes[each.name] = versions[each.name], each

    def forget(self, name: str) -> None:
        """Forget a network that is gone."""
        self._known.pop(name, None)


def _versions(slices: Iterable[JsonObject]) -> Versions:
    return tuple(sorted(str(found["metadata"].get("resourceVersion", "")) for found in slices))
