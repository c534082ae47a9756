"""Why a pod can or cannot get its claims on a node, down to the clause of a selector.

This is a pass of its own that checks everything about every device; allocation stops at the first
answer and pays nothing for this. Limit: where requests get in each other's way, it names single
constraints that would have to go, not combinations of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from netclaim.allocator.allocate import Allocator
from netclaim.allocator.cel import CelError, EvaluationError, Selector, UndefinedFieldError
from netclaim.allocator.cel.trace import Clause, render
from netclaim.allocator.errors import AllocationError
from netclaim.allocator.objects.capacity import TooSmall
from netclaim.allocator.objects.claim import Claim, Constraint, Request
from netclaim.allocator.objects.device import Device
from netclaim.allocator.objects.node import Node
from netclaim.allocator.search.match import OwnedSelector, selectors_of
from netclaim.allocator.search.pool import Pool
from netclaim.allocator.why.reason import (
    Conflict,
    DeviceReport,
    Held,
    NoAnswer,
    NodeReport,
    NotHere,
    NotSelected,
    PoolReport,
    Reason,
    RequestReport,
    Tainted,
)
from netclaim.allocator.why.shortage import counters_short, rooms_of
from netclaim.model.api.dra.ids import DeviceId


def explain(allocator: Allocator, claims: Sequence[Claim], node: Node) -> NodeReport:
    """Report what a node can do for the claims of a pod."""
    fits, error = _fits(allocator, claims, node)
    try:
        requests = tuple(_requests(allocator, claims, node))
    except AllocationError as missing_class:
        return NodeReport(node.name, fits=False, error=str(missing_class))
    elsewhere = tuple(claim for claim in claims if not claim.available_on(node))
    together = not fits and not error and not elsewhere and _each_enough(requests)
    return NodeReport(
        node.name,
        fits,
        error,
        elsewhere,
        tuple(
            PoolReport(pool.id, pool.incomplete or pool.invalid)
            for pool in allocator.matcher.pools(node)
            if not pool.usable
        ),
        requests,
        tuple(_conflicts(allocator, claims, node, requests)) if together else (),
    )


def _fits(allocator: Allocator, claims: Sequence[Claim], node: Node) -> tuple[bool, str]:
    try:
        return allocator.allocate(claims, node) is not None, ""
    except AllocationError as error:
        return False, str(error)


def _requests(allocator: Allocator, claims: Sequence[Claim], node: Node) -> Iterator[RequestReport]:
    pools = allocator.matcher.pools(node)
    for claim in claims:
        for request in (one for group in claim.requests for one in group):
            if claim.allocation is None:
                selectors = selectors_of(allocator.class_of(request), request)
                reports = (
                    _report(allocator, selectors, request, device, pool=pool, node=node)
                    for pool in pools
                    if pool.usable
                    for device in pool.devices
                )
                yield RequestReport(claim, request, tuple(reports))


def _report(
    allocator: Allocator,
    selectors: Sequence[OwnedSelector],
    request: Request,
    device: Device,
    *,
    pool: Pool,
    node: Node,
) -> DeviceReport:
    reasons = [*_reasons(allocator, selectors, request, device, node)]
    try:
        need = allocator.needs.of(request, device)
    except AllocationError as error:
        return DeviceReport(device.id, (*reasons, TooSmall("", str(error))))
    rooms = rooms_of(request, device, need, allocator.holders)
    if need.too_small is not None:
        reasons.append(need.too_small)
    else:
        reasons += [room.shortage for room in rooms if not room.enough]
    free = allocator.free_counters(pool)
    reasons += counters_short(pool, free, device, allocator.holders)
    return DeviceReport(device.id, tuple(reasons), rooms if device.shareable else ())


def _reasons(
    allocator: Allocator,
    selectors: Sequence[OwnedSelector],
    request: Request,
    device: Device,
    node: Node,
) -> Iterator[Reason]:
    """Yield everything that is wrong with a device, also what allocation would not reach."""
    for selector in selectors:
        yield from _selection(allocator, selector, device)
    if device.own_nodes and not device.nodes.matches(node):
        yield NotHere()
    holder = allocator.holders.holder(device.id)
    if holder is not None and not request.admin_access:
        yield Held(holder)
    yield from (Tainted(taint) for taint in device.taints if not request.tolerates(taint))


def _selection(
    allocator: Allocator, selector: OwnedSelector, device: Device
) -> Iterator[NotSelected | NoAnswer]:
    verdict = allocator.matcher.verdict(selector.expression, device)
    if verdict is True:
        return
    compiled = allocator.matcher.selector(selector.expression)
    clauses: tuple[Clause, ...] = ()
    if isinstance(compiled, Selector) and not isinstance(device.view, EvaluationError):
        # A clause without a value does not count where another one is false.
        guilty = "error" if isinstance(verdict, CelError) else "false"
        traced = allocator.matcher.tracer(compiled).trace(device.view)
        clauses = tuple(clause for clause in traced if clause.outcome == guilty)
    if isinstance(verdict, CelError):
        undefined = verdict.field if isinstance(verdict, UndefinedFieldError) else ""
        yield NoAnswer(selector, str(verdict), clauses, undefined)
    else:
        yield NotSelected(selector, clauses)


def _each_enough(requests: Sequence[RequestReport]) -> bool:
    """Whether every request could be satisfied alone, by one of its alternatives."""
    groups: dict[tuple[str, str], bool] = {}
    for report in requests:
        key = (str(report.claim), report.request.name)
        groups[key] = groups.get(key, False) or report.enough
    return all(groups.values())


def _conflicts(
    allocator: Allocator, claims: Sequence[Claim], node: Node, requests: Sequence[RequestReport]
) -> Iterator[Conflict]:
    """Yield the constraints without which it would fit; if there are none, devices are too few."""
    found = False
    for index, claim in enumerate(claims):
        for constraint in claim.constraints:
            others = tuple(one for one in claim.constraints if one is not constraint)
            relaxed = [*claims[:index], replace(claim, constraints=others), *claims[index + 1 :]]
            if _fits(allocator, relaxed, node)[0]:
                found = True
                yield Conflict(constraint, _values(allocator, constraint, claim, node, requests))
    if not found:
        yield Conflict(shared=_adds_up(allocator, node))


def _adds_up(allocator: Allocator, node: Node) -> bool:
    """Whether a node's devices have capacities or counters that several picks together use up."""
    devices = (device for pool in allocator.matcher.pools(node) for device in pool.devices)
    return any(device.consumes or (device.shareable and device.capacities) for device in devices)


def _values(
    allocator: Allocator,
    constraint: Constraint,
    claim: Claim,
    node: Node,
    requests: Sequence[RequestReport],
) -> dict[DeviceId, str]:
    """Return what the devices that could be used have for a constraint's attribute."""
    devices = {d.id: d for pool in allocator.matcher.pools(node) for d in pool.devices}
    usable = [
        device.device
        for report in requests
        if report.claim == claim and constraint.concerns(report.request)
        for device in report.devices
        if device.usable
    ]
    values = {one: devices[one].attribute(constraint.attribute) for one in usable}
    return {one: render(value[1]) if value is not None else "" for one, value in values.items()}
