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
    async with asyncio.TaskGroup() as group:
        of_node = (
            group.create_task(run_checks("node", NODE_CHECKS, node, ended=ended))
            if node is not None
            else None
        )
        of_cluster: list[Result] = []
        if cluster is not None:
            of_cluster = await run_checks("cluster", (api_reachable,), cluster, ended=ended)
            if of_cluster[0].finding.outcome is Outcome.OK:
                of_cluster += await run_checks("cluster", REST, cluster, ended=ended)
            elif node is None:
                raise HostError(of_cluster[0].finding.found)
    return [*of_cluster, *(of_node.result() if of_node is not None else ())]
