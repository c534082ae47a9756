"""The Kubernetes API's verbs, on plain dicts.

Each method is one request, except for `list`, which follows the pages. Promise: the result is the
decoded JSON of a success; everything else raises (see `netclaim.kube.errors`). The answers to
patches are not decoded: they repeat an object that a tenant wrote, and nobody reads them. Limit: no
caching and no retries; `netclaim.kube.watch` keeps a store, and the callers know their own budgets.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final, Literal, TypeAlias

import aiohttp
import msgspec
import structlog

from netclaim.kube.access.cluster import Cluster
from netclaim.kube.decode import Page, read_object, read_page
from netclaim.kube.errors import GoneError
from netclaim.kube.observe import Observe, unobserved
from netclaim.kube.resource import PODS, Listing, Resource, Selection
from netclaim.kube.transport import LineStream, Transport
from netclaim.model.claims.claim import JsonObject
from netclaim.plain_text import plain_json

PAGE = 500  # objects per page, as for kubectl; a page takes far less than the call's deadline
JSON = "application/json"
APPLY = "application/apply-patch+yaml"  # JSON is YAML; the older media type works since 1.16

LEFT_OUT_SHOWN: Final = 5  # objects in a line of the log; anybody may write hundreds

PatchKind: TypeAlias = Literal["merge", "json"]

log = structlog.get_logger()


class Client:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get_path(self, path: str) -> JsonObject:
        """Return the JSON object that is served at a path, for example `/version`."""
        return await read_object(await self._transport.call("GET", path))

    async def get_text(self, path: str, *, query: Mapping[str, str] | None = None) -> str:
        """Return the text that is served at a path, for example `/metrics` or a pod's log."""
        return (await self._transport.call("GET", path, query=query)).decode(errors="replace")

    async def server_time(self) -> datetime | None:
        """Return the server's time in whole seconds; None if it does not send it."""
        said = await self._transport.header("/version", "Date")
        try:
            return parsedate_to_datetime(said)
        except ValueError:
            return None

    async def get(self, resource: Resource, name: str, *, namespace: str = "") -> JsonObject:
        return await self.get_path(resource.path(namespace=namespace, name=name))

    async def get_json(self, resource: Resource, name: str, *, namespace: str = "") -> bytes:
        """Return an object as it was sent, for who needs little of it."""
        path = resource.path(namespace=namespace, name=name)
        return await self._transport.call("GET", path)

    async def list(
        self,
        selection: Selection,
        *,
        page: int = PAGE,
        keep: Callable[[JsonObject], JsonObject] = lambda found: found,
    ) -> Listing:
        """Return all objects of a selection as of one resource version, page by page.

        If a continue token expires on the way (after 5 minutes), the list restarts in one piece.
        An object that cannot be read is left out, and logged. `keep` says what to keep of each: it
        is applied to every page as it comes, so that a long list is never there as a whole.
        """
        items: list[JsonObject] = []
        query = {**selection.query, "limit": str(page)}
        while True:
            try:
                reply = await self._transport.call("GET", selection.path, query=query)
            except GoneError:
                if "continue" not in query:
                    raise
                items, query = [], selection.query
                continue
            got = await read_page(reply)
            items += map(keep, got.items)
            self._note_left_out(selection, got)
            if not got.more:
                return Listing(tuple(items), got.resource_version)
            query = {**query, "continue": got.more}

    def watch(
        self, selection: Selection, *, resource_version: str, timeout_s: float, idle_s: float
    ) -> AbstractAsyncContextManager[LineStream]:
        """Open the stream of changes after a version, one JSON event per line.

        The server ends it after `timeout_s`; silence of `idle_s` means that the peer is gone.
        """
        query = {
            **selection.query,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(round(timeout_s)),
        }
        return self._transport.stream(selection.path, query=query, idle_s=idle_s)

    async def create(
        self,
        resource: Resource,
        body: JsonObject,
        *,
        field_manager: str = "",
        dry_run: bool = False,
    ) -> JsonObject:
        """Create an object in the namespace its metadata names; returns it as stored.

        With `dry_run` the server does everything except storing it.
        """
        path = resource.path(namespace=_meta(body).get("namespace", ""))
        query = {**_manager(field_manager), **({"dryRun": "All"} if dry_run else {})}
        return await self._write("POST", path, body, query)

    async def update(
        self,
        resource: Resource,
        body: JsonObject,
        *,
        subresource: str = "",
        field_manager: str = "",
    ) -> JsonObject:
        """Replace an object; `metadata.resourceVersion`, if set, must be the stored one."""
        path = _object_path(resource, body, subresource)
        return await self._write("PUT", path, body, _manager(field_manager))

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: JsonObject | Sequence[JsonObject],
        *,
        kind: PatchKind = "merge",
        namespace: str = "",
        subresource: str = "",
        field_manager: str = "",
    ) -> None:
        """Change an object by an RFC 7386 merge patch or an RFC 6902 JSON patch."""
        path = resource.path(namespace=namespace, name=name, subresource=subresource)
        media_type = f"application/{kind}-patch+json"
        await self._send("PATCH", path, patch, _manager(field_manager), media_type)

    async def apply(
        self,
        resource: Resource,
        body: JsonObject,
        *,
        field_manager: str,
        force: bool = False,
        subresource: str = "",
    ) -> None:
        """Apply server-side: `body` is all that this manager wants; what it omits is removed.

        With `force`, fields that other managers own are taken over instead of a ConflictError.
        """
        path = _object_path(resource, body, subresource)
        query = {"fieldManager": field_manager, "force": "true" if force else "false"}
        await self._send("PATCH", path, body, query, APPLY)

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> None:
        """Delete an object, if it still has this UID and version. NotFoundError if it is gone."""
        wanted = {"uid": uid, "resourceVersion": resource_version}
        options: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if preconditions := {key: value for key, value in wanted.items() if value}:
            options["preconditions"] = preconditions
        await self._transport.call(
            "DELETE",
            resource.path(namespace=namespace, name=name),
            content=msgspec.json.encode(options),
            media_type=JSON,
        )

    async def evict(self, name: str, *, namespace: str, uid: str) -> None:
        """Evict a pod, if it still has this UID; TooManyRequestsError if it may not be disrupted.

        NotFoundError if it is gone, ConflictError if another one has its name.
        """
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        path = PODS.path(namespace=namespace, name=name, subresource="eviction")
        await self._send("POST", path, body, {})

    def _note_left_out(self, selection: Selection, page: Page) -> None:
        if page.left_out:
            log.warning(
                "kube.unreadable",
                resource=selection.resource.plural,
                count=len(page.left_out),
                objects=page.left_out[:LEFT_OUT_SHOWN],
            )

    async def _write(
        self, method: str, path: str, body: JsonObject, query: Mapping[str, str]
    ) -> JsonObject:
        return await read_object(await self._send(method, path, body, query))

    async def _send(
        self,
        method: str,
        path: str,
        body: JsonObject | Sequence[JsonObject],
        query: Mapping[str, str],
        media_type: str = JSON,
    ) -> bytes:
        return await self._transport.call(
            method,
            path,
            query=query,
            content=plain_json(msgspec.json.encode(body)),
            media_type=media_type,
        )


@asynccontextmanager
async def connect(cluster: Cluster, observe: Observe = unobserved) -> AsyncIterator[Client]:
    """Lend a client for one cluster; its connections close at the end.

    `observe` is called for each request when it is over.
    """
    async with aiohttp.ClientSession() as session:
        yield Client(Transport(cluster, session, observe))


def _object_path(resource: Resource, body: JsonObject, subresource: str) -> str:
    meta = _meta(body)
    return resource.path(
        namespace=meta.get("namespace", ""), name=meta["name"], subresource=subresource
    )


def _meta(body: JsonObject) -> JsonObject:
    meta: JsonObject = body["metadata"]
    return meta


def _manager(name: str) -> dict[str, str]:
    return {"fieldManager": name} if name else {}
