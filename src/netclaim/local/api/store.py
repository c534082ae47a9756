"""The cluster's objects in memory: each change has a number, and recent changes are remembered.

Promise: an object that was returned never changes; a change is a new object. A waiting caller sees
every change once, in order. Limit: older changes are forgotten, and a caller that asks for them has
to list again, as with etcd after a compaction.
"""

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Final

from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import Kind
from netclaim.schema.refusal import expired

REMEMBERED: Final = 10_000  # changes: some minutes of a busy cluster, a few MiB


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one object: created (`old` is None), changed, or deleted (`new` is None)."""

    revision: int
    kind: Kind
    old: JsonObject | None
    new: JsonObject | None

    @property
    def object(self) -> JsonObject:
        """The object as it is now, or its last state."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


class Store:
    """Objects by kind, namespace and name."""

    def __init__(self, *, remembered: int = REMEMBERED) -> None:
        self._objects: dict[str, dict[tuple[str, str], JsonObject]] = {}
        self._ordered: dict[str, list[tuple[str, str]]] = {}  # the keys, until one comes or goes
        self._changes: deque[Change] = deque(maxlen=remembered)
        self._revision = 0
        self._changed = asyncio.Event()

    @property
    def revision(self) -> int:
        """The number of the last change."""
        return self._revision

    def get(self, kind: Kind, name: str, namespace: str = "") -> JsonObject | None:
        """Return an object; None if it does not exist."""
        return self._objects.get(kind.name, {}).get((namespace, name))

    def list(
        self, kind: Kind, namespace: str = "", *, after: tuple[str, str] = ("", "")
    ) -> Iterator[JsonObject]:
        """Yield all objects of a kind behind a key, in the order of namespace and name."""
        found = self._objects.get(kind.name, {})
        keys = self._ordered.get(kind.name)
        if keys is None:
            keys = self._ordered[kind.name] = sorted(found)
        for key in islice(keys, bisect_right(keys, after), None):
            if not namespace or key[0] == namespace:
                yield found[key]

    def put(self, kind: Kind, obj: JsonObject) -> JsonObject:
        """Store an object, new or replacing the one of its name; returns it with its version."""
        self._revision += 1
        meta = obj["metadata"]
        stored = {**obj, "metadata": {**meta, "resourceVersion": str(self._revision)}}
        objects = self._objects.setdefault(kind.name, {})
        key = (meta.get("namespace", ""), meta["name"])
        if key not in objects:
            self._ordered.pop(kind.name, None)
        self._tell(Change(self._revision, kind, objects.get(key), stored))
        objects[key] = stored
        return stored

    def remove(self, kind: Kind, obj: JsonObject) -> JsonObject:
        """Delete an object; returns its last state, with the version of its deletion."""
        self._revision += 1
        meta = obj["metadata"]
        last = {**obj, "metadata": {**meta, "resourceVersion": str(self._revision)}}
        del self._objects[kind.name][meta.get("namespace", ""), meta["name"]]
        self._ordered.pop(kind.name, None)
        self._tell(Change(self._revision, kind, last, None))
        return last

    def since(self, revision: int) -> tuple[Change, ...]:
        """Return the changes after a revision."""
        if revision < self._revision - len(self._changes):
            raise expired(f"too old resource version: {revision}")
        newer = takewhile(lambda change: change.revision > revision, reversed(self._changes))
        return tuple(newer)[::-1]

    async def wait_after(self, revision: int) -> None:
        """Return once there is a change after a revision."""
        while self._revision <= revision:
            await self._changed.wait()

    async def wait_for(self, fact: Callable[[], bool]) -> None:
        """Return once a fact about the objects holds."""
        while not fact():
            await self.wait_after(self._revision)

    def _tell(self, change: Change) -> None:
        self._changes.append(change)
        self._changed.set()
        self._changed = asyncio.Event()
