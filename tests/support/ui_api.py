"""An API server that knows a few tokens, before which the page in a cluster is tested.

Each token may list everything, or one namespace only. It answers lists of the scene's objects, and
watches that stay silent.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from threading import Thread

from aiohttp import web

from tests.support.ui_objects import scene

PLURALS = {
    "Node": "nodes",
    "Pod": "pods",
    "ResourceSlice": "resourceslices",
    "DeviceClass": "deviceclasses",
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "PodNetwork": "podnetworks",
}
TENANT = "system:serviceaccount:media:viewer"


def token(subject: str) -> str:
    """Return a token as the API server signs it, without its signature."""
    payload = base64.urlsafe_b64encode(json.dumps({"sub": subject}).encode()).decode().rstrip("=")
    return f"e30.{payload}.c2ln"


@dataclass
class ApiServer:
    """Knows two tokens: an admin may list everything, a tenant the namespace `media`."""

    known: dict[str, str] = field(default_factory=dict)  # namespaces by token; empty: all
    asked: list[tuple[str, str]] = field(default_factory=list)  # headers and paths
    refused: set[str] = field(default_factory=set)  # plurals that nobody may list

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer as the API server does."""
        header = request.headers.get("Authorization", "")
        self.asked.append((header, request.path))
        allowed = self.known.get(header.removeprefix("Bearer "))
        if allowed is None:
            return _status(401, "Unauthorized", "Unauthorized")
        if request.query.get("watch"):
            response = web.StreamResponse()
            await response.prepare(request)
            await asyncio.Event().wait()
        parts = request.path.strip("/").split("/")
        if request.path == "/version":
            return web.json_response({"gitVersion": "v1.36.0"})
        if request.path == "/apis/resource.k8s.io":
            return web.json_response({"versions": [{"version": "v1"}]})
        namespace = parts[parts.index("namespaces") + 1] if "namespaces" in parts else ""
        if (allowed and namespace != allowed) or parts[-1] in self.refused:
            return _status(403, "Forbidden", f"{parts[-1]} is forbidden")
        items = [
            one
            for one in scene()
            if PLURALS.get(one["kind"]) == parts[-1]
            and namespace in ("", one["metadata"].get("namespace", ""))
        ]
        return web.json_response({"metadata": {"resourceVersion": "7"}, "items": items})


def _status(code: int, reason: str, message: str) -> web.Response:
    body = {"kind": "Status", "status": "Failure", "reason": reason, "message": message}
    return web.json_response({**body, "code": code}, status=code)


ADMIN, VIEWER = token("admin"), token(TENANT)


@asynccontextmanager
async def api_server() -> AsyncIterator[tuple[ApiServer, str]]:
    """Run one that knows an admin and a tenant; gives its address."""
    api = ApiServer({ADMIN: "", VIEWER: "media"})
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.handle)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0]
        yield api, f"http://{host}:{port}"
    finally:
        await runner.cleanup()


@contextmanager
def api_server_beside() -> Iterator[tuple[ApiServer, str]]:
    """Run one in a thread, for tests that have no event loop."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    lent = api_server()
    try:
        yield asyncio.run_coroutine_threadsafe(lent.__aenter__(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(lent.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
