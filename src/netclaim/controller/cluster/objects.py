"""The API's kinds that the controller reads and writes, in the version that the cluster serves.

Objects go in and come out as v1. Each method is one request; see `netclaim.kube.errors`. Many
writes are made some at a time, and one that fails stops none of the others.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from netclaim.errors import NetclaimError
from netclaim.kube import Client, Resource, dra_resource, negotiate
from netclaim.manifests.versions.conversion import Version, from_v1, to_v1
from netclaim.model.api.own_kinds import address_pool
from netclaim.model.api.own_kinds.pod_network import GROUP, KIND, PLURAL, VERSION
from netclaim.model.claims.claim import JsonObject

POD_NETWORKS: Final = Resource(GROUP, VERSION, PLURAL, KIND, namespaced=False)
ADDRESS_POOLS: Final = Resource(
    GROUP, VERSION, address_pool.PLURAL, address_pool.KIND, namespaced=False
)
ADDRESS_LEASES: Final = Resource(
    GROUP, VERSION, address_pool.LEASE_PLURAL, address_pool.LEASE_KIND, namespaced=False
)
MANAGER: Final = "netclaim-controller"
WRITES: Final = 16  # at a time; a namespace's template should not wait for a thousand others
Failures: TypeAlias = dict[str, NetclaimError]
"""What failed, by what it was for: a namespace, or a network."""


@dataclass(frozen=True, slots=True)
class Objects:
    """Reads and writes objects of resource.k8s.io in v1's form."""

    client: Client
    version: Version

    @classmethod
    async def negotiated(cls, client: Client) -> "Objects":
        """Return them for the best version that the cluster serves."""
        return cls(client, await negotiate(client))

    def resource(self, kind: str) -> Resource:
        """Where a kind of resource.k8s.io is served."""
        return dra_resource(kind, self.version)

    def in_v1(self, kind: str, found: JsonObject) -> JsonObject:
        """An object of resource.k8s.io in v1's form."""
        return to_v1(found, kind, self.version)

    async def get(self, kind: str, name: str, namespace: str = "") -> JsonObject:
        """Return an object."""
        found = await self.client.get(self.resource(kind), name, namespace=namespace)
        return self.in_v1(kind, found)

    async def create(self, wanted: JsonObject) -> None:
        """Create an object; AlreadyExistsError if there is one of its name."""
        kind = wanted["kind"]
        body = in_order(from_v1(wanted, kind, self.version))
        await self.client.create(self.resource(kind), body, field_manager=MANAGER)

    async def dry_run(self, wanted: JsonObject) -> JsonObject:
        """Return what would be stored of an object, which is not created."""
        kind = wanted["kind"]
        body = in_order(from_v1(wanted, kind, self.version))
        stored = await self.client.create(
            self.resource(kind), body, field_manager=MANAGER, dry_run=True
        )
        return self.in_v1(kind, stored)

    async def update(self, wanted: JsonObject) -> JsonObject:
        """Replace an object of the same `resourceVersion`; returns it as it is stored."""
        kind = wanted["kind"]
        body = in_order(from_v1(wanted, kind, self.version))
        stored = await self.client.update(self.resource(kind), body, field_manager=MANAGER)
        return self.in_v1(kind, stored)

    async def delete(self, kind: str, found: JsonObject) -> None:
        """Delete an object if it is still this very one."""
        meta: dict[str, Any] = found["metadata"]
        await self.client.delete(
            self.resource(kind),
            meta["name"],
            namespace=meta.get("namespace", ""),
            uid=meta["uid"],
            resource_version=meta["resourceVersion"],
        )


def in_order(value: Any) -> Any:
    """The same JSON with the keys of every object in order, as Kubernetes' own clients write it.

    An API server keeps the parameters for a driver as the bytes that it got, and the scheduler
    copies them into allocations. When a claim's status is applied, they are encoded anew, in order;
    if that changes a byte, the server takes it for a change of the allocation and refuses it.
    """
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(each) for each in value] if isinstance(value, list) else value


async def some_at_a_time(work: Mapping[str, Awaitable[Any]]) -> Failures:
    """Do everything, whatever fails; returns what failed."""
    slots = asyncio.Semaphore(WRITES)

    async def one(each: Awaitable[Any]) -> None:
        async with slots:
            await each

    done = await asyncio.gather(*map(one, work.values()), return_exceptions=True)
    failed: Failures = {}
    for key, error in zip(work, done, strict=True):
        if isinstance(error, NetclaimError):
            failed[key] = error
        elif isinstance(error, BaseException):
            raise error
    return failed
