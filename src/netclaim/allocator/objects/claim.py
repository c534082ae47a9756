"""What claims ask for: requests, alternatives and constraints.

Promise: the API's defaults are filled in, so that a manifest that no API server has seen yet is
read as one that it has. What is newer than this allocator fails the pod, as it does in the
scheduler. `Claim.requests` holds one group for each request: its alternatives in order of
preference, or a single one.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from netclaim.allocator.errors import AllocationError
from netclaim.allocator.objects.capacity import Asked
from netclaim.allocator.objects.node import Node, selector_matches
from netclaim.model.api.base import QuantityText
from netclaim.model.api.dra.claim import (
    AllocationResult,
    DeviceConstraint,
    DeviceRequest,
    ExactRequest,
    ResourceClaim,
)
from netclaim.model.api.dra.config import DeviceConfig
from netclaim.model.api.dra.device_class import Selector
from netclaim.model.api.dra.taint import KEEPS_AWAY, Taint, Toleration
from netclaim.model.quantity import Quantity, QuantityError

MODES: Final = ("ExactCount", "All")


@dataclass(frozen=True, slots=True)
class Request:
    """One way to satisfy a request: devices of a class, chosen by selectors."""

    name: str
    class_name: str
    alternative: str = ""  # its own name, where a request has several alternatives
    selectors: tuple[str, ...] = ()
    mode: str = "ExactCount"
    count: int = 1
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    capacity: tuple[Asked, ...] = ()  # how much of a device's capacities

    @property
    def full_name(self) -> str:
        """The name in results: `nic`, or `nic/fast` for an alternative."""
        return f"{self.name}/{self.alternative}" if self.alternative else self.name

    def tolerates(self, taint: Taint) -> bool:
        """Whether a device with this taint can be used."""
        return taint.effect not in KEEPS_AWAY or any(
            one.tolerates(taint) for one in self.tolerations
        )


@dataclass(frozen=True, slots=True)
class Constraint:
    """What the devices of some requests, or of all, must have in common, or must not."""

    kind: Literal["match", "distinct"]
    attribute: str
    requests: frozenset[str] = frozenset()

    def concerns(self, request: Request) -> bool:
        """Whether devices of a request have to obey."""
        return not self.requests or not self.requests.isdisjoint((request.name, request.full_name))

    def __str__(self) -> str:
        return f"{self.kind}Attribute {self.attribute}"


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim, allocated or not; `allocation` is what its status holds."""

    namespace: str
    name: str
    requests: tuple[tuple[Request, ...], ...] = ()
    constraints: tuple[Constraint, ...] = ()
    config: tuple[DeviceConfig, ...] = ()
    uid: str = ""
    allocation: AllocationResult | None = None

    @classmethod
    def read(cls, obj: Mapping[str, Any]) -> "Claim":
        """Read a v1 ResourceClaim object."""
        found = ResourceClaim.read(obj)
        asked = found.spec.devices
        return cls(
            namespace=found.metadata.namespace or "default",
            name=found.metadata.name,
            requests=tuple(tuple(_alternatives(request)) for request in asked.requests),
            constraints=tuple(map(_constraint, asked.constraints)),
            config=asked.config,
            uid=found.metadata.uid,
            allocation=found.status.allocation,
        )

    def available_on(self, node: Node) -> bool:
        """Whether what it has already been given can be used from a node."""
        selector = self.allocation.node_selector if self.allocation is not None else None
        return selector is None or selector_matches(selector, node)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def expressions_of(selectors: Iterable[Selector]) -> tuple[str, ...]:
    """Return selectors in CEL; an AllocationError says that one of them is not in CEL."""
    found = []
    for selector in selectors:
        if selector.cel is None:
            raise AllocationError("a selector is not CEL, the only supported kind")
        found.append(selector.cel.expression)
    return tuple(found)


def _alternatives(request: DeviceRequest) -> Iterator[Request]:
    if request.exactly is not None:
        yield _request(request.name, "", request.exactly)
    elif not request.first_available:
        raise AllocationError(f"request {request.name} has neither exactly nor firstAvailable")
    else:
        yield from (_request(request.name, one.name, one) for one in request.first_available)


def _request(name: str, alternative: str, asked: ExactRequest) -> Request:
    mode = asked.allocation_mode or "ExactCount"
    if mode not in MODES:
        raise AllocationError(f"request {name}: unsupported count mode {mode}")
    return Request(
        name=name,
        class_name=asked.device_class_name,
        alternative=alternative,
        selectors=expressions_of(asked.selectors),
        mode=mode,
        count=asked.count or 1,
        admin_access=asked.admin_access,
        tolerations=asked.tolerations,
        capacity=tuple(_asked(asked.capacity.requests)),
    )


def _asked(requests: Mapping[str, QuantityText]) -> Iterator[Asked]:
    for name, amount in sorted(requests.items()):
        try:
            Quantity.parse(amount)
        except QuantityError as error:
            raise AllocationError(f"capacity {name}: {error}") from error
        yield Asked(name, str(amount))


def _constraint(found: DeviceConstraint) -> Constraint:
    requests = frozenset(found.requests)
    if found.match_attribute:
        return Constraint("match", found.match_attribute, requests)
    if found.distinct_attribute:
        return Constraint("distinct", found.distinct_attribute, requests)
    raise AllocationError("a constraint is empty or of an unknown kind")
