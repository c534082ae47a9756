"""PodNetworks: keep their classes, templates, finalizers and status.

Promise: `reconcile` compares what there is with what there should be, and writes the difference; a
second call writes nothing. An object of the right name that belongs to somebody else is left alone,
and the network's status says so. A network that was deleted gives back its name when nobody uses it
any more; new pods cannot use it from the moment of its deletion on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import structlog

from netclaim.controller.objects import MANAGER, POD_NETWORKS, Objects
from netclaim.controller.wanted import (
    allowed_namespaces,
    availability,
    is_offered,
    mistake_in,
    status_of,
    use_of,
    with_times,
)
from netclaim.controller.watches import Watches
from netclaim.kube import AlreadyExistsError, ConflictError, NotFoundError
from netclaim.model.api.claim import ResourceClaim
from netclaim.model.api.pod_network import PodNetwork
from netclaim.model.claim import JsonObject
from netclaim.network.pod_network import LABEL, class_of, owner_of, template_of
from netclaim.schema.defaults import with_defaults
from netclaim.schema.kinds import TEMPLATE

log = structlog.get_logger(__name__)

FINALIZER: Final = "cni.networking.x-k8s.io/in-use"
WRITES: Final = 16  # at a time; a namespace's template should not wait for a thousand others
CLASS_KIND: Final = "DeviceClass"
TEMPLATE_KIND: Final = "ResourceClaimTemplate"


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

    def names(self) -> list[str]:
        """All networks there are."""
        return [name for _, name in self._watches.store("PodNetwork")]

    async def reconcile(self, name: str) -> None:
        """Make of a network what should be."""
        found = self._watches.store("PodNetwork").get(("", name))
        network = PodNetwork.read(found) if found is not None else None
        if network is None or not network.is_ours:
            await self._drop(name)
            return
        if not network.is_ending and FINALIZER not in network.metadata.finalizers:
            await self._set_finalizers(network, (*network.metadata.finalizers, FINALIZER))
        mistake = mistake_in(network, self._driver)
        offered = is_offered(network) and not mistake
        taken: list[str] = []  # the class, by somebody else
        passed_over: list[str] = []  # templates of others, each in a namespace of theirs
        if not offered or not await self._keep_class(network, taken):
            await self._drop(name)
            namespaces: frozenset[str] = frozenset()
        else:
            namespaces = allowed_namespaces(network, self._watches.store("Namespace").values())
            await self._keep_templates(network, namespaces, passed_over)
        use = use_of(name, self._claims(name))
        if network.is_ending and not use.claims:
            left = tuple(one for one in network.metadata.finalizers if one != FINALIZER)
            await self._set_finalizers(network, left)
            log.info("network.gone", network=name)
            return
        nodes = availability(
            network,
            self._driver,
            [node for _, node in self._watches.store("Node")],
            self._watches.store("ResourceSlice").values(),
        )
        await self._report(
            network,
            status_of(
                network,
                mistake=mistake,
                taken="; ".join(taken),
                passed_over="; ".join(passed_over[:3]),
                nodes=nodes,
                namespaces=len(namespaces) - len(passed_over),
                use=use,
            ),
        )

    def _claims(self, name: str) -> Iterable[ResourceClaim]:
        for found in self._watches.store("ResourceClaim").values():
            claim = ResourceClaim.read(found)
            if name in claim.classes:
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
        if live["spec"] != wanted["spec"]:
            await self._objects.update(_over(live, wanted))
            log.info("network.class_changed", network=network.name)
        return True

    async def _keep_templates(
        self, network: PodNetwork, namespaces: frozenset[str], taken: list[str]
    ) -> None:
        store = self._watches.store(TEMPLATE_KIND)
        work: list[Awaitable[Any]] = []
        for namespace in sorted(namespaces):
            wanted = _owned(template_of(network, namespace), network)
            live = store.get((namespace, network.name))
            if live is None:
                work.append(self._create(wanted, network, taken))
            elif not _is_of(live, network):
                taken.append(f"{TEMPLATE_KIND} {namespace}/{network.name} is not the network's")
            elif live["spec"] != with_defaults(wanted, TEMPLATE, "")["spec"]:
                work.append(self._replace(live, wanted, network, taken))
        work += [
            self._delete(TEMPLATE_KIND, live)
            for (namespace, _), live in store.items()
            if _label(live) == network.name and namespace not in namespaces
        ]
        await _some_at_a_time(work)

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
        gone = [
            (kind, live)
            for kind in (TEMPLATE_KIND, CLASS_KIND)
            for live in self._watches.store(kind).values()
            if _label(live) == name and _owner_uid(live)
        ]
        await _some_at_a_time([self._delete(kind, live) for kind, live in gone])

    async def _delete(self, kind: str, live: JsonObject) -> None:
        try:
            await self._objects.delete(kind, live)
        except (NotFoundError, ConflictError):  # gone, or changed: then it comes again
            return
        meta = live["metadata"]
        namespace = meta.get("namespace", "")
        log.info("network.taken_away", network=meta["name"], kind=kind, namespace=namespace)

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
    """An object with another spec."""
    head = {"apiVersion": wanted["apiVersion"], "kind": wanted["kind"]}
    return {**head, "metadata": live["metadata"], "spec": wanted["spec"]}


def _label(live: JsonObject) -> str:
    name: str = live["metadata"].get("labels", {}).get(LABEL, "")
    return name


def _owner_uid(live: JsonObject) -> str:
    owners = live["metadata"].get("ownerReferences", ())
    return next((str(each["uid"]) for each in owners if each["kind"] == "PodNetwork"), "")


def _is_of(live: JsonObject, network: PodNetwork) -> bool:
    """Whether an object was made for this network, and not for an earlier one of its name."""
    return _label(live) == network.name and _owner_uid(live) == network.metadata.uid


async def _some_at_a_time(work: list[Awaitable[Any]]) -> None:
    """Do everything, whatever fails; then raise what failed."""
    slots = asyncio.Semaphore(WRITES)

    async def one(each: Awaitable[Any]) -> None:
        async with slots:
            await each

    done = await asyncio.gather(*map(one, work), return_exceptions=True)
    failed = [error for error in done if isinstance(error, BaseException)]
    if failed:
        raise failed[0]
