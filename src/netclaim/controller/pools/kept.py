"""Kept addresses, on the cluster's side: whether their owners are there, and having them kept.

Promise: an address that nobody has is kept as long as its StatefulSet or IPAMClaim is there and its
pool keeps addresses; one of a replica that was scaled down as the pool says. What has become of an
owner the API server says each time. Limit: an owner is looked at when its address was given back,
and then once a minute; that is how long it takes until its addresses are free.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Final

import structlog

from netclaim.controller.cluster.objects import ADDRESS_LEASES, MANAGER, Objects
from netclaim.controller.cluster.watches import Watches
from netclaim.kube import ApiError, ConflictError, NotFoundError, Resource
from netclaim.model.api.base import ObjectError
from netclaim.model.api.own_kinds.address_pool import AddressLease, AddressPool
from netclaim.model.api.own_kinds.kept_address import (
    IPAM_CLAIM,
    RETAIN,
    STATEFUL_SET,
    Keep,
    LeaseOwner,
)
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.address_space import address_from
from netclaim.network.pools.kept import IPAM_CLAIMS

log = structlog.get_logger(__name__)

# A cluster need not have IPAMClaims: then there is none of any name.
OWNERS: Final[Mapping[str, Resource]] = {
    STATEFUL_SET: Resource("apps", "v1", "statefulsets", STATEFUL_SET, namespaced=True),
    IPAM_CLAIM: IPAM_CLAIMS,
}
OWNER_AGE_S: Final = 60.0  # a thousand owners with addresses to keep are sixteen requests a second
Holding = tuple[LeaseOwner, int]
"""What a replica has at most one address of: an interface, and a family."""


class KeptLeases:
    """The controller of leases that are kept for somebody."""

    def __init__(self, objects: Objects, watches: Watches, monotonic: Callable[[], float]) -> None:
        self._objects = objects
        self._watches = watches
        self._monotonic = monotonic
        # By the UIDs of owners: when they were looked at, and what they were; None: gone.
        self._owners: dict[str, tuple[float, JsonObject | None]] = {}
        self._held: frozenset[Holding] = frozenset()
        self._keeps: dict[str, Keep | None] = {}  # by pool

    def begin(self, leases: Iterable[AddressLease]) -> None:
        """Note what replicas have, before leases are looked at one by one."""
        there = [lease for lease in leases if lease.spec.owner is not None]
        self._held = frozenset(map(_holding, (lease for lease in there if not lease.spec.kept)))
        self._keeps.clear()
        for found in self._watches.store("AddressPool").values() if there else ():
            with suppress(ObjectError):  # of a later version: what it has is left alone
                pool = AddressPool.read(found)
                self._keeps[pool.name] = pool.spec.keep
        uids = {lease.spec.owner.uid for lease in there if lease.spec.owner is not None}
        self._owners = {uid: seen for uid, seen in self._owners.items() if uid in uids}

    async def is_wanted(self, lease: AddressLease) -> bool:
        """Whether a lease that no claim has is to be kept."""
        owner = lease.spec.owner
        if owner is None or (lease.spec.kept and _holding(lease) in self._held):
            return False
        keep = self._keeps.get(lease.spec.pool)
        if lease.spec.pool in self._keeps and (keep is None or owner.kind not in keep.kinds):
            return False
        retains = keep is None or keep.when_scaled == RETAIN or owner.kind != STATEFUL_SET
        try:
            seen = self._owners.get(owner.uid)
            lately = seen is not None and self._monotonic() - seen[0] < OWNER_AGE_S
            if lately and seen is not None and _has(seen[1], owner, retains=retains):
                return True  # if it has changed since, that is seen in time
            return _has(await self._owner(owner), owner, retains=retains)
        except ApiError as error:  # nobody knows, so that nothing is taken away
            log.warning("address.owner_unknown", lease=lease.name, error=str(error))
            return True

    async def keep(self, lease: AddressLease) -> None:
        """Have a lease kept that its claim has not given back."""
        meta = {"uid": lease.metadata.uid, "resourceVersion": lease.metadata.resource_version}
        patch = {"metadata": meta, "spec": {"kept": True}}
        try:
            await self._objects.client.patch(
                ADDRESS_LEASES, lease.name, patch, field_manager=MANAGER
            )
        except (NotFoundError, ConflictError):  # given back, or leased anew
            return
        owner, node = lease.spec.owner, lease.spec.node_name
        assert owner is not None, "it is wanted"
        log.info("address.kept", lease=lease.name, pod=_pod(owner), node=node)

    async def _owner(self, owner: LeaseOwner) -> JsonObject | None:
        """What the owner wants; None if it is gone, or is being deleted."""
        asked_s = self._monotonic()
        found: JsonObject | None
        try:
            found = await self._objects.client.get(
                OWNERS[owner.kind], owner.name, namespace=owner.namespace
            )
        except NotFoundError:
            found = None
        if found is not None:
            meta, spec = found["metadata"], found.get("spec", {})
            gone = meta["uid"] != owner.uid or "deletionTimestamp" in meta
            found = None if gone else {key: spec.get(key) for key in ("replicas", "ordinals")}
        self._owners[owner.uid] = asked_s, found
        return found


def _holding(lease: AddressLease) -> Holding:
    assert lease.spec.owner is not None
    return lease.spec.owner, address_from(lease.spec.address).version


def _has(spec: JsonObject | None, owner: LeaseOwner, *, retains: bool) -> bool:
    """Whether an owner is there, and is to have the pod, or had it if that is enough."""
    if spec is None or retains:
        return spec is not None
    first = (spec["ordinals"] or {}).get("start") or 0
    count = 1 if spec["replicas"] is None else spec["replicas"]
    return owner.ordinal is not None and first <= owner.ordinal < first + count


def _pod(owner: LeaseOwner) -> str:
    return f"{owner.namespace}/{owner.replica}"
