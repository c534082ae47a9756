"""One object in full: its YAML, its attributes if it is a device, and its events.

Promise: the YAML is the object as it was followed, in v1's form, without what only servers read.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from netclaim.errors import NetclaimError
from netclaim.manifests.objects import ObjectKey
from netclaim.manifests.text.yaml_dialect import dump
from netclaim.plain_text import one_line, sentence
from netclaim.ui.view import View

KINDS: Final = {"pod": "Pod", "claim": "ResourceClaim", "node": "Node", "pool": "AddressPool"}
EVENTS_MAX: Final = 50  # the newest; the API keeps them for an hour
UNREAD: Final = ("managedFields",)  # of metadata

Ask: TypeAlias = Callable[[str, str, str], Awaitable[list[dict[str, Any]]]]


class Event(msgspec.Struct, frozen=True, rename="camel"):
    """Something that happened to an object."""

    when: str
    reason: str
    note: str
    is_warning: bool
    count: int


class Detail(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """An object; `events_fault` says why there are no events."""

    title: str
    yaml: str
    attributes: tuple[tuple[str, str], ...] = ()
    events: tuple[Event, ...] = ()
    events_fault: str = ""


async def detail_of(view: View, key: str, ask: Ask) -> Detail | None:
    """Return the details of what a key names; None if it is not there."""
    kind, _, rest = key.partition("/")
    if kind == "link":
        return _device(view, rest)
    target = _target(kind, rest)
    found = view.by_key.get(target) if target is not None else None
    if target is None or found is None:
        return None
    events: list[dict[str, Any]] = []
    fault = ""
    try:
        events = await ask(target.kind, target.namespace, target.name)
    except NetclaimError as error:
        fault = sentence(str(error))
    return Detail(
        title=target.name,
        yaml=dump(_readable(found)),
        events=_events(events),
        events_fault=fault,
    )


def _target(kind: str, rest: str) -> ObjectKey | None:
    if kind == "network":
        source, _, name = rest.partition("/")
        return ObjectKey("PodNetwork", "", name) if source == "offered" else None
    if kind not in KINDS:
        return None
    namespace, slash, name = rest.partition("/")
    return ObjectKey(KINDS[kind], namespace, name) if slash else ObjectKey(KINDS[kind], "", rest)


def _readable(found: Mapping[str, Any]) -> dict[str, Any]:
    meta = {key: value for key, value in found["metadata"].items() if key not in UNREAD}
    head = {"apiVersion": found.get("apiVersion"), "kind": found.get("kind"), "metadata": meta}
    return {**head, **{key: value for key, value in found.items() if key not in head}}


def _device(view: View, rest: str) -> Detail | None:
    """Return a device as its newest slice publishes it."""
    driver, _, tail = rest.partition("/")
    pool, _, name = tail.rpartition("/")
    slices = [
        one["spec"]
        for one in view.objects
        if one.get("kind") == "ResourceSlice"
        and one["spec"].get("driver") == driver
        and (one["spec"].get("pool") or {}).get("name") == pool
    ]
    slices.sort(key=lambda spec: -(spec["pool"].get("generation") or 0))
    for spec in slices:
        for device in spec.get("devices") or ():
            if device.get("name") == name:
                shown = {key: value for key, value in spec.items() if key != "devices"}
                return Detail(
                    title=name,
                    yaml=dump({**shown, "devices": [device]}),
                    attributes=tuple(_attributes(device)),
                )
    return None


def _attributes(device: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in sorted((device.get("attributes") or {}).items()):
        held = next(iter(value.values()), "") if isinstance(value, Mapping) else value
        yield one_line(name), one_line(str(held).lower() if isinstance(held, bool) else str(held))


def _events(found: Iterable[Mapping[str, Any]]) -> tuple[Event, ...]:
    events = sorted(map(_event, found), key=lambda one: one.when, reverse=True)
    return tuple(events[:EVENTS_MAX])


def _event(found: Mapping[str, Any]) -> Event:
    """Read an event of events.k8s.io or of the core API."""
    series = found.get("series") or {}
    when = series.get("lastObservedTime") or found.get("deprecatedLastTimestamp")
    when = when or found.get("lastTimestamp") or found.get("eventTime")
    count = series.get("count") or found.get("deprecatedCount") or found.get("count") or 1
    return Event(
        when=str(when or found["metadata"].get("creationTimestamp") or ""),
        reason=one_line(str(found.get("reason") or "")),
        note=sentence(str(found.get("note") or found.get("message") or "")),
        is_warning=found.get("type") == "Warning",
        count=count if isinstance(count, int) else 1,
    )
