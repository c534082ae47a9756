"""Why no node can have a pod, in one line: each obstacle once, with the devices it is true of.

Promise: the words are the allocator's; for a selector, the value that it found on each device is
added. Devices of other classes are left out if there are devices of the right one.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from netclaim.allocator import (
    DeviceReport,
    NodeReport,
    NotSelected,
    Reason,
    RequestReport,
    Shortage,
    addresses_short,
)
from netclaim.allocator.cel.trace import Reading
from netclaim.model.counted_pool import pool_of

PARTS_MAX: Final = 3  # claims that have the rest of a device, the largest first


def why_not(reports: Sequence[NodeReport]) -> str:
    """Summarize the reports of all nodes."""
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
    """Yield the obstacles on a node, each with the device it is true of, if it is one's."""
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
            said = addresses_short([request])
            yield from [(said, "")] if said else _shortage(request)
    elif report.conflicts:
        yield "; ".join(map(str, report.conflicts)), ""
    else:
        yield "; ".join(map(str, report.pools)) or "no device is published", ""


def _shortage(request: RequestReport) -> Iterator[tuple[str, str]]:
    name = f"request {request.request.full_name}"
    if not request.devices:
        yield f"{name}, no device is published", ""
    links = [device for device in request.devices if not pool_of(device.device.pool)]
    of_class = [device for device in links if not _is_of_another_class(device)]
    for device in of_class or links:
        for reason in device.reasons:
            for obstacle, found in _texts(reason):
                shown = f"{device.device.device}: {found}" if found else device.device.device
                yield f"{name}, {obstacle}", shown


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


def _places(nodes: dict[str, list[str]]) -> str:
    return ", ".join(
        f"{node} ({', '.join(devices)})" if devices else node for node, devices in nodes.items()
    )
