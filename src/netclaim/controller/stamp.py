"""Copy an admin's claim template into the namespaces that it names, for classes of any driver.

    metadata:
      namespace: netclaim-system        the namespace that the settings name, and no other
      annotations: {cni.networking.x-k8s.io/copy-to: "team=media"}   a label selector; "" is all

Promise: a copy has its original's labels and spec, and is deleted when the original, its annotation
or the namespace's label goes. A template that is not such a copy is never changed, and a namespace
that refuses its copy keeps nothing from the others. Only one namespace is looked at for originals:
who can write templates somewhere could otherwise write them anywhere. Likewise, a template that
says it is a copy is one only if it has the name that the copy would have.
"""

from collections.abc import Awaitable, Iterator
from typing import Any, Final

import structlog

from netclaim.controller.cluster.objects import Objects, some_at_a_time
from netclaim.controller.cluster.slim import COPY_OF, COPY_TO
from netclaim.controller.cluster.watches import Watches
from netclaim.controller.networks.objects import MADE_OF, digest_of, made_of
from netclaim.kube import AlreadyExistsError, ConflictError, NotFoundError
from netclaim.kube.watch import Key
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import TEMPLATE
from netclaim.schema.refusal import RefusedError
from netclaim.schema.selector import parse_selector

log = structlog.get_logger(__name__)

KIND: Final = "ResourceClaimTemplate"


class Stamp:
    """The controller of copied templates."""

    def __init__(self, objects: Objects, watches: Watches, namespace: str) -> None:
        self._objects = objects
        self._watches = watches
        self._namespace = namespace
        self._names: frozenset[str] = frozenset()  # of the originals, at the last look

    def concerns(self, found: JsonObject) -> bool:
        """Whether a template is an original or a copy, or has stood in the way of a copy."""
        if not self._namespace:
            return False
        namespace, name = _key(found)
        is_original = namespace == self._namespace and COPY_TO in _annotations(found)
        return is_original or name in self._names or self._is_copy(found)

    async def reconcile(self) -> None:
        """Make the copies what they should be."""
        if not self._namespace:
            return
        store = self._watches.store(KIND)
        wanted = {_key(copy): copy for copy in self._wanted()}
        self._names = frozenset(name for _, name in wanted)
        work: dict[str, Awaitable[Any]] = {}
        for key, live in store.items():
            copy = wanted.pop(key, None)
            if self._is_copy(live) and (copy is None or made_of(live) != made_of(copy)):
                work["/".join(key)] = self._replace(live, copy)
        work |= {"/".join(key): self._create(copy) for key, copy in wanted.items()}
        for error in (await some_at_a_time(work)).values():
            raise error

    def _is_copy(self, found: JsonObject) -> bool:
        namespace, name = _key(found)
        says = _annotations(found).get(COPY_OF)
        return namespace != self._namespace and says == f"{self._namespace}/{name}"

    def _wanted(self) -> Iterator[JsonObject]:
        for (namespace, name), found in self._watches.store(KIND).items():
            selector = _annotations(found).get(COPY_TO)
            if namespace != self._namespace or selector is None:
                continue
            try:
                chosen = parse_selector(selector, "", TEMPLATE)
            except RefusedError as error:
                log.warning("stamp.bad_selector", template=name, error=error.message)
                continue
            copy = _copy(found)
            for target in self._watches.store("Namespace").values():
                meta = target["metadata"]
                is_own = meta["name"] == namespace
                if not is_own and "deletionTimestamp" not in meta and chosen.selects(target):
                    head = {**copy["metadata"], "namespace": meta["name"]}
                    yield {**copy, "metadata": head}

    async def _replace(self, live: JsonObject, copy: JsonObject | None) -> None:
        """Delete a copy, and make it again, if there should be one: its spec cannot be changed."""
        await self._delete(live)
        if copy is not None:
            await self._create(copy)

    async def _create(self, copy: JsonObject) -> None:
        meta = copy["metadata"]
        try:
            await self._objects.create(copy)
        except (AlreadyExistsError, NotFoundError):  # somebody else's, or no such namespace
            return
        log.info("stamp.made", namespace=meta["namespace"], template=meta["name"])

    async def _delete(self, live: JsonObject) -> None:
        try:
            await self._objects.delete(KIND, live)
        except (NotFoundError, ConflictError):
            return
        meta = live["metadata"]
        log.info("stamp.taken_away", namespace=meta["namespace"], template=meta["name"])


def _copy(found: JsonObject) -> JsonObject:
    """The copy of a template, but for its namespace."""
    meta, spec = found["metadata"], found["spec"]
    labels = meta.get("labels") or {}
    original = f"{meta['namespace']}/{meta['name']}"
    annotations = {COPY_OF: original, MADE_OF: digest_of([labels, spec])}
    head: JsonObject = {"name": meta["name"], "annotations": annotations}
    if labels:
        head["labels"] = labels
    return {"apiVersion": "resource.k8s.io/v1", "kind": KIND, "metadata": head, "spec": spec}


def _key(found: JsonObject) -> Key:
    return found["metadata"]["namespace"], found["metadata"]["name"]


def _annotations(found: JsonObject) -> dict[str, str]:
    annotations: dict[str, str] = found["metadata"].get("annotations") or {}
    return annotations
