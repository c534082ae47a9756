"""The embedded control plane: a few controllers and a scheduler, over the stored objects.

Every part looks at all there is and does what is missing; after each change all of them look again,
until none has anything to do.
"""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from netclaim.local.api.verbs import Verbs
from netclaim.local.control.claims import make_claims, release_claims
from netclaim.local.control.evict import Evictions
from netclaim.local.control.extended import make_extended_claims
from netclaim.local.control.garbage import collect_garbage
from netclaim.local.control.replicas import scale_deployments, scale_replica_sets
from netclaim.local.control.schedule import UNSCHEDULABLE, schedule
from netclaim.local.control.sets import keep_daemon_sets, scale_stateful_sets, start_jobs

__all__ = ["UNSCHEDULABLE", "control"]

GATHER_S: Final = 0.005  # a burst of changes is one round; nobody notices so short a pause
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
        due = evictions.evict(verbs)
        left_s = max(0.0, (due - datetime.now(UTC)).total_seconds()) if due is not None else None
        with suppress(TimeoutError):  # somebody's tolerationSeconds are over
            async with asyncio.timeout(left_s):
                await verbs.store.wait_after(revision)
        await asyncio.sleep(GATHER_S)
