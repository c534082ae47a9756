"""What a driver does with the API, in the version that the cluster serves and in v1's form.

Every object that goes in or comes out is v1; it is converted for older servers. Of a claim there
comes what a driver needs of it, which is the same in all versions. Each method is one request (see
`netclaim.kube.errors` for how it can fail).
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from netclaim.json_text import UNREADABLE
from netclaim.kube.claim_watch import follow_claims
from netclaim.kube.client import Client
from netclaim.kube.errors import InvalidError, MalformedReplyError, NotFoundError, Status
from netclaim.kube.resource import ENDPOINT_SLICES, EVENTS, NAMESPACES, NODES, PODS, Selection
from netclaim.kube.versions import dra_resource, negotiate
from netclaim.kube.watch import Pace, Reflector
from netclaim.manifests.versions.conversion import Version, from_v1, to_v1
from netclaim.model.api.limits import NOTE_MAX, SHORT_MAX
from netclaim.model.claims.claim import Claim, JsonObject
from netclaim.model.claims.claim_text import claim_from_text
from netclaim.model.text import cut

# Bytes of a claim that are read on the event loop. A claim for one interface takes some 10 us, less
# than asking a thread does; the worst text of this length that was found takes 0.6 ms.
READ_AT_ONCE: Final = 8192


@dataclass(frozen=True, slots=True)
class Event:
    """A message for the user about an object, for `kubectl describe`."""

    regarding: JsonObject  # an object reference: apiVersion, kind, name, namespace, uid
    reason: str  # one word in CamelCase
    note: str
    action: str  # what was being done, in one word
    type: Literal["Normal", "Warning"] = "Normal"


class DraApi:
    """The driver's use of the API, in one served version."""

    def __init__(
        self,
        client: Client,
        version: Version,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._version = version
        self._clock = clock
        self._claims = dra_resource("ResourceClaim", version)
        self._slices = dra_resource("ResourceSlice", version)

    @classmethod
    async def negotiated(cls, client: Client) -> "DraApi":
        """Return the API in the best version that the cluster serves."""
        return cls(client, await negotiate(client))

    @property
    def version(self) -> Version:
        """The version that is used with the server."""
        return self._version

    async def get_claim(self, namespace: str, name: str, *, driver: str = "") -> Claim:
        """Return a claim, with the parameters for a driver if one is named.

        Compare its UID, since its name may belong to another claim by now. A long text is read in a
        thread: a tenant decides how long that takes.
        """
        text = await self._client.get_json(self._claims, name, namespace=namespace)
        try:
            if len(text) <= READ_AT_ONCE:
                return claim_from_text(text, driver)
            return await asyncio.to_thread(claim_from_text, text, driver)
        except UNREADABLE as error:
            message = f"the API server's answer is not an object: {error}"
            raise MalformedReplyError(message) from error

    async def apply_claim_devices(
        self,
        namespace: str,
        name: str,
        uid: str,
        devices: Sequence[JsonObject],
        *,
        field_manager: str,
    ) -> None:
        """Write `status.devices` of the claim with this UID, server-side.

        Each call replaces everything that this manager wrote before, so `devices` must be all of
        its devices in the claim. A claim that another one of the same name has replaced is a
        NotFoundError, like one that is gone.
        """
        body: JsonObject = {
            "apiVersion": self._claims.api_version,
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": namespace, "uid": uid},
            "status": {"devices": list(devices)},
        }
        try:
            await self._client.apply(
                self._claims, body, field_manager=field_manager, force=True, subresource="status"
            )
        except InvalidError as error:
            if any(cause.field == "metadata.uid" for cause in error.causes):
                message = f"claim {namespace}/{name} with UID {uid} was replaced by another"
                raise NotFoundError(Status(404, "NotFound", message)) from error
            raise

    async def follow_claims(
        self, word: bytes, *, opened: Callable[[], None], pace: Pace | None = None
    ) -> AsyncIterator[bytes]:
        """Yield the JSON of claims whose text has `word`, and again after each change.

        Of all namespaces, and in the version that is served.
        """
        selection = Selection(self._claims)
        async for found in follow_claims(self._client, selection, word, opened=opened, pace=pace):
            yield found

    def watch_slices(self, driver: str, node: str, *, pace: Pace | None = None) -> Reflector:
        """Return a reflector of the slices that a driver published for a node."""
        return Reflector(
            self._client,
            self._slices_of(driver, node),
            convert=lambda found: to_v1(found, "ResourceSlice", self._version),
            pace=pace,
        )

    def watch_classes(self, labels: str, *, pace: Pace | None = None) -> Reflector:
        """Return a reflector of the DeviceClasses that a label selector selects."""
        return Reflector(
            self._client,
            Selection(dra_resource("DeviceClass", self._version), labels=labels),
            convert=lambda found: to_v1(found, "DeviceClass", self._version),
            pace=pace,
        )

    async def create_slice(self, wanted: JsonObject, *, dry_run: bool = False) -> JsonObject:
        """Create a slice; returns it as stored, without what the server does not know.

        With `dry_run` the server does everything except storing it.
        """
        served = self._served(wanted)
        return self._slice(await self._client.create(self._slices, served, dry_run=dry_run))

    async def update_slice(self, wanted: JsonObject) -> JsonObject:
        """Replace a slice of the same `metadata.resourceVersion`; returns it as stored."""
        return self._slice(await self._client.update(self._slices, self._served(wanted)))

    async def delete_slice(self, name: str, *, uid: str, resource_version: str) -> None:
        """Delete a slice if it is still this very one. NotFoundError if it is gone."""
        await self._client.delete(self._slices, name, uid=uid, resource_version=resource_version)

    async def get_node(self, name: str) -> JsonObject:
        """Return a node; its UID goes into the owner reference of its slices."""
        return await self._client.get(NODES, name)

    async def get_server_addresses(self) -> tuple[str, ...]:
        """Return where API servers are, behind the address of their service."""
        found = await self._client.get(ENDPOINT_SLICES, "kubernetes", namespace="default")
        listed = (each.get("addresses") or () for each in found.get("endpoints") or ())
        return tuple(address for addresses in listed for address in addresses)

    async def get_namespace(self, name: str) -> JsonObject:
        return await self._client.get(NAMESPACES, name)

    async def get_pod(self, namespace: str, name: str) -> JsonObject:
        """Return a pod; compare its UID, since its name may belong to another pod by now."""
        return await self._client.get(PODS, name, namespace=namespace)

    async def create_event(self, event: Event, *, controller: str, instance: str) -> JsonObject:
        """Record an event. A second call records a second one."""
        namespace = event.regarding.get("namespace") or "default"
        # The API server needs a name; a random tail distinguishes two of the same microsecond.
        name = f"{event.regarding['name'][:230]}.{secrets.token_hex(8)}"
        body: JsonObject = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": namespace},
            "eventTime": self._clock().isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "reportingController": controller,
            "reportingInstance": cut(instance, SHORT_MAX),
            "action": cut(event.action, SHORT_MAX),
            "reason": cut(event.reason, SHORT_MAX),
            "regarding": event.regarding,
            "note": cut(event.note, NOTE_MAX),
            "type": event.type,
        }
        return await self._client.create(EVENTS, body)

    def _slices_of(self, driver: str, node: str) -> Selection:
        return Selection(self._slices, fields=f"spec.driver={driver},spec.nodeName={node}")

    def _served(self, wanted: JsonObject) -> JsonObject:
        return from_v1(wanted, "ResourceSlice", self._version)

    def _slice(self, found: JsonObject) -> JsonObject:
        return to_v1(found, "ResourceSlice", self._version)
