"""Events about objects: what people see in `kubectl describe`.

An event is worth one request, and none is worth a second attempt at once; who leaves it learns
whether it was left, and can say it again at its next look. Promise: the objects of one
namespace get `BURST` events, and one more every `EVERY_S`: what a tenant does cannot fill the
cluster's store with events, and those about other tenants' objects are left as ever. An event that
cannot be left stops nothing; the log says so.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import structlog

from netclaim.controller.pacing.budget import Budget
from netclaim.errors import NetclaimError
from netclaim.kube import EVENTS, Client
from netclaim.model.api.limits import NOTE_MAX
from netclaim.model.claims.claim import JsonObject
from netclaim.model.text import cut

log = structlog.get_logger(__name__)

REPORTER: Final = "netclaim-controller"
NAME_MAX: Final = 200  # characters of the object's name in that of its event, which may have 253
BURST: Final = 100  # a Deployment of that many pods may have the same mistake
EVERY_S: Final = 5.0  # 720 an hour, which is how long the API server keeps them


class Events:
    """Leaves events."""

    def __init__(
        self,
        client: Client,
        identity: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        budget: Budget | None = None,
    ) -> None:
        self._client = client
        self._identity = identity
        self._now = now
        self._budget = budget or Budget(BURST, EVERY_S)

    async def leave(
        self,
        found: JsonObject,
        *,
        kind: str,
        action: str,
        reason: str,
        note: str,
        api_version: str = "v1",
    ) -> bool:
        """Leave a warning at an object; returns whether it was left."""
        meta = found["metadata"]
        fields = {"namespace": meta["namespace"], "about": meta["name"], "reason": reason}
        if not self._budget.take(meta["namespace"]):
            log.info("event.withheld", **fields)
            return False
        event = event_about(
            found,
            kind=kind,
            action=action,
            reason=reason,
            note=note,
            now=self._now(),
            identity=self._identity,
            api_version=api_version,
        )
        try:
            await self._client.create(EVENTS, event)
        except NetclaimError as error:
            log.warning("event.failed", **fields, error=str(error))
            return False
        return True


def event_about(
    found: JsonObject,
    *,
    kind: str,
    action: str,
    reason: str,
    note: str,
    now: datetime,
    identity: str = "",
    api_version: str = "v1",
) -> JsonObject:
    """A warning about an object; `identity` is the replica's."""
    meta: dict[str, Any] = found["metadata"]
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {
            "generateName": f"{meta['name'][:NAME_MAX]}-",
            "namespace": meta["namespace"],
        },
        "eventTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": REPORTER,
        "reportingInstance": identity[:128] or REPORTER,
        "action": action,
        "reason": reason,
        "type": "Warning",
        "note": cut(note, NOTE_MAX),
        "regarding": {
            "apiVersion": api_version,
            "kind": kind,
            "namespace": meta["namespace"],
            "name": meta["name"],
            "uid": meta["uid"],
        },
    }
