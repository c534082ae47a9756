"""The rules for events."""

from collections.abc import Iterator

from netclaim.model.api.limits import NOTE_MAX, SHORT_MAX
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.refusal import Fault, invalid, missing
from netclaim.schema.rules.names import check_label_key


def check_event(event: JsonObject, *, core: bool) -> Iterator[Fault]:
    """An event in the form of events.k8s.io/v1; `core` says that it was sent to the older group."""
    if event.get("eventTime"):
        for key in ("reportingController", "reportingInstance", "action", "reason"):
            if not event.get(key):
                yield missing((key,))
            elif key != "reportingController" and len(event[key].encode()) > SHORT_MAX:
                yield invalid((key,), "", f"can have at most {SHORT_MAX} characters")
        yield from check_label_key(event.get("reportingController", ""), ("reportingController",))
        if len(str(event.get("note", "")).encode()) > NOTE_MAX:
            yield invalid(("message",), "", f"can have at most {NOTE_MAX} characters")
    elif not core:
        yield missing(("eventTime",))
    if not core and event.get("type") not in ("Normal", "Warning"):
        yield invalid(("type",), "", f"has invalid value: {event.get('type', '')}")
