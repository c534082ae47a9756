"""A node around a served driver: the API server's part that it uses, kubelet's side, a runtime.

The API server here knows paths and versions, and nothing of validation or admission.
"""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from netclaim.framework import Driver, Settings, run_driver
from netclaim.framework.tools.clock import Clock
from netclaim.kubelet import DraClient, PluginSockets, register
from netclaim.model import Claim, JsonObject
from netclaim.nri import Runtime, RuntimeSettings, listening

GROUP = "/apis/resource.k8s.io/v1"
SLICES = f"{GROUP}/resourceslices"


class ApiServer:
    """Objects by their path."""

    def __init__(self) -> None:
        self.url = ""
        self.objects: dict[str, JsonObject] = {}
        self.statuses: asyncio.Queue[tuple[str, list[JsonObject]]] = asyncio.Queue()
        self._version = 0
        self._changed = asyncio.Event()

    def put(self, path: str, obj: JsonObject) -> JsonObject:
        """Store an object under its path."""
        self._version += 1
        meta = {"uid": f"u{self._version}"} | obj["metadata"]
        stored = obj | {"metadata": meta | {"resourceVersion": str(self._version)}}
        self.objects[path] = stored
        self._changed.set()
        self._changed = asyncio.Event()
        return stored

    def put_claim(self, claim: Claim) -> None:
        """Store a claim as allocated and reserved."""
        results = [
            {"request": d.request, "driver": d.driver, "pool": d.pool, "device": d.device}
            for d in claim.devices
        ]
        obj = {
            "metadata": {"name": claim.name, "namespace": claim.namespace, "uid": claim.uid},
            "spec": {"devices": {}},
            "status": {
                "allocation": {"devices": {"results": results}},
                "reservedFor": [
                    {"resource": c.resource, "name": c.name, "uid": c.uid}
                    for c in claim.reserved_for
                ],
            },
        }
        self.put(f"{GROUP}/namespaces/{claim.namespace}/resourceclaims/{claim.name}", obj)

    def published(self) -> list[str]:
        """The names of all published devices."""
        slices = [obj for path, obj in self.objects.items() if path.startswith(SLICES)]
        return sorted(d["name"] for obj in slices for d in obj["spec"].get("devices", []))

    async def wait_for(self, fact: Callable[[], bool]) -> None:
        """Return once the fact holds after a change."""
        while not fact():
            await self._changed.wait()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        path = request.path
        if request.query.get("watch"):
            return await self._watch(request)
        if request.method == "GET":
            return self._get(path)
        obj = msgspec.json.decode(await request.read())
        if request.query.get("dryRun"):
            return web.json_response(obj)
        if request.method == "POST":
            return web.json_response(self.put(f"{path}/{obj['metadata']['name']}", obj))
        if request.method == "PUT":
            return web.json_response(self.put(path, obj))
        return self._apply(path.removesuffix("/status"), obj)

    def _get(self, path: str) -> web.Response:
        if path == "/apis/resource.k8s.io":
            return web.json_response({"versions": [{"version": "v1"}]})
        if path == SLICES:
            items = [obj for key, obj in self.objects.items() if key.startswith(SLICES)]
            meta = {"resourceVersion": str(self._version)}
            return web.json_response({"metadata": meta, "items": items})
        if path in self.objects:
            return web.json_response(self.objects[path])
        return web.json_response({"code": 404, "reason": "NotFound"}, status=404)

    def _apply(self, path: str, body: Any) -> web.Response:
        known = self.objects[path]
        if known["metadata"]["uid"] != body["metadata"]["uid"]:
            return web.json_response({"code": 409, "reason": "Conflict"}, status=409)
        obj = copy.deepcopy(known)
        obj["status"]["devices"] = body["status"]["devices"]
        self.statuses.put_nowait((obj["metadata"]["name"], body["status"]["devices"]))
        return web.json_response(self.put(path, obj))

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        seen = request.query["resourceVersion"]
        while True:
            changed = self._changed
            for path, obj in tuple(self.objects.items()):
                if path.startswith(SLICES) and int(obj["metadata"]["resourceVersion"]) > int(seen):
                    event = {"type": "MODIFIED", "object": obj}
                    await response.write(msgspec.json.encode(event) + b"\n")
            seen = str(self._version)
            await changed.wait()


@asynccontextmanager
async def api_server() -> AsyncIterator[ApiServer]:
    """Run one on a free port of loopback, with the node in it."""
    api = ApiServer()
    api.put("/api/v1/nodes/node-1", {"metadata": {"name": "node-1", "uid": "node-uid"}})
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", api.handle)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        api.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield api
    finally:
        await runner.cleanup()


def settings_in(root: Path, api: ApiServer, **changes: Any) -> Settings:
    """Settings that keep a driver within a directory."""
    for name in ("plugins", "plugins_registry"):
        (root / "kubelet" / name).mkdir(parents=True, exist_ok=True)
    kubeconfig = {
        "clusters": [{"name": "c", "cluster": {"server": api.url}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
        "current-context": "c",
    }
    (root / "net.d").mkdir(exist_ok=True)
    (root / "net.d/10-pods.conflist").write_text(
        '{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "ptp"}]}'
    )
    (root / "kubeconfig").write_bytes(msgspec.json.encode(kubeconfig))
    places: dict[str, Any] = {
        "node_name": "node-1",
        "kubeconfig": str(root / "kubeconfig"),
        "state_dir": root / "state",
        "kubelet_dir": root / "kubelet",
        "nri_socket": root / "nri.sock",
        "cdi_dir": root / "cdi",
        "run_dir": root / "run",
        "cni_conf_dir": root / "net.d",
        "cni_program_dir": root / "bin",
        "runtime_socket": root / "cri.sock",
        "http_address": "",
    }
    return Settings(**(places | changes))


@asynccontextmanager
async def served(
    driver: Driver, settings: Settings, *, clock: Clock | None = None
) -> AsyncIterator[DraClient]:
    """A running driver that kubelet has registered; stopped as by SIGTERM at the end."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run_driver(driver, settings, clock=clock))
        sockets = PluginSockets.under(settings.kubelet_dir, driver.name, settings.instance)
        registered = await register(sockets.registration)
        async with DraClient(registered) as kubelet:
            yield kubelet
        running.cancel()


@asynccontextmanager
async def runtime_at(settings: Settings) -> AsyncIterator[Runtime]:
    """A container runtime on the settings' NRI socket."""
    runtime = Runtime(RuntimeSettings())
    with listening(settings.nri_socket) as listener:
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(runtime.serve(listener))
            yield runtime
            serving.cancel()
