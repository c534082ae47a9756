"""Watch the pods, claims and leases of a pool, one change after the other.

Promise: every change is seen, from the beginning to the end; two claims that report one address,
and a lease that goes from one claim to another without ending, are faults. Limit: when the API
server has forgotten the changes that come next, all is listed anew, which `lists` counts.
"""

import asyncio
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any, Protocol

from netclaim.controller.cluster.objects import ADDRESS_LEASES
from netclaim.kube import (
    PODS,
    Client,
    Deleted,
    Reflector,
    Resource,
    Selection,
    Synced,
    connect,
    dra_resource,
    load_cluster,
)


class Note(Protocol):
    """Notes an object as it is, or as it was last."""

    def __call__(self, found: dict[str, Any], /, *, there: bool) -> None:
        """Note it."""


@dataclass
class PoolWitness:
    """What there is of pods, claims and leases now, and what was wrong so far."""

    faults: list[str] = field(default_factory=list)
    changes: int = 0
    lists: int = 0  # three at the beginning; each other one may have hidden some changes
    ready: set[str] = field(default_factory=set)  # pods that are not about to end
    unschedulable: set[str] = field(default_factory=set)
    leased: dict[str, str] = field(default_factory=dict)  # addresses: the claim's UID
    _reported: dict[str, set[str]] = field(default_factory=dict)  # addresses, by claims' UIDs

    def pod(self, pod: dict[str, Any], *, there: bool) -> None:
        """Note a pod."""
        name = pod["metadata"]["name"]
        self.ready.discard(name)
        self.unschedulable.discard(name)
        if not there or "deletionTimestamp" in pod["metadata"]:
            return
        conditions = {each["type"]: each for each in pod["status"].get("conditions", ())}
        if conditions.get("Ready", {}).get("status") == "True":
            self.ready.add(name)
        if conditions.get("PodScheduled", {}).get("reason") == "Unschedulable":
            self.unschedulable.add(name)

    def claim(self, claim: dict[str, Any], *, there: bool) -> None:
        """Note a claim: no other may report its addresses."""
        uid = claim["metadata"]["uid"]
        devices = claim.get("status", {}).get("devices", ())
        mine = {ip for each in devices for ip in each.get("networkData", {}).get("ips", ())}
        self._reported.pop(uid, None)
        if not there:
            return
        for other, theirs in self._reported.items():
            if both := mine & theirs:
                self.faults.append(f"{both} of the claims {uid} and {other}")
        self._reported[uid] = mine

    def lease(self, lease: dict[str, Any], *, there: bool) -> None:
        """Note a lease: it ends before another claim has it."""
        name, uid = lease["metadata"]["name"], lease["spec"]["claim"]["uid"]
        before = self.leased.pop(name, uid)
        if before != uid:
            self.faults.append(f"{name} went from the claim {before} to {uid}")
        if there:
            self.leased[name] = uid

    @contextmanager
    def watching(self, kubeconfig: Path) -> Iterator[None]:
        """Follow them while the block runs."""
        ending = Event()
        thread = Thread(
            target=lambda: asyncio.run(self._follow(kubeconfig, ending)), name="witness"
        )
        thread.start()
        try:
            yield
            if not thread.is_alive():
                self.faults.append("nobody follows pods, claims and leases any more")
        finally:
            ending.set()
            thread.join()

    async def _follow(self, kubeconfig: Path, ending: Event) -> None:
        async with connect(load_cluster(str(kubeconfig))) as client:
            tasks = [
                asyncio.create_task(self._note_all(client, resource, note))
                for resource, note in (
                    (PODS, self.pod),
                    (dra_resource("ResourceClaim", "v1"), self.claim),
                    (ADDRESS_LEASES, self.lease),
                )
            ]
            await asyncio.to_thread(ending.wait)
            if any(each.done() for each in tasks):
                self.faults.append("somebody has stopped to follow")
        for each in tasks:  # after their connections, which are closed when the block has ended
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _note_all(self, client: Client, resource: Resource, note: Note) -> None:
        namespace = "default" if resource.namespaced else ""
        reflector = Reflector(client, Selection(resource, namespace))
        known: dict[str, dict[str, Any]] = {}
        async with aclosing(reflector.changes()) as changes:
            async for change in changes:
                self.changes += 1
                if isinstance(change, Synced):
                    self.lists += 1
                    there = {each["metadata"]["name"]: each for each in change.objects}
                    for name in known.keys() - there.keys():
                        note(known[name], there=False)
                    for each in change.objects:
                        note(each, there=True)
                    known = there
                    continue
                there_now = not isinstance(change, Deleted)
                name = change.object["metadata"]["name"]
                known.pop(name, None)
                if there_now:
                    known[name] = change.object
                note(change.object, there=there_now)
