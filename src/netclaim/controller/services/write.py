"""Write EndpointSlices, and count it.

Promise: new slices come first and old ones go last, so that no endpoint is missing between. What
somebody else changed meanwhile is left as it is: the watch brings it, and the Service is looked at
again. A slice that is not ours is never touched, and its name is passed over.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeAlias

import structlog

from netclaim.controller.cluster.objects import MANAGER as FIELD_MANAGER
from netclaim.controller.services.spread import MANAGED_BY, MANAGER, Writes
from netclaim.errors import NetclaimError
from netclaim.kube import AlreadyExistsError, Client, ConflictError, NotFoundError
from netclaim.kube.resource import ENDPOINT_SLICES
from netclaim.model.claims.claim import JsonObject

log = structlog.get_logger(__name__)

Key: TypeAlias = tuple[str, str]
"""The namespace and name of a Service, or of a slice."""
AT_A_TIME: Final = 10  # slices; a Service of 1,000 endpoints is written at once


class SliceWriter:
    """Creates, updates and deletes the slices of Services."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._foreign: set[Key] = set()
        self._places = asyncio.Semaphore(AT_A_TIME)
        self.count = 0

    def foreign_in(self, namespace: str) -> set[str]:
        """The names of slices that others made and that ours would have had."""
        return {name for where, name in self._foreign if where == namespace}

    async def write(self, key: Key, writes: Writes) -> None:
        """Do as many of the writes of a Service as can be done; raises what failed first."""
        namespace, name = key
        errors: list[NetclaimError] = []
        for work in (
            [self._create(each) for each in writes.create],
            [self._update(each) for each in writes.update],
            [self._delete(each) for each in writes.delete],
        ):
            errors += await self._all(work)
        fields = {"namespace": namespace, "service": name}
        if writes.create:
            log.info("service.made", **fields, slices=len(writes.create))
        if writes.delete:
            log.info("service.taken_away", **fields, slices=len(writes.delete))
        if errors:
            raise errors[0]

    async def _all(self, work: list[Coroutine[Any, Any, None]]) -> list[NetclaimError]:
        async def one(each: Coroutine[Any, Any, None]) -> None:
            async with self._places:
                await each

        done = await asyncio.gather(*map(one, work), return_exceptions=True)
        for each in done:
            if each is not None and not isinstance(each, NetclaimError):
                raise each
        return [each for each in done if isinstance(each, NetclaimError)]

    async def _create(self, wanted: JsonObject) -> None:
        meta = wanted["metadata"]
        try:
            await self._client.create(ENDPOINT_SLICES, wanted, field_manager=FIELD_MANAGER)
        except AlreadyExistsError:
            name, namespace = meta["name"], meta["namespace"]
            live = await self._client.get(ENDPOINT_SLICES, name, namespace=namespace)
            if live["metadata"].get("labels", {}).get(MANAGED_BY) == MANAGER:
                return  # the watch has not brought it yet
            self._foreign.add((namespace, name))
            raise
        self.count += 1

    async def _update(self, wanted: JsonObject) -> None:
        try:
            await self._client.update(ENDPOINT_SLICES, wanted, field_manager=FIELD_MANAGER)
        except (ConflictError, NotFoundError):
            return
        self.count += 1

    async def _delete(self, live: JsonObject) -> None:
        meta = live["metadata"]
        try:
            await self._client.delete(
                ENDPOINT_SLICES,
                meta["name"],
                namespace=meta["namespace"],
                uid=meta["uid"],
                resource_version=meta["resourceVersion"],
            )
        except (ConflictError, NotFoundError):
            return
        self.count += 1
