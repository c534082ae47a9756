"""Read a topology file, strictly: every mistake is one line with the file, the line and the field.

The form:

    nodes:
    - NAME                       the first one runs the control plane
    - name: NAME
      labels: {KEY: VALUE, …}
    networks:
    - name: NAME                 the first one carries the nodes' addresses
      subnet: 172.18.0.0/24      required for the first one, otherwise no addresses are set; a list
                                 of an IPv4 and an IPv6 subnet for both families
      mtu: 9000                  of all links of the network
      links: {NODE: LINK, …}     LINK is the interface's name inside the node, or a LINK list, or
                                 {name, mtu, speed, numaNode, pcieRoot, rdma}; or
                                 {name, ofMachine: true} for a card of this machine
"""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from netclaim.errors import RequestError
from netclaim.local.input.form import FormError, list_at, object_at, text_at, whole_at
from netclaim.local.topology import MAX_NODES, Hardware, Link, Network, Subnet, Topology
from netclaim.manifests.text.documents import Document, ManifestError, read_document
from netclaim.paths import Path as Place
from netclaim.paths import show
from netclaim.schema.rules.metadata import check_labels

NODE_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?")  # a DNS label, for kubelet
NETWORK_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,11}")  # with "br-" within IFNAMSIZ, 15
LINK_NAME: Final = re.compile(r"[^/:\s]{1,15}")  # what the kernel takes as an interface's name
PCIE_ROOT: Final = re.compile(r"pci[0-9a-f]{4}:[0-9a-f]{2}")
RDMA_NAME: Final = re.compile(r"[a-z0-9_-]{1,63}")
MTU_MIN, MTU_MAX = 68, 65535  # of an Ethernet link in the kernel: ETH_MIN_MTU and ETH_MAX_MTU
MTU6_MIN: Final = 1280  # below it, the kernel switches IPv6 off
SPEED_MAX: Final = 10_000_000  # Mbit/s; ten times what there is
NUMA_MAX: Final = 1023  # the kernel's own limit
LINK_KEYS: Final = ("name", "mtu", "speed", "numaNode", "pcieRoot", "rdma", "ofMachine")


class TopologyError(RequestError):
    """A topology file that cannot be used."""


def load_topology(path: Path) -> Topology:
    """Read and check a topology file."""
    try:
        document = read_document(path.read_bytes(), str(path))
        return _topology(document.data())
    except OSError as error:
        raise TopologyError(f"{path}: cannot be read: {error.strerror}") from error
    except ManifestError as error:
        raise TopologyError(str(error)) from error
    except FormError as fault:
        raise TopologyError(_line(document, fault)) from fault


def _line(document: Document, fault: FormError) -> str:
    where = f"{document.source}:{document.line_of(fault.at)}"
    return f"{where}: {show(fault.at)}: {fault}" if fault.at else f"{where}: {fault}"


def _topology(data: Any) -> Topology:
    form = object_at(data, (), ("nodes", "networks"), needed=("nodes", "networks"))
    nodes = _nodes(form["nodes"])
    networks = []
    seen: set[tuple[str, ...]] = set()
    for index, value in enumerate(list_at(form["networks"], ("networks",))):
        at: Place = ("networks", index)
        network = _network(value, at, tuple(nodes))
        _check_once(seen, (network.name,), (*at, "name"), f'"{network.name}"', "rename one")
        for link in network.links:
            place = (*at, "links", link.node)
            _check_once(seen, (link.node, link.name), place, f"link {link.name}", "rename one")
            if link.of_machine:
                said = f"{link.name} of this machine"
                _check_once(seen, ("", link.name), place, said, "it can be lent to one node")
        networks.append(network)
    _check_primary(tuple(nodes), networks)
    return Topology(tuple(nodes), tuple(networks), nodes)


def _nodes(value: Any) -> dict[str, dict[str, str]]:
    """Return the labels of each node, in the order of the nodes."""
    listed = list_at(value, ("nodes",))
    if not 1 <= len(listed) <= MAX_NODES:
        raise FormError(("nodes",), f"{len(listed)} nodes given; write 1 to {MAX_NODES}")
    nodes: dict[str, dict[str, str]] = {}
    for index, one in enumerate(listed):
        at: Place = ("nodes", index)
        form = {"name": one} if isinstance(one, str) else object_at(one, at, ("name", "labels"))
        name = text_at(form, "name", at)
        if not NODE_NAME.fullmatch(name):
            message = f'"{name}" is not a node name; use a-z, 0-9 and - (at most 52 characters)'
            raise FormError(at, message)
        if name in nodes:
            raise FormError(at, f'"{name}" is given twice; rename one')
        nodes[name] = _labels(form.get("labels"), (*at, "labels"))
    return nodes


def _labels(value: Any, at: Place) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(
        isinstance(text, str) for pair in value.items() for text in pair
    ):
        raise FormError(at, 'is not a map of strings; for example {zone: "a"}')
    fault = next(check_labels({"labels": value}, at[:-1]), None)
    if fault is not None:
        raise FormError(at, fault.message)
    return dict(value)


