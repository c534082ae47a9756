"""The objects that `netclaim explain` reads: of a cluster.

Promise: only looks. Claims are read in all namespaces, since they say which devices are taken; pods
and templates only in the one that was asked about. Limit: needs the right to list each of them.
"""

import asyncio

from netclaim.kube import (
    NODES,
    PODS,
    Client,
    Cluster,
    Resource,
    Selection,
    connect,
    dra_resource,
    negotiate,
)
from netclaim.manifests.conversion import Version, to_v1
from netclaim.manifests.objects import Object

__all__ = ["read_cluster"]


async def read_cluster(cluster: Cluster, namespace: str) -> tuple[Object, ...]:
    """List everything that decides about the claims of a namespace."""
    async with connect(cluster) as client:
        version = await negotiate(client)
        wanted = (
            Selection(NODES),
            Selection(dra_resource("ResourceSlice", version)),
            Selection(dra_resource("DeviceClass", version)),
            Selection(dra_resource("ResourceClaim", version)),
            Selection(dra_resource("ResourceClaimTemplate", version), namespace),
            Selection(PODS, namespace),
        )
        async with asyncio.TaskGroup() as group:
            lists = [group.create_task(_list(client, one, version)) for one in wanted]
    return tuple(found for task in lists for found in task.result())


async def _list(client: Client, selection: Selection, version: Version) -> list[Object]:
    listing = await client.list(selection)
    found = [_named(selection.resource, item, version) for item in listing.items]
    return [Object(one, one) for one in found]


def _named(resource: Resource, item: dict[str, object], version: Version) -> dict[str, object]:
    """Return an object with its kind, which lists leave out."""
    if resource in (NODES, PODS):
        return {**item, "apiVersion": resource.api_version, "kind": resource.kind}
    return to_v1(item, resource.kind, version)
