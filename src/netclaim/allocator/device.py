"""Devices on offer, as ResourceSlices publish them.

Promise: everything about a device that allocation asks for, read once from a v1 object. What
selectors cannot see of it is kept as a fault, which becomes an error when a selector looks at it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from netclaim.allocator.capacity import Capacity
from netclaim.allocator.cel import DeviceView, EvaluationError, device_view
from netclaim.allocator.errors import ObjectError
from netclaim.allocator.node import NodeChoice
from netclaim.model.claim import JsonObject
from netclaim.model.device import Taint
from netclaim.model.quantity import Quantity, QuantityError

__all__ = ["Attribute", "CounterId", "Device", "DeviceId", "PoolId", "Slice"]

Attribute: TypeAlias = tuple[str, Any]  # its kind and its value: ("int", 9000)

KINDS: Final = ("string", "int", "bool", "version")
BINDING: Final = ("bindingConditions", "bindingFailureConditions")


class PoolId(NamedTuple):
    """A pool: its name is unique among those of its driver."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return "/".join(self)


class DeviceId(NamedTuple):
    """What tells a device from every other in the cluster."""

    driver: str
    pool: str
    device: str

    @property
    def in_pool(self) -> PoolId:
        """The pool that it is in."""
        return PoolId(self.driver, self.pool)

    def __str__(self) -> str:
        return "/".join(self)


class CounterId(NamedTuple):
    """A counter of a set that the devices of a pool share."""

    set: str
    counter: str

    def __str__(self) -> str:
        return "/".join(self)


@dataclass(frozen=True, slots=True, eq=False)
class Device:
    """A device on offer; compared by identity, so that what is known of it can be kept."""

    id: DeviceId
    view: DeviceView | EvaluationError  # what selectors see, or why they cannot
    attributes: Mapping[str, Attribute]
    taints: tuple[Taint, ...] = ()
    shareable: bool = False
    capacities: Mapping[str, Capacity] = field(default_factory=dict)
    consumes: Mapping[CounterId, Quantity] = field(default_factory=dict)
    nodes: NodeChoice = NodeChoice()  # noqa: RUF009 - frozen
    own_nodes: bool = False  # the choice is its own, not its slice's
    binds_to_node: bool = False
    binding: JsonObject | None = None  # goes into the result as it is

    def attribute(self, name: str) -> Attribute | None:
        """Return an attribute by its full name; the driver's own may be without a domain."""
        found = self.attributes.get(name)
        if found is None:
            domain, _, identifier = name.partition("/")
            found = self.attributes.get(identifier) if domain == self.id.driver else None
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """A part of a pool; a pool is complete with `expected` slices of its highest generation."""

    name: str
    pool: PoolId
    generation: int
    expected: int
    nodes: NodeChoice
    own_nodes: bool  # each device has its own choice of nodes
    devices: tuple[Device, ...]
    counter_sets: tuple[str, ...] = ()  # a slice has either these or devices
    counters: Mapping[CounterId, Quantity] = field(default_factory=dict)

    @classmethod
    def read(cls, obj: Mapping[str, Any]) -> "Slice":
        """Read a v1 ResourceSlice object."""
        try:
            return _read_slice(obj)
        except (KeyError, TypeError, AttributeError, QuantityError) as error:
            raise ObjectError(f"not a ResourceSlice: {error!r}") from error


def _read_slice(obj: Mapping[str, Any]) -> Slice:
    spec = obj["spec"]
    pool = PoolId(spec["driver"], spec["pool"]["name"])
    nodes = NodeChoice.read(spec)
    own_nodes = bool(spec.get("perDeviceNodeSelection"))
    return Slice(
        name=obj["metadata"]["name"],
        pool=pool,
        generation=spec["pool"].get("generation") or 0,
        expected=spec["pool"]["resourceSliceCount"],
        nodes=nodes,
        own_nodes=own_nodes,
        devices=tuple(
            _read_device(pool, device, NodeChoice.read(device) if own_nodes else nodes, own_nodes)
            for device in spec.get("devices") or ()
        ),
        counter_sets=tuple(one["name"] for one in spec.get("sharedCounters") or ()),
        counters=_counters(spec.get("sharedCounters") or (), "name"),
    )


def _read_device(
    pool: PoolId, obj: Mapping[str, Any], nodes: NodeChoice, own_nodes: bool
) -> Device:
    attributes = obj.get("attributes") or {}
    return Device(
        id=DeviceId(pool.driver, pool.pool, obj["name"]),
        view=_view(pool.driver, obj),
        attributes={name: _attribute(value) for name, value in attributes.items()},
        taints=tuple(
            Taint(key=taint["key"], effect=taint["effect"], value=taint.get("value") or "")
            for taint in obj.get("taints") or ()
        ),
        shareable=bool(obj.get("allowMultipleAllocations")),
        capacities={name: Capacity.read(one) for name, one in (obj.get("capacity") or {}).items()},
        consumes=_counters(obj.get("consumesCounters") or (), "counterSet"),
        nodes=nodes,
        own_nodes=own_nodes,
        binds_to_node=bool(obj.get("bindsToNode")),
        binding={key: obj[key] for key in BINDING if obj.get(key)} or None,
    )


def _counters(sets: Sequence[Mapping[str, Any]], key: str) -> dict[CounterId, Quantity]:
    return {
        CounterId(one[key], name): Quantity.parse(counter["value"])
        for one in sets
        for name, counter in (one.get("counters") or {}).items()
    }


def _view(driver: str, obj: Mapping[str, Any]) -> DeviceView | EvaluationError:
    try:
        return device_view(driver, obj)
    except EvaluationError as error:
        return error


def _attribute(value: Mapping[str, Any]) -> Attribute:
    for kind in KINDS:
        if value.get(kind) is not None:
            return kind, value[kind]
    return "", None  # a list, or something of the future: equal to nothing
