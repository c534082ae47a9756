"""Devices on offer, as ResourceSlices publish them.

Promise: a device has everything that allocation needs, worked out once. If selectors cannot see it,
the reason is kept, and becomes an error when a selector looks at the device.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from netclaim.allocator.cel import DeviceView, EvaluationError, device_view
from netclaim.allocator.objects.capacity import Capacity
from netclaim.allocator.objects.node import NodeChoice
from netclaim.model.api.base import ObjectError
from netclaim.model.api.dra.ids import DeviceId, PoolId
from netclaim.model.api.dra.slice import Counter, PublishedDevice, ResourceSlice
from netclaim.model.api.dra.taint import Taint
from netclaim.model.quantity import Quantity, QuantityError

# Its kind and its value: ("int", 1). Python holds 1 and True for equal, but their kinds differ.
Attribute: TypeAlias = tuple[str, Any]


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
    binding_conditions: tuple[str, ...] = ()  # these two go into the result as they are
    binding_failure_conditions: tuple[str, ...] = ()

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
        found = ResourceSlice.read(obj)
        try:
            return _slice(found)
        except QuantityError as error:
            raise ObjectError("ResourceSlice", str(error)) from error


def _slice(found: ResourceSlice) -> Slice:
    spec = found.spec
    nodes = NodeChoice.of(spec)
    own_nodes = spec.per_device_node_selection
    return Slice(
        name=found.metadata.name,
        pool=spec.pool_id,
        generation=spec.pool.generation,
        expected=spec.pool.resource_slice_count,
        nodes=nodes,
        own_nodes=own_nodes,
        devices=tuple(
            _device(spec.pool_id, one, NodeChoice.of(one) if own_nodes else nodes, own_nodes)
            for one in spec.devices
        ),
        counter_sets=tuple(one.name for one in spec.shared_counters),
        counters=_counters((one.name, one.counters) for one in spec.shared_counters),
    )


def _device(pool: PoolId, found: PublishedDevice, nodes: NodeChoice, own_nodes: bool) -> Device:
    return Device(
        id=DeviceId(pool.driver, pool.pool, found.name),
        view=_view(pool.driver, found),
        attributes={name: one.typed for name, one in found.attributes.items()},
        taints=found.taints,
        shareable=found.allow_multiple_allocations,
        capacities={name: Capacity.of(one) for name, one in found.capacity.items()},
        consumes=_counters((one.counter_set, one.counters) for one in found.consumes_counters),
        nodes=nodes,
        own_nodes=own_nodes,
        binds_to_node=found.binds_to_node,
        binding_conditions=found.binding_conditions,
        binding_failure_conditions=found.binding_failure_conditions,
    )


def _counters(
    sets: Iterable[tuple[str, Mapping[str, Counter]]],
) -> dict[CounterId, Quantity]:
    return {
        CounterId(name, counter): Quantity.parse(one.value)
        for name, counters in sets
        for counter, one in counters.items()
    }


def _view(driver: str, found: PublishedDevice) -> DeviceView | EvaluationError:
    try:
        return device_view(driver, found)
    except EvaluationError as error:
        return error
