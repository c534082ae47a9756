"""PodNetwork: a network that an admin offers, and of which a pod only has to know the name.

    apiVersion: cni.networking.x-k8s.io/v1alpha1
    kind: PodNetwork
    metadata: {name: media-net}
    spec:
      type: macvlan
      parent:
        name: eth1
        overrides: [{nodeSelector: {matchLabels: {rack: r7}}, name: eno1}]
      ipam: {type: host-local, ranges: [[{subnet: 10.10.1.0/24}]]}
      namespaces: {matchLabels: {team: media}}
      allow: [ips]

The CustomResourceDefinition in the chart has the same fields; a test compares the two. What the
fields become, `netclaim.network.pod_network` says. No I/O.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from netclaim.model.api.base import Base, Condition, Meta, QuantityText
from netclaim.model.api.label_selector import LabelSelector
from netclaim.model.quantity import Quantity

GROUP: Final = "cni.networking.x-k8s.io"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "PodNetwork"
PLURAL: Final = "podnetworks"
PROVIDER: Final = "cni.dra.networking.x-k8s.io"  # ours; a network of another is left alone
SEEDS_API_VERSION: Final = "v1"  # of PodNetworks in KEP-3698's talks; files may have it
TYPES: Final = ("macvlan", "ipvlan", "vlan", "bridge", "hostDevice", "cni")
# What a user's own claim may choose; the interface's name it may choose in any case.
ALLOWABLE: Final = (
    "ifName", "ips", "mac", "mtu", "bandwidth", "routes", "rules", "neighbors", "vrf", "ethtool",
    "gsoMaxSize", "groMaxSize", "gsoIPv4MaxSize", "groIPv4MaxSize", "disableEbpfPrograms",
)  # fmt: skip
IFNAME_MAX: Final = 15  # the kernel's; a network with a longer name has to choose one
EVICT_AFTER: Final = "evictAfterSeconds"  # in the spec, and a parameter of the class
EVICT_AFTER_MAX: Final = 2**31 - 1  # seconds; a number that every client can hold
NAME_MAX: Final = 63  # it is also the name of a request, which is a DNS label


class ParentOverride(Base, frozen=True):
    """The link on nodes that have certain labels."""

    node_selector: LabelSelector = LabelSelector()
    name: str = ""
    selector: str = ""


class Parent(Base, frozen=True):
    """The link of the node that the network is on: by its name, or by an expression in CEL.

    Of `overrides`, the first one that selects the node takes the place of both.
    """

    name: str = ""
    selector: str = ""
    overrides: tuple[ParentOverride, ...] = ()

    def on_node(self, labels: Mapping[str, str]) -> "Parent":
        """The link on a node with these labels; a parent without a name or selector is none."""
        for each in self.overrides:
            if each.node_selector.selects(labels):
                return Parent(each.name, each.selector)
        return Parent(self.name, self.selector)


class Route(Base, frozen=True):
    """A route in the pod."""

    dst: str
    gw: str = ""


class Dns(Base, frozen=True):
    """Name servers, as CNI has them."""

    nameservers: tuple[str, ...] = ()
    domain: str = ""
    search: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


class Sharing(Base, frozen=True):
    """What each interface gets of its link."""

    bandwidth: QuantityText | None = None  # bits per second; None: none is reserved
    alone: bool = False  # nobody else uses the link


class PodNetworkSpec(Base, frozen=True):
    """What a network is, and who may use it."""

    provider: str = ""  # empty: ours
    enabled: bool = True
    type: str = ""
    parent: Parent = Parent()
    mode: str = ""  # of macvlan and ipvlan
    bridge: str = ""  # its name on the node
    vlan: int = 0
    mtu: int = 0
    if_name: str = ""  # in the pod; empty: the network's name
    ipam: Any = None  # as CNI has it
    routes: tuple[Route, ...] = ()
    dns: Dns = Dns()
    settings: Any = None  # parameters beside a network, as claims have them
    config: Any = None  # of the type `cni`: a CNI configuration
    sharing: Sharing = Sharing()
    namespaces: LabelSelector = LabelSelector()
    allow: tuple[str, ...] = ()
    evict_after_seconds: int = 0  # without an interface that was lost; 0: pods stay


class NodeAvailability(Base, frozen=True):
    """Whether a node has the network."""

    name: str
    available: bool = False
    message: str = ""  # why not


class PodNetworkStatus(Base, frozen=True):
    """What became of a network."""

    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    nodes_available: int = 0
    nodes: tuple[NodeAvailability, ...] = ()
    namespaces: int = 0  # that have its template
    interfaces: int = 0  # that are attached
    pods: int = 0  # that use it
    users: tuple[str, ...] = ()  # some of these pods, as namespace/name


class NetworkMeta(Meta, frozen=True, kw_only=True):
    """Who a network is, and whether it is ending."""

    generation: int = 0
    finalizers: tuple[str, ...] = ()
    resource_version: str = ""


class PodNetwork(Base, frozen=True):
    """A PodNetwork object."""

    metadata: NetworkMeta
    spec: PodNetworkSpec = PodNetworkSpec()
    status: PodNetworkStatus = msgspec.field(default_factory=PodNetworkStatus)

    @property
    def name(self) -> str:
        """Its name, which its class, its templates and their request have too."""
        return self.metadata.name

    @property
    def is_ours(self) -> bool:
        """Whether netclaim serves it, and not another provider."""
        return self.spec.provider in ("", PROVIDER)

    @property
    def ifname(self) -> str:
        """What the interface is called in the pod."""
        return self.spec.if_name or self.name

    @property
    def bandwidth(self) -> Quantity | None:
        """Bits per second that each interface gets of its link; None: it does not say."""
        asked = self.spec.sharing.bandwidth
        return None if asked is None else Quantity.parse(str(asked))

    @property
    def ready(self) -> Condition | None:
        """What the controller says of it; None if it has not looked at it as it is now."""
        if self.status.observed_generation != self.metadata.generation:
            return None
        return next((one for one in self.status.conditions if one.type == "Ready"), None)

    @property
    def is_ending(self) -> bool:
        """Whether it was deleted, and stays only as long as somebody uses it."""
        return self.metadata.deletion_timestamp is not None
