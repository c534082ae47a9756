"""Run the checks of a cluster, of a node, or of both at the same time.

Promise: one result for each check, in the order of the checks, whatever happens: a check that takes
too long, is refused or has a bug is `unknown`, and does not keep the others from their results. A
cluster that cannot be reached is an error if it is all that there is to look at; beside a node it
is a finding, and the node is looked at nevertheless.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from netclaim.doctor.cluster.api_server import api_reachable
from netclaim.doctor.cluster.sight import ClusterSight
from netclaim.doctor.finding import Check, Finding, Outcome, Result, Scope, unknown
from netclaim.doctor.node.sight import NodeSight
from netclaim.doctor.registry import CLUSTER_CHECKS, NODE_CHECKS
from netclaim.errors import HostError, NetclaimError
from netclaim.kube import ForbiddenError

S = TypeVar("S")

REST: Final = tuple(each for each in CLUSTER_CHECKS if each is not api_reachable)


async def examine(cluster: ClusterSight | None, node: NodeSight | None) -> list[Result]:
    """Run all checks of what there is to look at; those of the cluster come first."""
    if node is None:
        found = await _of_cluster(cluster)
        if found and found[0].finding.outcome is not Outcome.OK:
            raise HostError(found[0].finding.found)
        return found
    async with asyncio.TaskGroup() as group:
        of_node = group.create_task(run_checks("node", NODE_CHECKS, node))
        of_cluster = group.create_task(_of_cluster(cluster))
    return [*of_cluster.result(), *of_node.result()]


async def _of_cluster(cluster: ClusterSight | None) -> list[Result]:
    """Run the checks of a cluster; if it cannot be reached, only that is reported."""
    if cluster is None:
        return []
    found = await run_checks("cluster", (api_reachable,), cluster)
    if found[0].finding.outcome is Outcome.OK:
        found += await run_checks("cluster", REST, cluster)
    return found


async def run_checks(scope: Scope, checks: Sequence[Check[S]], sight: S) -> list[Result]:
    """Run the checks of a scope, all at the same time."""

    async def one(check: Check[S]) -> Result:
        began = time.monotonic()
        finding = await _finding(check, sight)
        seconds = time.monotonic() - began
        return Result(scope, check.id, check.title, check.why, finding, round(seconds, 3))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(check)) for check in checks]
    return [task.result() for task in tasks]


async def _finding(check: Check[Any], sight: Any) -> Finding:
    try:
        async with asyncio.timeout(check.seconds):
            return await check.look(sight)
    except TimeoutError:
        return unknown(f"no answer within {check.seconds:g} s", "run the command again")
    except ForbiddenError as fault:
        return unknown(
            f"you may not use {_line(fault).partition(' is forbidden')[0]}",
            "run the command as somebody who may read this, for example a cluster admin",
        )
    except NetclaimError as fault:
        return unknown(_line(fault), "run the command again when this is resolved")
    except OSError as fault:
        return unknown(f"{fault.filename or check.title}: {fault.strerror or fault}")
    except Exception as fault:  # noqa: BLE001 - the other checks are what the user came for
        return unknown(
            f"the check failed, which is a bug: {type(fault).__name__}: {_line(fault)}",
            "report it with the archive of --output support.tgz",
        )


def _line(fault: Exception) -> str:
    return " ".join(str(fault).split())
