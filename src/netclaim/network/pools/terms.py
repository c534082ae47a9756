"""Terms: whether a claim may have addresses of a pool now, and which ones it may choose.

Promise: what is refused here was not begun, and says who has to change what. No I/O.
"""

from collections import Counter
from collections.abc import Iterable

from netclaim.errors import RequestError
from netclaim.model import Claim
from netclaim.model.api.own_kinds.address_pool import AddressPool
from netclaim.model.pools.address_space import IpAddress
from netclaim.model.pools.counted_pool import class_name_of, pool_of
from netclaim.network.errors import PolicyError
from netclaim.network.plan.interface_plan import pooled_at
from netclaim.network.policy.levels import Level
from netclaim.network.pools.errors import PoolNotReadyError
from netclaim.network.request.parameters import InterfaceRequest
from netclaim.paths import Path
from netclaim.plugins.engine.conf import read_cidr, read_ip


def check_use(
    claim: Claim, request: InterfaceRequest, pool: AddressPool, level: Level, where: Path
) -> None:
    """Raise unless a claim may have addresses of a pool now."""
    ready = pool.ready
    if ready is None:
        raise PoolNotReadyError(f"netclaim's controller has not looked at the pool {pool.name} yet")
    if ready.status != "True":
        raise PoolNotReadyError(f"the pool {pool.name} is not ready: {ready.message}")
    namespaces = pool.spec.namespaces
    if namespaces is None:
        if not request.trusted and level is not Level.PRIVILEGED:
            raise PolicyError(
                f"the pool {pool.name} is for networks that an admin wrote; ask a cluster admin to "
                f"write `namespaces` into the AddressPool",
                path=where,
            )
    elif not namespaces.selects(claim.namespace_labels):
        raise PolicyError(
            f"the namespace {claim.namespace} may not have addresses of the pool {pool.name}; ask "
            f"a cluster admin to give it the labels that the pool's `namespaces` selects",
            path=where,
        )
    if not pool.spec.enabled:
        raise PoolNotReadyError(
            f"the pool {pool.name} is switched off; nobody gets addresses of it any more"
        )


def check_shares(claim: Claim, requests: Iterable[InterfaceRequest]) -> None:
    """Raise if a claim has more shares of pools than its interfaces can explain.

    Others wait for these addresses. A template that was written before its network got another pool
    asks for a share of the earlier one: so each interface of an admin's network that has no share
    of its own pool explains one of another. What a pod has already stays, whatever its network is
    by now.
    """
    if claim.reported:
        return
    uses = [(request.trusted, _pool_of(request)) for request in requests]
    used = Counter(pool for _, pool in uses)
    shares = Counter(name for device in claim.wide if (name := pool_of(device.pool)))
    surplus = shares - used
    trusted = Counter(pool for is_trusted, pool in uses if is_trusted)
    spare = (used - shares) & trusted  # interfaces without a share of their own
    if surplus.total() <= spare.total():
        return
    name, _ = surplus.most_common(1)[0]
    raise RequestError(
        f"the claim asks for {shares[name]} addresses of the pool {name}, and the number of its "
        f"interfaces that use the pool is {used[name]}; leave out requests for "
        f"{class_name_of(name)}",
        path=("spec", "devices", "requests"),
    )


def _pool_of(request: InterfaceRequest) -> str:
    """The pool that an interface has its addresses of; empty if of none."""
    plugins = request.network.plugins
    at = pooled_at(request.network)
    return str(plugins[at[0]].config["ipam"].get("pool", "")) if at else ""


def check_unpooled(request: InterfaceRequest) -> None:
    """Raise if addresses are to be kept that are of no pool."""
    if request.ipam_claim:
        raise RequestError(
            "the addresses of this network are not of an AddressPool, which alone keeps them for an"
            " IPAMClaim; leave it out",
            path=request.ipam_claim_path,
        )


def chosen_of(request: InterfaceRequest, pool: AddressPool, where: Path) -> tuple[IpAddress, ...]:
    """The addresses that a claim asks for, which are the pool's; one of each family at most."""
    path = request.wish_paths.get("ips", where)
    chosen: dict[int, IpAddress] = {}
    for text in request.wishes.ips:
        address = read_cidr(text).ip if "/" in text else read_ip(text)
        if not any(address in space for space in pool.spaces):
            raise RequestError(f"{address} is not an address of the pool {pool.name}", path=path)
        if address.version in chosen:
            raise RequestError(
                f"{chosen[address.version]} and {address}: an interface has one IPv"
                f"{address.version} address of a pool",
                path=path,
            )
        chosen[address.version] = address
    return tuple(chosen.values())
