"""What a cluster looks like: its nodes, its networks, and each node's links on them.

Values only; `input.topology_file` reads them from YAML.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

Subnet: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

DEFAULT_TOPOLOGY: Final = Path(__file__).parent / "kind.yaml"
MAX_NODES: Final = 50  # each has a /24 of 10.244.0.0/16 for its pods, and a driver's process


@dataclass(frozen=True, slots=True)
class Hardware:
    """The hardware that a link pretends to be a port of; see `machine.hardware`."""

    speed_mbps: int | None = None
    numa_node: int | None = None
    pcie_root: str = ""
    rdma_device: str = ""

    @property
    def is_card(self) -> bool:
        """Whether it is a device on a bus, and not only a link with a speed."""
        return self.numa_node is not None or bool(self.pcie_root or self.rdma_device)


@dataclass(frozen=True, slots=True)
class Link:
    """One interface of one node."""

    node: str
    name: str
    mtu: int | None = None  # None: the kernel's default
    hardware: Hardware | None = None
    of_machine: bool = False  # one that the machine has; see `machine.borrowed`


@dataclass(frozen=True, slots=True)
class Network:
    """A bridge and the links on it."""

    name: str
    links: tuple[Link, ...]
    subnets: tuple[Subnet, ...] = ()  # at most one of each family


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes in order, networks in order."""

    nodes: tuple[str, ...]
    networks: tuple[Network, ...]
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # by node

    @property
    def control_plane(self) -> str:
        """The node that runs the API server and its companions."""
        return self.nodes[0]

    @property
    def primary(self) -> Network:
        """The network of the nodes' own addresses."""
        return self.networks[0]

    @property
    def primary_subnet(self) -> Subnet:
        """The addresses of the primary network, of its first family."""
        return self.primary.subnets[0]

    @property
    def gateways(self) -> tuple[str, ...]:
        """The first address of each subnet of the primary network, which its bridge has."""
        return tuple(str(subnet[1]) for subnet in self.primary.subnets)

    @property
    def gateway(self) -> str:
        """The bridge's address of the first family."""
        return self.gateways[0]

    def addresses(self, node: str) -> tuple[str, ...]:
        """Return the node's own addresses, one of each family."""
        place = 2 + self.nodes.index(node)
        return tuple(str(subnet[place]) for subnet in self.primary.subnets)

    def address(self, node: str) -> str:
        """Return the node's own address of the first family."""
        return self.addresses(node)[0]

    def pod_subnets(self, node: str) -> tuple[str, ...]:
        """Return the subnets of the node's pods, of the same families as the nodes' addresses."""
        number = self.nodes.index(node)
        return tuple(
            f"10.244.{number}.0/24" if subnet.version == 4 else f"fd00:10:244:{number:x}::/64"
            for subnet in self.primary.subnets
        )

    def pod_subnet(self, node: str) -> str:
        """Return the subnet of the node's pods, of the first family."""
        return self.pod_subnets(node)[0]

    def uplink(self, node: str) -> str:
        """Return the node's interface on the primary network."""
        return next(link.name for link in self.primary.links if link.node == node)

    def all_links(self, node: str) -> tuple[Link, ...]:
        """Return the node's interfaces, network by network."""
        links = (link for network in self.networks for link in network.links)
        return tuple(link for link in links if link.node == node)

    @property
    def borrowed(self) -> tuple[Link, ...]:
        """The links that the machine lends."""
        return tuple(link for network in self.networks for link in network.links if link.of_machine)

    def links_of(self, node: str) -> tuple[str, ...]:
        """Return the names of the node's interfaces, network by network."""
        return tuple(link.name for link in self.all_links(node))
