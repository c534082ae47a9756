"""Pods of StatefulSets, DaemonSets and Jobs.

Each call brings the cluster one step nearer; a call that finds nothing to do writes nothing. Limit:
no pod ever ends by itself, so a Job gets only as many pods as may run at a time; a new template
does not replace existing pods.
"""

from typing import Any, Final

from netclaim.allocator.objects.node import REQUIRED
from netclaim.local.api.verbs import Verbs
from netclaim.local.control.node_fit import node_takes
from netclaim.local.control.owned_pods import add_pod, count_pods, delete_pods, living_pods
from netclaim.local.node.pod_status import is_running
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import DAEMON_SET, JOB, NODE, STATEFUL_SET

INDEX: Final = "batch.kubernetes.io/job-completion-index"


def scale_stateful_sets(verbs: Verbs) -> None:
    """Make the pods of each StatefulSet, one after the other unless its policy is Parallel."""
    for found in list(verbs.list(STATEFUL_SET)):
        alive = {pod["metadata"]["name"]: pod for pod in living_pods(verbs, found)}
        wanted = ordinal_names(found)
        for name in wanted:
            pod = alive.get(name)
            if pod is None:
                number = name.rpartition("-")[2]
                labels = {
                    "statefulset.kubernetes.io/pod-name": name,
                    "apps.kubernetes.io/pod-index": number,
                }
                add_pod(verbs, found, name=name, labels=labels)
            if in_order(found) and (pod is None or not is_running(pod)):
                break
        delete_pods(verbs, (pod for name, pod in alive.items() if name not in wanted))
        count_pods(verbs, STATEFUL_SET, found, alive.values())


def in_order(stateful_set: JsonObject) -> bool:
    """Whether each pod of a StatefulSet waits for the one before it."""
    return bool(stateful_set["spec"].get("podManagementPolicy") != "Parallel")


def ordinal_names(stateful_set: JsonObject) -> list[str]:
    """Return the names of a StatefulSet's pods, in order."""
    spec = stateful_set["spec"]
    first = spec.get("ordinals", {}).get("start", 0)
    name = stateful_set["metadata"]["name"]
    return [f"{name}-{number}" for number in range(first, first + spec["replicas"])]


def keep_daemon_sets(verbs: Verbs) -> None:
    """Keep one pod of each DaemonSet for every node that accepts it."""
    nodes = list(verbs.list(NODE))
    for found in list(verbs.list(DAEMON_SET)):
        wanted = daemon_nodes(found, nodes)
        alive = living_pods(verbs, found)
        served = {_node_of(pod) for pod in alive}
        for node in wanted:
            if node not in served:
                spec = found["spec"].get("template", {}).get("spec", {})
                affinity = _bound_to(spec.get("affinity") or {}, node)
                add_pod(verbs, found, spec={"affinity": affinity})
        delete_pods(verbs, (pod for pod in alive if _node_of(pod) not in wanted))
        count_pods(verbs, DAEMON_SET, found, alive)


def daemon_nodes(daemon_set: JsonObject, nodes: list[JsonObject]) -> list[str]:
    """Return the nodes that accept the pods of a DaemonSet."""
    spec = daemon_set["spec"].get("template", {}).get("spec", {})
    return [node["metadata"]["name"] for node in nodes if node_takes(spec, node)]


def _bound_to(affinity: JsonObject, node: str) -> JsonObject:
    """Return an affinity for one node alone, as the real controller writes it.

    Whether the node fits the given affinity was checked before.
    """
    terms = [{"matchFields": [_named(node)]}]
    kept = affinity.get("nodeAffinity") or {}
    return {**affinity, "nodeAffinity": {**kept, REQUIRED: {"nodeSelectorTerms": terms}}}


def _named(node: str) -> dict[str, Any]:
    return {"key": "metadata.name", "operator": "In", "values": [node]}


def _node_of(pod: JsonObject) -> str:
    """Return the node that a DaemonSet's pod is for."""
    terms = pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    return str(terms[0]["matchFields"][0]["values"][0])


def start_jobs(verbs: Verbs) -> None:
    """Make the pods of each Job that may run at a time."""
    for found in list(verbs.list(JOB)):
        alive = living_pods(verbs, found)
        wanted = job_pods(found)
        meta = found["metadata"]
        labels = {
            f"{prefix}{key}": value
            for prefix in ("", "batch.kubernetes.io/")
            for key, value in (("job-name", meta["name"]), ("controller-uid", meta["uid"]))
        }
        if found["spec"].get("completionMode") == "Indexed":
            there = {pod["metadata"].get("annotations", {}).get(INDEX) for pod in alive}
            for number in (str(one) for one in range(wanted) if str(one) not in there):
                prefix = f"{meta['name']}-{number}"
                own = {**labels, INDEX: number}
                add_pod(verbs, found, prefix=prefix, labels=own, annotations={INDEX: number})
        else:
            for _ in range(wanted - len(alive)):
                if not add_pod(verbs, found, labels=labels):
                    break
        delete_pods(verbs, alive[wanted:])
        count_pods(verbs, JOB, found, alive)


def job_pods(job: JsonObject) -> int:
    """Return how many pods of a Job run at a time."""
    spec = job["spec"]
    if spec.get("suspend"):
        return 0
    return int(min(spec["parallelism"], spec.get("completions", spec["parallelism"])))
