"""An AddressPool's spec as the controller compares it with others.

Promise: it is read once for each version of the spec, which makes comparing pools a walk over their
ranges. No I/O.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from netclaim.model.api.own_kinds.address_pool import AddressPool
from netclaim.model.pools.address_space import (
    IpAddress,
    Range,
    Space,
    range_faults,
    space_of,
)


@dataclass(slots=True)
class PoolSpec:
    """The addresses of a pool, and which others have some of them too."""

    name: str
    version: tuple[str, int]  # of the spec: the object and its generation
    age: tuple[str, str]  # less than that of a younger pool
    domain: str
    spaces: tuple[Space, ...]  # none if something is wrong with the ranges
    fault: str  # what is wrong with them
    overlapping: dict[str, IpAddress] = field(default_factory=dict)  # pools: an address of both

    @classmethod
    def of(cls, pool: AddressPool) -> "PoolSpec":
        """Read a pool."""
        fault = range_fault(pool.spec.ranges)
        meta = pool.metadata
        return cls(
            pool.name,
            (meta.uid, meta.generation),
            (meta.creation_timestamp, pool.name),
            pool.spec.domain,
            () if fault else pool.spaces,
            fault,
        )

    @property
    def size(self) -> int:
        """For how many interfaces it has addresses."""
        return min((space.size for space in self.spaces), default=0)

    def is_same(self, other: "PoolSpec") -> bool:
        """Whether the spec is the same."""
        return self.version == other.version

    def has(self, domain: str, address: IpAddress) -> bool:
        """Whether it has an address of a domain."""
        return domain == self.domain and any(address in space for space in self.spaces)

    def shared_with(self, other: "PoolSpec") -> IpAddress | None:
        """An address that both have."""
        if other.domain != self.domain:
            return None
        for mine in self.spaces:
            for theirs in other.spaces:
                (first, _), (_, last) = mine.blocks[0], mine.blocks[-1]
                if last < theirs.blocks[0][0] or theirs.blocks[-1][1] < first:
                    continue  # as nearly all are
                if (found := mine.shared_with(theirs)) is not None:
                    return found
        return None


def range_fault(ranges: Iterable[Range]) -> str:
    """What is wrong with the ranges of a pool; empty if nothing is."""
    ranges = tuple(ranges)
    for each in ranges:
        for name, message in range_faults(each):
            return f"{each.cidr}: {name} {message}"
        if not any(space_of([each], version).size for version in (4, 6)):
            return f"{each.cidr}: no address is left for pods between start and end"
    spaces = [space for version in (4, 6) if (space := space_of(ranges, version)).blocks]
    if not min((space.size for space in spaces), default=0):
        return "its ranges have no address that a pod can have"
    return ""
