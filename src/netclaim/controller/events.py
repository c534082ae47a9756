"""Events about objects: what people see in `kubectl describe`.

Values only. An event is worth one request, and none is worth a second attempt.
"""

from datetime import datetime
from typing import Any, Final

from netclaim.kube import EVENTS
from netclaim.model.api.limits import NOTE_MAX
from netclaim.model.claim import JsonObject
from netclaim.model.text import cut

REPORTER: Final = "netclaim-controller"
NAME_MAX: Final = 200  # characters of the object's name in that of its event, which may have 253


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
