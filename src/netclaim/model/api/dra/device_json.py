"""Devices and counters in the API's JSON form (resource.k8s.io/v1). No I/O."""

from collections.abc import Mapping

from netclaim.model.claims.claim import JsonObject
from netclaim.model.devices.counter import CounterSet
from netclaim.model.devices.device import AttributeValue, Capacity, Device, RequestPolicy, Version
from netclaim.model.quantity import Quantity


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
