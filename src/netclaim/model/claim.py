"""A ResourceClaim as a driver needs it: what was allocated, with which configuration, for whom.

Promise: reads the object of every served API version, since `status.allocation` has one JSON form
in all of them, and tolerates what it does not know. Whose a claim is, is read from what the control
plane wrote: metadata is whatever the claim's author put there, owners included. Limit: of the spec
only names of requests are kept: all of them, and those that each configuration was written for.
Everything else that a driver acts on is in the allocation.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from netclaim.errors import RequestError
from netclaim.model.device_name import is_dns_label
from netclaim.model.prepared import ClaimRef
from netclaim.model.written import with_written_requests

__all__ = [
    "AllocatedDevice",
    "Claim",
    "ClaimError",
    "Consumer",
    "DeviceKey",
    "JsonObject",
    "OpaqueConfig",
    "ReportedDevice",
    "parse_claim",
]

JsonObject: TypeAlias = dict[str, Any]
POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"  # at claims made from templates
DeviceKey: TypeAlias = tuple[str, str, str]  # pool, device, share id or ""


class ClaimError(RequestError):
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
    def key(self) -> DeviceKey:
        """What tells this device from every other of the same driver and claim."""
        return (self.pool, self.device, self.share_id or "")


class OpaqueConfig(msgspec.Struct, frozen=True, omit_defaults=True):
    """Parameters for a driver, from the device class (an admin) or from the claim (a user).

    `requests` of a claim's are as in its spec, whatever the scheduler made of them.
    """

    source: Literal["FromClass", "FromClaim"]
    driver: str
    parameters: JsonObject
    requests: tuple[str, ...] = ()

    def applies_to(self, request: str) -> bool:
        """Whether it is meant for a request; one that names no request is meant for all."""
        base = request.partition("/")[0]
        return not self.requests or request in self.requests or base in self.requests


class Consumer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whom the claim is reserved for; "pods" of the core group except for alpha features."""

    resource: str
    name: str
    uid: str
    api_group: str = ""

    @property
    def is_pod(self) -> bool:
        """Whether it is a pod, and not something of another group that is called so."""
        return self.resource == "pods" and not self.api_group


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

    @property
    def ref(self) -> ClaimRef:
        """The claim's identity, as kubelet gives it."""
        return ClaimRef(uid=self.uid, namespace=self.namespace, name=self.name)

    @property
    def pod_uids(self) -> frozenset[str]:
        """The pods the claim is reserved for."""
        return frozenset(c.uid for c in self.reserved_for if c.is_pod)

    def of_driver(self, driver: str) -> "Claim":
        """The claim with only one driver's devices and configuration."""
        return msgspec.structs.replace(
            self,
            devices=tuple(d for d in self.devices if d.driver == driver),
            configs=tuple(c for c in self.configs if c.driver == driver),
        )

    def configs_for(self, request: str) -> tuple[OpaqueConfig, ...]:
        """What applies to a request: the class's first, so that a later one takes precedence."""
        mine = [config for config in self.configs if config.applies_to(request)]
        return tuple(sorted(mine, key=lambda config: config.source != "FromClass"))


def parse_claim(obj: Mapping[str, Any]) -> Claim:
    """Read a ResourceClaim object of any served version."""
    try:
        return _parse(obj)
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise ClaimError(f"not a ResourceClaim: {error!r}") from error


def _parse(obj: Mapping[str, Any]) -> Claim:
    meta = obj["metadata"]
    status = obj.get("status") or {}
    allocation = status.get("allocation")
    devices = (allocation or {}).get("devices") or {}
    consumers = tuple(map(_consumer, status.get("reservedFor") or ()))
    spec_devices = (obj.get("spec") or {}).get("devices") or {}
    return Claim(
        uid=meta["uid"],
        namespace=meta["namespace"],
        name=meta["name"],
        allocated=allocation is not None,
        requests=tuple(r["name"] for r in spec_devices.get("requests") or ()),
        devices=tuple(_device(result) for result in devices.get("results") or ()),
        configs=tuple(
            _config(config)
            for config in with_written_requests(devices, spec_devices)
            if config.get("opaque")
        ),
        reserved_for=consumers,
        owner_pod_uid=_owner_pod_uid(meta.get("ownerReferences") or (), consumers),
        reported=tuple(r for r in map(_reported, status.get("devices") or ()) if r is not None),
        pod_claim_name=_pod_claim_name(meta.get("annotations") or {}),
    )


def _consumer(consumer: Mapping[str, Any]) -> Consumer:
    return Consumer(
        resource=consumer["resource"],
        name=consumer["name"],
        uid=consumer["uid"],
        api_group=consumer.get("apiGroup") or "",
    )


def _owner_pod_uid(
    owners: Sequence[Mapping[str, Any]], consumers: tuple[Consumer, ...]
) -> str | None:
    """The controlling pod, if the claim is reserved for that very pod and nobody else."""
    named = {o["uid"] for o in owners if o.get("controller") and o["kind"] == "Pod"}
    if len(consumers) != 1 or not consumers[0].is_pod or consumers[0].uid not in named:
        return None
    return consumers[0].uid


def _pod_claim_name(annotations: Mapping[str, str]) -> str:
    """What becomes part of a path; anything but a pod's own kind of name is nobody's."""
    name = annotations.get(POD_CLAIM_NAME, "")
    return name if is_dns_label(name) else ""


def _device(result: Mapping[str, Any]) -> AllocatedDevice:
    return AllocatedDevice(
        request=result["request"],
        driver=result["driver"],
        pool=result["pool"],
        device=result["device"],
        share_id=result.get("shareID"),
        admin_access=bool(result.get("adminAccess")),
        consumed_capacity=dict(result.get("consumedCapacity") or {}),
    )


def _reported(device: Mapping[str, Any]) -> ReportedDevice | None:
    ready = [c for c in device.get("conditions") or () if c["type"] == "Ready"]
    if not ready or ready[0]["status"] != "True":
        return None
    network = device.get("networkData") or {}
    return ReportedDevice(
        driver=device["driver"],
        key=(device["pool"], device["device"], device.get("shareID") or ""),
        since=ready[0]["lastTransitionTime"],
        message=ready[0].get("message", ""),
        interface_name=network.get("interfaceName", ""),
        hardware_address=network.get("hardwareAddress", ""),
        ips=tuple(network.get("ips") or ()),
        data=device.get("data") or {},
    )


def _config(config: Mapping[str, Any]) -> OpaqueConfig:
    opaque = config["opaque"]
    parameters = opaque.get("parameters")
    if not isinstance(parameters, dict):
        raise ClaimError("opaque parameters are not an object")
    return OpaqueConfig(
        source="FromClass" if config.get("source") == "FromClass" else "FromClaim",
        driver=opaque["driver"],
        parameters=parameters,
        requests=tuple(config.get("requests") or ()),
    )
