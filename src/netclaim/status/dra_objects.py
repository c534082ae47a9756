"""Kubernetes' objects of Dynamic Resource Allocation (DRA), as far as `netclaim status` reads them.

Fields that are missing have their empty value; fields that nobody asks for are ignored.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

__all__ = [
    "Allocated",
    "Base",
    "Claim",
    "Class",
    "Condition",
    "DeviceData",
    "DeviceStatus",
    "Meta",
    "NetworkData",
    "PublishedDevice",
    "Slice",
]


class Base(msgspec.Struct, frozen=True, rename="camel"):
    """The names of fields are those of the API."""


class Meta(Base, frozen=True):
    """Who an object is."""

    name: str
    namespace: str = ""
    uid: str = ""
    deletion_timestamp: str | None = None


class Condition(Base, frozen=True):
    """A condition of anything."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class Taint(Base, frozen=True):
    """What keeps claims from a device."""

    key: str
    effect: str
    value: str = ""


class CapacityValue(Base, frozen=True):
    """How much there is of something."""

    value: str | int | float


class PublishedDevice(Base, frozen=True):
    """A device of a slice."""

    name: str
    attributes: Mapping[str, Mapping[str, Any]] = {}
    capacity: Mapping[str, CapacityValue] = {}
    taints: tuple[Taint, ...] = ()
    allow_multiple_allocations: bool = False
    node_name: str = ""


class Pool(Base, frozen=True):
    """The pool that a slice is a part of."""

    name: str
    generation: int = 0
    resource_slice_count: int = 1


class SliceSpec(Base, frozen=True):
    """What a slice publishes."""

    driver: str
    pool: Pool
    node_name: str = ""
    devices: tuple[PublishedDevice, ...] = ()


class Slice(Base, frozen=True):
    """A ResourceSlice."""

    metadata: Meta
    spec: SliceSpec


class Class(Base, frozen=True):
    """A DeviceClass."""

    metadata: Meta
    spec: Mapping[str, Any] = {}

    @property
    def expressions(self) -> tuple[str, ...]:
        """What its selectors say."""
        selectors = self.spec.get("selectors") or ()
        return tuple((one.get("cel") or {}).get("expression") or "" for one in selectors)


class Allocated(Base, frozen=True):
    """A device that a claim was given."""

    request: str
    driver: str
    pool: str
    device: str
    admin_access: bool = False
    share_id: str = msgspec.field(default="", name="shareID")
    consumed_capacity: Mapping[str, str | int | float] = {}


class Results(Base, frozen=True):
    """The devices of an allocation."""

    results: tuple[Allocated, ...] = ()


class Allocation(Base, frozen=True):
    """What the scheduler decided."""

    devices: Results = Results()


class Consumer(Base, frozen=True):
    """For whom a claim is reserved."""

    resource: str
    name: str
    uid: str = ""
    api_group: str = ""


class NetworkData(Base, frozen=True):
    """The interface that a device became."""

    interface_name: str = ""
    hardware_address: str = ""
    ips: tuple[str, ...] = ()


class PodData(NetworkData, frozen=True):
    """The same for one of several pods on a shared claim, as netclaim's driver lists them."""

    name: str = ""
    uid: str = ""


class DeviceData(Base, frozen=True):
    """What netclaim's driver writes of pods that share a claim; others write what they like."""

    pods: tuple[PodData, ...] = ()
    omitted: int = 0  # pods that did not fit


class DeviceStatus(Base, frozen=True):
    """What the driver reports of a device of a claim."""

    driver: str
    pool: str
    device: str
    share_id: str = msgspec.field(default="", name="shareID")
    conditions: tuple[Condition, ...] = ()
    network_data: NetworkData = NetworkData()
    data: Any = None

    @property
    def ready(self) -> Condition | None:
        """Its condition Ready."""
        return next((one for one in self.conditions if one.type == "Ready"), None)

    @property
    def shared(self) -> DeviceData:
        """The interfaces of the pods that share it; nothing if it is one pod's."""
        try:
            return msgspec.convert(self.data or {}, DeviceData)
        except msgspec.ValidationError:
            return DeviceData()


class ClaimStatus(Base, frozen=True):
    """What became of a claim."""

    allocation: Allocation | None = None
    reserved_for: tuple[Consumer, ...] = ()
    devices: tuple[DeviceStatus, ...] = ()


class Claim(Base, frozen=True):
    """A ResourceClaim."""

    metadata: Meta
    spec: Mapping[str, Any] = {}
    status: ClaimStatus = ClaimStatus()

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes that its requests ask for."""
        found: list[str] = []
        for request in (self.spec.get("devices") or {}).get("requests") or ():
            asked = [request.get("exactly") or {}, *(request.get("firstAvailable") or ())]
            found += [one["deviceClassName"] for one in asked if one.get("deviceClassName")]
        return tuple(dict.fromkeys(found))
