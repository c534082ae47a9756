"""Devices and counters in the API's JSON form (resource.k8s.io/v1). No I/O.

Also what the server did to them: fields it added, and fields it dropped.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from netclaim.model.claim import JsonObject
from netclaim.model.counter import CounterSet
from netclaim.model.device import AttributeValue, Capacity, Device, RequestPolicy, Version
from netclaim.model.quantity import Quantity

__all__ = [
    "counter_set_json",
    "device_json",
    "dropped_fields",
    "with_server_fields",
    "without_server_fields",
]

NAMED_BY_THE_DRIVER = frozenset(
    {"attributes", "capacity", "consumesCounters.counters", "sharedCounters.counters"}
)  # maps whose keys are names, not fields


def device_json(device: Device) -> JsonObject:
    """The device as it is written into a slice; empty fields are left out, as the server does."""
    obj: JsonObject = {"name": device.name}
    if device.attributes:
        obj["attributes"] = {name: _attribute(v) for name, v in device.attributes.items()}
    if device.capacity:
        obj["capacity"] = {name: _capacity(c) for name, c in device.capacity.items()}
    if device.allow_multiple_allocations:
        obj["allowMultipleAllocations"] = True
    if device.taints:
        obj["taints"] = [
            {"key": t.key, "effect": t.effect} | ({"value": t.value} if t.value else {})
            for t in device.taints
        ]
    if device.consumes:
        obj["consumesCounters"] = [
            {"counterSet": use.counter_set, "counters": _counters(use.counters)}
            for use in device.consumes
        ]
    if device.binds_to_node:
        obj["bindsToNode"] = True
    if device.binding_conditions:
        obj["bindingConditions"] = list(device.binding_conditions)
        obj["bindingFailureConditions"] = list(device.binding_failure_conditions)
    return obj


def counter_set_json(counter_set: CounterSet) -> JsonObject:
    """The set as it is written into a slice."""
    return {"name": counter_set.name, "counters": _counters(counter_set.counters)}


def without_server_fields(devices: Iterable[JsonObject]) -> list[JsonObject]:
    """The devices without what only the server fills in: when a taint was added."""
    return [
        device | {"taints": [_without(taint, "timeAdded") for taint in device["taints"]]}
        if "taints" in device
        else device
        for device in devices
    ]


def with_server_fields(devices: list[JsonObject], stored: list[JsonObject]) -> list[JsonObject]:
    """The devices with what the server filled in before, so that a write does not reset it."""
    times = {
        (device["name"], taint["key"], taint["effect"]): {"timeAdded": taint["timeAdded"]}
        for device in stored
        for taint in device.get("taints", ())
        if "timeAdded" in taint
    }
    return [
        device
        | {
            "taints": [
                taint | times.get((device["name"], taint["key"], taint["effect"]), {})
                for taint in device["taints"]
            ]
        }
        if "taints" in device
        else device
        for device in devices
    ]


def dropped_fields(sent: Any, returned: Any, path: str = "") -> frozenset[str]:
    """Paths of what was sent and did not come back: fields of features that are switched off.

    Names of devices, attributes, capacities and counters become `*`: a feature shows up once.
    """
    if isinstance(sent, Mapping):
        if not isinstance(returned, Mapping):
            return frozenset({path})
        return frozenset().union(
            *(
                dropped_fields(value, returned.get(key), f"{path}.{_shown(path, key)}".lstrip("."))
                for key, value in sent.items()
            )
        )
    if isinstance(sent, list):
        if not isinstance(returned, list) or len(returned) != len(sent):
            return frozenset({path})
        pairs = zip(sent, returned, strict=True)
        return frozenset().union(*(dropped_fields(s, r, path) for s, r in pairs))
    return frozenset() if returned is not None else frozenset({path})


def _shown(path: str, key: str) -> str:
    return "*" if path in NAMED_BY_THE_DRIVER else key


def _counters(counters: Mapping[str, Quantity]) -> JsonObject:
    return {name: {"value": str(amount)} for name, amount in counters.items()}


def _attribute(value: AttributeValue) -> JsonObject:
    if isinstance(value, Version):
        return {"version": value.text}
    if isinstance(value, bool):
        return {"bool": value}
    return {"int": value} if isinstance(value, int) else {"string": value}


def _capacity(capacity: Capacity) -> JsonObject:
    obj: JsonObject = {"value": str(capacity.value)}
    if capacity.policy is not None:
        obj["requestPolicy"] = _policy(capacity.policy)
    return obj


def _policy(policy: RequestPolicy) -> JsonObject:
    obj: JsonObject = {"default": str(policy.default)}
    if policy.valid_values:
        obj["validValues"] = [str(value) for value in policy.valid_values]
    if policy.valid_range is not None:
        limits = policy.valid_range
        named = {"min": limits.minimum, "max": limits.maximum, "step": limits.step}
        obj["validRange"] = {key: str(q) for key, q in named.items() if q is not None}
    return obj


def _without(obj: JsonObject, key: str) -> JsonObject:
    return {k: v for k, v in obj.items() if k != key}
