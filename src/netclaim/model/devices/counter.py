"""Counters that devices share, such as the partitions of one piece of hardware. No I/O.

Promise: a set that exists can be published; what the API server would refuse is refused here.
Limit: whether a device's counters exist can be checked only in a whole offer (`counters_fault`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from netclaim.model.api.limits import COUNTERS_MAX
from netclaim.model.devices.device_name import DeviceError, is_dns_label
from netclaim.model.quantity import Quantity


class CounterSet(msgspec.Struct, frozen=True):
    """What one piece of hardware has to share out, by a name that is unique on the node.

    A driver yields it beside the devices that draw from it.
    """

    name: str
    counters: Mapping[str, Quantity]

    def __post_init__(self) -> None:
        _check(f"counter set {self.name}", self.name, self.counters)


class CounterUse(msgspec.Struct, frozen=True):
    """What an allocated device takes from a set; devices for which too little is left wait."""

    counter_set: str
    counters: Mapping[str, Quantity]

    def __post_init__(self) -> None:
        _check(f"use of counter set {self.counter_set}", self.counter_set, self.counters)


def counters_fault(
    sets: Iterable[CounterSet], uses: Iterable[tuple[str, Iterable[CounterUse]]]
) -> str:
    """What is wrong between sets and the devices that use them; an empty text if nothing is."""
    named = list(sets)
    twice = [name for name, count in Counter(each.name for each in named).items() if count > 1]
    if twice:
        return f"several counter sets are called {', '.join(sorted(twice))}"
    known = {each.name: each.counters.keys() for each in named}
    for device, taken in uses:
        for use in taken:
            if use.counter_set not in known:
                return f"device {device} uses counter set {use.counter_set}, which is not offered"
            if unknown := sorted(use.counters.keys() - known[use.counter_set]):
                return (
                    f"device {device} uses {', '.join(unknown)} of counter set "
                    f"{use.counter_set}, which does not have it"
                )
    return ""


def _check(what: str, name: str, counters: Mapping[str, Quantity]) -> None:
    if not is_dns_label(name):
        raise DeviceError(f"{what}: {name!r} is not a DNS label")
    if not 1 <= len(counters) <= COUNTERS_MAX:
        raise DeviceError(f"{what}: {len(counters)} counters; 1 to {COUNTERS_MAX} are allowed")
    for counter in counters:
        if not is_dns_label(counter):
            raise DeviceError(f"{what}: counter {counter!r} is not a DNS label")
