"""Why a subject cannot be allocated, in half a sentence that sums up all nodes.

Promise: it names the first thing that has to change, in the order in which a cluster meets it: what
is missing, what fails the pod everywhere, then what the nodes lack. It also says which lines of the
table show it, so that the nearest miss is one of them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from netclaim.allocator import (
    Held,
    NoAnswer,
    NodeReport,
    NotSelected,
    Request,
    RequestReport,
    Shortage,
    Tainted,
    addresses_short,
)
from netclaim.explain.lines import Line
from netclaim.explain.subject import Subject
from netclaim.explain.why import place
from netclaim.explain.world import World
from netclaim.manifests.near import near
from netclaim.model.api.dra.ids import DeviceId
from netclaim.model.claims.named_drivers import named_drivers
from netclaim.model.pools.counted_pool import pool_of
from netclaim.screen.words import counted

# How a selector names the driver of the devices that it is for.
# How a claim names a network and nothing else; see docs/pod-networks.md.
NETWORK: Final = re.compile(
    r"""device\.attributes\[["']multinetwork\.networking\.k8s\.io["']\]\.podNetwork"""
    r"""\s*==\s*["']([^"']+)["']"""
)

Shows: TypeAlias = Callable[[Line], bool]


def _no_line(line: Line) -> bool:  # noqa: ARG001 - what no device can change
    return False


def _failing(line: Line) -> bool:
    return line.fails


@dataclass(frozen=True, slots=True)
class Cause:
    """What stands in the way, and which lines show it."""

    said: str
    shows: Shows = _no_line


NO_NODE_HAS_ALL: Final = Cause("no node can satisfy all requests", _failing)


def cause(subject: Subject, reports: Sequence[NodeReport], world: World) -> Cause:
    """Say what stands in the way of a subject."""
    found = (one for one in _causes(subject, reports, world) if one.said)
    return next(found, NO_NODE_HAS_ALL)


def stop(subject: Subject, reports: Sequence[NodeReport], world: World) -> str:
    """Say what fails the pod on every node, whatever devices it has; empty if nothing does."""
    found = (one.said for one in _stops(subject, reports, world) if one.said)
    return next(found, "")


def _stops(subject: Subject, reports: Sequence[NodeReport], world: World) -> Iterator[Cause]:
    yield Cause("; ".join(subject.lacks))
    yield Cause("; ".join(_missing_classes(subject, world)))
    yield _unanswered(reports)
    yield Cause(next((report.error for report in reports if report.error), ""))


def _causes(subject: Subject, reports: Sequence[NodeReport], world: World) -> Iterator[Cause]:
    yield from _stops(subject, reports, world)
    if not reports:
        yield Cause("no node accepts the pod")
    yield _shortage(reports)
    conflicts = dict.fromkeys(str(one) for report in reports for one in report.conflicts)
    yield Cause("; ".join(conflicts))
    elsewhere = dict.fromkeys(str(claim) for report in reports for claim in report.elsewhere)
    if elsewhere:
        yield Cause(
            f"claim {', '.join(elsewhere)} has devices that no node which accepts the pod can use"
        )


def _requests(subject: Subject) -> Iterator[Request]:
    """Yield what a subject still has to get."""
    for claim in (*subject.claims, *subject.made):
        if claim.allocation is None:
            yield from (request for group in claim.requests for request in group)


def _missing_classes(subject: Subject, world: World) -> Iterator[str]:
    known = [one.name for one in world.classes]
    for request in _requests(subject):
        if request.class_name not in known:
            close = near(request.class_name, known)
            there = f"existing ones: {', '.join(known)}" if known else "there are none"
            hint = f'did you mean "{close}"?' if close else there
            yield (
                f'request {request.full_name}: DeviceClass "{request.class_name}" does not exist;'
                f" {hint}"
            )


def _unanswered(reports: Sequence[NodeReport]) -> Cause:
    """Say which selector has no value, if that is what fails the pod."""
    if not any(report.error for report in reports):
        return Cause("")
    devices: dict[str, set[DeviceId]] = {}
    for report in reports:
        for one in (device for request in report.requests for device in request.devices):
            # What a false selector before it rules out is never asked.
            if one.reasons and isinstance(one.reasons[0], NoAnswer):
                where = f"{place(one.reasons[0].selector)} has no value"
                devices.setdefault(where, set()).add(one.device)
    concerned = frozenset(device for found in devices.values() for device in found)
    said = (
        f"{where} for {counted(len(found), 'device')}, which fails the pod"
        for where, found in devices.items()
    )
    return Cause("; ".join(said), lambda line: line.device in concerned)


def _shortage(reports: Sequence[NodeReport]) -> Cause:
    """Say for which request no node has enough devices; an empty cause if each has a node."""
    by_request: dict[tuple[str, str], list[RequestReport]] = {}
    for report in reports:
        for request in report.requests:
            key = (str(request.claim), request.request.name)  # with all its alternatives
            by_request.setdefault(key, []).append(request)
    for (claim, _), found in by_request.items():
        if not any(one.enough for one in found):
            names = frozenset(one.request.full_name for one in found)
            said = _short(found, nodes=len(reports))
            return Cause(said, lambda line: line.claim == claim and line.request in names)  # noqa: B023 - returned at once
    return Cause("")


def _short(found: Sequence[RequestReport], *, nodes: int) -> str:
    request = found[0].request
    name = f"request {request.full_name}"
    if addresses := addresses_short(found):
        return f"{name}: {addresses}"
    if network := _network(request):
        name += f" for the network {network}"
    devices = {
        device.device for one in found for device in one.devices if not pool_of(device.device.pool)
    }
    if not devices:
        return f"{name}: no device is published on {counted(nodes, 'node')}"
    if absent := _absent_driver(found):
        return f"{name}: no device of {absent} is published on {counted(nodes, 'node')}"
    kept = {
        device.device
        for one in found
        for device in one.devices
        if device.reasons
        and all(isinstance(why, Held | Tainted | Shortage) for why in device.reasons)
    }
    is_are = "is" if len(kept) == 1 else "are"
    used = any(isinstance(why, Shortage) for one in found for d in one.devices for why in d.reasons)
    how = "taken, used up or tainted" if used else "taken or tainted"
    taken = f"; {len(kept)} would fit, but {is_are} {how}" if kept else ""
    best = max(one.usable for one in found)
    if best:
        return f"{name} needs {request.count} devices on one node, and at most {best} fit{taken}"
    tried = f"{counted(len(devices), 'device')} on {counted(nodes, 'node')}"
    return f"{name}: none of {tried} fits{taken}"


def _network(request: Request) -> str:
    """The PodNetwork that a request selects by its attribute; empty if it does not."""
    return next((found[1] for each in request.selectors if (found := NETWORK.search(each))), "")


def _absent_driver(found: Sequence[RequestReport]) -> str:
    """Return the driver that the request's class is for, if all devices are of other drivers."""
    devices = [device for one in found for device in one.devices]
    published = {device.device.driver for device in devices}
    named = {
        driver
        for device in devices
        for why in device.reasons
        if isinstance(why, NotSelected)
        for driver in named_drivers(why.selector.expression)
    }
    all_ruled_out = all(
        any(isinstance(w, NotSelected) and named_drivers(w.selector.expression) for w in d.reasons)
        for d in devices
    )
    return named.pop() if all_ruled_out and len(named) == 1 and not named & published else ""
