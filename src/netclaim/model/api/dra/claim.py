"""ResourceClaim: what is asked for, what was allocated, for whom, and what drivers report."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from netclaim.model.api.base import Base, Condition, JsonObject, Meta, QuantityText
from netclaim.model.api.dra.config import DeviceConfig
from netclaim.model.api.dra.device_class import Selector
from netclaim.model.api.dra.ids import DeviceId
from netclaim.model.api.dra.taint import Toleration
from netclaim.model.pools.counted_pool import pool_of


class CapacityRequests(Base, frozen=True):
    """How much of a device's capacities is asked for."""

    requests: Mapping[str, QuantityText] = {}


class ExactRequest(Base, frozen=True):
    """Devices of a class, chosen by selectors."""

    device_class_name: str
    selectors: tuple[Selector, ...] = ()
    allocation_mode: str = ""  # ExactCount
    count: int = 0  # 1
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    capacity: CapacityRequests = CapacityRequests()


class SubRequest(ExactRequest, frozen=True, kw_only=True):
    """One of several alternatives."""

    name: str


class DeviceRequest(Base, frozen=True):
    """A request: what it asks for exactly, or alternatives in order of preference."""

    name: str
    exactly: ExactRequest | None = None
    first_available: tuple[SubRequest, ...] = ()

    @property
    def alternatives(self) -> tuple[ExactRequest, ...]:
        """The ways to satisfy it, the first one that is possible being taken."""
        return (self.exactly,) if self.exactly is not None else self.first_available


class DeviceConstraint(Base, frozen=True):
    """What the devices of some requests, or of all, must have in common, or must not."""

    requests: tuple[str, ...] = ()
    match_attribute: str = ""
    distinct_attribute: str = ""


class DeviceClaim(Base, frozen=True):
    """What a claim asks for."""

    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceConfig, ...] = ()


class ClaimSpec(Base, frozen=True):
    """The spec of a claim, also of one in a template."""

    devices: DeviceClaim = DeviceClaim()


class DeviceReference(Base, frozen=True, kw_only=True):
    """Which device of a claim is meant, and which share of it where claims share it."""

    driver: str
    pool: str
    device: str
    share_id: str = msgspec.field(default="", name="shareID")

    @property
    def id(self) -> DeviceId:
        """The device in the cluster."""
        return DeviceId(self.driver, self.pool, self.device)

    @property
    def key(self) -> tuple[str, str, str]:
        """What distinguishes it from all others of the same driver and claim."""
        return (self.pool, self.device, self.share_id)


class DeviceResult(DeviceReference, frozen=True, kw_only=True):
    """A device that was allocated for a request; `request` may name an alternative: `nic/fast`."""

    request: str
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    consumed_capacity: Mapping[str, QuantityText] = {}
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()


class AllocatedDevices(Base, frozen=True):
    """The devices of an allocation, and their configuration."""

    results: tuple[DeviceResult, ...] = ()
    config: tuple[DeviceConfig, ...] = ()


class AllocationResult(Base, frozen=True):
    """What the scheduler decided; a node selector says where the devices can be used from."""

    devices: AllocatedDevices = AllocatedDevices()
    node_selector: JsonObject | None = None
    allocation_timestamp: str = ""


class Consumer(Base, frozen=True):
    """Whom a claim is reserved for; "pods" of the core group except for alpha features."""

    resource: str
    name: str
    uid: str
    api_group: str = ""

    @property
    def is_pod(self) -> bool:
        """Whether it is a pod, and not something of another group that has the same name."""
        return self.resource == "pods" and not self.api_group


class NetworkData(Base, frozen=True):
    """The interface that a device became."""

    interface_name: str = ""
    hardware_address: str = ""
    ips: tuple[str, ...] = ()


class PodNetworkData(NetworkData, frozen=True):
    """The same for one of several pods on a shared claim."""

    name: str = ""
    uid: str = ""


