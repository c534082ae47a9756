"""Write what is made of networks, one object at a time."""

import structlog

from netclaim.controller.cluster.objects import Objects
from netclaim.controller.networks.objects import TEMPLATE_KIND, is_of
from netclaim.kube import AlreadyExistsError, ConflictError, NotFoundError
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.claims.claim import JsonObject

log = structlog.get_logger(__name__)


class Writes:
    """Writes objects that are made of networks."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def update(self, wanted: JsonObject) -> JsonObject:
        """Replace an object; returns it as it is stored."""
        return await self._objects.update(wanted)

    async def replace(
        self, live: JsonObject, wanted: JsonObject, network: PodNetwork, taken: list[str]
    ) -> None:
        """Make a template again: what it says cannot be changed."""
        await self.delete(TEMPLATE_KIND, live)
        await self.create(wanted, network, taken)

    async def create(self, wanted: JsonObject, network: PodNetwork, taken: list[str]) -> bool:
        """Create an object of a network; notes it, if somebody else has the name."""
        meta = wanted["metadata"]
        namespace = meta.get("namespace", "")
        try:
            await self._objects.create(wanted)
        except AlreadyExistsError:
            live = await self._objects.get(wanted["kind"], meta["name"], namespace)
            if is_of(live, network):
                return True  # the watch is behind
            place = f"{namespace}/{meta['name']}" if namespace else meta["name"]
            taken.append(f"the {wanted['kind']} {place} belongs to somebody else")
            return False
        except NotFoundError:  # the namespace is gone
            return False
        log.info("network.made", network=network.name, kind=wanted["kind"], namespace=namespace)
        return True

    async def delete(self, kind: str, live: JsonObject) -> None:
        """Delete an object, if it is still as it was."""
        try:
            await self._objects.delete(kind, live)
        except (NotFoundError, ConflictError):  # gone, or changed: then it comes again
            return
        meta = live["metadata"]
        namespace = meta.get("namespace", "")
        log.info("network.taken_away", network=meta["name"], kind=kind, namespace=namespace)
