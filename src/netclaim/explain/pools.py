"""What the AddressPools of a subject's networks have left, and who in its namespace has the rest.

Where the scheduler does not know how full a pool is, a claim that gets no address has its link, and
its pod waits on the node; so this is said of claims that fit, too. Promise: of other namespaces
only the number of addresses is said. No I/O. Limit: who has addresses is known only where leases
were listed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from netclaim.check.claims.stand_in import configs_of
from netclaim.check.networks import made_of_networks
from netclaim.explain.subject import Subject
from netclaim.manifests.kinds import CLAIM_SPECS
from netclaim.manifests.near import existing
from netclaim.manifests.objects import Object, ObjectKey, inside
from netclaim.model.api.base import ObjectError
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.api.own_kinds.address_pool import KIND, LEASE_KIND, AddressLease, AddressPool
from netclaim.model.pools.named_pools import pools_named
from netclaim.screen.words import listed

HOLDERS_SHOWN: Final = 5  # in one line; `netclaim status pool/NAME` has all


def find_pools(
    found: Sequence[Object], subjects: Sequence[Subject]
) -> Mapping[ObjectKey, tuple[str, ...]]:
    """Return a line for each pool of each subject; nothing where no pools are known."""
    pools = {one.name: one for one in _read(found, KIND, AddressPool)}
    if not pools:
        return {}
    leases: dict[str, list[AddressLease]] = {}
    for lease in _read(found, LEASE_KIND, AddressLease):
        leases.setdefault(lease.spec.pool, []).append(lease)
    objects = {one.key: one for one in (*made_of_networks(found), *found)}
    sight = _Sight(objects, pools, leases)
    return {subject.key: tuple(sight.lines(subject)) for subject in subjects}


def _read(found: Iterable[Object], kind: str, form: type[Any]) -> Iterator[Any]:
    for one in found:
        if one.kind == kind and one.is_known:
            try:
                yield form.read(one.object)
            except ObjectError:
                continue


@dataclass(frozen=True, slots=True)
class _Sight:
    """All objects, and the pools with their leases."""

    objects: Mapping[ObjectKey, Object]
    pools: Mapping[str, AddressPool]
    leases: Mapping[str, Sequence[AddressLease]]

    def lines(self, subject: Subject) -> Iterator[str]:
        names = (name for key in _named(subject) for name in self._wanted(key))
        for name in dict.fromkeys(names):
            pool = self.pools.get(name)
            if pool is None:
                yield f'there is no AddressPool "{name}"; {existing(name, self.pools)}'
            else:
                yield self._line(pool, subject.key.namespace)

    def _line(self, pool: AddressPool, namespace: str) -> str:
        ready = pool.ready
        if ready is None:
            return f"pool {pool.name}: the controller has not looked at it yet; is it running?"
        if ready.status != "True":
            return f"pool {pool.name}: not ready: {ready.message}"
        size, used = pool.status.size, pool.status.used
        said = f"{used} of {size} addresses used, {pool.status.free} free"
        if not pool.status.free:
            said = f"no free address, all {size} are used"
        if not pool.spec.enabled:
            said = f"switched off, nobody gets an address of it any more; {said}"
        return f"pool {pool.name}: {said}{self._holders(pool, namespace)}"

    def _holders(self, pool: AddressPool, namespace: str) -> str:
        leases = self.leases.get(pool.name, ())
        own = [each for each in leases if each.spec.claim.namespace == namespace]
        if not leases:
            return ""
        named = listed(list(dict.fromkeys(map(self._holder, own))), most=HOLDERS_SHOWN)
        here = f"; in {namespace} by {named}" if own else f"; none in {namespace}"
        others = len(leases) - len(own)
        return f"{here}; {others} in other namespaces" if others else here

    def _holder(self, lease: AddressLease) -> str:
        """Name who has an address: the pod, or the claim if no pod has it."""
        owner = lease.spec.owner
        if lease.spec.kept and owner is not None:
            return f"nobody ({lease.spec.address}, kept for {owner.words})"
        holder = lease.spec.claim
        found = self.objects.get(ObjectKey("ResourceClaim", holder.namespace, holder.name))
        pods = ResourceClaim.read(found.object).status.pods if found is not None else ()
        who = f"pod {listed(pods, most=1)}" if pods else f"claim {holder.name}"
        return f"{who} ({lease.spec.address})"

    def _wanted(self, key: ObjectKey) -> Iterator[str]:
        """The pools of a claim's networks: of its own words, and of its classes'."""
        claim = self.objects.get(key)
        if claim is None:
            return
        devices = inside(claim.object, (*CLAIM_SPECS[claim.kind], "devices"))
        classes = [
            self.objects.get(ObjectKey("DeviceClass", "", str(one.get("deviceClassName"))))
            for request in devices.get("requests") or ()
            for one in (request.get("exactly") or {}, *(request.get("firstAvailable") or ()))
        ]
        for one in (claim, *classes):
            for config in configs_of(one) if one is not None else ():
                yield from pools_named(config.opaque.parameters.get("config"))


def _named(subject: Subject) -> Iterator[ObjectKey]:
    """Yield the claims of a subject, and the templates of those that do not exist yet."""
    if subject.workload is None:
        yield subject.key
        return
    for use in subject.workload.uses:
        kind = "ResourceClaim" if use.claim else "ResourceClaimTemplate"
        yield ObjectKey(kind, subject.key.namespace, use.claim or use.template)
