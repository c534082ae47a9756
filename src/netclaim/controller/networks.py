"""PodNetworks: keep their classes, templates, finalizers and status.

Promise: `reconcile` compares what there is with what there should be, and writes the difference; a
second call writes nothing, also where the API server keeps less than it was given. An object of the
right name that belongs to somebody else is left alone, and the network's status says so. A
namespace that refuses its template keeps nothing from the others, and is tried again. A network
that was deleted gives back its name when nobody uses it any more; new pods cannot use it from the
moment of its deletion on.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import msgspec
import structlog

from netclaim.controller.available import Available
from netclaim.controller.objects import MANAGER, POD_NETWORKS, Objects
from netclaim.controller.wanted import (
    allowed_namespaces,
    is_offered,
    mistake_in,
    results_of,
    status_of,
    use_of,
    with_times,
)
from netclaim.controller.watches import Watches
from netclaim.errors import NetclaimError
from netclaim.kube import AlreadyExistsError, ConflictError, NotFoundError
from netclaim.model.api.base import ObjectError
from netclaim.model.api.claim import ResourceClaim
from netclaim.model.api.pod_network import PodNetwork
from netclaim.model.claim import JsonObject
from netclaim.network.pod_network import LABEL, SPEC, class_of, owner_of, template_of

log = structlog.get_logger(__name__)

FINALIZER: Final = "cni.networking.x-k8s.io/in-use"
# At a template: of what it was made. What the server has of it may differ for good: one that does
# not know a field leaves it out, and a later one adds defaults.
MADE_OF: Final = "cni.networking.x-k8s.io/made-of"
WRITES: Final = 16  # at a time; a namespace's template should not wait for a thousand others
CLASS_KIND: Final = "DeviceClass"
TEMPLATE_KIND: Final = "ResourceClaimTemplate"
Failures: TypeAlias = dict[str, NetclaimError]
"""What failed, by namespace; the empty one is the cluster."""


class Networks:
    """The controller of PodNetworks."""

    def __init__(
        self,
        objects: Objects,
        watches: Watches,
        driver: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._objects = objects
        self._watches = watches
        self._driver = driver
        self._now = now
        self._kept: dict[str, tuple[JsonObject, JsonObject]] = {}  # class: wanted, as stored
        self._available = Available(driver)

    def names(self) -> list[str]:
        """All networks there are."""
        return [name for _, name in self._watches.store("PodNetwork")]

    async def reconcile(self, name: str) -> None:
        """Make of a network what should be."""
        found = self._watches.store("PodNetwork").get(("", name))
        network = PodNetwork.read(found) if found is not None else None
        if network is None or not network.is_ours:
            await self._drop(name)
            if network is not None and FINALIZER in network.metadata.finalizers:
                await self._release(network)  # it was ours once
            return
        if not network.is_ending and FINALIZER not in network.metadata.finalizers:
            await self._set_finalizers(network, (*network.metadata.finalizers, FINALIZER))
        mistake = mistake_in(network, self._driver)
        offered = is_offered(network) and not mistake
        taken: list[str] = []  # the class, by somebody else
        passed_over: list[str] = []  # templates of others, each in a namespace of theirs
        failed: Failures = {}
        if not offered or not await self._keep_class(network, taken):
            await self._drop(name)
            namespaces: frozenset[str] = frozenset()
        else:
            namespaces = allowed_namespaces(network, self._watches.store("Namespace").values())
            failed = await self._keep_templates(network, namespaces, passed_over)
        use = use_of(name, self._driver, self._claims(name))
        if network.is_ending and not use.claims:
            await self._release(network)
            log.info("network.gone", network=name)
            return
        nodes = self._available.of(
            network,
            self._watches.revision("Node", "ResourceSlice"),
            [node for _, node in self._watches.store("Node")],
            self._watches.store("ResourceSlice").values(),
        )
        await self._report(
            network,
            status_of(
                network,
                mistake=mistake,
                taken="; ".join(taken),
                passed_over="; ".join([*passed_over, *_said(failed)][:3]),
                nodes=nodes,
                namespaces=max(0, len(namespaces) - len(passed_over) - len(failed)),
                use=use,
            ),
        )
        for error in failed.values():
            raise error

    def _claims(self, name: str) -> Iterable[ResourceClaim]:
        for found in self._watches.store("ResourceClaim").values():
            try:
                claim = ResourceClaim.read(found)
            except ObjectError:  # of a later version of the API; nobody else's network stops
                continue
            if name in claim.classes or results_of(name, self._driver, claim):
                yield claim

    async def _keep_class(self, network: PodNetwork, taken: list[str]) -> bool:
        """Keep the network's class; returns whether it has one."""
        wanted = _owned(class_of(network, self._driver), network)
        live = self._watches.store(CLASS_KIND).get(("", network.name))
        if live is not None and not _is_of(live, network):
            taken.append(f"the DeviceClass {network.name} belongs to somebody else")
            return False
        if live is None:
            return await self._create(wanted, network, taken)
        same_spec = live["spec"] == wanted["spec"] or self._kept.get(network.name) == (
            wanted["spec"],
            live["spec"],
        )
        if not same_spec or _text(live) != _text(wanted):
            stored = await self._objects.update(_over(live, wanted))
            self._kept[network.name] = wanted["spec"], stored["spec"]
            log.info("network.class_changed", network=network.name)
        return True

    async def _keep_templates(
        self, network: PodNetwork, namespaces: frozenset[str], taken: list[str]
    ) -> Failures:
        """Keep a template in each of the namespaces, and none elsewhere; returns what failed."""
        store = self._watches.store(TEMPLATE_KIND)
        work: dict[str, Awaitable[Any]] = {}
        wanted = _marked(_owned(template_of(network, ""), network))  # but for its namespace
        made_of, own = _made_of(wanted), network.name
        for namespace in sorted(namespaces):
            live = store.get((namespace, network.name))
            if live is None:
                work[namespace] = self._create(_placed(wanted, namespace), network, taken)
            elif not _is_of(live, network):
                taken.append(f"{TEMPLATE_KIND} {namespace}/{network.name} is not the network's")
            elif _made_of(live) != made_of:
                placed = _placed(wanted, namespace)
                work[namespace] = self._replace(live, placed, network, taken)
        work |= {
            namespace: self._delete(TEMPLATE_KIND, live)
            for (namespace, name), live in store.items()
            if name == own and namespace not in namespaces and _was_made(live)
        }
        return await _some_at_a_time(work)

    async def _replace(
        self, live: JsonObject, wanted: JsonObject, network: PodNetwork, taken: list[str]
    ) -> None:
        """Make a template again: what it says cannot be changed."""
        await self._delete(TEMPLATE_KIND, live)
        await self._create(wanted, network, taken)

    async def _create(self, wanted: JsonObject, network: PodNetwork, taken: list[str]) -> bool:
        meta = wanted["metadata"]
        namespace = meta.get("namespace", "")
        try:
            await self._objects.create(wanted)
        except AlreadyExistsError:
            live = await self._objects.get(wanted["kind"], meta["name"], namespace)
            if _is_of(live, network):
                return True  # the watch is behind
            place = f"{namespace}/{meta['name']}" if namespace else meta["name"]
            taken.append(f"the {wanted['kind']} {place} belongs to somebody else")
            return False
        except NotFoundError:  # the namespace is gone
            return False
        log.info("network.made", network=network.name, kind=wanted["kind"], namespace=namespace)
        return True

    async def _drop(self, name: str) -> None:
        """Delete what a network had."""
        gone = {
            namespace: self._delete(kind, live)
            for kind in (TEMPLATE_KIND, CLASS_KIND)
            for (namespace, called), live in self._watches.store(kind).items()
            if called == name and _was_made(live)
        }
        self._kept.pop(name, None)
        self._available.forget(name)
        for error in (await _some_at_a_time(gone)).values():
            raise error

    async def _delete(self, kind: str, live: JsonObject) -> None:
        try:
            await self._objects.delete(kind, live)
        except (NotFoundError, ConflictError):  # gone, or changed: then it comes again
            return
        meta = live["metadata"]
        namespace = meta.get("namespace", "")
        log.info("network.taken_away", network=meta["name"], kind=kind, namespace=namespace)

    async def _release(self, network: PodNetwork) -> None:
        """Let a network that was deleted go, as far as this controller is concerned."""
        left = tuple(one for one in network.metadata.finalizers if one != FINALIZER)
        await self._set_finalizers(network, left)

    async def _set_finalizers(self, network: PodNetwork, finalizers: tuple[str, ...]) -> None:
        meta = network.metadata
        patch = {
            "metadata": {
                "uid": meta.uid,
                "resourceVersion": meta.resource_version,
                "finalizers": list(finalizers) or None,
            }
        }
        await self._objects.client.patch(POD_NETWORKS, network.name, patch, field_manager=MANAGER)

    async def _report(self, network: PodNetwork, status: Any) -> None:
        before = {each.type: each for each in network.status.conditions}
        now = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
        status = msgspec.structs.replace(status, conditions=tuple(with_times(status, before, now)))
        if status == network.status:
            return
        said = {**dict.fromkeys(("users", "nodes")), **msgspec.to_builtins(status)}
        for count in ("nodesAvailable", "namespaces", "interfaces", "pods"):
            said.setdefault(count, 0)
        patch = {"metadata": {"uid": network.metadata.uid}, "status": said}
        await self._objects.client.patch(
            POD_NETWORKS, network.name, patch, subresource="status", field_manager=MANAGER
        )


