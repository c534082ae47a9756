"""A stand-in for the API server's ResourceSlices of one driver and node."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Sequence

from netclaim.errors import PeerError
from netclaim.framework.publish.slices import Create, Delete, Operation, Update
from netclaim.model import JsonObject


class SliceServer:
    """Stores slices as the API server does: versions, preconditions, dropped fields.

    `admit` may change an object on its way in, as a feature gate or a webhook does.
    """

    def __init__(self) -> None:
        self.objects: dict[str, JsonObject] = {}
        self.operations: list[Operation] = []
        self.faults: list[Exception] = []
        self.probes = 0
        self.admit: Callable[[JsonObject], None] = lambda obj: None
        self._version = 0
        self._changed = asyncio.Event()

    async def watch(self) -> AsyncIterator[Sequence[JsonObject]]:
        """All slices now, and after each change."""
        while True:
            changed = self._changed
            yield copy.deepcopy(list(self.objects.values()))
            await changed.wait()

    async def wait_for(self, fact: Callable[[], bool]) -> None:
        """Return once the fact holds after a change."""
        while not fact():
            await self._changed.wait()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def write(self, operation: Operation) -> JsonObject | None:
        """Carry out, or refuse as the API server would."""
        await asyncio.sleep(0)
        if self.faults:
            raise self.faults.pop(0)
        self.operations.append(operation)
        return self.carry_out(operation)

    async def probe(self, obj: JsonObject) -> JsonObject | None:
        """What would be stored of it."""
        await asyncio.sleep(0)
        self.probes += 1
        tried = copy.deepcopy(obj)
        self.admit(tried)
        return tried

    def carry_out(self, operation: Operation) -> JsonObject | None:
        """One operation, with its preconditions."""
        match operation:
            case Delete(name=name, uid=uid, resource_version=version):
                meta = self.objects[name]["metadata"]
                if (meta["uid"], meta["resourceVersion"]) != (uid, version):
                    raise PeerError("conflict")
                del self.objects[name]
                self._tell()
                return None
            case Create(obj=obj):
                if obj["metadata"]["name"] in self.objects:
                    raise PeerError("already exists")
                return self.store(obj)
            case Update(obj=obj):
                known = self.objects[obj["metadata"]["name"]]["metadata"]
                if known["resourceVersion"] != obj["metadata"]["resourceVersion"]:
                    raise PeerError("conflict")
                return self.store(obj)

    def store(self, obj: JsonObject) -> JsonObject:
        """Keep an object as the server keeps it; what it returns."""
        self._version += 1
        stored = copy.deepcopy(obj)
        self.admit(stored)
        name = stored["metadata"]["name"]
        uid = self.objects[name]["metadata"]["uid"] if name in self.objects else f"u{self._version}"
        stored["metadata"] |= {"uid": uid, "resourceVersion": str(self._version)}
        if not stored["spec"].get("devices"):
            stored["spec"].pop("devices", None)  # empty fields are left out
        self.objects[name] = stored
        self._tell()
        return copy.deepcopy(stored)

    def remove(self, *names: str) -> None:
        """Somebody deletes slices; all of them if none is named, as kubelet does when it starts."""
        for name in names or tuple(self.objects):
            del self.objects[name]
        self._tell()

    def device_names(self) -> list[str]:
        """The names of all published devices."""
        return [
            device["name"]
            for obj in self.objects.values()
            for device in obj["spec"].get("devices", [])
        ]
