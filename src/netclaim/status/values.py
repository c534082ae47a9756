"""What `netclaim status` shows, as values; as JSON and YAML they are its stable output.

The names of fields become camelCase in JSON. docs/status.md describes every field, and a test
compares the two.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

DeviceState: TypeAlias = Literal["free", "used", "shared", "tainted", "unavailable"]
ClaimState: TypeAlias = Literal["Pending", "Allocated", "Reserved", "Ready", "NotReady"]
PodState: TypeAlias = Literal["Ready", "Waiting", "NotReady", "Ended"]
Severity: TypeAlias = Literal["error", "warning"]


class _Value(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    pass


class Driver(_Value, frozen=True, kw_only=True):
    """A driver, and how much of what it publishes is in use."""

    name: str
    nodes: int
    devices: int
    free: int
    used: int
    shared: int
    tainted: int
    unavailable: int
    claims: int
    classes: tuple[str, ...] = ()


class Node(_Value, frozen=True, kw_only=True):
    """A node, and how much of what it has is in use."""

    name: str
    ready: bool | None
    cordoned: bool = False
    drivers: tuple[str, ...] = ()
    devices: int = 0
    free: int = 0
    used: int = 0
    shared: int = 0
    tainted: int = 0
    unavailable: int = 0
    claims: int = 0
    pods: int = 0


class Taint(_Value, frozen=True, kw_only=True):
    """What keeps claims from a device."""

    key: str
    value: str
    effect: str
    rule: str = ""

    def __str__(self) -> str:
        by = f" by DeviceTaintRule {self.rule}" if self.rule else ""
        return f"{self.key}{f'={self.value}' if self.value else ''}:{self.effect}{by}"


class Capacity(_Value, frozen=True, kw_only=True):
    """How much there is of something, and how much of it claims have."""

    name: str
    total: str
    used: str


class ClaimUse(_Value, frozen=True, kw_only=True):
    """A claim that has a device, and the pods that the claim is reserved for."""

    namespace: str
    claim: str
    request: str
    pods: tuple[str, ...] = ()
    share_id: str = msgspec.field(default="", name="shareID")
    admin_access: bool = False
    consumed_capacity: Mapping[str, str] = {}


class Device(_Value, frozen=True, kw_only=True):
    """A published device."""

    driver: str
    pool: str
    name: str
    node: str
    state: DeviceState
    shareable: bool = False
    attributes: Mapping[str, str | int | bool] = {}
    capacity: tuple[Capacity, ...] = ()
    taints: tuple[Taint, ...] = ()
    used_by: tuple[ClaimUse, ...] = ()


class Interface(_Value, frozen=True, kw_only=True):
    """An interface in a pod."""

    name: str
    ips: tuple[str, ...] = ()
    mac: str = ""
    claim: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""


class PodInterface(_Value, frozen=True, kw_only=True):
    """The interface of one of several pods that share a claim."""

    pod: str
    interface: str = ""
    mac: str = ""
    ips: tuple[str, ...] = ()


class ClaimDevice(_Value, frozen=True, kw_only=True):
    """A device that a claim has, with what its driver reports; `ready` is None before it does.

    `interface`, `mac` and `ips` are one pod's; if several pods share the claim, `pods` has all.
    """

    driver: str
    pool: str
    device: str
    request: str
    share_id: str = msgspec.field(default="", name="shareID")
    admin_access: bool = False
    node: str = ""
    ready: bool | None = None
    reason: str = ""
    message: str = ""
    since: str = ""
    unhealthy: str = ""
    interface: str = ""
    mac: str = ""
    ips: tuple[str, ...] = ()
    pods: tuple[PodInterface, ...] = ()
    pods_omitted: int = 0


class ClaimStatus(_Value, frozen=True, kw_only=True):
    namespace: str
    name: str
    state: ClaimState
    deleting: bool = False
    classes: tuple[str, ...] = ()
    message: str = ""
    since: str = ""
    devices: tuple[ClaimDevice, ...] = ()
    pods: tuple[str, ...] = ()

    @property
    def is_unhealthy(self) -> bool:
        """Whether a device of it is there, and does not work."""
        return any(one.unhealthy for one in self.devices)


class PodClaim(_Value, frozen=True, kw_only=True):
    """A claim that a pod uses; without a name if it is not made yet."""

    entry: str
    claim: str
    template: str
    state: ClaimState | Literal["Missing"]


class Pod(_Value, frozen=True, kw_only=True):
    """A pod that uses claims."""

    namespace: str
    name: str
    node: str
    phase: str
    state: PodState
    waiting: str = ""
    interfaces: tuple[Interface, ...] = ()
    claims: tuple[PodClaim, ...] = ()


class MissingNode(_Value, frozen=True, kw_only=True):
    """A node that does not have a network, and why."""

    node: str
    message: str = ""


class Network(_Value, frozen=True, kw_only=True):
    """A PodNetwork, as the controller reports it; `ready` is None before it does."""

    name: str
    type: str = ""
    deleting: bool = False
    ready: bool | None = None
    reason: str = ""
    message: str = ""
    nodes: int = 0
    namespaces: int = 0
    interfaces: int = 0
    pods: int = 0
    users: tuple[str, ...] = ()
    missing: tuple[MissingNode, ...] = ()


class PoolAddress(_Value, frozen=True, kw_only=True):
    """An address of a pool that a claim has, or that is kept for a pod until it comes back."""

    address: str
    namespace: str
    claim: str  # empty if nobody has it now, and `node` likewise
    node: str
    pods: tuple[str, ...] = ()
    kept_for: str = ""


class AddressPool(_Value, frozen=True, kw_only=True):
    """An AddressPool, as the controller reports it; `ready` is None before it does."""

    name: str
    ranges: tuple[str, ...] = ()
    ready: bool | None = None
    reason: str = ""
    message: str = ""
    size: int = 0
    used: int = 0
    kept: int = 0  # of the used ones: nobody has them now
    free: int = 0
    addresses: tuple[PoolAddress, ...] = ()


class Problem(_Value, frozen=True, kw_only=True):
    """Something that is not as it should be, and what to do about it."""

    severity: Severity
    kind: str
    namespace: str = ""
    name: str
    message: str
    hint: str = ""

    @property
    def whose(self) -> str:
        """The name of what has the problem, such as `default/nic`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def what(self) -> str:
        """What sort of object has the problem, such as `claim`."""
        kind = self.kind.removeprefix("Resource").replace("PodNetwork", "network")
        return kind.replace("AddressPool", "address pool").lower()

    @property
    def about(self) -> str:
        """What has the problem, such as `claim default/nic`; what there is one of has no name."""
        return f"{self.what} {self.whose}".rstrip()

    def __str__(self) -> str:
        return f"{self.severity}: {self.about}: {self.message}"


class Status(_Value, frozen=True, kw_only=True):
    """Everything that was asked for; lists that were not asked for are empty."""

    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    drivers: tuple[Driver, ...] = ()
    nodes: tuple[Node, ...] = ()
    devices: tuple[Device, ...] = ()
    claims: tuple[ClaimStatus, ...] = ()
    pods: tuple[Pod, ...] = ()
    networks: tuple[Network, ...] = ()
    pools: tuple[AddressPool, ...] = ()
