"""The embedded control plane: a few controllers and a scheduler, over the stored objects.

Every part looks at all objects and does what is missing; after each change all of them look again,
until none has anything to do.

    schedule            the scheduler: claims allocated, pods bound to nodes
    node_fit            which nodes accept a pod, before devices are considered
    binding             conditions that devices have to meet before a pod is bound
    why_not             why a pod is not scheduled, in words
    claims              claims from templates, released after their pods
    replicas            Deployments and ReplicaSets
    workloads           StatefulSets, DaemonSets and Jobs
    owned_pods          the pods that one of these makes and counts
    extended_resources  claims for pods that name a resource of a class
    evict, rule_status  pods whose devices got a taint, and how far their rule is
    garbage             what belongs to objects that are gone
"""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from netclaim.local.api.verbs import Verbs
from netclaim.local.control.binding import paused_until
from netclaim.local.control.claims import make_claims, release_claims
from netclaim.local.control.evict import Evictions
from netclaim.local.control.extended_resources import make_extended_claims
from netclaim.local.control.garbage import collect_garbage
from netclaim.local.control.replicas import scale_deployments, scale_replica_sets
from netclaim.local.control.schedule import UNSCHEDULABLE, schedule
from netclaim.local.control.workloads import keep_daemon_sets, scale_stateful_sets, start_jobs
from netclaim.schema.kinds import POD

__all__ = ["UNSCHEDULABLE", "control"]

GATHER_S: Final = 0.005  # a burst of changes is one round; so short a pause goes unnoticed
PARTS: Final = (
    scale_deployments,
    scale_replica_sets,
    scale_stateful_sets,
    keep_daemon_sets,
    start_jobs,
    make_claims,
    make_extended_claims,
    schedule,
    release_claims,
    collect_garbage,
)


async def control(verbs: Verbs) -> None:
    """Keep the cluster's objects in order until cancelled."""
    evictions = Evictions()
    while True:
        revision = verbs.store.revision
        for part in PARTS:
            part(verbs)
            await asyncio.sleep(0)  # a round over many pods must not hold up the API
        with suppress(TimeoutError):  # a toleration or a pause is over
            async with asyncio.timeout(_left_s(verbs, evictions.evict(verbs))):
                await verbs.store.wait_after(revision)
        await asyncio.sleep(GATHER_S)


def _left_s(verbs: Verbs, eviction: datetime | None) -> float | None:
    """Return how long nothing is due; None if nothing is ever due."""
    pauses = (paused_until(pod) for pod in verbs.list(POD) if not pod["spec"].get("nodeName"))
    times = [time for time in (eviction, *pauses) if time is not None]
    return max(0.0, (min(times) - datetime.now(UTC)).total_seconds()) if times else None
