"""What the archive has of a cluster: the objects that the checks look at, and the driver's logs.

Limit: only the driver's own pods are included, and no Secrets, ConfigMaps or objects of other
drivers.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from netclaim.doctor.cluster.sight import BINDINGS, POLICIES, ClusterSight
from netclaim.doctor.support.gathered import Gathered
from netclaim.kube import EVENTS, PODS, Resource, Selection
from netclaim.model.claims.claim import JsonObject
from netclaim.survey.driver_pods import DriverPod

LOG_LINES: Final = "2000"  # of each container: hours of a quiet driver, minutes of a busy one
LOG_BYTES: Final = str(1 << 20)
NODE_PARTS: Final = ("nodeInfo", "conditions", "addresses", "allocatable", "capacity", "features")


async def gather_cluster(cluster: ClusterSight, gathered: Gathered) -> None:
    """Gather everything of a cluster that may be read."""

    async def put(name: str, about: str, read: Callable[[], Awaitable[Any]]) -> None:
        await gathered.read_object(f"cluster/{name}.json", about, read)

    await put("version", "the API server's version", cluster.version)
    await put("gates", "the API server's feature gates", cluster.gates)
    await put("nodes", "the nodes, without their images", lambda: _nodes(cluster))
    await put("slices", "the driver's ResourceSlices", cluster.slices)
    await put("classes", "the DeviceClasses", lambda: cluster.dra("DeviceClass"))
    await put("claims", "claims of the driver, and those not allocated", lambda: _claims(cluster))
    await put("policies", "the admission policies", lambda: _policies(cluster, POLICIES))
    await put("bindings", "what binds them", lambda: _policies(cluster, BINDINGS))
    await put("namespaces", "names and labels of the namespaces", lambda: _namespaces(cluster))
    await put("daemonset", "the driver's DaemonSet", cluster.daemon_set)
    await put("pods", "the driver's pods", cluster.driver_pods)
    await put("events", "events by the driver, and in its namespace", lambda: _events(cluster))
    with gathered.attempt("cluster/logs"):
        for pod in await cluster.driver_pods():
            await _logs(cluster, pod, gathered)


async def _nodes(cluster: ClusterSight) -> list[Mapping[str, Any]]:
    return [
        {
            "metadata": {
                key: each["metadata"].get(key) for key in ("name", "labels", "creationTimestamp")
            },
            "spec": each.get("spec"),
            "status": {key: (each.get("status") or {}).get(key) for key in NODE_PARTS},
        }
        for each in await cluster.nodes()
    ]


async def _claims(cluster: ClusterSight) -> list[Any]:
    return [
        each
        for each in await cluster.dra("ResourceClaim")
        if cluster.driver in json.dumps(each) or not (each.get("status") or {}).get("allocation")
    ]


async def _policies(cluster: ClusterSight, resource: Resource) -> list[Any]:
    found = await cluster.list(Selection(resource))
    return [each for each in found if "netclaim" in each["metadata"]["name"]]


async def _namespaces(cluster: ClusterSight) -> list[Mapping[str, Any]]:
    return [
        {"name": each["metadata"]["name"], "labels": each["metadata"].get("labels")}
        for each in await cluster.namespaces()
    ]


async def _events(cluster: ClusterSight) -> list[Any]:
    by_driver = Selection(EVENTS, fields=f"reportingController={cluster.driver}")
    beside = Selection(EVENTS, namespace=await cluster.namespace())
    return [*await cluster.list(by_driver), *await cluster.list(beside)]


async def _logs(cluster: ClusterSight, pod: JsonObject, gathered: Gathered) -> None:
    """Gather the log of each container of a pod, and if it was restarted the log before."""
    meta = pod["metadata"]
    path = PODS.path(namespace=meta["namespace"], name=meta["name"], subresource="log")
    restarted = {each.name for each in DriverPod.read(pod).containers if each.has_restarted}
    for container in pod["spec"]["containers"]:
        name = container["name"]
        for previous in (False, True) if name in restarted else (False,):
            file = f"cluster/logs/{meta['name']}-{name}{'-previous' if previous else ''}.log"
            query = {"container": name, "tailLines": LOG_LINES, "limitBytes": LOG_BYTES,
                     "previous": str(previous).lower()}  # fmt: skip
            with gathered.attempt(file):
                text = await cluster.client.get_text(path, query=query)
                gathered.put_text(file, "a log of the driver", text)
