"""AddressPool and AddressLease: addresses for a whole cluster, and who has which of them.

    apiVersion: cni.networking.x-k8s.io/v1alpha1
    kind: AddressPool
    metadata: {name: media}
    spec:
      ranges:
      - {cidr: 10.10.1.0/24, gateway: 10.10.1.1, exclude: [10.10.1.200/29]}

A lease is named by its address, so that creating it is the lock: of two nodes that choose one
address, from whatever pools, one hears that the object is there already. Pools of networks that
are separate have a `domain`, which the names of their leases begin with. Both kinds are the
cluster's: a name counts for all namespaces then, but Kubernetes' garbage collector does not delete
what belongs to an object of a namespace. netclaim's drivers and controller do
(docs/address-pools.md).

The definitions in the chart have the same fields; a test compares them. No I/O.
"""

import hashlib
from collections.abc import Mapping
from typing import Final

import msgspec

from netclaim.model.api.base import Base, Condition, JsonObject, Meta
from netclaim.model.api.label_selector import LabelSelector
from netclaim.model.api.limits import LABEL_MAX
from netclaim.model.api.own_kinds.kept_address import KEPT_LABEL, Keep, LeaseOwner
from netclaim.model.api.own_kinds.pod_network import API_VERSION, Dns, Route
from netclaim.model.pools.address_space import Range, Space, address_from, lease_name, space_of

KIND: Final = "AddressPool"
PLURAL: Final = "addresspools"
LEASE_KIND: Final = "AddressLease"
LEASE_PLURAL: Final = "addressleases"
NAME_MAX: Final = 63  # a DNS label: it is the value of a label, and an attribute has 64 bytes
RANGES_MAX: Final = 32  # every range is compared with those of every other pool
EXCLUDED_MAX: Final = 128  # of one range
DOMAIN_MAX: Final = 63  # a DNS label: names of leases begin with it
POOL_LABEL: Final = "cni.networking.x-k8s.io/address-pool"  # at a lease
NODE_LABEL: Final = "cni.networking.x-k8s.io/node"  # likewise: the node, by which a driver lists
NAMESPACE_LABEL: Final = "cni.networking.x-k8s.io/namespace"  # likewise: the claim's
CLAIM_LABEL: Final = "cni.networking.x-k8s.io/claim"  # likewise: the UID of the claim that has it


class AddressPoolSpec(Base, frozen=True):
    """Which addresses there are, and who may have them."""

    ranges: tuple[Range, ...] = ()
    routes: tuple[Route, ...] = ()
    dns: Dns = Dns()
    enabled: bool = True
    domain: str = ""  # no address is leased twice in one; never changes
    per_namespace: int | None = None  # addresses of each family; None: all
    namespaces: LabelSelector | None = None  # None: for what admins write, in every namespace
    keep: Keep | None = None  # None: addresses are given back when their pods end


class AddressPoolStatus(Base, frozen=True):
    """What became of a pool."""

    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    size: int = 0  # addresses; of two families the smaller number
    used: int = 0
    kept: int = 0  # of the used ones: nobody has them now
    free: int = 0


class PoolMeta(Meta, frozen=True, kw_only=True):
    """Who a pool is, and since when."""

    generation: int = 0
    creation_timestamp: str = ""


class AddressPool(Base, frozen=True):
    """An AddressPool object."""

    metadata: PoolMeta
    spec: AddressPoolSpec = AddressPoolSpec()
    status: AddressPoolStatus = msgspec.field(default_factory=AddressPoolStatus)

    @property
    def name(self) -> str:
        """Its name."""
        return self.metadata.name

    @property
    def spaces(self) -> tuple[Space, ...]:
        """The addresses of each family that it has; a pod gets one of each."""
        spaces = (space_of(self.spec.ranges, version) for version in (4, 6))
        return tuple(space for space in spaces if space.blocks)

    @property
    def is_by_node(self) -> bool:
        """Whether some of its addresses are for some nodes only."""
        return any(each.node_selector is not None for each in self.spec.ranges)

    def on_node(self, labels: Mapping[str, str]) -> "AddressPool":
        """The pool with the ranges that are for a node with these labels."""
        ranges = tuple(
            each
            for each in self.spec.ranges
            if each.node_selector is None or each.node_selector.selects(labels)
        )
        spec = msgspec.structs.replace(self.spec, ranges=ranges)
        return msgspec.structs.replace(self, spec=spec)

    @property
    def size(self) -> int:
        """For how many interfaces it has addresses."""
        return min((space.size for space in self.spaces), default=0)

    @property
    def ready(self) -> Condition | None:
        """What the controller says of it; None if it has not looked at it as it is now."""
        if self.status.observed_generation != self.metadata.generation:
            return None
        return next((one for one in self.status.conditions if one.type == "Ready"), None)


class LeaseHolder(Base, frozen=True):
    """The request of a claim that has an address."""

    namespace: str
    name: str
    uid: str
    request: str = ""
    device: str = ""  # which of the request's devices, where it has several

    @property
    def full_name(self) -> str:
        """The claim, in words."""
        return f"{self.namespace}/{self.name}"


class AddressLeaseSpec(Base, frozen=True):
    """Which address of which pool somebody has."""

    pool: str
    address: str
    driver: str  # which leased it, and has the device
    node_name: str
    claim: LeaseHolder
    domain: str = ""  # the pool's when it was leased
    renewed: str = ""  # changes each time it is leased anew, and with it the object's version
    owner: LeaseOwner | None = None  # whom the address is kept for, if for anybody
    kept: bool = False  # nobody has it: `claim` and `node_name` are those that had it last


class LeaseMeta(Meta, frozen=True, kw_only=True):
    """Who a lease is."""

    generation: int = 0
    resource_version: str = ""
    creation_timestamp: str = ""


class AddressLease(Base, frozen=True):
    """An AddressLease object."""

    metadata: LeaseMeta
    spec: AddressLeaseSpec

    @property
    def name(self) -> str:
        """Its name: the domain and the address."""
        return self.metadata.name


def held_device(device: str, share_id: str | None) -> str:
    """A device, or a share of one, as a holder names it."""
    return f"{device}/{share_id}" if share_id else device


def node_label(node_name: str) -> str:
    """A node as the value of a label, which a longer name does not fit into."""
    if len(node_name) <= LABEL_MAX:
        return node_name
    return hashlib.sha256(node_name.encode()).hexdigest()[:LABEL_MAX]


def lease_object(spec: AddressLeaseSpec) -> JsonObject:
    """A lease to be created."""
    name = lease_name(spec.domain, address_from(spec.address))
    labels = {
        POOL_LABEL: spec.pool,
        CLAIM_LABEL: spec.claim.uid,
        NAMESPACE_LABEL: spec.claim.namespace,
        NODE_LABEL: node_label(spec.node_name),
    }
    if spec.owner is not None:
        labels[KEPT_LABEL] = spec.owner.label
    return {
        "apiVersion": API_VERSION,
        "kind": LEASE_KIND,
        "metadata": {"name": name, "labels": labels},
        "spec": msgspec.to_builtins(spec),
    }