class SharedData(Base, frozen=True):
    """What netclaim's driver writes of pods that share a claim; others write what they like."""

    pods: tuple[PodNetworkData, ...] = ()
    omitted: int = 0  # pods that did not fit

    @classmethod
    def find(cls, data: Any) -> "SharedData":
        """Return what a driver's data says of pods; nothing if it is not of this form."""
        try:
            return msgspec.convert(data or {}, cls)
        except msgspec.ValidationError:
            return cls()


class NetworkReference(Base, frozen=True):
    """Which PodNetwork a device is for, as netclaim's driver writes it."""

    name: str = ""


class NamedNetwork(Base, frozen=True):
    """A driver's data, as far as it names a PodNetwork."""

    pod_network: NetworkReference = NetworkReference()


class DeviceStatus(DeviceReference, frozen=True, kw_only=True):
    """What a driver reports of a device of a claim."""

    conditions: tuple[Condition, ...] = ()
    network_data: NetworkData = NetworkData()
    data: Any = None

    @property
    def ready(self) -> Condition | None:
        """The condition Ready of the device; None if it has none."""
        return next((one for one in self.conditions if one.type == "Ready"), None)

    @property
    def unhealthy(self) -> str:
        """Why it is not healthy, as its driver says; empty if it is, or if nobody says."""
        found = (one for one in self.conditions if one.type == "Healthy" and one.status == "False")
        return next((one.message or one.reason for one in found), "")

    @property
    def true(self) -> Mapping[str, Condition]:
        """Its conditions that are true, by type."""
        return {one.type: one for one in self.conditions if one.status == "True"}

    @property
    def pod_network(self) -> str:
        """The name of its PodNetwork; empty if it is for none, or for one of another driver."""
        try:
            return msgspec.convert(self.data or {}, NamedNetwork).pod_network.name
        except msgspec.ValidationError:
            return ""

    @property
    def shared(self) -> SharedData:
        """The interfaces of the pods that share it; nothing if it is one pod's."""
        return SharedData.find(self.data)


class ClaimStatus(Base, frozen=True):
    """What became of a claim."""

    allocation: AllocationResult | None = None
    reserved_for: tuple[Consumer, ...] = ()
    devices: tuple[DeviceStatus, ...] = ()

    @property
    def results(self) -> tuple[DeviceResult, ...]:
        """The devices that were allocated; none before that."""
        return self.allocation.devices.results if self.allocation is not None else ()

    @property
    def node_results(self) -> tuple[DeviceResult, ...]:
        """Those of which a node prepares something: not the pools of addresses."""
        return tuple(one for one in self.results if not pool_of(one.pool))

    @property
    def pods(self) -> tuple[str, ...]:
        """The names of the pods that it is reserved for."""
        return tuple(one.name for one in self.reserved_for if one.is_pod)

    def is_reserved_for(self, uid: str) -> bool:
        """Whether a pod, by its UID, may use it."""
        return any(one.uid == uid for one in self.reserved_for)

    def report_of(self, device: DeviceResult) -> DeviceStatus | None:
        """What its driver reports of a device."""
        wanted = (device.driver, device.key)
        return next((one for one in self.devices if (one.driver, one.key) == wanted), None)


class ResourceClaim(Base, frozen=True):
    """A ResourceClaim object."""

    metadata: Meta
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes that its requests ask for."""
        return tuple(dict.fromkeys(self._classes()))

    def requests_of(self, class_name: str) -> Iterator[str]:
        """The requests for devices of a class, as results name them."""
        for request in self.spec.devices.requests:
            if request.exactly is not None and request.exactly.device_class_name == class_name:
                yield request.name
            for each in request.first_available:
                if each.device_class_name == class_name:
                    yield f"{request.name}/{each.name}"

    def _classes(self) -> Iterator[str]:
        for request in self.spec.devices.requests:
            yield from (one.device_class_name for one in request.alternatives)
