"""The API's objects, as far as `netclaim status` reads them, by kind.

Promise: fields that are missing or null have their empty value; fields that nobody asks for are
ignored. An object that is not what its kind says is left out, and named. No I/O.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from netclaim.model.api.base import Base, Condition, Meta, ObjectError
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.api.dra.device_class import DeviceClass
from netclaim.model.api.dra.slice import ResourceSlice
from netclaim.model.api.dra.taint import DeviceTaintRule
from netclaim.model.api.own_kinds.address_pool import AddressLease, AddressPool
from netclaim.model.api.own_kinds.pod_network import PodNetwork

T = TypeVar("T", bound=Base)


class PodClaim(Base, frozen=True):
    """How a pod names a claim."""

    name: str
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class Container(Base, frozen=True):
    """A container, which may name claims of its pod."""

    name: str = ""
    resources: Mapping[str, Any] = {}


class PodSpec(Base, frozen=True):
    """What a pod asks for."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    resource_claims: tuple[PodClaim, ...] = ()


class Extended(Base, frozen=True):
    """The claim that the scheduler made of a pod's extended resources."""

    resource_claim_name: str = ""


class PodStatus(Base, frozen=True):
    """What became of a pod."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    resource_claim_statuses: tuple[PodClaim, ...] = ()
    extended_resource_claim_status: Extended = Extended()


class Pod(Base, frozen=True):
    """A pod."""

    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class NodeSpec(Base, frozen=True):
    """What is set of a node."""

    unschedulable: bool = False


class NodeStatus(Base, frozen=True):
    """What a node says of itself."""

    conditions: tuple[Condition, ...] = ()


class Node(Base, frozen=True):
    """A node."""

    metadata: Meta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool | None:
        """Whether it is Ready; None if it does not say."""
        found = (one for one in self.status.conditions if one.type == "Ready")
        return next((one.status == "True" for one in found), None)


class Objects(msgspec.Struct, frozen=True):
    """All objects by kind, and lines about those that could not be read."""

    nodes: tuple[Node, ...] = ()
    slices: tuple[ResourceSlice, ...] = ()
    classes: tuple[DeviceClass, ...] = ()
    claims: tuple[ResourceClaim, ...] = ()
    pods: tuple[Pod, ...] = ()
    rules: tuple[DeviceTaintRule, ...] = ()
    networks: tuple[PodNetwork, ...] = ()
    pools: tuple[AddressPool, ...] = ()
    leases: tuple[AddressLease, ...] = ()
    unread: tuple[str, ...] = ()


def read_objects(found: Iterable[Mapping[str, Any]]) -> Objects:
    """Read objects of v1; kinds that we do not show are ignored."""
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for one in found:
        by_kind.setdefault(str(one.get("kind")), []).append(one)
    unread: list[str] = []

    def read(form: type[T]) -> tuple[T, ...]:
        return tuple(_read(by_kind.get(form.__name__, ()), form, unread))

    return Objects(
        nodes=read(Node),
        slices=read(ResourceSlice),
        classes=read(DeviceClass),
        claims=read(ResourceClaim),
        pods=read(Pod),
        rules=read(DeviceTaintRule),
        networks=tuple(one for one in read(PodNetwork) if one.is_ours),
        pools=read(AddressPool),
        leases=read(AddressLease),
        unread=tuple(unread),
    )


def _read(found: Iterable[Mapping[str, Any]], form: type[T], unread: list[str]) -> Iterable[T]:
    for one in found:
        try:
            yield form.read(one)
        except ObjectError as error:
            unread.append(f"{form.__name__} {_name(one)} cannot be read: {error.fault}")


def _name(found: Mapping[str, Any]) -> str:
    meta = found.get("metadata")
    return str(meta.get("name")) if isinstance(meta, Mapping) else "without a name"
