"""One examination: the checks of a cluster, of a node, or of both at the same time.

Promise: a cluster that cannot be reached is an error if it is all that there is to look at; beside
a node it is a finding, and the node is looked at nevertheless.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from netclaim.doctor.cluster_api import api_reachable
from netclaim.doctor.cluster_sight import ClusterSight
from netclaim.doctor.finding import Outcome, Result
from netclaim.doctor.node_sight import NodeSight
from netclaim.doctor.registry import CLUSTER_CHECKS, NODE_CHECKS
from netclaim.doctor.run import run_checks
from netclaim.errors import HostError

__all__ = ["examine"]

REST: Final = tuple(each for each in CLUSTER_CHECKS if each is not api_reachable)


async def examine(
    cluster: ClusterSight | None,
    node: NodeSight | None,
    *,
    ended: Callable[[Result], None] = lambda _: None,
) -> list[Result]:
    """Run all checks of what there is to look at; those of the cluster come first."""
    if node is None:
        found = await _of_cluster(cluster, ended)
        if found and found[0].finding.outcome is not Outcome.OK:
            raise HostError(found[0].finding.found)
        return found
    async with asyncio.TaskGroup() as group:
        of_node = group.create_task(run_checks("node", NODE_CHECKS, node, ended=ended))
        of_cluster = group.create_task(_of_cluster(cluster, ended))
    return [*of_cluster.result(), *of_node.result()]


async def _of_cluster(
    cluster: ClusterSight | None, ended: Callable[[Result], None]
) -> list[Result]:
    """Run the checks of a cluster; if it cannot be reached, that is all there is to say."""
    if cluster is None:
        return []
    found = await run_checks("cluster", (api_reachable,), cluster, ended=ended)
    if found[0].finding.outcome is Outcome.OK:
        found += await run_checks("cluster", REST, cluster, ended=ended)
    return found
