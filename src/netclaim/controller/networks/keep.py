"""PodNetworks: keep their classes, templates and finalizers.

Promise: `reconcile` compares what there is with what there should be, and writes the difference; a
second call writes nothing, also where the API server keeps less than it was given. An object of the
right name that belongs to somebody else is left alone, and the network's status says so. A
namespace that refuses its template keeps nothing from the others, and is tried again. A network
that was deleted gives back its name when nobody uses it any more and its class is gone; new pods
cannot use it from then on. A template that cannot be deleted does not keep it: it goes after its
owner, and without the class nobody gets a device by it. `reconcile_namespace` does for one
namespace what `reconcile` does for one network, so that a new namespace waits for its own templates
only.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import structlog

from netclaim.controller.cluster.objects import Failures, Objects, some_at_a_time
from netclaim.controller.cluster.watches import Watches
from netclaim.controller.networks.claims import ClaimsByNetwork
from netclaim.controller.networks.objects import (
    CLASS_KIND,
    FINALIZER,
    TEMPLATE_KIND,
    is_of,
    made_of,
    marked,
    over,
    owned,
    placed,
    text_of,
    was_made,
)
from netclaim.controller.networks.report import ITS_CLASS, Look, Reports
from netclaim.controller.networks.wanted import allowed_namespaces, is_offered, mistake_in
from netclaim.controller.networks.write import Writes
from netclaim.model.api.base import ObjectError
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.claims.claim import JsonObject
from netclaim.network.pod_network import class_of, pool_of_network, template_of

log = structlog.get_logger(__name__)


class Networks:
    """The controller of PodNetworks."""

    def __init__(
        self,
        objects: Objects,
        watches: Watches,
        driver: str,
        counts: Callable[[], bool] = lambda: False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`counts`: whether the scheduler gets to know how many addresses pools have."""
        self._watches = watches
        self._driver = driver
        self._counts = counts
        self._writes = Writes(objects)
        self._claims = ClaimsByNetwork()
        self._reports = Reports(objects, watches, driver, self._claims, now)
        self._kept: dict[str, tuple[JsonObject, JsonObject]] = {}  # class: wanted, as stored
        self._looks: dict[str, Look] = {}

    def begin(self) -> None:
        """Note the claims that there are."""
        for found in self._watches.store("ResourceClaim").values():
            self._claims.changed(None, found)

    def claim_changed(self, before: JsonObject | None, now: JsonObject | None) -> None:
        """Note who may use a network."""
        self._claims.changed(before, now)

    def names(self) -> list[str]:
        """All networks there are."""
        return [name for _, name in self._watches.store("PodNetwork")]

    async def reconcile(self, name: str) -> None:
        """Make of a network what should be. Its status is for `report`, which comes after it."""
        network = self._network(name)
        if network is None or not network.is_ours:
            self._looks.pop(name, None)
            self._reports.forget(name)
            failed = await self._drop(name)
            held = network is not None and FINALIZER in network.metadata.finalizers
            if network is not None and held and ITS_CLASS not in failed:
                await self._reports.release(network)  # it was ours once
            _raise_first(failed)
            return
        if not network.is_ending and FINALIZER not in network.metadata.finalizers:
            finalizers = (*network.metadata.finalizers, FINALIZER)
            await self._reports.set_finalizers(network, finalizers)
        mistake = mistake_in(network, self._driver)
        offered = is_offered(network) and not mistake
        seen = (network.metadata.uid, network.metadata.generation, network.is_ending)
        taken: list[str] = []
        if not offered or not await self._keep_class(network, taken):
            failed = await self._drop(name)
            self._looks[name] = Look(*seen, mistake, tuple(taken), failed=failed)
            _raise_first(failed)
            return
        namespaces = allowed_namespaces(network, self._watches.store("Namespace").values())
        wanted = self._template(network)
        passed_over: list[str] = []
        failed = await self._keep_templates(network, wanted, namespaces, passed_over)
        self._looks[name] = Look(
            *seen, passed_over=tuple(passed_over), failed=failed, template=wanted
        )
        _raise_first(failed)

    async def reconcile_namespace(self, namespace: str) -> set[str]:
        """Make of the templates in a namespace what should be.

        Returns the networks that need a look of their own, because something was in the way.
        """
        found = self._watches.store("Namespace").get(("", namespace))
        meta: JsonObject = found["metadata"] if found is not None else {"deletionTimestamp": ""}
        store = self._watches.store(TEMPLATE_KIND)
        work: dict[str, Awaitable[Any]] = {}
        in_the_way: dict[str, list[str]] = {}
        for name in self.names():
            network, look = self._readable(name), self._looks.get(name)
            if network is None or look is None or look.template is None or not look.is_of(network):
                continue  # nothing, or a look at all its namespaces is to come
            live = store.get((namespace, name))
            allowed = network.spec.namespaces.selects(meta.get("labels", {}))
            if "deletionTimestamp" in meta or not allowed:
                if live is not None and was_made(live):
                    work[name] = self._writes.delete(TEMPLATE_KIND, live)
            elif live is None:
                wanted = placed(look.template, namespace)
                work[name] = self._writes.create(wanted, network, in_the_way.setdefault(name, []))
            elif not self._is_template(live, network, look):
                in_the_way[name] = [namespace]
        failed = await some_at_a_time(work)
        return failed.keys() | {name for name, taken in in_the_way.items() if taken}

    async def report(self, name: str) -> None:
        """Write what a network's status should say, if it was looked at; end it, if it is time."""
        network, look = self._network(name), self._looks.get(name)
        if network is not None and look is not None and look.is_of(network):
            await self._reports.report(network, look)

    def of_pool(self, pool: str) -> list[str]:
        """Return the networks that have their addresses from a pool."""
        readable = filter(None, map(self._readable, self.names()))
        return [one.name for one in readable if pool_of_network(one) == pool]

    def is_reported(self, found: JsonObject) -> bool:
        """Whether a network's status is as it was written."""
        network = _read(found)
        return network is not None and self._reports.is_written(network)

    def is_kept(self, kind: str, found: JsonObject, name: str) -> bool:
        """Whether a class or a template of a network is what the last look wanted of it."""
        network, look = self._readable(name), self._looks.get(name)
        if network is None or look is None or not look.is_of(network):
            return False
        if kind == TEMPLATE_KIND:
            return self._is_template(found, network, look)
        wanted = owned(class_of(network, self._driver), network)
        return is_of(found, network) and self._is_class(found, wanted)

    def _network(self, name: str) -> PodNetwork | None:
        found = self._watches.store("PodNetwork").get(("", name))
        return PodNetwork.read(found) if found is not None else None

    def _readable(self, name: str) -> PodNetwork | None:
        """A network; None also for one of a later definition."""
        found = self._watches.store("PodNetwork").get(("", name))
        return _read(found) if found is not None else None

    def _is_template(self, live: JsonObject, network: PodNetwork, look: Look) -> bool:
        wanted = look.template
        return wanted is not None and is_of(live, network) and made_of(live) == made_of(wanted)

    def _is_class(self, live: JsonObject, wanted: JsonObject) -> bool:
        """Whether a class says what it should, or what the server has made of that."""
        spec = wanted["spec"]
        stored = self._kept.get(wanted["metadata"]["name"])
        same_spec = live["spec"] == spec or stored == (spec, live["spec"])
        return same_spec and text_of(live) == text_of(wanted)

    def _template(self, network: PodNetwork) -> JsonObject:
        """The template of a network, but for its namespace."""
        counted = pool_of_network(network) if self._counts() else ""
        return marked(owned(template_of(network, "", counted=counted), network))

    async def _keep_class(self, network: PodNetwork, taken: list[str]) -> bool:
        """Keep the network's class; returns whether it has one."""
        wanted = owned(class_of(network, self._driver), network)
        live = self._watches.store(CLASS_KIND).get(("", network.name))
        if live is not None and not is_of(live, network):
            taken.append(f"the DeviceClass {network.name} belongs to somebody else")
            return False
        if live is None:
            return await self._writes.create(wanted, network, taken)
        if not self._is_class(live, wanted):
            stored = await self._writes.update(over(live, wanted))
            self._kept[network.name] = wanted["spec"], stored["spec"]
            log.info("network.class_changed", network=network.name)
        return True

    async def _keep_templates(
        self,
        network: PodNetwork,
        wanted: JsonObject,
        namespaces: frozenset[str],
        taken: list[str],
    ) -> Failures:
        """Keep a template in each of the namespaces, and none elsewhere; returns what failed."""
        store = self._watches.store(TEMPLATE_KIND)
        work: dict[str, Awaitable[Any]] = {}
        digest, own = made_of(wanted), network.name
        for namespace in sorted(namespaces):
            live = store.get((namespace, network.name))
            if live is None:
                work[namespace] = self._writes.create(placed(wanted, namespace), network, taken)
            elif not is_of(live, network):
                taken.append(f"{TEMPLATE_KIND} {namespace}/{network.name} is not the network's")
            elif made_of(live) != digest:
                there = placed(wanted, namespace)
                work[namespace] = self._writes.replace(live, there, network, taken)
        work |= {
            namespace: self._writes.delete(TEMPLATE_KIND, live)
            for (namespace, name), live in store.items()
            if name == own and namespace not in namespaces and was_made(live)
        }
        return await some_at_a_time(work)

    async def _drop(self, name: str) -> Failures:
        """Delete what a network had; returns what is still there."""
        gone = {
            namespace: self._writes.delete(kind, live)
            for kind in (TEMPLATE_KIND, CLASS_KIND)
            for (namespace, called), live in self._watches.store(kind).items()
            if called == name and was_made(live)
        }
        self._kept.pop(name, None)
        return await some_at_a_time(gone)


def _raise_first(failed: Failures) -> None:
    """Have it tried again."""
    for error in failed.values():
        raise error


def _read(found: JsonObject) -> PodNetwork | None:
    try:
        return PodNetwork.read(found)
    except ObjectError:
        return None
