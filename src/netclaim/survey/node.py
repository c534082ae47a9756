"""What the API server says of one node: its pods, and claims by their names.

Promise: nothing is asked for that a node's own credentials may not have: only the pods of that
node, and single claims. A claim that does not exist is left out; one that may not be seen is named.
Nothing is changed.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec

from netclaim.kube import (
    PODS,
    Client,
    ForbiddenError,
    NotFoundError,
    Selection,
    dra_resource,
)
from netclaim.manifests.versions.conversion import Version
from netclaim.survey.cluster import in_v1


class NodeObjects(msgspec.Struct, frozen=True):
    """Claims that exist, and the keys of those that may not be seen."""

    claims: tuple[dict[str, Any], ...]
    hidden: frozenset[tuple[str, str]] = frozenset()


async def pods_on(client: Client, node: str, version: Version) -> tuple[dict[str, Any], ...]:
    listing = await client.list(Selection(PODS, fields=f"spec.nodeName={node}"))
    return tuple(in_v1(PODS, item, version) for item in listing.items)


async def claims_named(
    client: Client, keys: Iterable[tuple[str, str]], version: Version
) -> NodeObjects:
    """Get claims, each by namespace and name."""
    resource = dra_resource("ResourceClaim", version)
    hidden: set[tuple[str, str]] = set()

    async def get(key: tuple[str, str]) -> dict[str, Any] | None:
        try:
            found = await client.get(resource, key[1], namespace=key[0])
        except NotFoundError:
            return None
        except ForbiddenError:
            hidden.add(key)
            return None
        return in_v1(resource, found, version)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(get(key)) for key in sorted(set(keys))]
    claims = tuple(found for task in tasks if (found := task.result()) is not None)
    return NodeObjects(claims, frozenset(hidden))
