"""The columns of AddressPools, and of the addresses that claims have. No I/O."""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from netclaim.screen.words import listed
from netclaim.status.showing.fit import Column
from netclaim.status.values import AddressPool, PoolAddress

SPACES_SHOWN: Final = 4  # namespaces in one cell, those with the most addresses first


class Held(NamedTuple):
    """An address, and the pool that it is of."""

    pool: AddressPool
    address: PoolAddress


def pool_columns() -> list[Column[AddressPool]]:
    """Return the columns of a pool; the last one says which namespaces have its addresses."""
    return [
        Column("POOL", lambda one: one.name),
        Column("STATE", _state, rank=9),
        Column("SIZE", lambda one: str(one.size), rank=5),
        Column("USED", lambda one: str(one.used), rank=8),
        Column("KEPT", lambda one: str(one.kept or ""), rank=7, optional=True),
        Column("FREE", lambda one: str(one.free), rank=8),
        Column("RANGES", lambda one: ", ".join(one.ranges), rank=2, folds_to=18),
        Column("USED BY", _spaces, rank=6, optional=True, folds_to=20),
    ]


def address_columns() -> list[Column[Held]]:
    """Return the columns of an address."""
    return [
        Column("POOL", lambda one: one.pool.name, rank=4),
        Column("ADDRESS", lambda one: one.address.address),
        Column("NAMESPACE", lambda one: one.address.namespace),
        Column("CLAIM", lambda one: one.address.claim, folds_to=20),
        Column("POD", lambda one: ", ".join(one.address.pods), folds_to=16),
        Column("NODE", lambda one: one.address.node, rank=5, folds_to=18),
        Column("KEPT FOR", lambda one: one.address.kept_for, folds_to=16, optional=True),
    ]


def addresses_of(pools: Iterable[AddressPool]) -> list[Held]:
    """All addresses that somebody has."""
    return [Held(pool, each) for pool in pools for each in pool.addresses]


def _state(pool: AddressPool) -> str:
    if pool.ready is None:
        return ""
    return pool.reason or ("Usable" if pool.ready else "NotReady")


def _spaces(pool: AddressPool) -> str:
    counts = Counter(each.namespace for each in pool.addresses).most_common()
    return listed([f"{name} ({count})" for name, count in counts], most=SPACES_SHOWN)
