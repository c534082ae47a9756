"""A controller that runs on an embedded API server, for tests."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from netclaim.controller.process.run import Controller
from netclaim.controller.settings import ControllerSettings
from netclaim.local.api import Store, Verbs
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import (
    CLAIM,
    CLASS,
    NAMESPACE,
    NODE,
    POD,
    POD_NETWORK,
    SLICE,
    TEMPLATE,
    Kind,
)
from netclaim.schema.refusal import RefusedError
from netclaim.tasks import TaskScope
from tests.support.local.parts import new_verbs, serving

DRIVER = "cni.dra.networking.x-k8s.io"
PATIENCE_S = 60.0
SPEC: dict[str, Any] = {"type": "macvlan", "parent": {"name": "eth1"}}


@dataclass(frozen=True, slots=True)
class World:
    """A cluster's objects, with short ways to write them and to wait for others to."""

    verbs: Verbs

    @property
    def store(self) -> Store:
        """The objects."""
        return self.verbs.store

    def create(self, kind: Kind, name: str, namespace: str = "", **fields: Any) -> JsonObject:
        """Create an object; `labels`, `annotations` and `ownerReferences` are metadata."""
        meta: JsonObject = {"name": name}
        for key in ("labels", "annotations", "ownerReferences"):
            if key in fields:
                meta[key] = fields.pop(key)
        head = {"apiVersion": kind.addresses[0].api_version, "kind": kind.name}
        body = {**head, "metadata": meta, **fields}
        return self.verbs.create(kind, body, manager="test", namespace=namespace)

    def network(self, name: str = "media-net", **spec: Any) -> JsonObject:
        """Create a network."""
        return self.create(POD_NETWORK, name, spec={**SPEC, **spec})

    def change(self, kind: Kind, name: str, namespace: str = "", **fields: Any) -> None:
        """Replace fields of an object."""
        live = self.verbs.get(kind, name, namespace)
        self.verbs.update(kind, {**live, **fields}, manager="test")

    def label(self, namespace: str, **labels: str) -> None:
        """Replace the labels of a namespace."""
        live = self.verbs.get(NAMESPACE, namespace)
        meta = {**live["metadata"], "labels": labels}
        self.verbs.update(NAMESPACE, {**live, "metadata": meta}, manager="test")

    def node(self, name: str, *links: str) -> None:
        """Add a node whose driver has published links."""
        self.create(NODE, name)
        attributes = [{"name": {"string": link}, "kind": {"string": "device"}} for link in links]
        devices = [
            {"name": link, "attributes": each} for link, each in zip(links, attributes, strict=True)
        ]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        if links:
            spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
            self.create(SLICE, f"{name}-slice", spec=spec)

    def claim(
        self, name: str, class_name: str, *, pod: JsonObject, ready: bool, driver: str = DRIVER
    ) -> None:
        """Add a claim that was allocated on `node-a` for a pod, and what its driver says."""
        request = {"name": "nic", "exactly": {"deviceClassName": class_name}}
        namespace = pod["metadata"]["namespace"]
        made = self.create(CLAIM, name, namespace, spec={"devices": {"requests": [request]}})
        device = {"driver": driver, "pool": "node-a", "device": "eth1"}
        condition = {
            "type": "Ready",
            "status": "True" if ready else "False",
            "reason": "Test",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        meta = pod["metadata"]
        status = {
            "allocation": {"devices": {"results": [{"request": "nic", **device}]}},
            "reservedFor": [{"resource": "pods", "name": meta["name"], "uid": meta["uid"]}],
            "devices": [{**device, "conditions": [condition]}],
        }
        whole = {**made, "status": status}
        self.verbs.update(CLAIM, whole, manager="test", subresource="status")

    def pod(self, name: str, namespace: str = "default") -> JsonObject:
        """Add a pod."""
        spec = {"containers": [{"name": "c", "image": "i"}]}
        return self.create(POD, name, namespace, spec=spec)

    def templates(self, name: str = "media-net") -> set[str]:
        """The namespaces that have a template of this name."""
        return {
            found["metadata"]["namespace"]
            for found in self.store.list(TEMPLATE)
            if found["metadata"]["name"] == name
        }

    def classes(self) -> set[str]:
        """The names of all classes."""
        return {found["metadata"]["name"] for found in self.store.list(CLASS)}

    def status(self, name: str = "media-net") -> JsonObject:
        """The status of a network; empty if it has none."""
        found = self.store.get(POD_NETWORK, name) or {}
        status: JsonObject = found.get("status", {})
        return status

    def ready(self, name: str = "media-net") -> JsonObject:
        """The condition Ready of a network; empty if it has none."""
        conditions = self.status(name).get("conditions", ())
        return next((each for each in conditions if each["type"] == "Ready"), {})

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(PATIENCE_S):
            await self.store.wait_for(holds)


class Closed(Verbs):
    """A server that lets nobody write templates in the namespace `closed`."""

    def create(self, kind: Kind, body: JsonObject, **options: Any) -> JsonObject:
        """Create an object, or refuse it."""
        if kind is TEMPLATE and options.get("namespace") == "closed":
            raise RefusedError(403, "Forbidden", "exceeded quota")
        return super().create(kind, body, **options)


class Bounded(Verbs):
    """A server with the chart's policy for what the controller deletes; the test may do all."""

    def __init__(self, store: Store, *more: Any) -> None:
        super().__init__(store, *more)
        self.denied: list[str] = []

    def delete(self, kind: Kind, name: str, namespace: str = "", **options: Any) -> JsonObject:
        """Delete an object, or refuse it. Only the controller's requests say which state it is."""
        old = self.store.get(kind, name, namespace)
        if kind is TEMPLATE and old is not None and options.get("resource_version"):
            meta = old["metadata"]
            label = meta.get("labels", {}).get("cni.networking.x-k8s.io/pod-network")
            owners = [one["name"] for one in meta.get("ownerReferences", ())]
            copy_of = meta.get("annotations", {}).get("cni.networking.x-k8s.io/copy-of")
            if not (label == name and name in owners) and copy_of != f"admin/{name}":
                self.denied.append(name)
                raise RefusedError(403, "Forbidden", "not the controller's")
        return super().delete(kind, name, namespace, **options)


class Held(Verbs):
    """A server on which no template can be deleted, as a webhook may have it."""

    def delete(self, kind: Kind, name: str, namespace: str = "", **options: Any) -> JsonObject:
        """Delete an object, or refuse it."""
        if kind is TEMPLATE:
            raise RefusedError(403, "Forbidden", "held by a webhook")
        return super().delete(kind, name, namespace, **options)


@asynccontextmanager
async def controlled(
    *namespaces: str,
    template_namespace: str = "",
    network_namespaces: frozenset[str] = frozenset(),
    server: type[Verbs] = Verbs,
    earlier: Callable[[World], None] = lambda _: None,
    known: World | None = None,
    count_addresses: bool = True,
) -> AsyncIterator[World]:
    """A cluster with these namespaces, and a controller that runs; `earlier` comes before it.

    `known` is a cluster whose controller has ended.
    """
    verbs = known.verbs if known is not None else new_verbs(*namespaces, server=server)
    earlier(World(verbs))
    settings = ControllerSettings(
        DRIVER,
        template_namespace=template_namespace,
        network_namespaces=network_namespaces,
        count_addresses=count_addresses,
    )
    async with serving(verbs) as client, TaskScope() as tasks:
        controller = await Controller.of(client, settings)
        tasks.start(controller.run())
        yield World(verbs)
