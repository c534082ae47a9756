"""The rules for ResourceSlices: what a driver may publish, and what of it may change."""

from collections.abc import Iterator, Sequence
from typing import Final

from netclaim.model.api.limits import (
    ATTRIBUTES_AND_CAPACITIES_MAX,
    BINDING_CONDITIONS_MAX,
    COUNTER_SETS_MAX,
    COUNTER_USES_MAX,
    COUNTERS_MAX,
    SLICE_ADVANCED_DEVICES_MAX,
    SLICE_DEVICES_MAX,
    STRING_MAX,
    TAINTS_MAX,
)
from netclaim.model.claims.claim import JsonObject
from netclaim.paths import Key, Path
from netclaim.schema.refusal import Fault, duplicate, invalid, missing, too_long, too_many
from netclaim.schema.rules.capacities import check_capacity
from netclaim.schema.rules.lists import check_each, check_set
from netclaim.schema.rules.names import (
    check_driver,
    check_label,
    check_label_key,
    check_pool,
    check_qualified,
    check_subdomain,
    check_version,
)
from netclaim.schema.rules.taints import check_taint

PLACES: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


def check_slice_spec(spec: JsonObject, old: JsonObject | None, at: Path) -> Iterator[Fault]:
    """The spec of a slice; `old` is what it replaces, if anything."""
    yield from check_driver(spec.get("driver", ""), (*at, "driver"))
    yield from _check_pool(spec.get("pool", {}), (*at, "pool"))
    if old is not None:
        yield from _check_unchanged(spec, old, at)
    one_of = f"exactly one of {', '.join(f'`{place}`' for place in PLACES)} is required"
    yield from _check_place(spec, PLACES, at, one_of, f"{one_of}, but multiple fields are set")
    devices = spec.get("devices", ())
    if "sharedCounters" in spec and "devices" in spec:
        yield invalid(at, "", "only one of `sharedCounters` or `devices` is allowed")
    per_device = bool(spec.get("perDeviceNodeSelection"))
    yield from check_set(
        devices,
        SLICE_ADVANCED_DEVICES_MAX if any(map(_is_advanced, devices)) else SLICE_DEVICES_MAX,
        (*at, "devices"),
        lambda device, where: _check_device(device, where, per_device=per_device),
        key=lambda device: str(device.get("name", "")),
    )
    yield from check_set(
        spec.get("sharedCounters", ()),
        COUNTER_SETS_MAX,
        (*at, "sharedCounters"),
        lambda counters, where: _check_counters(counters, "name", where),
        key=lambda counters: str(counters.get("name", "")),
    )


def _check_pool(pool: JsonObject, at: Path) -> Iterator[Fault]:
    yield from check_pool(pool.get("name", ""), (*at, "name"))
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        yield invalid((*at, "resourceSliceCount"), count, "must be greater than zero")
    if generation < 0:
        yield invalid((*at, "generation"), generation, "must be greater than or equal to zero")


def _check_unchanged(spec: JsonObject, old: JsonObject, at: Path) -> Iterator[Fault]:
    pool, old_pool = spec.get("pool", {}), old.get("pool", {})
    for path, new, before in (
        (("pool", "name"), pool.get("name"), old_pool.get("name")),
        (("driver",), spec.get("driver"), old.get("driver")),
        (("nodeName",), spec.get("nodeName"), old.get("nodeName")),
    ):
        if new != before:
            yield invalid((*at, *path), new, "field is immutable")


def _check_place(
    holder: JsonObject, places: Sequence[str], at: Path, none: str, several: str
) -> Iterator[Fault]:
    """Where a slice or a device is, which must be said in exactly one way."""
    given = []
    for place in places:
        value = holder.get(place)
        if value is None:
            continue
        if value in ("", False):
            yield invalid((*at, place), value, "must be either unset or set to a real value")
            continue
        given.append(f"`{place}`")
        if place == "nodeName":
            yield from check_subdomain(value, (*at, place))
        if place == "nodeSelector":
            yield from _check_node_selector(value, (*at, place))
    if not given:
        yield missing(at, none)
    elif len(given) > 1:
        yield invalid(at, f"{{{', '.join(given)}}}", several)