def _owned(wanted: JsonObject, network: PodNetwork) -> JsonObject:
    meta = {**wanted["metadata"], "ownerReferences": [owner_of(network)]}
    return {**wanted, "metadata": meta}


def _over(live: JsonObject, wanted: JsonObject) -> JsonObject:
    """A class with another spec, which its annotation has too."""
    head = {"apiVersion": wanted["apiVersion"], "kind": wanted["kind"]}
    annotations = {**live["metadata"].get("annotations", {}), **wanted["metadata"]["annotations"]}
    meta = {**live["metadata"], "annotations": annotations}
    return {**head, "metadata": meta, "spec": wanted["spec"]}


def _text(device_class: JsonObject) -> str:
    text: str = device_class["metadata"].get("annotations", {}).get(SPEC, "")
    return text


def _marked(wanted: JsonObject) -> JsonObject:
    """A template that says what it was made of."""
    digest = hashlib.sha256(msgspec.json.encode(wanted["spec"], order="sorted")).hexdigest()
    meta = {**wanted["metadata"], "annotations": {MADE_OF: digest[:16]}}
    return {**wanted, "metadata": meta}


def _placed(wanted: JsonObject, namespace: str) -> JsonObject:
    """The same template in a namespace."""
    return {**wanted, "metadata": {**wanted["metadata"], "namespace": namespace}}


