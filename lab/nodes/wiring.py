"""The lab's cables: bridges in the wiring closet, a veth from there to each link of a node.

The closet is a network namespace of its own, so the machine's own interfaces, addresses and routes
stay as they are, and any subnet may be used.
"""

import json
import subprocess
import zlib
from collections.abc import Sequence

from lab.errors import BootError
from lab.nodes.components import API_SERVICE
from lab.nodes.linux import Process
from lab.topology import Network, Topology

__all__ = ["plug", "set_carrier", "set_up", "unplug", "wire_closet", "wire_node"]


def wire_closet(closet: Process, topology: Topology) -> None:
    """Make a bridge for each network; the primary one answers at the gateway's address."""
    lines = ["link set lo up"]
    for network in topology.networks:
        lines += [f"link add {_bridge(network)} type bridge", f"link set {_bridge(network)} up"]
    length = topology.primary_subnet.prefixlen
    lines.append(f"addr add {topology.gateway}/{length} dev {_bridge(topology.primary)}")
    _ip(closet, lines)


def wire_node(closet: Process, init: Process, topology: Topology, node: str) -> None:
    """Plug the node in: its links, its address, and the routes to the other nodes' pods."""
    _ip(closet, _cables(init, topology, node))
    _ip(init, _addresses(topology, node))


def plug(closet: Process, init: Process, network: Network, link: str) -> None:
    """Give a running node one more link, without an address, and not up yet."""
    port = f"plug.{init.pid % 100000:x}.{zlib.crc32(link.encode()) & 0xFFF:x}"
    cable = [f"link add {port} type veth peer name {link} netns {init.pid}"]
    _ip(closet, [*cable, f"link set {port} master {_bridge(network)}", f"link set {port} up"])


def set_up(init: Process, link: str) -> None:
    """Set a link of a running node up."""
    _ip(init, [f"link set {link} up"])


def unplug(init: Process, link: str) -> None:
    """Pull a link out of a running node."""
    _ip(init, [f"link delete {link}"])


def set_carrier(closet: Process, init: Process, link: str, *, on: bool) -> None:
    """Switch the far end of a node's link on or off; the link has carrier while it is on."""
    (near,) = json.loads(_ip(init, [f"link show dev {link}"], "-json"))
    ports = json.loads(_ip(closet, ["link show"], "-json"))
    far = next((port["ifname"] for port in ports if port["ifindex"] == near.get("link_index")), "")
    if not far:
        raise BootError(f"{link} does not lead to the wiring closet")
    _ip(closet, [f"link set {far} {'up' if on else 'down'}"])


def _cables(init: Process, topology: Topology, node: str) -> list[str]:
    lines = []
    for network in topology.networks:
        for number, link in enumerate(network.links):
            if link.node == node:
                port = f"{network.name[:8]}.{number}"
                peer = f"peer name {link.name} netns {init.pid}"
                lines += [
                    f"link add {port} type veth {peer}",
                    f"link set {port} master {_bridge(network)}",
                    f"link set {port} up",
                ]
    return lines


def _addresses(topology: Topology, node: str) -> list[str]:
    uplink, own = topology.uplink(node), topology.address(node)
    lines = ["link set lo up"]
    for network in topology.networks:
        lines += [f"link set {link.name} up" for link in network.links if link.node == node]
    lines += [
        f"addr add {own}/{topology.primary_subnet.prefixlen} dev {uplink}",
        f"route add default via {topology.gateway}",
    ]
    for other in topology.nodes:
        if other != node:
            lines.append(f"route add {topology.pod_subnet(other)} via {topology.address(other)}")
    # The API's service address lives on its node: no proxy, no address translation.
    if node == topology.control_plane:
        lines.append(f"addr add {API_SERVICE}/32 dev lo")
    else:
        server = topology.address(topology.control_plane)
        lines.append(f"route add {API_SERVICE} via {server}")
    return lines


def _bridge(network: Network) -> str:
    return f"br-{network.name}"


def _ip(inside: Process, lines: Sequence[str], *options: str) -> str:
    """Run a batch of ip(8) in the network namespace of a process; returns what it prints."""
    done = subprocess.run(
        ["nsenter", "-t", str(inside.pid), "-n", "ip", *options, "-batch", "-"],
        input="\n".join(lines), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise BootError("ip failed:", done.stderr.strip())
    return done.stdout
