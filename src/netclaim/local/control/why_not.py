"""Why no node can have a pod, in one line: each obstacle once, with the devices it is true of.

Promise: the words are the allocator's; for a selector, the value that it found on each device is
added. What the fewest things keep from the pod comes first; of many obstacles the last are counted.
Devices of other classes are left out if there are devices of the right one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from netclaim.allocator import (
    DeviceReport,
    NoAnswer,
    NodeReport,
    NotSelected,
    Reason,
    RequestReport,
    Shortage,
    addresses_short,
)
from netclaim.allocator.cel.trace import Reading
from netclaim.model.pools.counted_pool import pool_of
from netclaim.screen.words import counted

OBSTACLES_MAX: Final = 3  # in a line; `netclaim explain` shows all of them
# How far a device is from what was asked: each false clause, and whatever else keeps it away. One
# that is right, but taken or too full, is nearer than one that is another device.
CLAUSE: Final = 1.0
OTHERWISE: Final = 0.5
NO_DEVICE: Final = 100.0  # what is wrong with a node as a whole comes last
PARTS_MAX: Final = 3  # claims that have the rest of a device, the largest first


@dataclass(slots=True)
class _Places:
    """Where an obstacle is: the devices of each node, and how far off the nearest of them is."""

    away: float = NO_DEVICE
    nodes: dict[str, list[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        return ", ".join(
            f"{node} ({', '.join(devices)})" if devices else node
            for node, devices in self.nodes.items()
        )


def why_not(reports: Sequence[NodeReport]) -> str:
    """Summarize the reports of all nodes."""
    found: dict[str, _Places] = {}
    for report in reports:
        for obstacle, device, away in _obstacles(report):
            places = found.setdefault(obstacle, _Places())
            devices = places.nodes.setdefault(report.node, [])
            devices += [device] if device else []
            places.away = min(places.away, away)
    nearest = sorted(found.items(), key=lambda one: one[1].away)
    message = [f"{obstacle}: {places}" for obstacle, places in nearest[:OBSTACLES_MAX]]
    rest = len(nearest) - OBSTACLES_MAX
    if rest > 0:
        message.append(f"and {counted(rest, 'more obstacle')}, which `netclaim explain` shows")
    return f"0/{len(reports)} nodes are available: {'; '.join(message)}"


def _obstacles(report: NodeReport) -> Iterator[tuple[str, str, float]]:
    """Yield the obstacles on a node, each with its device, if any, and how far off that is."""
    short = [request for request in report.requests if not request.enough]
    if report.error:
        yield report.error, "", 0.0  # it fails the pod, whatever else there is
    elif report.fits:
        yield "the node fits, but an error on another node fails the pod", "", NO_DEVICE
    elif report.elsewhere:
        names = ", ".join(claim.name for claim in report.elsewhere)
        yield f"the devices of claim {names} cannot be used on this node", "", NO_DEVICE
    elif short:
        for request in short:
            said = addresses_short([request])  # the link is right, only an address is missing
            yield from [(said, "", OTHERWISE)] if said else _shortage(request)
    elif report.conflicts:
        yield "; ".join(map(str, report.conflicts)), "", OTHERWISE
    else:
        yield "; ".join(map(str, report.pools)) or "no device is published", "", NO_DEVICE


def _shortage(request: RequestReport) -> Iterator[tuple[str, str, float]]:
    name = f"request {request.request.full_name}"
    if not request.devices:
        yield f"{name}, no device is published", "", NO_DEVICE
    links = [device for device in request.devices if not pool_of(device.device.pool)]
    of_class = [device for device in links if not _is_of_another_class(device)]
    for device in of_class or links:
        away = sum(map(_away, device.reasons))
        for reason in device.reasons:
            for obstacle, found in _texts(reason):
                shown = f"{device.device.device}: {found}" if found else device.device.device
                yield f"{name}, {obstacle}", shown, away


def _away(reason: Reason) -> float:
    return CLAUSE * (len(reason.clauses) or 1) if isinstance(reason, NotSelected) else OTHERWISE


def _is_of_another_class(device: DeviceReport) -> bool:
    return any(
        isinstance(reason, NotSelected) and reason.selector.of_class for reason in device.reasons
    )


def _texts(reason: Reason) -> Iterator[tuple[str, str]]:
    """Yield a reason in words that are the same for all its devices, and what it found."""
    if isinstance(reason, Shortage):
        parts = sorted(reason.parts, key=lambda part: part.amount, reverse=True)
        more = [f"{len(parts) - PARTS_MAX} more claims"] if len(parts) > PARTS_MAX else []
        yield reason.need, "; ".join([reason.left, *map(str, parts[:PARTS_MAX]), *more])
    elif isinstance(reason, NoAnswer):  # the scheduler did not get to it, or its error is said
        said = "; ".join(map(str, reason.clauses)) or reason.error
        yield f"{reason.selector} has no value: {said}", ""
    elif not isinstance(reason, NotSelected):
        yield str(reason), ""
    elif not reason.clauses:
        yield f"`{reason.selector.expression}` is false", ""
    else:
        for clause in reason.clauses:
            yield f"`{clause.text}` is {clause.outcome}", _found(clause.readings)


def _found(readings: Sequence[Reading]) -> str:
    """Return what a clause read: its only value, or each with its name."""
    if len(readings) == 1 and not readings[0].missing:
        return readings[0].value
    return "; ".join(map(str, readings))
