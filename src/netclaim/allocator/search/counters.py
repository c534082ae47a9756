"""Counters that the devices of a pool share, and what is left of them (KEP-4815).

Promise: it counts as kube-scheduler 1.37 does: every device in use takes its counters once, however
many shares of it are given away. A pool in which a counter is overdrawn gives no device that takes
counters. No I/O.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from netclaim.allocator.objects.device import CounterId, Device, Slice
from netclaim.allocator.search.holders import Holders
from netclaim.model.quantity import Quantity

Counters: TypeAlias = Mapping[CounterId, int]  # in billionths


def first_twice(names: Iterable[str]) -> str:
    """Return the first name that occurs a second time, or an empty text."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return ""


def fault_of(slices: Sequence[Slice], devices: Sequence[Device]) -> str:
    """Return what is wrong with the counters of a pool, in the scheduler's words, or nothing."""
    names = [name for one in slices for name in one.counter_sets]
    if twice := first_twice(names):
        return f"duplicate counter set name {twice}"
    counters = {counter for one in slices for counter in one.counters}
    for wanted in (counter for device in devices for counter in device.consumes):
        if wanted.set not in names:
            return f"counter set {wanted.set} not found"
        if wanted not in counters:
            return f"counter {wanted.counter} not found in counter set {wanted.set}"
    return ""


def free_counters(
    total: Mapping[CounterId, Quantity], consumers: Sequence[Device], holders: Holders
) -> Counters:
    """Return what is left of a pool's counters; less than nothing if it is overdrawn."""
    left = {counter: amount.nanos for counter, amount in total.items()}
    for device in consumers:
        if holders.in_use(device.id):
            for counter, amount in device.consumes.items():
                left[counter] -= amount.nanos
    return left


class Tab:
    """What the devices picked in a search take of the counters of one pool."""

    def __init__(self, free: Counters) -> None:
        self._left = dict(free)

    def take(self, device: Device) -> bool:
        """Take a device's counters, if there are enough of all."""
        self._add(device, -1)
        if all(left >= 0 for left in self._left.values()):
            return True
        self._add(device, 1)
        return False

    def give_back(self, device: Device) -> None:
        """Return what was taken for a device."""
        self._add(device, 1)

    def _add(self, device: Device, sign: int) -> None:
        for counter, amount in device.consumes.items():
            self._left[counter] += sign * amount.nanos
