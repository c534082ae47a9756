"""The pods of the namespaces that have a Service of a network, followed.

Promise: pods of other namespaces are never read; in most clusters that is nearly all of them, and
their status changes all the time. A namespace is followed once however many Services it has, and of
a pod only that is kept which endpoints need.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Final

from netclaim.kube import PODS, Client, Pace, Reflector, Selection
from netclaim.kube.watch import Key, Synced
from netclaim.model.claims.claim import JsonObject
from netclaim.model.on_node.pod import ENDED

META: Final = ("name", "namespace", "uid", "resourceVersion", "labels", "deletionTimestamp")


class ServicePods:
    """The pods of some namespaces; `changed` is called with a namespace whose pods changed."""

    def __init__(self, client: Client, pace: Pace, changed: Callable[[str], None]) -> None:
        self._client = client
        self._pace = pace
        self._changed = changed
        self._followed: dict[str, tuple[Reflector, asyncio.Task[None]]] = {}
        self._synced: set[str] = set()
        self._wanted: frozenset[str] = frozenset()
        self._some = asyncio.Event()

    def follow(self, namespaces: Iterable[str]) -> None:
        """Follow these namespaces and no others, as soon as `run` comes to it."""
        self._wanted = frozenset(namespaces)
        self._some.set()

    def of(self, namespace: str) -> Mapping[Key, JsonObject] | None:
        """The pods of a namespace; None before they were listed."""
        return self._followed[namespace][0].store if namespace in self._synced else None

    def faults(self) -> list[str]:
        """Why some may be behind, in words."""
        found = ((name, each.fault) for name, (each, _) in self._followed.items())
        return [f"pods of {name}: {fault}" for name, fault in found if fault is not None]

    async def run(self) -> None:
        """Follow what is wanted until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._some.wait()
                self._some.clear()
                for namespace in self._followed.keys() - self._wanted:
                    self._followed.pop(namespace)[1].cancel()
                    self._synced.discard(namespace)
                for namespace in self._wanted - self._followed.keys():
                    selection = Selection(PODS, namespace)
                    reflector = Reflector(
                        self._client, selection, convert=slim_pod, pace=self._pace
                    )
                    task = group.create_task(self._follow(namespace, reflector))
                    self._followed[namespace] = reflector, task

    async def _follow(self, namespace: str, reflector: Reflector) -> None:
        async with aclosing(reflector.changes()) as changes:
            async for change in changes:
                if isinstance(change, Synced):
                    self._synced.add(namespace)
                self._changed(namespace)


def slim_pod(found: JsonObject) -> JsonObject:
    """Of a pod: what its endpoints are made of."""
    meta, spec, status = found["metadata"], found.get("spec", {}), found.get("status", {})
    conditions = status.get("conditions") or ()
    return {
        "metadata": {key: meta[key] for key in META if key in meta},
        "ready": any(each["type"] == "Ready" and each["status"] == "True" for each in conditions),
        "ended": status.get("phase") in ENDED,
        "node": spec.get("nodeName", ""),
        "hostname": spec.get("hostname", ""),
        "subdomain": spec.get("subdomain", ""),
        "ports": list(_named_ports(spec)),
    }


def _named_ports(spec: JsonObject) -> Iterable[list[Any]]:
    """The ports that containers name; of init containers only those that go on running."""
    sidecars = (
        each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"
    )
    for container in (*(spec.get("containers") or ()), *sidecars):
        for port in container.get("ports") or ():
            if name := port.get("name"):
                yield [name, port.get("protocol", "TCP"), port["containerPort"]]
