"""Events about objects, as components of a cluster record them."""

from datetime import UTC, datetime

from netclaim.local.api.verbs import STAMPS, Verbs
from netclaim.model.api.limits import NOTE_MAX
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import EVENT


def record(
    verbs: Verbs, about: JsonObject, reason: str, note: str, *, by: str, warning: bool = False
) -> None:
    """Record an event about an object. A second call records a second one."""
    meta = about["metadata"]
    regarding = {
        "apiVersion": about["apiVersion"],
        "kind": about["kind"],
        "namespace": meta.get("namespace", ""),
        "name": meta["name"],
        "uid": meta["uid"],
    }
    event: JsonObject = {
        "metadata": {"name": f"{meta['name']}.{STAMPS.tail()}{STAMPS.tail()}"},
        "eventTime": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "reportingController": by,
        "reportingInstance": "netclaim",
        "action": reason,
        "reason": reason,
        "note": note.encode()[:NOTE_MAX].decode(errors="ignore"),
        "type": "Warning" if warning else "Normal",
        "regarding": regarding,
        "apiVersion": EVENT.addresses[0].api_version,
        "kind": EVENT.name,
    }
    verbs.create(EVENT, event, manager=by, namespace=meta.get("namespace") or "default")
