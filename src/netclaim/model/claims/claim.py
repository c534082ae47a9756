"""A ResourceClaim as a driver needs it: what was allocated, with which configuration, for whom.

Promise: it reads the object of every served API version, since `status.allocation` has the same
JSON form in all of them, and ignores what it does not know. The owner of a claim is read from what
the control plane wrote: the claim's author can write anything into the metadata, including owners.
Limit: of the spec it keeps only the names of requests: all of them, and those that each
configuration was written for. Everything else that a driver acts on is in the allocation.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec

from netclaim.errors import RequestError
from netclaim.model.api.base import JsonObject, Meta, ObjectError
from netclaim.model.api.dra.claim import (
    AllocatedDevices,
    Consumer,
    DeviceResult,
    DeviceStatus,
    ResourceClaim,
)
from netclaim.model.claims.opaque_config import OpaqueConfig, opaque_configs
from netclaim.model.claims.unreadable import LEVELS_MAX, bounded, why_unreadable
from netclaim.model.devices.device_name import is_dns_label
from netclaim.model.on_node.prepared import ClaimRef

__all__ = [
    "AllocatedDevice",
    "Claim",
    "ClaimError",
    "Consumer",
    "DeviceKey",
    "JsonObject",
    "OpaqueConfig",
    "ReportedDevice",
    "claim_of",
    "parse_claim",
]

POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"  # at claims made from templates
NETWORK_WIDE: Final = "/"  # in a pool's name: `addresses/media`; no node's name has a slash
READABLE: Final = (
    "write them in UTF-8, without halves of surrogate pairs, with numbers that fit into 64 bits,"
    f" and nested at most {LEVELS_MAX} deep"
)
DeviceKey: TypeAlias = tuple[str, str, str]  # pool, device, share id or ""


class ClaimError(ObjectError):
    """A claim object that cannot be what the API server sent."""


class AllocatedDevice(msgspec.Struct, frozen=True, omit_defaults=True):
    """One device the scheduler gave to one request of the claim."""

    request: str
    driver: str
    pool: str
    device: str
    share_id: str | None = None
    admin_access: bool = False
    consumed_capacity: Mapping[str, str] = {}

    @property
    def base_request(self) -> str:
        """The request's name without the alternative that was chosen (`nic/fast` is `nic`)."""
        return self.request.partition("/")[0]

    @property
    def is_network_wide(self) -> bool:
        """Whether it is of no node: a pool's name is a node's name, unless it has a slash."""
        return NETWORK_WIDE in self.pool

    @property
    def key(self) -> DeviceKey:
        """What distinguishes this device from every other of the same driver and claim."""
        return (self.pool, self.device, self.share_id or "")


