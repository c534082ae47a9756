"""The API over HTTP: from requests to verbs, and from objects and refusals to answers.

Promise: the codes and bodies are those that clients of the real server expect. Limit: plain HTTP
and no users, because only the embedded cluster can reach it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec
from aiohttp import web

from netclaim.local.api.bodies import as_served, parse, read_object
from netclaim.local.api.discovery import discover
from netclaim.local.api.listing import Query, list_objects, read_query, watch_lines
from netclaim.local.api.patches import json_patch, merge_patch
from netclaim.local.api.target import EVICTION, Target, parse_target
from netclaim.local.api.verbs import Verbs
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.refusal import RefusedError, bad_request, missing, no_such_path

BODY_MAX: Final = 3 << 20  # bytes, as for the real server
APPLY: Final = ("application/apply-patch+yaml", "application/apply-patch+cbor")
MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
EVICTION_KIND: Final = "Eviction"  # of the group policy
NO_METHOD: Final = "the server does not allow this method on the requested resource"


@asynccontextmanager
async def serve_api(verbs: Verbs, host: str, port: int = 0) -> AsyncIterator[str]:
    """Serve at an address; yields the URL. Port 0 takes a free one."""
    app = web.Application(client_max_size=BODY_MAX)
    app.router.add_route("*", "/{path:.*}", _Handler(verbs).handle)
    # Watches never end by themselves, so they are cut when the server stops.
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


class _Handler:
    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except RefusedError as refusal:
            return _reply(refusal.status(), refusal.code)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET" and (document := discover(request.path)) is not None:
            return _reply(document)
        target = parse_target(request.path)
        if target.subresource == EVICTION:
            return await self._evict(request, target)
        if request.method == "GET":
            query = read_query(request.query, target)
            if query.watch:
                return await self._watch(request, target, query)
            return _reply(self._get(target) if target.name else self._list(target, query))
        content = await request.read()
        obj, status = self._write(content, request, target)
        return _reply(as_served(obj, target), status)

    def _write(
        self, content: bytes, request: web.Request, target: Target
    ) -> tuple[JsonObject, int]:
        """Carry out a write; returns the stored object and the code of the answer."""
        if "dryRun" in request.query and request.method != "POST":
            raise bad_request("this server knows dry runs of POST only")
        match request.method, bool(target.name):
            case "POST", False if target.namespace or not target.kind.namespaced:
                return self._create(content, request, target), 201
            case "PUT", True:
                return self._update(content, request, target), 200
            case "PATCH", True:
                return self._patch(content, request, target)
            case "DELETE", True if not target.subresource:
                return self._delete(content, target), 200
        raise RefusedError(405, "MethodNotAllowed", NO_METHOD)

    def _get(self, target: Target) -> JsonObject:
        found = self._verbs.get(target.kind, target.name, target.namespace)
        return as_served(found, target)

    def _list(self, target: Target, query: Query) -> JsonObject:
        return list_objects(self._verbs.store, target, query)

    def _create(self, content: bytes, request: web.Request, target: Target) -> JsonObject:
        body = parse(content, request.content_type)
        return self._verbs.create(
            target.kind,
            read_object(body, target, strict=_strict(request)),
            manager=_manager(request),
            namespace=target.namespace,
            core=not target.address.group,
            dry_run="dryRun" in request.query,
        )

    def _update(self, content: bytes, request: web.Request, target: Target) -> JsonObject:
        body = parse(content, request.content_type)
        return self._verbs.update(
            target.kind,
            read_object(body, target, strict=_strict(request)),
            manager=_manager(request),
            subresource=target.subresource,
        )

    def _patch(
        self, content: bytes, request: web.Request, target: Target
    ) -> tuple[JsonObject, int]:
        media_type = request.content_type
        if media_type in APPLY:
            return self._apply(content, request, target)
        if media_type not in (MERGE, JSON_PATCH):
            raise RefusedError(415, "UnsupportedMediaType", "415: Unsupported Media Type")
        old = self._verbs.get(target.kind, target.name, target.namespace)
        patch = parse(content, media_type)
        form = as_served(old, target)
        if media_type == MERGE:
            changed = merge_patch(form, patch)
        elif isinstance(patch, list):
            changed = json_patch(form, patch)
        else:
            raise bad_request("a JSON patch is a list of operations")
        body = read_object(changed, target, strict=_strict(request))
        stored = self._verbs.replace(
            target.kind, body, old, manager=_manager(request), subresource=target.subresource
        )
        return stored, 200

    def _apply(
        self, content: bytes, request: web.Request, target: Target
    ) -> tuple[JsonObject, int]:
        manager = request.query.get("fieldManager", "")
        if not manager:
            fault = missing(("fieldManager",), "is required for apply patch")
            message = f'PatchOptions.meta.k8s.io "" is invalid: {fault}'
            raise RefusedError(422, "Invalid", message, faults=(fault,))
        config = parse(content, request.content_type)
        if not isinstance(config, dict) or not config.get("apiVersion") or not config.get("kind"):
            raise bad_request("invalid object type: an applied object says its apiVersion and kind")
        stored, new = self._verbs.apply(
            target.kind,
            read_object(config, target, strict=_strict(request)),
            manager=manager,
            force=request.query.get("force", "") == "true",
            namespace=target.namespace,
            subresource=target.subresource,
        )
        return stored, 201 if new else 200

    def _delete(self, content: bytes, target: Target) -> JsonObject:
        options = parse(content, "application/json") if content else {}
        wanted = options.get("preconditions") or {}
        return self._verbs.delete(
            target.kind,
            target.name,
            target.namespace,
            uid=wanted.get("uid", ""),
            resource_version=wanted.get("resourceVersion", ""),
            asked_grace_s=options.get("gracePeriodSeconds"),
        )

    async def _evict(self, request: web.Request, target: Target) -> web.Response:
        """Delete a pod; this server knows no budgets that could forbid it."""
        if request.method != "POST":
            raise RefusedError(405, "MethodNotAllowed", NO_METHOD)
        eviction = parse(await request.read(), request.content_type)
        if not isinstance(eviction, dict) or eviction.get("kind") != EVICTION_KIND:
            raise bad_request(f"the body of an eviction is an object of the kind {EVICTION_KIND}")
        options = eviction.get("deleteOptions") or {}
        self._delete(msgspec.json.encode(options), target)
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return _reply(success, 201)

    async def _watch(
        self, request: web.Request, target: Target, query: Query
    ) -> web.StreamResponse:
        if target.subresource:
            raise no_such_path()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        try:
            async for line in watch_lines(self._verbs.store, target, query):
                await response.write(line)
        except RefusedError as refusal:  # a version that is too old is reported in the stream
            event = {"type": "ERROR", "object": refusal.status()}
            await response.write(msgspec.json.encode(event) + b"\n")
        return response


def _strict(request: web.Request) -> bool:
    return request.query.get("fieldValidation", "") == "Strict"


def _manager(request: web.Request) -> str:
    """Return who writes: the request's field manager, else the program's name."""
    given = request.query.get("fieldManager", "")
    return given or request.headers.get("User-Agent", "unknown").partition("/")[0]


def _reply(body: JsonObject, status: int = 200) -> web.Response:
    return web.Response(
        status=status, body=msgspec.json.encode(body), content_type="application/json"
    )
