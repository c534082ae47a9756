"""Pools as one node sees them: which devices can be used from it, and in which order.

Promise: pools are in the scheduler's order (by driver and name; those whose devices wait for
binding conditions last), their slices by name, their devices as published. Only the highest
generation counts. A pool that lacks slices is incomplete; one with two devices of the same name, or
with devices that consume counters which do not exist, is invalid. Neither gives devices.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from netclaim.allocator.objects.device import CounterId, Device, Slice
from netclaim.allocator.objects.node import Node
from netclaim.allocator.search.counters import fault_of, first_twice
from netclaim.model.api.dra.ids import PoolId
from netclaim.model.quantity import Quantity


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The part of a pool that a node can use."""

    id: PoolId
    devices: tuple[Device, ...] = ()
    counters: Mapping[CounterId, Quantity] = field(default_factory=dict)  # its devices share them
    consumers: tuple[Device, ...] = ()  # devices that take counters, also those of other nodes
    incomplete: str = ""  # why it cannot be used yet
    invalid: str = ""  # why it cannot be used at all

    @property
    def usable(self) -> bool:
        """Whether it gives devices."""
        return not self.incomplete and not self.invalid


class Pools:
    """All slices of a cluster, by the nodes that can use them."""

    def __init__(self, slices: Iterable[Slice]) -> None:
        self._by_node: dict[str, list[Slice]] = {}
        self._shared: list[Slice] = []
        self._by_pool: dict[PoolId, list[Slice]] = {}
        for one in slices:
            self._by_pool.setdefault(one.pool, []).append(one)
            if one.nodes.name:
                self._by_node.setdefault(one.nodes.name, []).append(one)
            else:
                self._shared.append(one)

    def of(self, node: Node) -> tuple[Pool, ...]:
        """Return the pools that a node can use, in the order in which they are tried."""
        seen: dict[PoolId, list[Slice]] = {}
        for one in (*self._by_node.get(node.name, ()), *self._shared):
            if _concerns(one, node):
                _add(seen, one)
        made = (self._pool(pool, slices) for pool, slices in seen.items())
        pools = [pool for pool in made if pool is not None]
        return tuple(sorted(pools, key=lambda pool: (_binds(pool), pool.id)))

    def _pool(self, pool: PoolId, slices: Sequence[Slice]) -> Pool | None:
        first = slices[0]
        whole = slices
        if len(slices) != first.expected:
            # Slices for other nodes count too, and may show that these are out of date.
            others = self._by_pool[pool]
            if any(one.generation > first.generation for one in others):
                return None
            whole = [one for one in others if one.generation == first.generation]
            if len(whole) != first.expected:
                why = f"{len(whole)} of {first.expected} slices of generation {first.generation}"
                return Pool(pool, incomplete=why)
        ordered = sorted(slices, key=lambda one: one.name)
        devices = tuple(device for one in ordered for device in one.devices)
        if twice := first_twice(device.id.device for device in devices):
            return Pool(pool, invalid=f"duplicate device name {twice}")
        return _counted(pool, devices, whole)


def _counted(pool: PoolId, devices: tuple[Device, ...], whole: Sequence[Slice]) -> Pool:
    """Return a pool with the counters of all its slices, including those for other nodes."""
    consumers = tuple(device for one in whole for device in one.devices if device.consumes)
    wrong = fault_of(whole, consumers)
    if wrong:
        return Pool(pool, invalid=wrong)
    counters = {name: amount for one in whole for name, amount in one.counters.items()}
    return Pool(pool, devices, counters, consumers)


def _concerns(one: Slice, node: Node) -> bool:
    if one.nodes.chosen:
        return one.nodes.matches(node)
    return one.own_nodes and any(device.nodes.matches(node) for device in one.devices)


def _add(seen: dict[PoolId, list[Slice]], one: Slice) -> None:
    known = seen.setdefault(one.pool, [one])
    if known[0].generation < one.generation:
        seen[one.pool] = [one]
    elif known[0].generation == one.generation and known[0] is not one:
        known.append(one)


def _binds(pool: Pool) -> bool:
    return any(device.binding_conditions for device in pool.devices)
