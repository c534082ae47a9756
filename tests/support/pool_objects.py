"""The API server's objects as a driver reaches them, in memory, for tests of pools and leases."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from netclaim.kube import Resource
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import ADDRESS_LEASE
from netclaim.schema.selector import parse_selector

POOL: Final[JsonObject] = {
    "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
    "kind": "AddressPool",
    "metadata": {"name": "media", "uid": "pool-1", "generation": 1},
    "spec": {"ranges": [{"cidr": "10.1.0.0/24"}]},
    "status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]},
}


def pool(spec: JsonObject | None = None, **changes: Any) -> JsonObject:
    """A pool that the controller has found good."""
    return {**POOL, "spec": {**POOL["spec"], **(spec or {})}, **changes}


class StoredObjects:
    """`framework.Objects` on dictionaries. `before` is called before each request is served."""

    def __init__(self, *pools: JsonObject) -> None:
        self.stored: dict[tuple[str, str], JsonObject] = {}
        self.requests: list[str] = []
        self.before: Callable[[str], None] = lambda _: None
        self.after: Callable[[str], None] = lambda _: None  # the answer may be lost
        self.during: dict[str, Callable[[], Awaitable[None]]] = {}  # once, before it is served
        self._version = 0
        for each in pools:
            self.stored["addresspools", each["metadata"]["name"]] = each

    def leases(self) -> dict[str, str]:
        """The claim of each leased address, by UID."""
        return {
            each["spec"]["address"]: each["spec"]["claim"]["uid"]
            for (plural, _), each in self.stored.items()
            if plural == "addressleases"
        }

    async def get(self, resource: Resource, name: str, *, namespace: str = "") -> JsonObject | None:
        self._begin("get")
        await self._meanwhile("get")
        return self.stored.get((resource.plural, name))

    async def find(self, resource: Resource, labels: str) -> Sequence[JsonObject]:
        self._begin("find")
        await self._meanwhile("find")
        selector = parse_selector(labels, "", ADDRESS_LEASE)
        return [
            each
            for (plural, _), each in self.stored.items()
            if plural == resource.plural and selector.selects(each)
        ]

    async def create(self, resource: Resource, wanted: JsonObject) -> JsonObject | None:
        self._begin("create")
        await self._meanwhile("create")
        key = resource.plural, wanted["metadata"]["name"]
        if key in self.stored:
            return None
        made = self._put(key, {**wanted["metadata"], "uid": f"uid-{self._version + 1}"}, wanted)
        self.after("create")
        return made

    async def replace(self, resource: Resource, wanted: JsonObject) -> JsonObject | None:
        self._begin("replace")
        key = resource.plural, wanted["metadata"]["name"]
        if not self._is_same(key, wanted["metadata"]):
            return None
        made = self._put(key, wanted["metadata"], wanted)
        self.after("replace")
        return made

    async def delete(self, resource: Resource, found: JsonObject) -> None:
        self._begin("delete")
        key = resource.plural, found["metadata"]["name"]
        if self._is_same(key, found["metadata"]):
            del self.stored[key]
        self.after("delete")

    async def _meanwhile(self, verb: str) -> None:
        if verb in self.during:
            await self.during.pop(verb)()

    def _begin(self, verb: str) -> None:
        self.before(verb)
        self.requests.append(verb)

    def _is_same(self, key: tuple[str, str], meta: JsonObject) -> bool:
        stored = self.stored.get(key, {"metadata": {}})["metadata"]
        return all(stored.get(each) == meta[each] for each in ("uid", "resourceVersion"))

    def _put(self, key: tuple[str, str], meta: JsonObject, wanted: JsonObject) -> JsonObject:
        self._version += 1
        generation = self.stored.get(key, {"metadata": {}})["metadata"].get("generation", 0) + 1
        meta = {**meta, "resourceVersion": str(self._version), "generation": generation}
        self.stored[key] = {**wanted, "metadata": meta}
        return self.stored[key]
