"""Which writes turn the existing ResourceSlices into those that there should be. No I/O.

Promise: once they are carried out, nothing is left to write. A device stays in its slice while
others, or its taints, come and go, and a slice has its devices in the driver's order, in which the
scheduler takes them. The allocator never takes an incomplete pool for a whole one (see below).
Limit: there is one pool for a node, named after the node. Counters that devices share are in slices
of their own, as the API requires.

Generation: when a single slice changes its devices it is written alone, which is atomic. When
slices come or go, or several change, every slice of the pool is written with the next generation,
and the pool counts only once all of them are there. A slice that has lost its owner is written as
it is, which changes nothing for the allocator.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from netclaim.framework.publish.server_fields import with_server_fields, without_server_fields
from netclaim.model.api.dra.device_json import counter_set_json, device_json
from netclaim.model.api.limits import COUNTER_SETS_MAX, SLICE_ADVANCED_DEVICES_MAX, SUBDOMAIN_MAX
from netclaim.model.claims.claim import JsonObject
from netclaim.model.devices.counter import CounterSet
from netclaim.model.devices.device import Device

# Devices in one slice. The API takes 128, but 64 as soon as one of them has a taint or a counter; a
# taint that comes would move half of the devices, and every slice would be written anew.
SLICE_MAX: Final = SLICE_ADVANCED_DEVICES_MAX
COUNTERS_FROM: Final = 0xC0000  # their slices' numbers, beyond any of devices
CONTENT: Final = ("devices", "sharedCounters")  # a slice has one or the other
PROBE_INDEX: Final = 0xFFFFF  # the last of five digits, beyond any of counters


@dataclass(frozen=True, slots=True)
class Pool:
    """Whose slices they are. The Node object owns them, so that they go when the node goes."""

    driver: str
    node: str
    node_uid: str

    def slice_name(self, index: int) -> str:
        """The name of the pool's n-th slice.

        Always the same, so that a create whose answer was lost is not done twice. The allocator
        goes through slices in the order of their names.
        """
        text = f"{index:05x}-{self.driver}-{self.node}"
        digest = hashlib.sha256(f"{self.driver}\0{self.node}".encode()).hexdigest()[:8]
        return f"{text[: SUBDOMAIN_MAX - 9].rstrip('-.')}-{digest}"

    def probe_slice(self, devices: list[JsonObject]) -> JsonObject:
        """A slice of these devices under a name that no other has, to see what becomes of it.

        The name is one that the node's admission policy lets the driver use.
        """
        spec = _spec(self, {"devices": devices}, 1, 1)
        return _object(self, self.slice_name(PROBE_INDEX), spec)


@dataclass(frozen=True, slots=True)
class Create:
    obj: JsonObject


@dataclass(frozen=True, slots=True)
class Update:
    """Replace a slice, if it is still the version that was looked at."""

    obj: JsonObject


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a slice, if it is still the same object in the version that was looked at."""

    name: str
    uid: str
    resource_version: str


