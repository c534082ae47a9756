"""Copy an admin's claim template into the namespaces that it names, for classes of any driver.

    metadata:
      namespace: netclaim-system        the namespace that the settings name, and no other
      annotations: {cni.networking.x-k8s.io/copy-to: "team=media"}   a label selector; "" is all

Promise: a copy is kept like its original, and deleted when the original, its annotation or the
namespace's label goes. A template that is not such a copy is never changed, and a namespace that
refuses its copy keeps nothing from the others. Only one namespace is looked at for originals: who
can write templates somewhere could otherwise write them anywhere.
"""

from collections.abc import Awaitable, Iterator
from typing import Final

import structlog

from netclaim.controller.objects import Objects
from netclaim.controller.watches import COPY_OF, COPY_TO, Watches
from netclaim.errors import NetclaimError
from netclaim.kube import AlreadyExistsError, ConflictError, NotFoundError
from netclaim.model.claim import JsonObject
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

    async def reconcile(self) -> None:
        """Make the copies what they should be."""
        if not self._namespace:
            return
        store = self._watches.store(KIND)
        wanted = {_key(copy): copy for copy in self._wanted()}
        failed: list[NetclaimError] = []
        for key, live in list(store.items()):
            if _original(live) and (key not in wanted or live["spec"] != wanted[key]["spec"]):
                await _kept_going(self._delete(live), failed)
            elif key in wanted:
                del wanted[key]  # it is there, or somebody else's is
        for copy in wanted.values():
            await _kept_going(self._create(copy), failed)
        if failed:
            raise failed[0]

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
            for target in self._watches.store("Namespace").values():
                meta = target["metadata"]
                is_own = meta["name"] == namespace
                if not is_own and "deletionTimestamp" not in meta and chosen.selects(target):
                    yield _copy(found, meta["name"])

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


async def _kept_going(work: Awaitable[None], failed: list[NetclaimError]) -> None:
    try:
        await work
    except NetclaimError as error:
        failed.append(error)


def is_stamped(found: JsonObject) -> bool:
    """Whether a template is copied, or a copy."""
    return COPY_TO in _annotations(found) or bool(_original(found))


def _copy(found: JsonObject, namespace: str) -> JsonObject:
    meta = found["metadata"]
    annotations = {COPY_OF: f"{meta['namespace']}/{meta['name']}"}
    head = {"name": meta["name"], "namespace": namespace, "annotations": annotations}
    if labels := meta.get("labels"):
        head["labels"] = labels
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": KIND,
        "metadata": head,
        "spec": found["spec"],
    }


def _key(found: JsonObject) -> tuple[str, str]:
    return found["metadata"]["namespace"], found["metadata"]["name"]


def _annotations(found: JsonObject) -> dict[str, str]:
    annotations: dict[str, str] = found["metadata"].get("annotations") or {}
    return annotations


def _original(found: JsonObject) -> str:
    return _annotations(found).get(COPY_OF, "")
