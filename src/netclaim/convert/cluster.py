"""Read from a cluster what Multus reads: networks, and the workloads that ask for them.

With them comes what pods have from whereabouts.

Promise: nothing is changed. Pods and other objects that a controller made are left out, because
their owner is converted instead. All namespaces are read, because a network stays for everybody who
uses it, whichever namespace is converted first.
"""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

from netclaim.convert.multus.annotation import NETWORK
from netclaim.convert.whereabouts.reservations import GROUP, KIND
from netclaim.errors import RequestError
from netclaim.kube import (
    PODS,
    Client,
    Cluster,
    ForbiddenError,
    NotFoundError,
    Resource,
    Selection,
    connect,
)
from netclaim.manifests.objects import Object

DEFINITIONS: Final = Resource(
    "k8s.cni.cncf.io", "v1", "network-attachment-definitions", NETWORK, namespaced=True
)
RESERVED: Final = Resource(GROUP, "v1alpha1", "ippools", KIND, namespaced=True)
WORKLOADS: Final = (
    Resource("apps", "v1", "deployments", "Deployment", namespaced=True),
    Resource("apps", "v1", "statefulsets", "StatefulSet", namespaced=True),
    Resource("apps", "v1", "daemonsets", "DaemonSet", namespaced=True),
    Resource("apps", "v1", "replicasets", "ReplicaSet", namespaced=True),
    Resource("batch", "v1", "cronjobs", "CronJob", namespaced=True),
    Resource("batch", "v1", "jobs", "Job", namespaced=True),
    PODS,
)


async def read_cluster(cluster: Cluster) -> tuple[tuple[Object, ...], str]:
    """List all networks, what pods have from whereabouts, and all workloads.

    Who may not read what pods have from whereabouts gets the rest, and the server's reason.
    """
    async with connect(cluster) as client, asyncio.TaskGroup() as group:
        reserved = group.create_task(_reserved(client))
        tasks = [group.create_task(_list(client, one)) for one in (DEFINITIONS, *WORKLOADS)]
    networks, *workloads = (task.result() for task in tasks)
    pools, unread = reserved.result()
    return (*networks, *pools, *(found for each in workloads for found in each)), unread


async def _reserved(client: Client) -> tuple[list[Object], str]:
    try:
        return await _list(client, RESERVED), ""
    except ForbiddenError as error:
        return [], str(error)


async def _list(client: Client, resource: Resource) -> list[Object]:
    try:
        listing = await client.list(Selection(resource))
    except NotFoundError as error:
        if resource is DEFINITIONS:
            message = f"the cluster has no {NETWORK}s; is Multus installed?"
            raise RequestError(message) from error
        return []  # an embedded cluster has no CronJobs, for example
    return list(_objects(resource, listing.items))


def _objects(resource: Resource, items: tuple[dict[str, Any], ...]) -> Iterator[Object]:
    for item in items:
        if not (item.get("metadata") or {}).get("ownerReferences"):
            found = {"apiVersion": resource.api_version, "kind": resource.kind, **item}
            yield Object(found, found)
