"""Which of several replicas works: the one that holds a Lease.

Promise: at most one replica works at a time, as long as clocks run at the same speed: one that
could not renew its lease stops before another may take it. A replica that ends gives the lease
back, so that another works at once. Times are those of this machine since it last saw the lease
change; the times in the lease are for people.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import structlog

from netclaim.controller.cluster.objects import MANAGER
from netclaim.errors import PeerError
from netclaim.kube import AlreadyExistsError, Client, ConflictError, NotFoundError
from netclaim.kube.resource import LEASES
from netclaim.model.claims.claim import JsonObject

log = structlog.get_logger(__name__)

DURATION_S: Final = 15  # client-go's, as for Kubernetes' own controllers
GIVE_UP_S: Final = 10.0  # without a renewal; leaves five for what is still under way
RETRY_S: Final = 2.0


@dataclass(slots=True)
class Lease:
    """One replica's view of the lease."""

    client: Client
    namespace: str
    name: str
    identity: str
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _seen: JsonObject = field(default_factory=dict)
    _seen_at_s: float = 0.0

    async def acquire(self) -> None:
        """Return once this replica holds the lease."""
        while True:
            if await self.attempt():
                break
            await asyncio.sleep(RETRY_S)
        log.info("lease.held", identity=self.identity)

    async def hold(self) -> None:
        """Renew the lease; return when it was lost."""
        loop = asyncio.get_running_loop()
        renewed_s = loop.time()
        while loop.time() - renewed_s < GIVE_UP_S:
            await asyncio.sleep(RETRY_S)
            try:
                async with asyncio.timeout_at(renewed_s + GIVE_UP_S):
                    if not await self.attempt():
                        break
            except TimeoutError:
                continue
            renewed_s = max(
                renewed_s, self._seen_at_s
            )  # an attempt without an answer renews nothing
        log.warning("lease.lost", identity=self.identity)

    async def release(self) -> None:
        """Give the lease back, if this replica holds it; it does not from now on, either way."""
        held, body = self._held(), self._body("", self._seen)
        self._seen = {}  # who holds it then, only the API server can say
        if held:
            try:
                await self.client.update(LEASES, body, field_manager=MANAGER)
            except PeerError as error:
                log.info("lease.kept", error=str(error))

    def _held(self) -> bool:
        holder: str = self._seen.get("spec", {}).get("holderIdentity", "")
        return holder == self.identity

    async def attempt(self) -> bool:
        """Take or renew the lease; returns whether this replica may think that it holds it."""
        loop = asyncio.get_running_loop()
        try:
            live = await self.client.get(LEASES, self.name, namespace=self.namespace)
        except NotFoundError:
            live = {}
        except PeerError as error:
            log.info("lease.unreachable", error=str(error))
            return self._held()
        if live.get("spec") != self._seen.get("spec"):
            self._seen, self._seen_at_s = live, loop.time()
        holder = live.get("spec", {}).get("holderIdentity")
        if holder and holder != self.identity and loop.time() - self._seen_at_s < DURATION_S:
            return False
        return await self._write(self._body(self.identity, live))

    async def _write(self, body: JsonObject) -> bool:
        asked_at_s = asyncio.get_running_loop().time()  # others count from when they see it
        try:
            if "resourceVersion" in body["metadata"]:
                self._seen = await self.client.update(LEASES, body, field_manager=MANAGER)
            else:
                self._seen = await self.client.create(LEASES, body, field_manager=MANAGER)
        except (ConflictError, AlreadyExistsError, NotFoundError):
            return False
        except PeerError as error:
            log.info("lease.unreachable", error=str(error))
            return self._held()
        self._seen_at_s = asked_at_s
        return True

    def _body(self, identity: str, live: JsonObject) -> JsonObject:
        now = self.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        before = live.get("spec", {})
        same = before.get("holderIdentity") == identity
        meta = live.get("metadata") or {"name": self.name, "namespace": self.namespace}
        return {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {key: value for key, value in meta.items() if key != "managedFields"},
            "spec": {
                "holderIdentity": identity,
                "leaseDurationSeconds": DURATION_S,
                "acquireTime": before.get("acquireTime", now) if same else now,
                "renewTime": now,
                "leaseTransitions": before.get("leaseTransitions", 0) + (0 if same else 1),
            },
        }
