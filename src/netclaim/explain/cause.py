"""Why a subject cannot be allocated, in half a sentence: what all nodes come to.

Promise: the first thing that has to change, in the order in which a cluster meets it: what is
missing, what fails the pod everywhere, then what the nodes lack.
"""

from collections.abc import Iterator, Sequence

from netclaim.allocator import DeviceId, Held, NoAnswer, NodeReport, RequestReport, Tainted
from netclaim.explain.subject import Subject
from netclaim.explain.why import place
from netclaim.explain.world import World
from netclaim.manifests.near import near

__all__ = ["cause"]


def cause(subject: Subject, reports: Sequence[NodeReport], world: World) -> str:
    """Say what stands in the way of a subject."""
    return next(filter(None, _causes(subject, reports, world)), "no node can satisfy all requests")


def _causes(subject: Subject, reports: Sequence[NodeReport], world: World) -> Iterator[str]:
    yield "; ".join(subject.lacks)
    yield _missing_classes(subject, world)
    if not reports:
        yield "no node is open to the pod"
    yield _unanswered(reports)
    yield next((report.error for report in reports if report.error), "")
    yield _shortage(reports)
    yield "; ".join(dict.fromkeys(str(one) for report in reports for one in report.conflicts))
    elsewhere = dict.fromkeys(str(claim) for report in reports for claim in report.elsewhere)
    if elsewhere:
        yield f"claim {', '.join(elsewhere)} has devices that no open node can use"


def _missing_classes(subject: Subject, world: World) -> str:
    known = [one.name for one in world.classes]
    requests = (
        request
        for claim in (*subject.claims, *subject.made)
        if claim.allocation is None
        for group in claim.requests
        for request in group
    )
    told = []
    for request in requests:
        if request.class_name not in known:
            close = near(request.class_name, known)
            hint = f"is {close} meant?" if close else f"there is {', '.join(known) or 'none'}"
            told.append(
                f"request {request.full_name}: DeviceClass {request.class_name!r} does not exist;"
                f" {hint}"
            )
    return "; ".join(told)


def _unanswered(reports: Sequence[NodeReport]) -> str:
    """Say which selector has no value, if that is what fails the pod."""
    if not any(report.error for report in reports):
        return ""
    devices: dict[str, set[DeviceId]] = {}
    for report in reports:
        for one in (device for request in report.requests for device in request.devices):
            # What a false selector before it rules out is never asked.
            if one.reasons and isinstance(one.reasons[0], NoAnswer):
                where = f"{place(one.reasons[0].selector)} has no value"
                devices.setdefault(where, set()).add(one.device)
    return "; ".join(
        f"{where} for {_count(len(found), 'device')}, which fails the pod"
        for where, found in devices.items()
    )


def _shortage(reports: Sequence[NodeReport]) -> str:
    """Say which request no node has enough devices for; nothing if each has a node."""
    by_request: dict[tuple[str, str], list[RequestReport]] = {}
    for report in reports:
        for request in report.requests:
            key = (str(request.claim), request.request.name)  # with all its alternatives
            by_request.setdefault(key, []).append(request)
    for found in by_request.values():
        if not any(one.enough for one in found):
            return _short(found, nodes=len(reports))
    return ""


def _short(found: Sequence[RequestReport], *, nodes: int) -> str:
    request = found[0].request
    name = f"request {request.full_name}"
    devices = {device.device for one in found for device in one.devices}
    if not devices:
        return f"{name}: no device is published on {_count(nodes, 'node')}"
    kept = {
        device.device
        for one in found
        for device in one.devices
        if device.reasons and all(isinstance(why, Held | Tainted) for why in device.reasons)
    }
    taken = f"; {len(kept)} would, but cannot be had" if kept else ""
    best = max(one.usable for one in found)
    if best:
        return f"{name} needs {request.count} devices of a node, and at most {best} fit{taken}"
    tried = f"{_count(len(devices), 'device')} on {_count(nodes, 'node')}"
    return f"{name}: none of {tried} fits{taken}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