Operation: TypeAlias = Create | Update | Delete


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the server stored of the content we sent; a difference is its decision."""

    sent: JsonObject
    returned: JsonObject


def plan_slices(
    pool: Pool,
    offered: Iterable[Device | CounterSet],
    existing: Iterable[JsonObject],
    *,
    accepted: Mapping[str, Accepted],
    last_generation: int = 0,
) -> tuple[Operation, ...]:
    """The operations to carry out, in this order; none if everything is as it should be."""
    found = {obj["metadata"]["name"]: obj for obj in existing}
    wanted = _wanted(pool, list(offered), found)
    obsolete = [_delete(obj) for name, obj in sorted(found.items()) if name not in wanted]
    missing = [name for name in wanted if name not in found]
    changed = [
        name
        for name, offer in wanted.items()
        if name in found and not _holds(found[name], offer, accepted.get(name))
    ]
    disowned = [name for name in wanted if name in found and not _is_owned(pool, found[name])]
    whole = not obsolete and not missing and _is_whole(pool, found.values())
    if whole and not changed and not disowned:
        return ()
    newest = max([_generation(obj) for obj in found.values()], default=0)
    if whole and len(changed) <= 1:
        generation, rewritten = newest, sorted({*changed, *disowned})
    else:
        generation = max(newest, last_generation) + 1
        rewritten = [name for name in wanted if name in found]
    specs = {name: _spec(pool, wanted[name], generation, len(wanted)) for name in wanted}
    return (
        *obsolete,
        *(Update(_replacement(pool, specs[name], found[name])) for name in rewritten),
        *(Create(_object(pool, name, specs[name])) for name in missing),
    )


def content(obj: JsonObject) -> JsonObject:
    """What a slice offers, without what only the server sets."""
    spec = obj.get("spec") or {}
    if counters := spec.get("sharedCounters"):
        return {"sharedCounters": counters}
    return {"devices": without_server_fields(spec.get("devices") or [])}


def _wanted(
    pool: Pool, offered: Sequence[Device | CounterSet], found: Mapping[str, JsonObject]
) -> dict[str, JsonObject]:
    devices = {each.name: device_json(each) for each in offered if isinstance(each, Device)}
    counters = [counter_set_json(each) for each in offered if isinstance(each, CounterSet)]
    return {
        name: {"devices": part} for name, part in _device_slices(pool, devices, found).items()
    } | {
        pool.slice_name(COUNTERS_FROM + index): {
            "sharedCounters": counters[start:][:COUNTER_SETS_MAX]
        }
        for index, start in enumerate(range(0, len(counters), COUNTER_SETS_MAX))
    }


def _device_slices(
    pool: Pool, todo: dict[str, JsonObject], found: Mapping[str, JsonObject]
) -> dict[str, list[JsonObject]]:
    """Distribute the devices over slices, each to the one it is in if there is room."""
    place = {name: number for number, name in enumerate(todo)}
    highest = len(todo) // SLICE_MAX + len(found) + 1
    names = [pool.slice_name(index) for index in range(highest)]
    slices: dict[str, list[JsonObject]] = {name: [] for name in names}
    for name in names:
        for device in _devices(found.get(name, {})):
            if device["name"] in todo and len(slices[name]) < SLICE_MAX:
                slices[name].append(todo.pop(device["name"]))
    for name in names:
        while todo and len(slices[name]) < SLICE_MAX:
            slices[name].append(todo.pop(next(iter(todo))))
    for part in slices.values():
        part.sort(key=lambda device: place[device["name"]])
    filled = {name: part for name, part in slices.items() if part}
    return filled or {names[0]: []}  # an empty slice says "none here"; no slice says nothing


def _holds(obj: JsonObject, wanted: JsonObject, accepted: Accepted | None) -> bool:
    there = content(obj)
    if there == wanted:
        return True
    return accepted is not None and accepted.sent == wanted and accepted.returned == there


def _is_whole(pool: Pool, found: Iterable[JsonObject]) -> bool:
    """Whether the slices agree with each other and with us on all but their content."""
    objects = list(found)
    heads = [{k: v for k, v in o["spec"].items() if k not in CONTENT} for o in objects]
    expected = _spec(pool, {}, max(map(_generation, objects), default=0), len(objects))
    return all(head == expected for head in heads)


def _is_owned(pool: Pool, obj: JsonObject) -> bool:
    return bool(obj["metadata"].get("ownerReferences") == [_owner(pool)])


def _spec(pool: Pool, offered: JsonObject, generation: int, count: int) -> JsonObject:
    return {
        "driver": pool.driver,
        "nodeName": pool.node,
        "pool": {"name": pool.node, "generation": generation, "resourceSliceCount": count},
        **offered,
    }


def _owner(pool: Pool) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "name": pool.node,
        "uid": pool.node_uid,
        "controller": True,
    }


def _object(pool: Pool, name: str, spec: JsonObject) -> JsonObject:
    return {"metadata": {"name": name, "ownerReferences": [_owner(pool)]}, "spec": spec}


def _replacement(pool: Pool, spec: JsonObject, found: JsonObject) -> JsonObject:
    """The slice as a replacement for exactly this version of the existing one."""
    meta = found["metadata"]
    if "devices" in spec:
        spec = spec | {"devices": with_server_fields(spec["devices"], _devices(found))}
    obj = _object(pool, meta["name"], spec)
    obj["metadata"] |= {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    return obj


def _delete(obj: JsonObject) -> Delete:
    meta = obj["metadata"]
    return Delete(name=meta["name"], uid=meta["uid"], resource_version=meta["resourceVersion"])


def _devices(obj: Mapping[str, Any]) -> list[JsonObject]:
    return (obj.get("spec") or {}).get("devices") or []


def _generation(obj: JsonObject) -> int:
    return int(obj["spec"]["pool"]["generation"])