def _made_of(live: JsonObject) -> str:
    digest: str = live["metadata"].get("annotations", {}).get(MADE_OF, "")
    return digest


def _label(live: JsonObject) -> str:
    name: str = live["metadata"].get("labels", {}).get(LABEL, "")
    return name


def _owner_uid(live: JsonObject) -> str:
    owners = live["metadata"].get("ownerReferences", ())
    return next((str(each["uid"]) for each in owners if each["kind"] == "PodNetwork"), "")


def _was_made(live: JsonObject) -> bool:
    """Whether an object was made for some network, and not written by a user."""
    return bool(_label(live) and _owner_uid(live))


def _is_of(live: JsonObject, network: PodNetwork) -> bool:
    """Whether an object was made for this network, and not for an earlier one of its name."""
    return _label(live) == network.name and _owner_uid(live) == network.metadata.uid


def _said(failed: Failures) -> list[str]:
    return [f"namespace {namespace}: {error}" for namespace, error in failed.items()]


async def _some_at_a_time(work: Mapping[str, Awaitable[Any]]) -> Failures:
    """Do everything, whatever fails; returns what failed."""
    slots = asyncio.Semaphore(WRITES)

    async def one(each: Awaitable[Any]) -> None:
        async with slots:
            await each

    done = await asyncio.gather(*map(one, work.values()), return_exceptions=True)
    failed: Failures = {}
    for namespace, error in zip(work, done, strict=True):
        if isinstance(error, NetclaimError):
            failed[namespace] = error
        elif isinstance(error, BaseException):
            raise error
    return failed
