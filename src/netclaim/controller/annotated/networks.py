"""PodNetworks of NetworkAttachmentDefinitions whose namespace an admin trusts.

Promise: each such definition that the drivers can run has a PodNetwork, which follows it and goes
with it, once it is not used any more; namespaces whose pods are annotated may use it. A PodNetwork
of somebody else is left alone. What cannot be had is said in an event at the definition, once; the
PodNetwork stays as it was, but no new pod gets it. One that the API server refuses to write stops
none of the others, and is tried again. A second look writes nothing.
"""

import asyncio
import hashlib
from collections.abc import Iterator

import msgspec
import structlog

from netclaim.controller.annotated.names import LABEL, MADE_FROM, NAMESPACE_LABEL, NAMESPACE_VALUE
from netclaim.controller.annotated.readings import Readings
from netclaim.controller.annotated.told import Told
from netclaim.controller.cluster.events import Events
from netclaim.controller.cluster.objects import MANAGER, POD_NETWORKS, Objects, in_order
from netclaim.controller.cluster.watches import DEFINITION, Watches
from netclaim.controller.networks.objects import MADE_OF
from netclaim.controller.settings import ControllerSettings
from netclaim.convert.multus.definition import API_VERSION, NetworkKey
from netclaim.convert.objects import name_fault, network_name
from netclaim.errors import RequestError
from netclaim.kube import AlreadyExistsError, ApiError, ForbiddenError, InvalidError
from netclaim.model.claims.claim import JsonObject

log = structlog.get_logger(__name__)


class TrustedNetworks:
    """The controller of these PodNetworks."""

    def __init__(
        self,
        objects: Objects,
        watches: Watches,
        settings: ControllerSettings,
        events: Events,
        readings: Readings,
    ) -> None:
        self._objects = objects
        self._watches = watches
        self._driver = settings.driver_name
        self._trusted = settings.network_namespaces
        self._readings = readings
        self._told = Told(events)

    def concerns(self, definition: JsonObject) -> bool:
        """Whether a definition is in a namespace that an admin trusts."""
        return definition["metadata"]["namespace"] in self._trusted

    async def reconcile(self) -> None:
        """Make the PodNetworks what they should be."""
        live = {name: found for (_, name), found in self._watches.store("PodNetwork").items()}
        kept: set[str] = set()
        failed: list[ApiError] = []
        for key, definition in self._definitions():
            await asyncio.sleep(0)  # reading one takes a moment, and others have their turn
            kept.add("/".join(key))
            try:
                wanted = self._wanted(key)
                await self._keep(wanted, live.get(network_name(key)))
            except (RequestError, InvalidError) as error:
                await self._say(key, definition, str(error))
            except ForbiddenError as error:  # an admin may permit it, and no watch shows that
                await self._say(key, definition, str(error))
                failed.append(error)
            except ApiError as error:
                failed.append(error)
            else:
                self._told.forget("/".join(key))
        for found in live.values():
            if (made_from := _made_from(found)) and made_from not in kept:
                try:
                    await self._drop(found)
                except ApiError as error:
                    failed.append(error)
        if failed:
            raise failed[0]

    def _definitions(self) -> Iterator[tuple[NetworkKey, JsonObject]]:
        for key, found in sorted(self._watches.store(DEFINITION).items()):
            if key[0] in self._trusted:
                yield key, found

    def _wanted(self, key: NetworkKey) -> JsonObject:
        if fault := name_fault(key):
            raise RequestError(fault)
        store = self._watches.store
        read = self._readings.of(key, store(DEFINITION).get(key), self._driver)
        found = read.network.to_dict()
        users = {"matchLabels": {NAMESPACE_LABEL: NAMESPACE_VALUE}}
        spec = in_order({**found["spec"], "namespaces": users})
        digest = hashlib.sha256(msgspec.json.encode(spec)).hexdigest()[:16]
        meta = {
            "name": network_name(key),
            "labels": {LABEL: "true"},
            "annotations": {MADE_FROM: "/".join(key), MADE_OF: digest},
        }
        return {**found, "metadata": meta, "spec": spec}

    async def _keep(self, wanted: JsonObject, live: JsonObject | None) -> None:
        """Write a PodNetwork, unless it is there; RequestError if it is somebody else's."""
        meta = wanted["metadata"]
        if live is None:
            try:
                await self._objects.client.create(POD_NETWORKS, wanted, field_manager=MANAGER)
            except AlreadyExistsError:  # the watch is behind
                return
            log.info("definition.made", network=meta["name"], of=meta["annotations"][MADE_FROM])
            return
        if _made_from(live) != meta["annotations"][MADE_FROM]:
            whose = _made_from(live) or "an admin"
            raise RequestError(f"the PodNetwork {meta['name']} is of {whose}; rename one of them")
        if live["metadata"]["annotations"].get(MADE_OF) != meta["annotations"][MADE_OF]:
            head = {**live["metadata"], "annotations": meta["annotations"]}
            body = {**wanted, "metadata": head}
            await self._objects.client.update(POD_NETWORKS, body, field_manager=MANAGER)
            log.info("definition.changed", network=meta["name"])

    async def _drop(self, live: JsonObject) -> None:
        """Delete a PodNetwork; one that is used is switched off first, to be had again at once."""
        meta, spec = live["metadata"], live["spec"]
        if "deletionTimestamp" in meta:
            return
        if not _is_used(live):
            await self._objects.client.delete(
                POD_NETWORKS,
                meta["name"],
                uid=meta["uid"],
                resource_version=meta["resourceVersion"],
            )
            log.info("definition.taken_away", network=meta["name"])
        elif spec.get("enabled", True):
            annotations = {**meta["annotations"], MADE_OF: ""}
            head = {"apiVersion": POD_NETWORKS.api_version, "kind": POD_NETWORKS.kind}
            body = {**head, "metadata": {**meta, "annotations": annotations}}
            body["spec"] = {**spec, "enabled": False}
            await self._objects.client.update(POD_NETWORKS, body, field_manager=MANAGER)
            log.info("definition.switched_off", network=meta["name"])

    async def _say(self, key: NetworkKey, definition: JsonObject, why: str) -> None:
        """Leave an event at a definition, unless it has this one already."""
        if self._told.is_new("/".join(key), why):
            log.info("definition.refused", of="/".join(key), why=why)
            found = {"apiVersion": API_VERSION, "kind": DEFINITION, **definition}
            note = f"pods cannot have it by netclaim: {why}"
            await self._told.tell("/".join(key), found, "Convert", "NetworkNotMade", note)


def _is_used(network: JsonObject) -> bool:
    conditions = network.get("status", {}).get("conditions", ())
    return any(each["type"] == "InUse" and each["status"] == "True" for each in conditions)


def is_made_of_definition(found: JsonObject) -> bool:
    """Whether a PodNetwork was made of a definition."""
    return bool(_made_from(found))


def _made_from(found: JsonObject) -> str:
    meta = found["metadata"]
    if LABEL not in meta.get("labels", {}):
        return ""
    return str(meta.get("annotations", {}).get(MADE_FROM, ""))
