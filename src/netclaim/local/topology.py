"""What a cluster looks like: its nodes, its networks, and which node has which link on which.

Read from YAML, strictly: every mistake is one line with the file and the field. The form:

    nodes: [NAME, …]             the first one runs the control plane
    networks:
    - name: NAME                 the first one carries the nodes' addresses
      subnet: 172.18.0.0/24      required for the first one, otherwise no addresses are set
      links: {NODE: LINK, …}     LINK is the interface's name inside the node, or a list of names
"""

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from netclaim.errors import RequestError
from netclaim.manifests.documents import ManifestError, read_document

__all__ = ["DEFAULT_TOPOLOGY", "Link", "Network", "Topology", "TopologyError", "load_topology"]

DEFAULT_TOPOLOGY: Final = Path(__file__).parent / "kind.yaml"
NODE_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?")  # a DNS label, for kubelet
NETWORK_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,11}")  # with "br-" within IFNAMSIZ, 15
LINK_NAME: Final = re.compile(r"[^/:\s]{1,15}")  # what the kernel takes as an interface's name
MAX_NODES: Final = 50  # each has a /24 of 10.244.0.0/16 for its pods, and a driver's process


class TopologyError(RequestError):
    """A topology file that cannot be used."""


@dataclass(frozen=True, slots=True)
class Link:
    """One interface of one node."""

    node: str
    name: str


@dataclass(frozen=True, slots=True)
class Network:
    """A bridge and the links on it."""

    name: str
    links: tuple[Link, ...]
    subnet: ipaddress.IPv4Network | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes in order, networks in order."""

    nodes: tuple[str, ...]
    networks: tuple[Network, ...]

    @property
    def control_plane(self) -> str:
        """The node that runs the API server and its companions."""
        return self.nodes[0]

    @property
    def primary(self) -> Network:
        """The network of the nodes' own addresses."""
        return self.networks[0]

    @property
    def primary_subnet(self) -> ipaddress.IPv4Network:
        """The addresses of the primary network."""
        assert self.primary.subnet is not None  # checked when it was read
        return self.primary.subnet

    @property
    def gateway(self) -> str:
        """The first address of the primary network: its bridge."""
        return str(self.primary_subnet[1])

    def address(self, node: str) -> str:
        """The node's own address."""
        return str(self.primary_subnet[2 + self.nodes.index(node)])

    def pod_subnet(self, node: str) -> str:
        """The addresses of the node's pods."""
        return f"10.244.{self.nodes.index(node)}.0/24"

    def uplink(self, node: str) -> str:
        """The node's interface on the primary network."""
        return next(link.name for link in self.primary.links if link.node == node)

    def links_of(self, node: str) -> tuple[str, ...]:
        """The names of the node's interfaces, network by network."""
        links = (link for network in self.networks for link in network.links)
        return tuple(link.name for link in links if link.node == node)


class _NetworkForm(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    links: dict[str, str | list[str]]
    subnet: str | None = None


class _Form(msgspec.Struct, forbid_unknown_fields=True):
    nodes: list[str]
    networks: list[_NetworkForm]


def load_topology(path: Path) -> Topology:
    """Read and check a topology file."""
    try:
        form = msgspec.convert(read_document(path.read_bytes(), str(path)).data(), _Form)
    except OSError as error:
        raise TopologyError(f"{path}: cannot be read: {error.strerror}") from error
    except ManifestError as error:
        raise TopologyError(str(error)) from error
    except msgspec.ValidationError as error:
        raise TopologyError(f"{path}: {error}") from error
    try:
        return _checked(form)
    except TopologyError as error:
        raise TopologyError(f"{path}: {error}") from error


def _checked(form: _Form) -> Topology:
    _check_nodes(form.nodes)
    networks = []
    seen: set[Any] = set()
    for index, network in enumerate(form.networks):
        where = f"networks[{index}]"
        if not NETWORK_NAME.fullmatch(network.name):
            raise TopologyError(f"{where}.name: {network.name!r}: use up to 12 of a-z, 0-9 and -")
        if network.name in seen:
            raise TopologyError(f"{where}.name: {network.name!r} is there twice; rename one")
        seen.add(network.name)
        links = _links(network, where, form.nodes, seen)
        networks.append(Network(network.name, links, _subnet(network, where, len(form.nodes))))
    _check_primary(form.nodes, networks)
    return Topology(tuple(form.nodes), tuple(networks))


def _check_nodes(nodes: list[str]) -> None:
    if not 1 <= len(nodes) <= MAX_NODES:
        raise TopologyError(f"nodes: {len(nodes)} given; name 1 to {MAX_NODES}")
    for node in nodes:
        if not NODE_NAME.fullmatch(node):
            raise TopologyError(f"nodes: {node!r} is no node name; use a-z, 0-9 and - (at most 52)")
        if nodes.count(node) > 1:
            raise TopologyError(f"nodes: {node!r} is there twice; rename one")


def _links(network: _NetworkForm, where: str, nodes: list[str], seen: set[Any]) -> tuple[Link, ...]:
    links = []
    for node, names in network.links.items():
        if node not in nodes:
            known = ", ".join(nodes)
            raise TopologyError(f"{where}.links: unknown node {node!r}; the nodes are {known}")
        for name in [names] if isinstance(names, str) else names:
            link = Link(node, name)
            if not LINK_NAME.fullmatch(name) or name in ("lo", ".", ".."):
                raise TopologyError(f"{where}.links.{node}: {name!r} cannot name an interface")
            if link in seen:
                raise TopologyError(f"{where}.links.{node}: duplicate link {name!r}; rename one")
            seen.add(link)
            links.append(link)
    return tuple(links)


def _subnet(network: _NetworkForm, where: str, nodes: int) -> ipaddress.IPv4Network | None:
    if network.subnet is None:
        return None
    try:
        subnet = ipaddress.IPv4Network(network.subnet)
    except ValueError as error:
        raise TopologyError(f"{where}.subnet: {error}") from error
    if subnet.num_addresses < nodes + 4:  # network, bridge, nodes, one spare, broadcast
        raise TopologyError(f"{where}.subnet: {subnet} is too small for {nodes} nodes")
    return subnet


def _check_primary(nodes: list[str], networks: list[Network]) -> None:
    if not networks or networks[0].subnet is None:
        raise TopologyError("networks[0].subnet: the first network carries the nodes; give it one")
    linked = {link.node for link in networks[0].links}
    for node in nodes:
        if node not in linked:
            raise TopologyError(
                f"networks[0].links: {node!r} has no link; every node needs one here"
            )
