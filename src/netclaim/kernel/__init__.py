"""The kernel edge: network namespaces, links over rtnetlink, hardware facts from sysfs.

The plugins that make links find the requests in `link_requests` and `ip_requests`, and the
kernel's numbers in `uapi`.
"""

from netclaim.kernel.addresses import Address, Route, list_addresses, list_routes
from netclaim.kernel.links import Link, find_link, find_link_at, list_links, netns_number
from netclaim.kernel.monitor import (
    AddressChanged,
    AddressGone,
    Event,
    LinkChanged,
    LinkGone,
    Monitor,
    Resync,
)
from netclaim.kernel.netlink import KernelError, MalformedMessageError, Request
from netclaim.kernel.netns import (
    NamespaceGoneError,
    NamespaceRefusedError,
    Netns,
    NetnsId,
    call_in,
    current_netns_id,
    is_live,
    new_netns,
    open_netns,
    socket_in,
)
from netclaim.kernel.rtnl import Rtnl, RtnlTimeoutError, UnstableDumpError
from netclaim.kernel.sysfs import SysfsFacts, read_facts

__all__ = [
    "Address",
    "AddressChanged",
    "AddressGone",
    "Event",
    "KernelError",
    "Link",
    "LinkChanged",
    "LinkGone",
    "MalformedMessageError",
    "Monitor",
    "NamespaceGoneError",
    "NamespaceRefusedError",
    "Netns",
    "NetnsId",
    "Request",
    "Resync",
    "Route",
    "Rtnl",
    "RtnlTimeoutError",
    "SysfsFacts",
    "UnstableDumpError",
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
