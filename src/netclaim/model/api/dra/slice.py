"""ResourceSlice: the devices that a driver publishes.

Limit: attributes that are lists are not read.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from netclaim.model.api.base import Base, JsonObject, Meta, QuantityText
from netclaim.model.api.dra.ids import PoolId
from netclaim.model.api.dra.taint import DeviceTaint

POD_NETWORK: Final = "multinetwork.networking.k8s.io/podNetwork"  # of a device: whose it is


class DeviceAttribute(Base, frozen=True):
    """A value with its type: exactly one of the fields is set, unless the type is unknown here."""

    string: str | None = None
    number: int | None = msgspec.field(default=None, name="int")
    truth: bool | None = msgspec.field(default=None, name="bool")
    version: str | None = None

    @property
    def typed(self) -> tuple[str, str | int | bool | None]:
        """The name of its type, and its value; an unknown type has neither."""
        if self.string is not None:
            return "string", self.string
        if self.number is not None:
            return "int", self.number
        if self.truth is not None:
            return "bool", self.truth
        return ("version", self.version) if self.version is not None else ("", None)


class CapacityRange(Base, frozen=True):
    """Amounts that a request may ask for."""

    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class CapacityPolicy(Base, frozen=True):
    """What a share of a capacity may be."""

    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] = ()
    valid_range: CapacityRange = CapacityRange()


class DeviceCapacity(Base, frozen=True):
    """How much there is of something."""

    value: QuantityText
    request_policy: CapacityPolicy | None = None


class Counter(Base, frozen=True):
    """An amount of something that devices share."""

    value: QuantityText


class SharedCounters(Base, frozen=True):
    """A set of counters that the devices of a pool draw from."""

    name: str
    counters: Mapping[str, Counter] = {}


class ConsumedCounters(Base, frozen=True):
    """What a device takes from a set of counters."""

    counter_set: str
    counters: Mapping[str, Counter] = {}


class NodeScope(Base, frozen=True):
    """From which nodes a slice or a device can be used; one of the fields is set."""

    node_name: str = ""
    all_nodes: bool = False
    node_selector: JsonObject | None = None


class PublishedDevice(NodeScope, frozen=True, kw_only=True):
    """A device of a slice."""

    name: str
    attributes: Mapping[str, DeviceAttribute] = {}
    capacity: Mapping[str, DeviceCapacity] = {}
    consumes_counters: tuple[ConsumedCounters, ...] = ()
    taints: tuple[DeviceTaint, ...] = ()
    allow_multiple_allocations: bool = False
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()

    @property
    def pod_network(self) -> str:
        """The PodNetwork whose own device on a link this is; empty if it is none."""
        named = self.attributes.get(POD_NETWORK)
        return (named.string or "") if named is not None else ""


class Pool(Base, frozen=True):
    """The pool that a slice is a part of: complete with so many slices of its newest generation."""

    name: str
    generation: int = 0
    resource_slice_count: int = 1


class SliceSpec(NodeScope, frozen=True, kw_only=True):
    """What a slice publishes: devices or counters."""

    driver: str
    pool: Pool
    per_device_node_selection: bool = False
    devices: tuple[PublishedDevice, ...] = ()
    shared_counters: tuple[SharedCounters, ...] = ()

    @property
    def pool_id(self) -> PoolId:
        """Which pool it is a part of."""
        return PoolId(self.driver, self.pool.name)


class ResourceSlice(Base, frozen=True):
    """A ResourceSlice object."""

    metadata: Meta
    spec: SliceSpec
