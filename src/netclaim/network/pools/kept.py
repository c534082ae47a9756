"""Kept addresses: for whom they are kept, what is kept, and leaving that to the next claim.

Promise: an address is kept only for a pod that the API server has under the name of a replica, with
a reference to the owner, and of which the claim is made. Of the pods with one name at most one is
there, so an earlier pod that still has the address has given it back, or is about to. What is kept
for an IPAMClaim goes to claims of its namespace that name it, one at a time. Limit: a request for
the pod or the IPAMClaim and one for its leases, only where a pool keeps addresses; and one more for
the first addresses of an IPAMClaim, to see that no other claim got some as well. The controller
looks whether the owner is there, and frees what belongs to one that is gone.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from netclaim.cni import NetworkList
from netclaim.errors import PeerError, RequestError
from netclaim.kube import PODS, Resource
from netclaim.model import Claim, JsonObject
from netclaim.model.api.own_kinds.address_pool import AddressLease, AddressLeaseSpec, AddressPool
from netclaim.model.api.own_kinds.kept_address import (
    APPS,
    IPAM_CLAIM,
    IPAM_CLAIM_GROUP,
    IPAM_CLAIM_VERSION,
    STATEFUL_SET,
    LeaseOwner,
    ordinal_of,
)
from netclaim.model.on_node.prepared import ClaimRef
from netclaim.network.plan.interface_plan import InterfacePlan, Leased
from netclaim.network.pools.cluster import ClusterPools
from netclaim.network.pools.errors import AddressTakenError, OwnerMissingError
from netclaim.network.request.parameters import InterfaceRequest

IPAM_CLAIMS: Final = Resource(
    IPAM_CLAIM_GROUP, IPAM_CLAIM_VERSION, "ipamclaims", IPAM_CLAIM, namespaced=True
)
PODS_MAX: Final = 64  # whose owners are remembered: as long as the interfaces of a pod are planned
# Plugins whose interface is made for the pod. Others take a MAC as well, and change that of a link
# which there is once for all pods that come after each other: a card, or a virtual function.
MAKERS: Final = frozenset({"macvlan", "bridge", "tap"})


@dataclass(slots=True)
class Kept:
    """What is kept for the replicas on one node."""

    pools: ClusterPools
    _controllers: dict[str, JsonObject] = field(default_factory=dict)  # by the pods' UIDs

    async def owner_of(
        self, claim: Claim, request: InterfaceRequest, pool: AddressPool, if_name: str
    ) -> LeaseOwner | None:
        """Return whom the pool keeps the addresses of a claim's interface for, if for anybody.

        Only a claim that was made for one pod is a replica's.
        """
        if request.ipam_claim:
            return await self._ipam_claim(claim, request, pool, if_name)
        keep, pod_uid = pool.spec.keep, claim.owner_pod_uid
        if keep is None or pod_uid is None:
            return None
        replica = next(each.name for each in claim.reserved_for if each.uid == pod_uid)
        found = await self._controller_of(claim.namespace, replica, pod_uid)
        kind = found.get("kind", "")
        if kind not in keep.kinds or (kind, found["apiVersion"]) != (STATEFUL_SET, APPS):
            return None
        if ordinal_of(found["name"], replica) is None:
            return None
        name, owner_uid = found["name"], found["uid"]
        return LeaseOwner(APPS, kind, claim.namespace, name, owner_uid, replica, if_name)

    async def _ipam_claim(
        self, claim: Claim, request: InterfaceRequest, pool: AddressPool, if_name: str
    ) -> LeaseOwner | None:
        """Return the IPAMClaim that a claim names; None if it is gone while the pod runs."""
        name = request.ipam_claim
        if pool.spec.keep is None or IPAM_CLAIM not in pool.spec.keep.kinds:
            raise RequestError(
                f"the pool {pool.name} keeps no addresses for IPAMClaims; ask a cluster admin to "
                f"write {IPAM_CLAIM} into `keep.kinds` of the AddressPool",
                path=request.ipam_claim_path,
            )
        found = await self.pools.objects.get(IPAM_CLAIMS, name, namespace=claim.namespace)
        meta = found["metadata"] if found is not None else {"deletionTimestamp": ""}
        if "deletionTimestamp" not in meta:
            version, uid = IPAM_CLAIMS.api_version, meta["uid"]
            return LeaseOwner(version, IPAM_CLAIM, claim.namespace, name, uid, name, if_name)
        if claim.reported:
            return None
        why = "there is no" if found is None else "somebody has deleted the"
        raise OwnerMissingError(f"{why} IPAMClaim {name} in the namespace {claim.namespace}")

    async def leases_for(
        self, owner: LeaseOwner | None, spec: AddressLeaseSpec
    ) -> Sequence[AddressLease]:
        """Return what is kept of a pool, first what nobody has.

        There is more than one of a family only until the controller has looked.
        """
        if owner is None:
            return ()
        where = spec.domain, spec.pool, spec.driver
        found = [
            lease
            for lease in await self.pools.kept_for(owner)
            if (lease.spec.domain, lease.spec.pool, lease.spec.driver) == where
            and lease.spec.owner == owner
        ]
        return sorted(found, key=lambda lease: (not lease.spec.kept, lease.name))

    async def expect_alone(
        self, owner: LeaseOwner | None, spec: AddressLeaseSpec, new: Sequence[AddressLease]
    ) -> None:
        """Raise if another claim has got addresses of the same IPAMClaim at the same time.

        Both may give way then, and come again; of two that stayed, both would have the same MAC.
        """
        if owner is None or owner.kind != IPAM_CLAIM or not new:
            return
        for lease in await self.leases_for(owner, spec):
            if not lease.spec.kept and lease.spec.claim.uid != spec.claim.uid:
                raise not_given_back(lease)

    async def leave(self, leased: Leased, claim: ClaimRef, known: AddressLease | None) -> None:
        """Have a lease kept that a claim had; of another claim's nothing is changed."""
        lease = known or await self.pools.named(leased.name)
        if lease is None or lease.metadata.uid != leased.uid:
            return
        if lease.spec.kept or lease.spec.claim.uid != claim.uid:
            return
        spec = msgspec.structs.replace(lease.spec, kept=True, renewed=str(uuid.uuid4()))
        if await self.pools.renew(lease, spec) is None:
            raise PeerError(f"the lease {lease.name} has changed since it was read")

    async def _controller_of(self, namespace: str, name: str, pod_uid: str) -> JsonObject:
        """The reference to the controller of this very pod; empty if it has none, or is gone."""
        known = self._controllers.get(pod_uid)
        if known is None:
            pod = await self.pools.objects.get(PODS, name, namespace=namespace) or {}
            meta = pod.get("metadata", {})
            refs = meta.get("ownerReferences", ()) if meta.get("uid") == pod_uid else ()
            known = next((dict(each) for each in refs if each.get("controller")), {})
            self._controllers[pod_uid] = known
            if len(self._controllers) > PODS_MAX:
                del self._controllers[next(iter(self._controllers))]
        return known


