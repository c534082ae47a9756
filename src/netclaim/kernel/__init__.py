"""The kernel edge: network namespaces, links over rtnetlink, hardware facts from sysfs.

host      namespaces, sysfs, sysctls, nftables
netlink   the protocol, a client, the kernel's numbers
requests  what is asked of rtnetlink, as bytes
state     links, addresses and routes as values
"""

from netclaim.kernel.host.hardware.sysfs import SysfsFacts, read_facts
from netclaim.kernel.host.netns import (
    NamespaceGoneError,
    Netns,
    NetnsId,
    call_in,
    current_netns_id,
    is_live,
    new_netns,
    open_netns,
    socket_in,
)
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import KernelError, MalformedMessageError, Request
from netclaim.kernel.state.addresses import Address, list_addresses
from netclaim.kernel.state.changes.monitor import Monitor
from netclaim.kernel.state.links import Link, find_link, find_link_at, list_links, netns_number
from netclaim.kernel.state.routes import Route, list_routes

__all__ = [
    "Address",
    "KernelError",
    "Link",
    "MalformedMessageError",
    "Monitor",
    "NamespaceGoneError",
    "Netns",
    "NetnsId",
    "Request",
    "Route",
    "Rtnl",
    "SysfsFacts",
    "call_in",
    "current_netns_id",
    "find_link",
    "find_link_at",
    "is_live",
    "list_addresses",
    "list_links",
    "list_routes",
    "netns_number",
    "new_netns",
    "open_netns",
    "read_facts",
    "socket_in",
]
