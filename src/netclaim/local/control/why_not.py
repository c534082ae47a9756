"""Why no node can have a pod, in one line: each obstacle once, with the devices it is true of.

Promise: the words are the allocator's; beside what a selector wants stands what it found on each
device. Devices of other classes are left out where there are devices of the right one.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from netclaim.allocator import (
    CounterShort,
    DeviceReport,
    NodeReport,
    NotSelected,
    Reason,
    RequestReport,
    UsedUp,
)
from netclaim.allocator.cel.trace import Reading

__all__ = ["why_not"]

PARTS_MAX: Final = 3  # claims that have the rest of a device, whoever has most first


def why_not(reports: Sequence[NodeReport]) -> str:
    """Say what the reports of all nodes come to."""
    nodes_by_obstacle: dict[str, dict[str, list[str]]] = {}
    for report in reports:
        for obstacle, device in _obstacles(report):
            devices = nodes_by_obstacle.setdefault(obstacle, {}).setdefault(report.node, [])
            devices += [device] if device else []
    told = "; ".join(
        f"{obstacle}: {_places(nodes)}" for obstacle, nodes in nodes_by_obstacle.items()
    )
    return f"0/{len(reports)} nodes are available: {told}"


def _obstacles(report: NodeReport) -> Iterator[tuple[str, str]]:
    """What stands in the way on a node, and of which device it is true, if of one."""
    short = [request for request in report.requests if not request.enough]
    if report.error:
        yield report.error, ""
    elif report.fits:
        yield "the node fits, but an error on another node fails the pod", ""
    elif report.elsewhere:
        names = ", ".join(claim.name for claim in report.elsewhere)
        yield f"the devices of claim {names} cannot be used on this node", ""
    elif short:
        for request in short:
            yield from _shortage(request)
    elif report.conflicts:
        yield "; ".join(map(str, report.conflicts)), ""
    else:
        yield "; ".join(map(str, report.pools)) or "no device is published", ""


def _shortage(request: RequestReport) -> Iterator[tuple[str, str]]:
    name = f"request {request.request.full_name}"
    if not request.devices:
        yield f"{name}, no device is published", ""
    of_class = [device for device in request.devices if not _is_of_another_class(device)]
    for device in of_class or request.devices:
        for reason in device.reasons:
            for obstacle, found in _texts(reason):
                shown = f"{device.device.device}: {found}" if found else device.device.device
                yield f"{name}, {obstacle}", shown


def _is_of_another_class(device: DeviceReport) -> bool:
    return any(
        isinstance(reason, NotSelected) and reason.selector.of_class for reason in device.reasons
    )


def _texts(reason: Reason) -> Iterator[tuple[str, str]]:
    """A reason in words that are the same for all devices it is true of, and what it found."""
    if isinstance(reason, UsedUp | CounterShort):
        parts = sorted(reason.parts, key=lambda part: part.amount, reverse=True)
        more = [f"{len(parts) - PARTS_MAX} more claims"] if len(parts) > PARTS_MAX else []
        yield reason.need, "; ".join([reason.left, *map(str, parts[:PARTS_MAX]), *more])
    elif not isinstance(reason, NotSelected):
        yield str(reason), ""
    elif not reason.clauses:
        yield f"`{reason.selector.expression}` is false", ""
    else:
        for clause in reason.clauses:
            yield f"`{clause.text}` is {clause.outcome}", _found(clause.readings)


def _found(readings: Sequence[Reading]) -> str:
    """What a clause read: its only value, or each by its name."""
    if len(readings) == 1 and not readings[0].missing:
        return readings[0].value
    return "; ".join(map(str, readings))


def _places(nodes: dict[str, list[str]]) -> str:
    return ", ".join(
        f"{node} ({', '.join(devices)})" if devices else node for node, devices in nodes.items()
    )
