"""Events at a Service that say what is wrong with it.

Promise: each is left once, and again when its text changes or another controller takes over. One
that could not be left is tried again at the next look.
"""

from collections.abc import Mapping

import structlog

from netclaim.controller.cluster.events import Events
from netclaim.controller.services.write import Key
from netclaim.kube.resource import SERVICES
from netclaim.model.claims.claim import JsonObject

log = structlog.get_logger(__name__)


class Complaints:
    """What was said of which Service."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._said: dict[Key, Mapping[str, str]] = {}

    def forget(self, key: Key) -> None:
        """Forget a Service that is gone."""
        self._said.pop(key, None)

    async def say(self, service: JsonObject, complaints: Mapping[str, str]) -> None:
        """Leave an event for each complaint that is new; they are texts by their reasons."""
        meta = service["metadata"]
        key = meta["namespace"], meta["name"]
        before = self._said.get(key, {})
        said = self._said[key] = dict(complaints)
        for reason, note in complaints.items():
            if before.get(reason) == note:
                continue
            fields = {"namespace": key[0], "service": key[1], "reason": reason}
            log.info("service.complained", **fields, note=note)
            left = await self._events.leave(
                service, kind=SERVICES.kind, action="PublishEndpoints", reason=reason, note=note
            )
            if not left:
                said.pop(reason)
