"""What is wrong with each device and each node, in a line for each.

Promise: every device that a request was tried on has a line, also one that fits; a node has a line
if something is wrong with it as a whole. A device fits only on a node that can have the pod;
elsewhere, the line of a device with which nothing is wrong says what else is missing. `distance`
says how near a line is to fitting. Limit: a pool of addresses has no line for a request that wants
a link, nor a link for one that wants an address.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netclaim.allocator import Allocator, Node, NodeReport, Request, RequestReport, Room
from netclaim.explain.why import Missed, Wording, distance
from netclaim.model.api.dra.ids import DeviceId
from netclaim.model.pools.counted_pool import pool_of, pool_of_class
from netclaim.model.quantity import NANO, Quantity

NO_DEVICE: Final = float("inf")  # a node as a whole comes after every device


@dataclass(frozen=True, slots=True)
class Line:
    """A device for a request of a claim, or a node as a whole, and what is wrong with it."""

    node: str
    why: tuple[str, ...] = ()
    short: tuple[str, ...] = ()  # the same for a column of a table
    device: DeviceId | None = None
    claim: str = ""
    request: str = ""
    distance: float = NO_DEVICE
    fails: bool = False  # it is about a request that the node cannot satisfy
    but: str = ""  # why the pod cannot have a device with which nothing is wrong
    takes: tuple[str, ...] = ()  # how much of a shared device's capacities it would take
    missed: tuple[Missed, ...] = ()  # the same as `why`, condition by condition

    @property
    def fits(self) -> bool:
        """Whether the pod could have the device here."""
        return not self.why and not self.but

    @property
    def title(self) -> str:
        """How to call it: `kind-worker/eth1`."""
        return f"{self.node}/{self.device.device}" if self.device else self.node


def node_line(node: str, *why: str, fails: bool = False) -> Line:
    return Line(node, why, why, fails=fails)


def lines_of(
    report: NodeReport, node: Node, allocator: Allocator, wording: Wording, *, stop: str = ""
) -> Iterator[Line]:
    """Yield the lines of a node and its devices; `stop` is what fails the pod everywhere."""
    pools = allocator.matcher.pools(node)
    devices = {device.id: device for pool in pools for device in pool.devices}
    whole = [f"claim {claim} has devices that are not usable here" for claim in report.elsewhere]
    whole += [*map(str, report.pools), *map(str, report.conflicts)]
    if all(pool_of(one.pool) for one in devices) and not report.pools:
        whole.append("no device is published for this node")
    # One alternative of a request that can be satisfied is enough.
    served = {(str(one.claim), one.request.name) for one in report.requests if one.enough}
    lacking = [one for one in report.requests if (str(one.claim), one.request.name) not in served]
    if stop and not lacking:
        whole.append(stop)
    if whole:
        yield node_line(report.node, *whole, fails=bool(stop) or not report.fits)
    for request in report.requests:
        but = _but(request, short=request in lacking, node_fits=report.fits, stop=stop)
        for one in request.devices:
            if _is_for_another(request.request, one.device):
                continue
            device = devices[one.device]
            yield Line(
                report.node,
                tuple(wording.say(reason, device) for reason in one.reasons),
                tuple(wording.say_short(reason) for reason in one.reasons),
                one.device,
                str(request.claim),
                request.request.full_name,
                distance(one.reasons, device),
                fails=bool(report.error) or request in lacking,
                but="" if one.reasons else but,
                takes=()
                if one.reasons
                else tuple(
                    _takes(room) for room in one.rooms if room.asked or is_worth_saying(room.needed)
                ),
                missed=tuple(m for reason in one.reasons for m in wording.missed(reason, device)),
            )


def is_worth_saying(amount: Quantity) -> bool:
    """Whether it is an amount that somebody misses: of some capacities, every claim has a trace."""
    return amount.nanos >= NANO


def _takes(room: Room) -> str:
    return f"{room.name}: takes {room.needed} ({room.why_needed}), {room.left}"


def _is_for_another(request: Request, device: DeviceId) -> bool:
    """Whether it is a pool of addresses for a request that wants a link, or the other way round."""
    return pool_of(device.pool) != pool_of_class(request.class_name)


def _but(request: RequestReport, *, short: bool, node_fits: bool, stop: str) -> str:
    """Say what is missing where nothing is wrong with the device itself."""
    if short and request.request.mode == "All":
        return "matches, but another device that matches is not available"
    if short:
        return f"matches, but the request needs {request.request.count} devices on this node"
    if stop:
        return "matches, but the claims cannot be allocated"
    return "" if node_fits else "matches, but not all requests can be satisfied on this node"
