"""Say in the status of IPAMClaims which addresses they have, and which pod has them now.

    status: {ips: [10.10.1.7/24], ownerPod: {name: virt-launcher-vm-x2x9k}}

Promise: a status is written when it differs from what is there, and asked for again only when its
leases change; a claim that is gone is passed over, and one whose last lease went has no address in
its status. One that cannot be written now is tried again. Limit: a status follows its leases at the
next sweep of them, some seconds later, and stays as it was if the last lease went while no
controller ran.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import structlog

from netclaim.controller.cluster.objects import MANAGER, Objects
from netclaim.controller.cluster.watches import Watches
from netclaim.errors import NetclaimError
from netclaim.kube import NotFoundError
from netclaim.model.api.base import ObjectError
from netclaim.model.api.own_kinds.address_pool import AddressLease, AddressPool
from netclaim.model.api.own_kinds.kept_address import IPAM_CLAIM, LeaseOwner
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.address_space import address_from, range_of
from netclaim.network.pools.kept import IPAM_CLAIMS

log = structlog.get_logger(__name__)

NOTHING: Final[JsonObject] = {"ips": [], "ownerPod": None}


class IpamClaims:
    """The controller of the status of IPAMClaims that addresses are kept for."""

    def __init__(self, objects: Objects, watches: Watches) -> None:
        self._objects = objects
        self._watches = watches
        # Of IPAMClaims by their UIDs; those that have no lease any more, until that is written.
        self._written: dict[str, tuple[LeaseOwner, JsonObject]] = {}

    async def report(self, leases: Iterable[AddressLease]) -> None:
        """Write what has changed since the last time."""
        found: dict[str, tuple[LeaseOwner, list[AddressLease]]] = {}
        for lease in leases:
            owner = lease.spec.owner
            if owner is not None and owner.kind == IPAM_CLAIM:
                found.setdefault(owner.uid, (owner, []))[1].append(lease)
        pools = self._pools() if found else {}
        wanted = {uid: (owner, self._status(own, pools)) for uid, (owner, own) in found.items()}
        gone = {uid: owner for uid, (owner, _) in self._written.items() if uid not in found}
        for uid, one in wanted.items():
            if self._written.get(uid) != one and await self._try(*one):
                self._written[uid] = one
        for uid, owner in gone.items():
            if await self._try(owner, NOTHING):
                del self._written[uid]

    async def _try(self, owner: LeaseOwner, wanted: JsonObject) -> bool:
        """Write a status; returns whether it is written, or there is nothing to write it to."""
        try:
            await self._write(owner, wanted)
        except NotFoundError:  # its addresses are freed soon
            return True
        except NetclaimError as error:
            where, name = owner.namespace, owner.name
            log.warning("ipam_claim.unreported", namespace=where, name=name, error=str(error))
            return False
        return True

    def _pools(self) -> Mapping[str, AddressPool]:
        pools = {}
        for found in self._watches.store("AddressPool").values():
            try:
                pool = AddressPool.read(found)
            except ObjectError:  # of a later version
                continue
            pools[pool.name] = pool
        return pools

    def _status(self, leases: list[AddressLease], pools: Mapping[str, AddressPool]) -> JsonObject:
        """What a pod has; what is kept, if no pod has anything."""
        shown = [lease for lease in leases if not lease.spec.kept] or leases
        ips = sorted(
            (_with_prefix(lease, pools) for lease in shown), key=lambda ip: (":" in ip, ip)
        )
        pods = sorted({pod for lease in shown if (pod := self._pod_of(lease))})
        return {"ips": ips, "ownerPod": {"name": pods[0]} if pods else None}

    def _pod_of(self, lease: AddressLease) -> str:
        """The pod that has an address; empty if nobody has it."""
        holder = lease.spec.claim
        claim = self._watches.store("ResourceClaim").get((holder.namespace, holder.name), {})
        if lease.spec.kept or claim.get("metadata", {}).get("uid") != holder.uid:
            return ""
        users = claim.get("status", {}).get("reservedFor") or ()
        return next((str(each["name"]) for each in users if each.get("resource") == "pods"), "")

    async def _write(self, owner: LeaseOwner, wanted: JsonObject) -> None:
        client = self._objects.client
        live = await client.get(IPAM_CLAIMS, owner.name, namespace=owner.namespace)
        there = live.get("status") or {}
        same = all(there.get(key) == value for key, value in wanted.items())
        if live["metadata"]["uid"] != owner.uid or same:
            return
        patch = {"metadata": {"uid": owner.uid}, "status": wanted}
        await client.patch(
            IPAM_CLAIMS,
            owner.name,
            patch,
            namespace=owner.namespace,
            subresource="status",
            field_manager=MANAGER,
        )
        log.info("ipam_claim.reported", namespace=owner.namespace, name=owner.name)


def _with_prefix(lease: AddressLease, pools: Mapping[str, AddressPool]) -> str:
    """An address as IPAMClaims have it: with the prefix length of its network."""
    address = address_from(lease.spec.address)
    pool = pools.get(lease.spec.pool)
    try:
        cidr = range_of(pool.spec.ranges, address).cidr if pool is not None else ""
    except (KeyError, ValueError):  # the range is gone, or is a mistake
        cidr = ""
    return f"{address}/{cidr.partition('/')[2] or address.max_prefixlen}"
