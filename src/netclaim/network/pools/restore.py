"""Restore: lease again what pods have, or are about to have, and the API server has lost.

Somebody may delete a lease by hand, or restore the cluster from a backup. The address then counts
as free while a pod has it, or gets it with its sandbox.

Promise: one request for a node, whatever its pods have, and one more for each lease that is gone.
Nothing is restored for a claim that is being released, also if that begins during the round. An
address that another claim has by now is logged and counted each time. Limit: between its deletion
and the next round anybody can lease it.
"""

import asyncio
import uuid
from typing import Final

import msgspec
import structlog
from prometheus_client import Counter

from netclaim.model import Living
from netclaim.model.api.own_kinds.address_pool import AddressLease, AddressLeaseSpec
from netclaim.network.metrics.table import LEASES_RESTORED
from netclaim.network.plan.interface_plan import read_plan
from netclaim.network.pools.leases import Leases
from netclaim.network.pools.running import note_taken
from netclaim.plugins.engine.conf import read_ip

log = structlog.get_logger(__name__)

RESTORE_S: Final = 10.0  # of a round's thirty: CNI's GC follows, which needs no API server


class Restorer:
    """Restores leases, and counts them."""

    def __init__(self, driver: str) -> None:
        each = LEASES_RESTORED
        self.restored = Counter(each.name, each.text, each.label_names, registry=None)
        self._driver = driver
        for result in each.labels["result"]:
            self.restored.labels(driver, result)

    async def restore(self, leases: Leases, living: Living) -> None:
        """Lease again what interfaces have or will have, as their plans say."""
        wanted = _wanted(living)
        if not wanted:
            return
        async with asyncio.timeout(RESTORE_S):
            nodes = {spec.node_name for specs in wanted.values() for spec in specs.values()}
            found = [lease for node in nodes for lease in await leases.pools.leases_on(node)]
            for uid, specs in wanted.items():
                having = {lease.name: lease for lease in found if lease.spec.claim.uid == uid}
                gone = [spec for name, spec in specs.items() if name not in having]
                for spec in gone:
                    lease = await self._again(leases, spec)
                    if lease is not None:
                        having[lease.name] = lease
                if gone and not leases.has_given_back(uid):
                    leases.learn(uid, having.values())

    async def _again(self, leases: Leases, spec: AddressLeaseSpec) -> AddressLease | None:
        """Lease an address for who has it; None if nobody or another claim does."""
        uid = spec.claim.uid
        if leases.has_given_back(uid):
            return None
        spec = msgspec.structs.replace(spec, renewed=str(uuid.uuid4()))
        made = await leases.pools.lease(spec)
        there = await leases.pools.lease_at(spec) if made is None else None
        if leases.has_given_back(uid):
            if made is not None:
                await leases.let_go(made)
            return None
        if made is not None:
            claim = f"{spec.claim.namespace}/{spec.claim.name}"
            log.warning("address.restored", lease=made.name, claim=claim, claim_uid=uid)
            self.restored.labels(self._driver, "restored").inc()
            return made
        if there is not None and there.spec.claim == spec.claim:
            return there
        note_taken(spec, read_ip(spec.address), there.spec.claim if there else None)
        self.restored.labels(self._driver, "taken").inc()
        return None


def _wanted(living: Living) -> dict[str, dict[str, AddressLeaseSpec]]:
    """The leases of prepared claims, and of what is attached, by claim and name."""
    wanted: dict[str, dict[str, AddressLeaseSpec]] = {}
    for plan in (*(each.plan for each in living.attachments), *living.plans):
        if plan.claim.uid not in living.claims or plan.network is None:
            continue
        addresses = read_plan(plan).addresses
        for each in addresses.leases if addresses else ():
            if each.lease is not None:
                wanted.setdefault(plan.claim.uid, {})[each.name] = each.lease
    return wanted