def _check_node_selector(selector: JsonObject, at: Path) -> Iterator[Fault]:
    terms = selector.get("nodeSelectorTerms", ())
    if not terms:
        yield missing((*at, "nodeSelectorTerms"), "must have at least one node selector term")
    if len(terms) != 1:
        yield invalid((*at, "nodeSelectorTerms"), terms, "must have exactly one node selector term")


def _is_advanced(device: JsonObject) -> bool:
    return bool(device.get("taints") or device.get("consumesCounters"))


def _check_device(device: JsonObject, at: Path, *, per_device: bool) -> Iterator[Fault]:
    yield from check_label(device.get("name", ""), (*at, "name"))
    attributes, capacity = device.get("attributes", {}), device.get("capacity", {})
    keys, most = len(attributes) + len(capacity), ATTRIBUTES_AND_CAPACITIES_MAX
    if keys > most:
        yield invalid(at, keys, f"has more than {most} attributes and capacities")
    for key, attribute in attributes.items():
        yield from check_qualified(key, (*at, "attributes"))
        yield from _check_attribute(attribute, (*at, "attributes", Key(key)))
    shared = bool(device.get("allowMultipleAllocations"))
    for key, value in capacity.items():
        yield from check_qualified(key, (*at, "capacity"))
        yield from check_capacity(value, (*at, "capacity", Key(key)), shared=shared)
    yield from check_each(device.get("taints", ()), TAINTS_MAX, (*at, "taints"), check_taint)
    yield from check_set(
        device.get("consumesCounters", ()),
        COUNTER_USES_MAX,
        (*at, "consumesCounters"),
        lambda counters, where: _check_counters(counters, "counterSet", where),
        key=lambda counters: str(counters.get("counterSet", "")),
    )
    yield from _check_device_place(device, at, per_device=per_device)
    yield from _check_bindings(device, at)


def _check_device_place(device: JsonObject, at: Path, *, per_device: bool) -> Iterator[Fault]:
    places = PLACES[:3]
    if per_device:
        text = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required"
        yield from _check_place(device, places, at, text, text)
    elif any(place in device for place in places):
        yield invalid(at, None, "may have a node of its own only with `perDeviceNodeSelection`")


def _check_attribute(attribute: JsonObject, at: Path) -> Iterator[Fault]:
    if len(attribute.get("string", "").encode()) > STRING_MAX:
        yield too_long((*at, "string"), STRING_MAX)
    if "version" in attribute:
        yield from check_version(attribute["version"], (*at, "version"))
    if len(attribute) != 1:
        yield invalid(at, "", "exactly one value must be specified")


def _check_counters(counters: JsonObject, name: str, at: Path) -> Iterator[Fault]:
    if not counters.get(name):
        yield missing((*at, name))
    else:
        yield from check_label(counters[name], (*at, name))
    entries = counters.get("counters", {})
    if not entries:
        yield missing((*at, "counters"))
    elif len(entries) > COUNTERS_MAX:
        yield too_many((*at, "counters"), len(entries), COUNTERS_MAX)
    for key in entries:
        yield from check_label(key, (*at, "counters"))


def _check_bindings(device: JsonObject, at: Path) -> Iterator[Fault]:
    """Conditions that must be true, or must not, before a pod is bound to the device's node."""
    lists = {key: device.get(key, ()) for key in ("bindingConditions", "bindingFailureConditions")}
    for key, conditions in lists.items():
        yield from check_each(conditions, BINDING_CONDITIONS_MAX, (*at, key), check_label_key)
        for index, condition in enumerate(conditions):
            if condition in conditions[:index]:
                yield duplicate((*at, key, index), condition)
    wanted, failed = lists.values()
    for index, condition in enumerate(failed):
        if condition in wanted:
            where = (*at, "bindingFailureConditions", index)
            yield invalid(where, condition, "must not be in bindingConditions too")
    if bool(wanted) != bool(failed):
        absent = "bindingFailureConditions" if wanted else "bindingConditions"
        yield invalid((*at, absent), [], "must be set together with the other list")
