"""The cables of an embedded cluster: bridges between the nodes, a veth to each of their links.

The bridges are in the cluster's own namespace, beside the API server, which is reached at the
gateway's address of the primary network. Each node has one more bridge for its pods.
"""

import ipaddress
from collections.abc import Mapping
from typing import Final

from netclaim.errors import HostError
from netclaim.kernel import Netns, Rtnl, call_in, find_link
from netclaim.kernel.ip_requests import add_address, add_route
from netclaim.kernel.link_requests import bridge, create_link, set_link, veth
from netclaim.kernel.sysctl import try_sysctl
from netclaim.local.topology import Topology

__all__ = ["POD_BRIDGE", "find_index", "wire_cluster"]

POD_BRIDGE: Final = "cni0"  # as flannel and others call it; the driver does not offer it to pods
EVERYWHERE: Final = ipaddress.ip_network("0.0.0.0/0")


async def wire_cluster(topology: Topology, nodes: Mapping[str, Netns]) -> None:
    """Make all links, addresses and routes."""
    with Rtnl.open() as closet:
        await _up(closet, "lo")
        for network in topology.networks:
            name = f"br-{network.name}"
            await closet.call(create_link(name, bridge()))
            await _up(closet, name)
            switch = await find_index(closet, name)
            for number, link in enumerate(network.links):
                port = f"{network.name[:8]}.{number}"
                cable = veth(link.name, peer_netns_fd=nodes[link.node].fd)
                await closet.call(create_link(port, cable, master_index=switch))
                await _up(closet, port)
            if network is topology.primary:
                length = topology.primary_subnet.prefixlen
                gateway = ipaddress.ip_interface(f"{topology.gateway}/{length}")
                await closet.call(add_address(switch, gateway))
    for name, netns in nodes.items():
        await _wire_node(topology, name, netns)


async def _wire_node(topology: Topology, node: str, netns: Netns) -> None:
    """Switch the node's links on, and give it its address and the ways to the others' pods."""
    call_in(netns, lambda: try_sysctl("net/ipv4/ip_forward", "1"))  # others' pods come this way
    with Rtnl.open(netns) as rtnl:
        for link in ("lo", *topology.links_of(node)):
            await _up(rtnl, link)
        length = topology.primary_subnet.prefixlen
        uplink = await find_index(rtnl, topology.uplink(node))
        own = ipaddress.ip_interface(f"{topology.address(node)}/{length}")
        pods = ipaddress.ip_network(topology.pod_subnet(node))
        await rtnl.call(create_link(POD_BRIDGE, bridge()))
        await _up(rtnl, POD_BRIDGE)
        pod_bridge = await find_index(rtnl, POD_BRIDGE)
        await rtnl.batch(
            [
                add_address(uplink, own),
                add_route(EVERYWHERE, gateway=ipaddress.ip_address(topology.gateway)),
                add_address(pod_bridge, ipaddress.ip_interface(f"{pods[1]}/{pods.prefixlen}")),
                *(
                    add_route(
                        ipaddress.ip_network(topology.pod_subnet(other)),
                        gateway=ipaddress.ip_address(topology.address(other)),
                    )
                    for other in topology.nodes
                    if other != node
                ),
            ]
        )


async def find_index(rtnl: Rtnl, name: str) -> int:
    """The index of a link that must be there."""
    link = await find_link(rtnl, name)
    if link is None:
        raise HostError(f"the link {name} is gone")
    return link.index


async def _up(rtnl: Rtnl, name: str) -> None:
    await rtnl.call(set_link(await find_index(rtnl, name), up=True))
