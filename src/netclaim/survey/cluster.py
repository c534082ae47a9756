"""List objects of a cluster in v1's form, whatever version it serves.

Promise: nothing is changed. `look` goes on without the kinds that the user may not list, and
reports which they are; of a kind that may be listed in one namespace only, it lists that namespace.
`read_cluster` needs everything that decides about claims, and raises without it. Limit: each list
is of one moment, but not all are of the same.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from netclaim.kube import (
    NODES,
    PODS,
    Client,
    Cluster,
    ForbiddenError,
    NotFoundError,
    Resource,
    Selection,
    connect,
    dra_resource,
    negotiate,
)
from netclaim.manifests.kinds import GROUP
from netclaim.manifests.objects import Object
from netclaim.manifests.versions.conversion import Version, to_v1
from netclaim.model.api.own_kinds import address_pool, pod_network

RULE: Final = "DeviceTaintRule"
NETWORK: Final = pod_network.KIND
POD_NETWORKS: Final = Resource(
    pod_network.GROUP, pod_network.VERSION, pod_network.PLURAL, NETWORK, namespaced=False
)
POOL: Final = address_pool.KIND
LEASE: Final = address_pool.LEASE_KIND
# The definitions that come with netclaim's controller, which a cluster need not have.
OURS: Final = {
    one.kind: one
    for one in (
        POD_NETWORKS,
        Resource(
            pod_network.GROUP, pod_network.VERSION, address_pool.PLURAL, POOL, namespaced=False
        ),
        Resource(
            pod_network.GROUP,
            pod_network.VERSION,
            address_pool.LEASE_PLURAL,
            LEASE,
            namespaced=False,
        ),
    )
}
UNLISTED: Final = " cannot be listed"  # of a kind, in any namespace
RULE_VERSIONS: Final[tuple[Version, ...]] = ("v1", "v1beta2", "v1alpha3")  # since 1.37, 1.36, 1.33


@dataclass(frozen=True, slots=True)
class Wanted:
    """A kind to list, in one namespace or in all; if all are refused, in `at_least`.

    What is `optional` is left out silently if it is refused.
    """

    kind: str
    namespace: str = ""
    at_least: str = ""
    labels: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What was listed, and what could not be: one line each, for the user."""

    objects: tuple[Object, ...]
    listed: tuple[Selection, ...]
    refused: tuple[str, ...] = ()


def unlisted(lines: Iterable[str]) -> frozenset[str]:
    """Return the kinds, as plurals, that some lines for the user say cannot be listed at all."""
    found = (line.partition(f"{UNLISTED}:") for line in lines)
    return frozenset(plural for plural, mark, _ in found if mark)


async def look(client: Client, wanted: Sequence[Wanted], version: Version) -> Found:
    """List some kinds; what the user may not list is left out and named."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_look(client, one, version)) for one in wanted]
    parts = [task.result() for task in tasks]
    return Found(
        tuple(found for part in parts for found in part.objects),
        tuple(selection for part in parts for selection in part.listed),
        tuple(line for part in parts for line in part.refused),
    )


async def _look(client: Client, wanted: Wanted, version: Version) -> Found:
    if wanted.kind == RULE:
        return await _rules(client)
    selection = selection_of(wanted.kind, version, wanted.namespace, wanted.labels)
    try:
        return Found(tuple(await _list(client, selection, version)), (selection,))
    except NotFoundError:
        if wanted.kind not in OURS:
            raise
        return Found((), ())
    except ForbiddenError as error:
        if wanted.optional:
            return Found((), ())
        if selection.namespace or not wanted.at_least or not selection.resource.namespaced:
            return Found((), (), (f"{selection.resource.plural}{UNLISTED}: {error}",))
    less = await _look(client, Wanted(wanted.kind, wanted.at_least, labels=wanted.labels), version)
    only = (
        f"{selection.resource.plural} of other namespaces than {wanted.at_least} cannot be listed"
    )
    return Found(less.objects, less.listed, (*less.refused, *((only,) if less.listed else ())))


async def read_cluster(cluster: Cluster, namespace: str) -> tuple[Object, ...]:
    """List everything that decides about the claims of a namespace.

    Claims are listed in all namespaces, because they say which devices are taken; pods and
    templates only in that namespace.
    """
    async with connect(cluster) as client:
        version = await negotiate(client)
        wanted = [
            selection_of(kind, version)
            for kind in ("Node", "ResourceSlice", "DeviceClass", "ResourceClaim")
        ]
        wanted += [
            selection_of(kind, version, namespace) for kind in ("ResourceClaimTemplate", "Pod")
        ]
        async with asyncio.TaskGroup() as group:
            lists = [group.create_task(_list(client, one, version)) for one in wanted]
            rules = group.create_task(_rules(client))
            pools = group.create_task(_pools(client, version))
    there = (found for task in lists for found in task.result())
    return (*there, *rules.result().objects, *pools.result())


async def _pools(client: Client, version: Version) -> tuple[Object, ...]:
    """List the AddressPools and who has their addresses, as far as the user may."""
    pools = await _look(client, Wanted(POOL, optional=True), version)
    if not pools.objects:
        return ()
    leases = await _look(client, Wanted(LEASE, optional=True), version)
    return (*pools.objects, *leases.objects)


async def _rules(client: Client) -> Found:
    """List the DeviceTaintRules; none if there is no such kind, or the user may not list it."""
    for version in RULE_VERSIONS:
        selection = Selection(dra_resource(RULE, version))
        try:
            return Found(tuple(await _list(client, selection, version)), (selection,))
        except NotFoundError:
            continue
        except ForbiddenError:
            break
    return Found((), ())


def selection_of(kind: str, version: Version, namespace: str = "", labels: str = "") -> Selection:
    """Return where a kind is listed, in a namespace if it has one."""
    known = {NODES.kind: NODES, PODS.kind: PODS, **OURS}
    resource = known.get(kind) or dra_resource(kind, version)
    return Selection(resource, namespace if resource.namespaced else "", labels)


def in_v1(resource: Resource, item: dict[str, Any], version: Version) -> dict[str, Any]:
    """Return an object in v1's form with its kind, which lists leave out."""
    if resource.group != GROUP:
        return {**item, "apiVersion": resource.api_version, "kind": resource.kind}
    return to_v1(item, resource.kind, version)


async def _list(client: Client, selection: Selection, version: Version) -> list[Object]:
    listing = await client.list(selection)
    found = [in_v1(selection.resource, item, version) for item in listing.items]
    return [Object(one, one) for one in found]
