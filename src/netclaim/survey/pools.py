"""Pools, put together from slices.

Promise: only the slices of a pool's newest generation count, as for the scheduler. No I/O.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from netclaim.model.api.dra.ids import PoolId
from netclaim.model.api.dra.slice import ResourceSlice


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool: the slices of its newest generation, and how many of them there should be."""

    driver: str
    name: str
    generation: int
    expected: int
    slices: tuple[ResourceSlice, ...]
    outdated: int  # slices of older generations that still exist

    @property
    def missing(self) -> int:
        """How many slices are missing: until all are there, no device can be allocated."""
        return max(0, self.expected - len(self.slices))


def pools_of(slices: Iterable[ResourceSlice]) -> tuple[Pool, ...]:
    """Return the pools of slices by driver and name."""
    parts: dict[PoolId, list[ResourceSlice]] = {}
    for one in slices:
        parts.setdefault(one.spec.pool_id, []).append(one)
    return tuple(_pool(pool, found) for pool, found in sorted(parts.items()))


def _pool(pool: PoolId, parts: list[ResourceSlice]) -> Pool:
    newest = max(one.spec.pool.generation for one in parts)
    current = tuple(one for one in parts if one.spec.pool.generation == newest)
    return Pool(
        pool.driver,
        pool.pool,
        newest,
        expected=current[0].spec.pool.resource_slice_count,
        slices=current,
        outdated=len(parts) - len(current),
    )
