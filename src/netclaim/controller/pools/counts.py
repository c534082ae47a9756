"""How many addresses of each pool are leased, kept up to date change by change.

Promise: a change of a lease, and asking about a pool, are the same work however many leases and
pools there are; a change of a pool looks at the pool's own leases once. Leases of others among a
pool's addresses are counted, one by one: of pools that are gone, that were shrunk, or whose ranges
overlap. No I/O. Limit: a change that is noted twice counts once.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from netclaim.model.api.own_kinds.address_pool import AddressLease
from netclaim.model.pools.address_space import Space, address_from, address_of, lease_name


@dataclass(slots=True)
class _Leased:
    """What a pool has leased in a domain: the addresses as numbers, by family."""

    numbers: dict[int, set[int]] = field(default_factory=lambda: {4: set(), 6: set()})
    inside: dict[int, int] = field(default_factory=lambda: {4: 0, 6: 0})  # in the pool as it is
    kept: dict[int, set[int]] = field(default_factory=lambda: {4: set(), 6: set()})  # nobody's now

    @property
    def is_empty(self) -> bool:
        return not any(self.numbers.values())

    @property
    def is_loose(self) -> bool:
        """Whether something of it is not in its pool any more."""
        return any(len(self.numbers[version]) != self.inside[version] for version in (4, 6))


@dataclass(slots=True)
class LeaseCounts:
    """Counts leases by pool and family."""

    _known: dict[str, tuple[str, str, int, int]] = field(default_factory=dict)  # leases, by name
    _leased: dict[str, dict[str, _Leased]] = field(default_factory=dict)  # by pool and domain
    _spaces: dict[str, tuple[str, Sequence[Space]]] = field(default_factory=dict)  # by pool
    _loose: dict[str, set[str]] = field(default_factory=dict)  # by domain: pools

    def set_lease(self, lease: AddressLease) -> None:
        """Note a lease that is there."""
        spec = lease.spec
        address = address_from(spec.address)
        known = (spec.domain, spec.pool, address.version, int(address))
        if self._known.get(lease.name) != known:
            self.drop_lease(lease.name)
            self._known[lease.name] = known
            self._count(known, 1)
        kept = self._leased[spec.pool][spec.domain].kept[address.version]
        (kept.add if spec.kept else kept.discard)(int(address))

    def drop_lease(self, name: str) -> None:
        """Note that a lease is gone."""
        known = self._known.pop(name, None)
        if known is not None:
            self._count(known, -1)

    def set_pool(self, name: str, domain: str, spaces: Sequence[Space]) -> None:
        """Note the addresses that a pool has."""
        self._spaces[name] = (domain, spaces)
        self._count_anew(name)

    def drop_pool(self, name: str) -> None:
        """Note that a pool is gone; its leases may live on."""
        self._spaces.pop(name, None)
        self._count_anew(name)

    def used(self, name: str) -> int:
        """How many interfaces have an address of a pool, as far as leases say."""
        groups = self._leased.get(name, {}).values()
        return max((sum(len(group.numbers[v]) for group in groups) for v in (4, 6)), default=0)

    def kept(self, name: str) -> int:
        """How many of the used ones nobody has now."""
        groups = self._leased.get(name, {}).values()
        return max((sum(len(group.kept[v]) for group in groups) for v in (4, 6)), default=0)

    def free(self, name: str, overlapping: Collection[str]) -> int:
        """How many more can have one; `overlapping` are pools that have some of its addresses."""
        domain, spaces = self._spaces[name]
        mine = self._leased.get(name, {}).get(domain, _Leased())
        others = (self._loose.get(domain, set()) | set(overlapping)) - {name}
        theirs = [self._leased[each][domain] for each in others if domain in self._of(each)]
        return min(
            space.size - mine.inside[space.version] - sum(_inside(group, space) for group in theirs)
            for space in spaces
        )

    def elsewhere(self, name: str, domain: str) -> Iterator[str]:
        """Yield the names of leases that a pool of this name has in other domains."""
        for other, group in self._of(name).items():
            for version, numbers in group.numbers.items() if other != domain else ():
                yield from (lease_name(other, address_of(version, each)) for each in numbers)

    def _of(self, pool: str) -> dict[str, _Leased]:
        return self._leased.get(pool, {})

    def _count(self, known: tuple[str, str, int, int], step: int) -> None:
        domain, pool, version, number = known
        group = self._leased.setdefault(pool, {}).setdefault(domain, _Leased())
        (group.numbers[version].add if step > 0 else group.numbers[version].discard)(number)
        group.kept[version].discard(number)
        if self._is_inside(pool, domain, version, number):
            group.inside[version] += step
        self._note_loose(pool, domain, group)
        if group.is_empty:
            del self._leased[pool][domain]

    def _count_anew(self, pool: str) -> None:
        for domain, group in self._of(pool).items():
            at, spaces = self._spaces.get(pool, ("", ()))
            mine = [space for space in spaces if at == domain]
            group.inside = {4: 0, 6: 0}
            for space in mine:
                group.inside[space.version] = _inside(group, space)
            self._note_loose(pool, domain, group)

    def _is_inside(self, pool: str, domain: str, version: int, number: int) -> bool:
        at, spaces = self._spaces.get(pool, ("", ()))
        return at == domain and any(s.version == version and s.has(number) for s in spaces)

    def _note_loose(self, pool: str, domain: str, group: _Leased) -> None:
        loose = self._loose.setdefault(domain, set())
        (loose.add if group.is_loose else loose.discard)(pool)


def _inside(group: _Leased, space: Space) -> int:
    return sum(map(space.has, group.numbers[space.version]))
