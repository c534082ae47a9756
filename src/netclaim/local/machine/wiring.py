"""The cables of an embedded cluster: bridges between the nodes, and a veth to each of their links.

The bridges are in the cluster's own namespace, beside the API server, which is reached at the
gateway's address of the primary network. Each node has one more bridge for its pods.
"""

import ipaddress
from collections.abc import Mapping
from typing import Final

from netclaim.errors import HostError
from netclaim.kernel import Netns, Rtnl, call_in, find_link
from netclaim.kernel.host.sysctls.sysctl import try_sysctl
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import Request
from netclaim.kernel.requests.ip import IpAddress, add_address, add_route
from netclaim.kernel.requests.links import bridge, create_link, set_link, veth
from netclaim.local.topology import Subnet, Topology
from netclaim.plugins.shared.masquerade import FORWARDING

POD_BRIDGE: Final = "cni0"  # as flannel and others call it; the driver does not offer it to pods
# On machines without IPv6 it may be off for new namespaces too.
NO_IPV6: Final = ("net/ipv6/conf/all/disable_ipv6", "net/ipv6/conf/default/disable_ipv6")


async def wire_cluster(topology: Topology, nodes: Mapping[str, Netns]) -> None:
    """Make all links, addresses and routes."""
    _allow(topology)
    with Rtnl.open() as closet:
        await _up(closet, "lo")
        for network in topology.networks:
            name = f"br-{network.name}"
            await closet.call(create_link(name, bridge()))
            await _up(closet, name)
            switch = await find_index(closet, name)
            made = [link for link in network.links if not link.of_machine]
            for number, link in enumerate(made):
                port = f"{network.name[:8]}.{number}"
                netns_fd = nodes[link.node].fd
                cable = veth(link.name, peer_netns_fd=netns_fd, peer_mtu=link.mtu)
                await closet.call(create_link(port, cable, mtu=link.mtu, master_index=switch))
                await _up(closet, port)
            if network is topology.primary:
                for subnet in network.subnets:
                    await closet.call(give_address(switch, subnet, subnet[1]))
    for name, netns in nodes.items():
        await _wire_node(topology, name, netns)


async def _wire_node(topology: Topology, node: str, netns: Netns) -> None:
    """Switch the node's links on; add its addresses and the routes to other nodes' pods."""
    call_in(netns, lambda: _allow(topology))
    with Rtnl.open(netns) as rtnl:
        for link in ("lo", *topology.links_of(node)):
            await _up(rtnl, link)
        uplink = await find_index(rtnl, topology.uplink(node))
        await rtnl.call(create_link(POD_BRIDGE, bridge()))
        await _up(rtnl, POD_BRIDGE)
        pod_bridge = await find_index(rtnl, POD_BRIDGE)
        for family, subnet in enumerate(topology.primary.subnets):
            own = ipaddress.ip_address(topology.addresses(node)[family])
            pods = ipaddress.ip_network(topology.pod_subnets(node)[family])
            await rtnl.batch(
                [
                    give_address(uplink, subnet, own),
                    add_route(everywhere(subnet), gateway=subnet[1]),
                    give_address(pod_bridge, pods, pods[1]),
                    *(
                        add_route(
                            ipaddress.ip_network(topology.pod_subnets(other)[family]),
                            gateway=ipaddress.ip_address(topology.addresses(other)[family]),
                        )
                        for other in topology.nodes
                        if other != node
                    ),
                ]
            )


def _allow(topology: Topology) -> None:
    """Enable the primary network's families in our namespace, and forwarding for pods."""
    for subnet in topology.primary.subnets:
        if subnet.version == 6:
            enable_ipv6()
        try_sysctl(FORWARDING[subnet.version], "1")


def enable_ipv6() -> None:
    """Enable IPv6 in our namespace, if the machine has it."""
    for name in NO_IPV6:
        try_sysctl(name, "0")


def give_address(index: int, subnet: Subnet, address: IpAddress) -> Request:
    """Give a link an address of a subnet, to be used at once: nobody else has it."""
    flags = uapi.IFA_F_NODAD if address.version == 6 else 0
    interface = ipaddress.ip_interface(f"{address}/{subnet.prefixlen}")
    return add_address(index, interface, flags=flags)


def everywhere(subnet: Subnet) -> Subnet:
    """Return the network that holds all addresses of a subnet's family."""
    return ipaddress.ip_network("0.0.0.0/0" if subnet.version == 4 else "::/0")


async def find_index(rtnl: Rtnl, name: str) -> int:
    """Return the index of a link that must exist."""
    link = await find_link(rtnl, name)
    if link is None:
        raise HostError(f"the link {name} is gone")
    return link.index


async def _up(rtnl: Rtnl, name: str) -> None:
    await rtnl.call(set_link(await find_index(rtnl, name), up=True))