def is_kept_for(lease: AddressLease, spec: AddressLeaseSpec) -> bool:
    """Whether nobody has a lease that is kept for who asks."""
    return lease.spec.kept and lease.spec.owner is not None and lease.spec.owner == spec.owner


def not_given_back(lease: AddressLease) -> AddressTakenError:
    """Say that a replica's address is still with the claim that had it."""
    had = lease.spec
    owner = had.owner
    whose = "this pod" if owner is None or owner.kind == STATEFUL_SET else f"the {owner.words}"
    return AddressTakenError(
        f"{had.address} of the pool {had.pool} is kept for {whose}, and the claim "
        f"{had.claim.full_name} on the node {had.node_name} has not given it back yet"
    )


def kept_words(lease: AddressLease) -> str:
    """For whom an address is kept that nobody has; empty if somebody has it."""
    owner = lease.spec.owner
    if owner is None or not lease.spec.kept:
        return ""
    if owner.kind != STATEFUL_SET:
        return f"kept for the {owner.kind} {owner.namespace}/{owner.name}"
    return f"kept for the pod {owner.namespace}/{owner.replica} of the {owner.kind} {owner.name}"


def kept_mac(owner: LeaseOwner | None, interface: InterfacePlan) -> str:
    """The MAC address that goes with kept addresses.

    None where the network or the claim has chosen one, or the interface has that of its link.
    """
    if owner is None or interface.wishes.mac or not _takes_mac(interface.judged):
        return ""
    return owner.mac


def _takes_mac(network: NetworkList) -> bool:
    """Whether the plugin that makes the interface can be given a MAC, and has none already."""
    maker = network.plugins[0]
    if maker.type not in MAKERS:
        return False
    config = maker.config
    args = config.get("args") or {}
    places = (config, config.get("runtimeConfig") or {}, args.get("cni") or {})
    return not any(place.get("mac") for place in places)
