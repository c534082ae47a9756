"""What is against each device and each node, a line for each.

Promise: every device that a request was tried on has a line, also one that fits; a node has one
where something is wrong with it as a whole. `distance` says how near a line is to fitting.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netclaim.allocator import Allocator, DeviceId, Node, NodeReport
from netclaim.explain.why import Teller, distance

__all__ = ["Line", "lines_of", "node_line"]

NO_DEVICE: Final = float("inf")  # a node as a whole comes after every device


@dataclass(frozen=True, slots=True)
class Line:
    """A device for a request of a claim, or a node as a whole, and what is against it."""

    node: str
    why: tuple[str, ...] = ()
    short: tuple[str, ...] = ()  # the same for a column of a table
    device: DeviceId | None = None
    claim: str = ""
    request: str = ""
    distance: float = NO_DEVICE
    fails: bool = False  # it is about a request that the node cannot satisfy

    @property
    def title(self) -> str:
        """How to call it: `kind-worker/eth1`."""
        return f"{self.node}/{self.device.device}" if self.device else self.node


def node_line(node: str, *why: str, fails: bool = False) -> Line:
    """Return the line of a node as a whole."""
    return Line(node, why, why, fails=fails)


def lines_of(
    report: NodeReport, node: Node, allocator: Allocator, teller: Teller
) -> Iterator[Line]:
    """Yield the lines of a node and its devices."""
    pools = allocator.matcher.pools(node)
    devices = {device.id: device for pool in pools for device in pool.devices}
    whole = [f"claim {claim} has devices that are not usable here" for claim in report.elsewhere]
    whole += [*map(str, report.pools), *map(str, report.conflicts)]
    if not devices and not report.pools:
        whole.append("no device is published for this node")
    if whole:
        yield node_line(report.node, *whole, fails=not report.fits)
    # One alternative of a request that can be satisfied is enough.
    served = {(str(one.claim), one.request.name) for one in report.requests if one.enough}
    for request in report.requests:
        for one in request.devices:
            device = devices[one.device]
            yield Line(
                report.node,
                tuple(teller.tell(reason, device) for reason in one.reasons),
                tuple(teller.tell_short(reason) for reason in one.reasons),
                one.device,
                str(request.claim),
                request.request.full_name,
                distance(one.reasons, device),
                fails=bool(report.error)
                or (str(request.claim), request.request.name) not in served,
            )
