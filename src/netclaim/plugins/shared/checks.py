"""Compare a container with what an earlier ADD said of it: what the plugins' CHECKs have in common.

Promise: raises at the first difference; changes nothing.
Limit: what is there beyond the result is nobody's business.
"""

import ipaddress
from collections.abc import Sequence

from netclaim.cni import Endpoint, Interface, IPConfig, Result, Route
from netclaim.kernel import Link, Rtnl, find_link, list_addresses, list_routes
from netclaim.kernel import Route as KernelRoute
from netclaim.kernel.netlink import uapi
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.plugin import Invocation
from netclaim.plugins.engine.pod import Pod


async def check_attachment(pod: Pod, invocation: Invocation, *, kind: str = "") -> Link:
    """See that the container's link is there, with the addresses and routes of its ADD."""
    previous = invocation.required_previous()
    link = await check_link(pod.rtnl, pod_interface(previous, invocation.endpoint), kind)
    await _check_addresses(pod.rtnl, link, previous.ips)
    await check_routes(pod.rtnl, previous.routes)
    return link


def pod_interface(result: Result, endpoint: Endpoint) -> Interface:
    """Find the container's interface in the result."""
    for interface in reversed(result.interfaces):
        if (interface.name, interface.sandbox) == (endpoint.ifname, endpoint.netns):
            return interface
    raise PluginError(
        f"prevResult has no interface {endpoint.ifname!r} in the sandbox {endpoint.netns!r}"
    )


async def check_link(rtnl: Rtnl, interface: Interface, kind: str = "") -> Link:
    """See that an interface is there, of its kind and with its MAC; returns the link."""
    link = await find_link(rtnl, interface.name)
    if link is None:
        raise PluginError(f"interface {interface.name} not found")
    if kind and link.kind != kind:
        raise PluginError(f"interface {interface.name} is not of type {kind}")
    if interface.mac and interface.mac != link.mac:
        raise PluginError(
            f"interface {interface.name} has the MAC {link.mac}, prevResult says {interface.mac}"
        )
    return link


async def _check_addresses(rtnl: Rtnl, link: Link, ips: Sequence[IPConfig]) -> None:
    if not ips:
        return
    there = {
        ipaddress.ip_interface(str(address)) for address in await list_addresses(rtnl, link.index)
    }
    routes = {_destination(route) for route in await list_routes(rtnl)}
    for ip in ips:
        address = ipaddress.ip_interface(ip.address)
        if address not in there:
            raise PluginError(f"{link.name} does not have the address {ip.address}")
        alone = address.version == 4 and address.network.prefixlen == 32  # has no route of its own
        if not alone and address.network not in routes:
            raise PluginError(f"there is no route to {address.network}, the network of {link.name}")


async def check_routes(rtnl: Rtnl, expected: Sequence[Route]) -> None:
    """See that routes are there."""
    for table in {_table(route) for route in expected}:
        there = [(_destination(route), route.gateway) for route in await list_routes(rtnl, table)]
        for route in expected:
            if _table(route) != table:
                continue
            network = ipaddress.ip_interface(route.dst).network
            # A default route counts whatever its gateway, as with the reference plugins.
            by_gateway = route.gw if network.prefixlen else ""
            if not any(
                destination == network and by_gateway in {"", gateway}
                for destination, gateway in there
            ):
                raise PluginError(f"the route to {route.dst} is missing")


def _table(route: Route) -> int:
    return max(route.table or 0, 0) or uapi.RT_TABLE_MAIN


def _destination(route: KernelRoute) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    anywhere = "::" if route.family == 10 else "0.0.0.0"  # AF_INET6
    return ipaddress.ip_network(f"{route.destination or anywhere}/{route.prefix_length}")
