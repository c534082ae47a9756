"""Which pods the stored workloads will have, also those that wait for others. No I/O.

Promise: pods that will not be created, because the one before them in a StatefulSet does not start,
have an outcome of their own.
"""

from collections.abc import Collection, Iterator

from netclaim.local.api.store import Store
from netclaim.local.control.workloads import daemon_nodes, in_order, job_pods, ordinal_names
from netclaim.local.result.outcome import PodOutcome
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    NODE,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
)


def expected_pods(store: Store) -> int:
    """Return how many pods there will be."""
    return sum(_counts(store))


def _counts(store: Store) -> Iterator[int]:
    for kind in (DEPLOYMENT, REPLICA_SET, STATEFUL_SET):
        for found in store.list(kind):
            if not _is_made(found):
                yield found["spec"]["replicas"]
    nodes = list(store.list(NODE))
    yield from (len(daemon_nodes(found, nodes)) for found in store.list(DAEMON_SET))
    yield from (job_pods(found) for found in store.list(JOB))
    yield sum(not _is_made(pod) for pod in store.list(POD))


def _is_made(found: JsonObject) -> bool:
    """Whether another object made it, and counts it."""
    return any(owner.get("controller") for owner in found["metadata"].get("ownerReferences", ()))


def held_back(
    store: Store, found: Collection[PodOutcome], *, over: bool = False
) -> tuple[PodOutcome, ...]:
    """Return the pods that are not created because one before them has stopped.

    When the time is `over`, also because one before them is still starting.
    """
    blocking = ("stopped", "starting") if over else ("stopped",)
    by_name = {(pod.namespace, pod.name): pod for pod in found}
    waiting = []
    for stateful_set in store.list(STATEFUL_SET):
        if not in_order(stateful_set):
            continue
        namespace = stateful_set["metadata"]["namespace"]
        names = ordinal_names(stateful_set)
        there = [by_name[namespace, name] for name in names if (namespace, name) in by_name]
        before = next((pod for pod in there if pod.state in blocking and not _runs(pod)), None)
        if before is not None:
            owner = f"StatefulSet {stateful_set['metadata']['name']}"
            reason = f"{owner} creates it when {before.name} runs"
            waiting += [
                PodOutcome(
                    namespace=namespace, name=name, uid="", node="", ip="", state=before.state,
                    stage="order", reason=reason, owner=owner,
                )
                for name in names
                if (namespace, name) not in by_name
            ]  # fmt: skip
    return tuple(waiting)


def _runs(pod: PodOutcome) -> bool:
    """Whether a pod that is not ready runs nevertheless, which is enough for the next one."""
    return pod.stage in ("network", "report")