def _network(value: Any, at: Place, nodes: Sequence[str]) -> Network:
    form = object_at(value, at, ("name", "subnet", "mtu", "links"), needed=("name", "links"))
    name = text_at(form, "name", at)
    if not NETWORK_NAME.fullmatch(name):
        raise FormError((*at, "name"), f'"{name}" is not a name; use up to 12 of a-z, 0-9, -')
    subnets = _subnets(form.get("subnet"), (*at, "subnet"), len(nodes))
    mtu = _mtu(form, at, subnets)
    links: list[Link] = []
    for node, listed in object_at(form["links"], (*at, "links")).items():
        place: Place = (*at, "links", node)
        if node not in nodes:
            message = f'unknown node "{node}"; the nodes are {", ".join(nodes)}'
            raise FormError(place, message)
        if isinstance(listed, list):
            spots = [((*place, index), one) for index, one in enumerate(listed)]
        else:
            spots = [(place, listed)]
        links += [_link(one, spot, node, mtu, subnets) for spot, one in spots]
    return Network(name, tuple(links), subnets)


def _link(value: Any, at: Place, node: str, mtu: int | None, subnets: Sequence[Subnet]) -> Link:
    form = {"name": value} if isinstance(value, str) else object_at(value, at, LINK_KEYS)
    name = text_at(form, "name", at)
    if not LINK_NAME.fullmatch(name) or name in ("lo", ".", ".."):
        raise FormError(at, f'"{name}" is not an interface name')
    of_machine = form.get("ofMachine", False)
    if not isinstance(of_machine, bool):
        raise FormError((*at, "ofMachine"), "must be true or false")
    if of_machine:
        if others := form.keys() - {"name", "ofMachine"}:
            message = "leave it out; a card of this machine is used as it is"
            raise FormError((*at, min(others)), message)
        return Link(node, name, of_machine=True)
    own = _mtu(form, at, subnets)
    return Link(node, name, own if own is not None else mtu, _hardware(form, at))


def _hardware(form: Mapping[str, Any], at: Place) -> Hardware | None:
    root = text_at(form, "pcieRoot", at) if "pcieRoot" in form else ""
    if root and not PCIE_ROOT.fullmatch(root):
        raise FormError((*at, "pcieRoot"), f'"{root}" is not a PCIe root; for example pci0000:3a')
    rdma = form.get("rdma", False)
    if isinstance(rdma, bool):
        rdma = f"rdma-{form['name']}" if rdma else ""
    if not isinstance(rdma, str) or (rdma and not RDMA_NAME.fullmatch(rdma)):
        message = "write true, or the name of the RDMA device, for example mlx5_0"
        raise FormError((*at, "rdma"), message)
    found = Hardware(
        speed_mbps=whole_at(form, "speed", at, 1, SPEED_MAX),
        numa_node=whole_at(form, "numaNode", at, 0, NUMA_MAX),
        pcie_root=root,
        rdma_device=rdma,
    )
    return found if found != Hardware() else None


def _mtu(form: Mapping[str, Any], at: Place, subnets: Sequence[Subnet]) -> int | None:
    has_ipv6 = any(subnet.version == 6 for subnet in subnets)
    return whole_at(form, "mtu", at, MTU6_MIN if has_ipv6 else MTU_MIN, MTU_MAX)


def _subnets(value: Any, at: Place, nodes: int) -> tuple[Subnet, ...]:
    listed = value if isinstance(value, list) else [] if value is None else [value]
    found: list[Subnet] = []
    for one in listed:
        try:
            subnet = ipaddress.ip_network(one if isinstance(one, str) else "")
        except ValueError as error:
            message = str(error) if isinstance(one, str) else "write a string such as 172.18.0.0/24"
            raise FormError(at, message) from error
        if subnet.num_addresses < nodes + 4:  # network, bridge, nodes, one spare, broadcast
            raise FormError(at, f"{subnet} is too small for {nodes} nodes")
        if subnet.version in {other.version for other in found}:
            message = f"two IPv{subnet.version} subnets; write at most one of each family"
            raise FormError(at, message)
        found.append(subnet)
    return tuple(found)


def _check_primary(nodes: Sequence[str], networks: Sequence[Network]) -> None:
    if not networks:
        message = "write at least one; the first carries the nodes' addresses"
        raise FormError(("networks",), message)
    if not networks[0].subnets:
        message = "subnet is missing; the first network carries the nodes' addresses"
        raise FormError(("networks", 0), message)
    linked = {link.node for link in networks[0].links}
    if any(link.of_machine for link in networks[0].links):
        message = "a card of this machine cannot carry a node; list it in another network"
        raise FormError(("networks", 0, "links"), message)
    for node in nodes:
        if node not in linked:
            message = f'node "{node}" has no link; every node needs one on the first network'
            raise FormError(("networks", 0, "links"), message)


def _check_once(
    seen: set[tuple[str, ...]], what: tuple[str, ...], at: Place, name: str, remedy: str
) -> None:
    if what in seen:
        raise FormError(at, f"{name} is given twice; {remedy}")
    seen.add(what)
