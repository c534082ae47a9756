"""What claims ask for: requests, alternatives, constraints; and the classes they name.

Promise: reads v1 objects with the API's defaults filled in, so that a manifest that no API server
has seen yet is read as one that it has. `Claim.requests` holds one group for each request: its
alternatives in order of preference, or a single one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from netclaim.allocator.capacity import Asked
from netclaim.allocator.errors import AllocationError, ObjectError
from netclaim.allocator.node import Node, selector_matches
from netclaim.model.claim import JsonObject
from netclaim.model.device import Taint
from netclaim.model.quantity import QuantityError

__all__ = ["Claim", "Constraint", "DeviceClass", "Request", "Toleration"]

MODES: Final = ("ExactCount", "All")
KEEP_AWAY: Final = ("NoSchedule", "NoExecute")  # the scheduler ignores effects that it cannot know


@dataclass(frozen=True, slots=True)
class Toleration:
    """Which taints a request puts up with."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    @classmethod
    def read(cls, obj: Mapping[str, Any]) -> "Toleration":
        """Read a toleration of devices' taints, or of nodes'."""
        return cls(
            key=obj.get("key") or "",
            operator=obj.get("operator") or "Equal",
            value=obj.get("value") or "",
            effect=obj.get("effect") or "",
        )

    def tolerates(self, taint: Taint) -> bool:
        """Whether a taint is among them; an empty key or effect means every one."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        return self.operator == "Exists" or (
            self.operator in ("", "Equal") and self.value == taint.value
        )


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
    raw_tolerations: tuple[JsonObject, ...] = field(default=(), compare=False)  # for the result

    @property
    def full_name(self) -> str:
        """The name in results: `nic`, or `nic/fast` for an alternative."""
        return f"{self.name}/{self.alternative}" if self.alternative else self.name

    def tolerates(self, taint: Taint) -> bool:
        """Whether a device with this taint can be used."""
        return taint.effect not in KEEP_AWAY or any(
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
class DeviceClass:
    """A class of devices: selectors and configuration by an admin."""

    name: str
    selectors: tuple[str, ...] = ()
    config: tuple[JsonObject, ...] = ()

    @classmethod
    def read(cls, obj: Mapping[str, Any]) -> "DeviceClass":
        """Read a DeviceClass object; it is the same in every version."""
        try:
            spec = obj.get("spec") or {}
            return cls(obj["metadata"]["name"], _selectors(spec), tuple(spec.get("config") or ()))
        except (KeyError, TypeError, AttributeError) as error:
            raise ObjectError(f"not a DeviceClass: {error!r}") from error


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim, allocated or not; `allocation` is what its status holds."""

    namespace: str
    name: str
    requests: tuple[tuple[Request, ...], ...] = ()
    constraints: tuple[Constraint, ...] = ()
    config: tuple[JsonObject, ...] = ()
    uid: str = ""
    allocation: JsonObject | None = None

    @classmethod
    def read(cls, obj: Mapping[str, Any]) -> "Claim":
        """Read a v1 ResourceClaim object."""
        try:
            return _read_claim(obj)
        except (KeyError, TypeError, AttributeError) as error:
            raise ObjectError(f"not a ResourceClaim: {error!r}") from error

    def available_on(self, node: Node) -> bool:
        """Whether what it has already been given can be used from a node."""
        selector = (self.allocation or {}).get("nodeSelector")
        return selector is None or selector_matches(selector, node)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def _read_claim(obj: Mapping[str, Any]) -> Claim:
    meta = obj["metadata"]
    devices = (obj.get("spec") or {}).get("devices") or {}
    return Claim(
        namespace=meta.get("namespace") or "default",
        name=meta["name"],
        requests=tuple(_read_request(request) for request in devices.get("requests") or ()),
        constraints=tuple(_read_constraint(one) for one in devices.get("constraints") or ()),
        config=tuple(devices.get("config") or ()),
        uid=meta.get("uid") or "",
        allocation=(obj.get("status") or {}).get("allocation"),
    )


def _read_request(obj: Mapping[str, Any]) -> tuple[Request, ...]:
    if obj.get("exactly") is not None:
        return (_read_alternative(obj["name"], "", obj["exactly"]),)
    alternatives = obj.get("firstAvailable") or ()
    if not alternatives:
        raise AllocationError(f"request {obj['name']} has neither exactly nor firstAvailable")
    return tuple(_read_alternative(obj["name"], one["name"], one) for one in alternatives)


def _read_alternative(name: str, alternative: str, obj: Mapping[str, Any]) -> Request:
    mode = obj.get("allocationMode") or "ExactCount"
    if mode not in MODES:
        raise AllocationError(f"request {name}: unsupported count mode {mode}")
    tolerations = tuple(obj.get("tolerations") or ())
    return Request(
        name=name,
        class_name=obj["deviceClassName"],
        alternative=alternative,
        selectors=_selectors(obj),
        mode=mode,
        count=obj.get("count") or 1,
        admin_access=bool(obj.get("adminAccess")),
        tolerations=tuple(Toleration.read(one) for one in tolerations),
        raw_tolerations=tolerations,
        capacity=tuple(_read_asked((obj.get("capacity") or {}).get("requests") or {})),
    )


def _read_asked(requests: Mapping[str, Any]) -> Iterator[Asked]:
    for name, amount in sorted(requests.items()):
        asked = Asked(name, str(amount))
        try:
            asked.amount  # noqa: B018 - to see that it is one
        except QuantityError as error:
            raise ObjectError(f"capacity {name}: {error}") from error
        yield asked


def _read_constraint(obj: Mapping[str, Any]) -> Constraint:
    requests = frozenset(obj.get("requests") or ())
    if obj.get("matchAttribute"):
        return Constraint("match", obj["matchAttribute"], requests)
    if obj.get("distinctAttribute"):
        return Constraint("distinct", obj["distinctAttribute"], requests)
    raise AllocationError("a constraint is empty or of an unknown kind")


def _selectors(obj: Mapping[str, Any]) -> tuple[str, ...]:
    found = []
    for selector in obj.get("selectors") or ():
        if not selector.get("cel"):
            raise AllocationError("a selector is not CEL, the only supported kind")
        found.append(selector["cel"]["expression"])
    return tuple(found)
