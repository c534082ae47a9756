"""Which links the selectors of a request can select, as far as files tell.

A link of which only some things are known can be selected, unless a condition that reads nothing
else is not true of it. The conditions are evaluated as the scheduler does, so that it makes no
difference how they are written. Limit: what does not compile, or costs too much, excludes nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from netclaim.allocator.cel import (
    CompileError,
    Condition,
    DeviceRead,
    DeviceView,
    compile_selector,
    conditions,
    device_view,
)
from netclaim.model.api.dra.slice import DeviceAttribute, PublishedDevice
from netclaim.network.devices.device import VF_INDEX

KEPT: Final = 128  # selectors; the claims of a cluster have few that differ


@dataclass(frozen=True, slots=True)
class Imagined:
    """A device of which only some things are known, for example that it has no `pfName`."""

    view: DeviceView
    known: frozenset[DeviceRead]


@lru_cache(maxsize=KEPT)
def conditions_of(expression: str) -> tuple[Condition, ...]:
    """Return what a selector is made of; nothing if it is none, which `objects` reports."""
    try:
        selector = compile_selector(expression)
    except CompileError:
        return ()
    return () if selector.too_complex else conditions(selector)


def can_select(expressions: Iterable[str], device: Imagined) -> bool:
    """Whether all of the selectors may be true of a device."""
    return all(
        one.holds(device.view)
        for expression in expressions
        for one in conditions_of(expression)
        if one.reads and one.reads <= device.known
    )


def shared_link(driver: str) -> Imagined:
    """A link that several claims can have: no virtual function, no InfiniBand."""
    attributes = {
        "isSriovVf": DeviceAttribute(truth=False),
        "type": DeviceAttribute(string="ethernet"),
    }
    absent = ("pfName", VF_INDEX)  # only virtual functions have them
    device = PublishedDevice(name="any", attributes=attributes, allow_multiple_allocations=True)
    known = {("attributes", driver, name) for name in (*attributes, *absent)}
    return Imagined(device_view(driver, device), frozenset({*known, ("allowMultipleAllocations",)}))


def link_named(driver: str, name: str, ifname: str) -> Imagined:
    """A link of which the names are known."""
    attributes = {"name": DeviceAttribute(string=name), "ifName": DeviceAttribute(string=ifname)}
    known = frozenset(("attributes", driver, key) for key in attributes)
    return Imagined(device_view(driver, PublishedDevice(name="any", attributes=attributes)), known)
