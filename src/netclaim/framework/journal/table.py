"""Rows in memory that are found by more than their key, without looking at all of them.

A tenant decides how many rows there are, and every pod that starts asks for a few of them. Promise:
to put, drop or find rows takes as long as there are rows found, however many others there are. The
rows of a group are in the order in which they came. No I/O.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Generic, TypeAlias, TypeVar

from netclaim.framework.journal.records import Booking, Lease
from netclaim.model.on_node.attachment import AttachmentKey

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Groups: TypeAlias = Callable[[V], Iterable[Hashable]]  # of a row, in one way of grouping
Follower: TypeAlias = Callable[[V | None, V | None], None]  # a row before and after; None: no row


class Table(Generic[K, V]):
    """Rows by key, and by each of several ways of grouping them."""

    def __init__(self, **groupings: Groups[V]) -> None:
        self._rows: dict[K, V] = {}
        self._groupings = groupings
        self._groups: dict[str, dict[Hashable, dict[K, V]]] = {name: {} for name in groupings}
        self._followers: list[Follower[V]] = []

    @property
    def rows(self) -> Mapping[K, V]:
        """All rows by key."""
        return MappingProxyType(self._rows)

    def put(self, key: K, row: V) -> None:
        """Put a row in place of an earlier one of the key."""
        self._change(key, self._rows.get(key), row)
        self._rows[key] = row

    def drop(self, key: K) -> None:
        """Drop a row, if it is there."""
        row = self._rows.pop(key, None)
        if row is not None:
            self._change(key, row, None)

    def group(self, grouping: str, group: Hashable) -> tuple[V, ...]:
        """The rows of a group."""
        return tuple(self._groups[grouping].get(group, {}).values())

    def size(self, grouping: str, group: Hashable) -> int:
        """How many rows a group has."""
        return len(self._groups[grouping].get(group, {}))

    def groups(self, grouping: str) -> Mapping[Hashable, Mapping[K, V]]:
        """All groups that have rows."""
        return MappingProxyType(self._groups[grouping])

    def follow(self, follower: Follower[V]) -> None:
        """Have somebody hear of all rows now, and of each change from now on."""
        for row in self._rows.values():
            follower(None, row)
        self._followers.append(follower)

    def _change(self, key: K, before: V | None, after: V | None) -> None:
        for name, groups_of in self._groupings.items():
            table = self._groups[name]
            new = frozenset() if after is None else frozenset(groups_of(after))
            for group in () if before is None else groups_of(before):
                if group not in new:
                    del table[group][key]
                    if not table[group]:
                        del table[group]
            if after is not None:
                for group in new:
                    table.setdefault(group, {})[key] = after
        for follower in self._followers:
            follower(before, after)


def booking_table() -> Table[str, Booking]:
    """Bookings by their claims' UIDs; `shared` are those that are not one pod's alone."""
    return Table(
        namespace=lambda booking: (booking.claim.namespace,),
        pod=lambda booking: booking.pods,
        shared=lambda booking: () if booking.sole_pod_uid else (booking.claim.namespace,),
        state=lambda booking: (booking.state,),
    )


def lease_table() -> Table[AttachmentKey, Lease]:
    """Leases by their attachments' keys."""
    return Table(
        sandbox=lambda lease: (lease.attachment.pod.id,),
        claim=lambda lease: (lease.attachment.plan.claim.uid,),
        pod=lambda lease: (lease.attachment.pod.uid,),
        state=lambda lease: (lease.state,),
    )