class ReportedDevice(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the claim's status says of a device that is ready."""

    driver: str
    key: DeviceKey
    since: str  # RFC 3339
    message: str = ""
    interface_name: str = ""
    hardware_address: str = ""
    ips: tuple[str, ...] = ()
    data: JsonObject = {}


class Claim(msgspec.Struct, frozen=True, omit_defaults=True):
    """One claim, by its UID: a claim made again under the same name is another claim.

    `owner_pod_uid` is set when the claim was made for one pod, from a template or by the scheduler,
    and is reserved for that pod and nobody else; it is then taken to be that pod's alone. An owner
    that the control plane does not confirm is left out: anybody can write any owner into a claim.
    `namespace_labels` are there for drivers that ask for them. `pod_claim_name` is what the pod
    calls a claim that was made from a template; the claim's author can write another name there.
    `begun` says that this node began to prepare it before, and may not have come to an end. `wide`
    is what it has of devices that a driver's controller published for several nodes.
    """

    uid: str
    namespace: str
    name: str
    allocated: bool = False
    requests: tuple[str, ...] = ()
    devices: tuple[AllocatedDevice, ...] = ()
    configs: tuple[OpaqueConfig, ...] = ()
    reserved_for: tuple[Consumer, ...] = ()
    owner_pod_uid: str | None = None
    reported: tuple[ReportedDevice, ...] = ()
    namespace_labels: Mapping[str, str] = {}
    pod_claim_name: str = ""
    begun: bool = False
    wide: tuple[AllocatedDevice, ...] = ()

    @property
    def ref(self) -> ClaimRef:
        """The claim's identity, as kubelet gives it."""
        return ClaimRef(uid=self.uid, namespace=self.namespace, name=self.name)

    @property
    def pod_uids(self) -> frozenset[str]:
        """The pods the claim is reserved for."""
        return frozenset(c.uid for c in self.reserved_for if c.is_pod)

    def of_driver(self, driver: str) -> "Claim":
        """The claim with only one driver's devices, its configuration and what it reports.

        What the driver's controller published for several nodes (`NETWORK_WIDE`) is apart: there is
        nothing to prepare of it.
        """
        mine = [d for d in self.devices if d.driver == driver]
        return msgspec.structs.replace(
            self,
            devices=tuple(d for d in mine if not d.is_network_wide),
            wide=tuple(d for d in mine if d.is_network_wide),
            configs=tuple(c for c in self.configs if c.driver == driver),
            reported=tuple(each for each in self.reported if each.driver == driver),
        )

    def check_readable(self) -> None:
        """Raise RequestError if there are parameters that cannot be read."""
        for config in self.configs:
            if config.unreadable:
                owner = "device class" if config.source == "FromClass" else "claim"
                raise RequestError(
                    f"the {owner}'s opaque.parameters for {config.driver} cannot be read:"
                    f" {config.unreadable}; {READABLE}"
                )

    def configs_for(self, request: str) -> tuple[OpaqueConfig, ...]:
        """What applies to a request, the class's first, so that a later one takes precedence."""
        mine = [config for config in self.configs if config.applies_to(request)]
        return tuple(sorted(mine, key=lambda config: config.source != "FromClass"))


def parse_claim(obj: Mapping[str, Any]) -> Claim:
    """Read a ResourceClaim object of any served version."""
    try:
        return claim_of(ResourceClaim.read(obj))
    except ObjectError as error:
        raise ClaimError("ResourceClaim", error.fault) from error


def claim_of(found: ResourceClaim) -> Claim:
    """Return what a driver needs of a claim; an ObjectError says what is missing for that."""
    meta, asked, status = found.metadata, found.spec.devices, found.status
    if not meta.uid or not meta.namespace:
        raise ObjectError("ResourceClaim", "metadata has no uid or no namespace")
    given = status.allocation.devices if status.allocation is not None else AllocatedDevices()
    return Claim(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        allocated=status.allocation is not None,
        requests=tuple([request.name for request in asked.requests]),
        devices=tuple(map(_device, given.results)),
        configs=opaque_configs(given, asked.config),
        reserved_for=status.reserved_for,
        owner_pod_uid=_owner_pod_uid(meta, status.reserved_for),
        reported=tuple([r for r in map(_reported, status.devices) if r is not None]),
        pod_claim_name=_pod_claim_name(meta.annotations),
    )


def _owner_pod_uid(meta: Meta, consumers: tuple[Consumer, ...]) -> str | None:
    """The controlling pod, if the claim is reserved for that very pod and nobody else."""
    named = {one.uid for one in meta.owner_references if one.controller and one.kind == "Pod"}
    if len(consumers) != 1 or not consumers[0].is_pod or consumers[0].uid not in named:
        return None
    return consumers[0].uid


def _pod_claim_name(annotations: Mapping[str, Any]) -> str:
    """What becomes part of a path: only what may be the name of a pod's claim."""
    name = annotations.get(POD_CLAIM_NAME)
    return name if isinstance(name, str) and is_dns_label(name) else ""


def _device(result: DeviceResult) -> AllocatedDevice:
    consumed = result.consumed_capacity
    return AllocatedDevice(
        request=result.request,
        driver=result.driver,
        pool=result.pool,
        device=result.device,
        share_id=result.share_id or None,
        admin_access=result.admin_access,
        consumed_capacity={name: str(amount) for name, amount in consumed.items()},
    )


def _reported(device: DeviceStatus) -> ReportedDevice | None:
    ready = device.ready
    if ready is None or ready.status != "True":
        return None
    network, data = device.network_data, bounded(device.data or {})
    return ReportedDevice(
        driver=device.driver,
        key=(device.pool, device.device, device.share_id),
        since=ready.last_transition_time or "",
        message=ready.message,
        interface_name=network.interface_name,
        hardware_address=network.hardware_address,
        ips=network.ips,
        data=data if not why_unreadable(data) else {},
    )
