"""Why a device cannot be used, and why a node cannot serve a pod: values, each with a line of text.

NodeReport                  a node
    PoolReport              a pool that gives no devices
    RequestReport           a request or an alternative
        DeviceReport        a device for it: usable, or one or more of
            NotSelected, NoAnswer    a selector is false, or has no answer, which fails the pod
            Held, Tainted, NotHere   another claim has it, it is tainted, or for other nodes
            TooSmall, Shortage       too little of a capacity or counter: in all, or left of it
    Conflict                requests that can be satisfied one by one, but not together
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from netclaim.allocator.cel.trace import Clause
from netclaim.allocator.objects.capacity import TooSmall
from netclaim.allocator.objects.claim import Claim, Constraint, Request
from netclaim.allocator.objects.taint_rule import RuleTaint
from netclaim.allocator.search.match import OwnedSelector
from netclaim.allocator.why.shortage import Room, Shortage
from netclaim.model.api.dra.ids import DeviceId, PoolId
from netclaim.model.api.dra.taint import Taint


@dataclass(frozen=True, slots=True)
class NotSelected:
    """A selector is false; `clauses` are its parts that are false."""

    selector: OwnedSelector
    clauses: tuple[Clause, ...]

    def __str__(self) -> str:
        return f"{self.selector}: {'; '.join(map(str, self.clauses))}"


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """A selector has no answer for the device; when the scheduler gets to it, the pod fails.

    `undefined` is the field that the selector reads and that devices do not have, if that is why.
    """

    selector: OwnedSelector
    error: str
    clauses: tuple[Clause, ...] = ()
    undefined: str = ""

    def __str__(self) -> str:
        said = "; ".join(map(str, self.clauses)) or self.error
        return f"{self.selector} fails the pod: {said}"


@dataclass(frozen=True, slots=True)
class Held:
    claim: Claim

    def __str__(self) -> str:
        return f"taken by claim {self.claim}"


@dataclass(frozen=True, slots=True)
class Tainted:
    """The device has a taint that the request does not tolerate."""

    taint: Taint

    def __str__(self) -> str:
        value = f"={self.taint.value}" if self.taint.value else ""
        by = f" by DeviceTaintRule {self.taint.rule}" if isinstance(self.taint, RuleTaint) else ""
        return f"taint {self.taint.key}{value}:{self.taint.effect}{by} is not tolerated"


@dataclass(frozen=True, slots=True)
class NotHere:
    def __str__(self) -> str:
        return "not usable from this node"


Reason: TypeAlias = NotSelected | NoAnswer | Held | Tainted | NotHere | TooSmall | Shortage


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """A device, and everything that is wrong with it for a request."""

    device: DeviceId
    reasons: tuple[Reason, ...] = ()
    rooms: tuple[Room, ...] = ()  # what is left of its capacities, if claims can share it

    @property
    def usable(self) -> bool:
        return not self.reasons

    def __str__(self) -> str:
        return f"{self.device}: {'; '.join(map(str, self.reasons)) or 'usable'}"


@dataclass(frozen=True, slots=True)
class RequestReport:
    """A request or alternative, and the devices it was tried on."""

    claim: Claim
    request: Request
    devices: tuple[DeviceReport, ...]

    @property
    def usable(self) -> int:
        """How many devices it could have."""
        return sum(device.usable for device in self.devices)

    @property
    def enough(self) -> bool:
        """Whether it could be satisfied if it were alone."""
        if self.request.mode == "All":
            matching = [d for d in self.devices if not any(map(_unselected, d.reasons))]
            return bool(matching) and all(device.usable for device in matching)
        return self.usable >= self.request.count

    def __str__(self) -> str:
        wanted = "all that match" if self.request.mode == "All" else str(self.request.count)
        return (
            f"claim {self.claim}, request {self.request.full_name} needs {wanted}:"
            f" {self.usable} of {len(self.devices)} devices usable"
        )


@dataclass(frozen=True, slots=True)
class PoolReport:
    """A pool that gives no devices."""

    pool: PoolId
    why: str

    def __str__(self) -> str:
        return f"pool {self.pool}: {self.why}"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Requests that cannot be satisfied together.

    Without a constraint they need the same devices, or more than is left of them. With one,
    `values` are those of the devices that could be used otherwise; an empty value is an attribute
    that the device does not have.
    """

    constraint: Constraint | None = None
    values: Mapping[DeviceId, str] | None = None
    shared: bool = False  # the devices have capacities or counters that add up

    def __str__(self) -> str:
        if self.constraint is None:
            if self.shared:
                return (
                    "each device can be had alone, but too little is left for all that are needed"
                )
            return "each request can be satisfied alone, but they need the same devices"
        read = (f"{device} has {value or 'none'}" for device, value in (self.values or {}).items())
        return f"{self.constraint} cannot be satisfied: {', '.join(read)}"


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What a node can do for the claims of a pod. `error` would fail the pod on every node."""

    node: str
    fits: bool
    error: str = ""
    elsewhere: tuple[Claim, ...] = ()  # allocated already, and not usable from here
    pools: tuple[PoolReport, ...] = ()
    requests: tuple[RequestReport, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


def _unselected(reason: Reason) -> bool:
    return isinstance(reason, NotSelected | NotHere | TooSmall)
