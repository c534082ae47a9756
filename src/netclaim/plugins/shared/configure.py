"""Give a container's link its addresses and routes, and switch it on.

Promise: what the reference plugins leave behind, in as few messages as it takes.
Limit: waits for IPv6's duplicate address detection where they wait: when there is an IPv6 gateway
and the link does detection. That takes one to two seconds.
"""

import asyncio
import ipaddress
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final

from netclaim.cni import IPConfig, Result, Route
from netclaim.kernel import Link, Request, find_link_at
from netclaim.kernel.host.sysctls.sysctl import SysctlError, read_sysctl, try_sysctl, write_sysctl
from netclaim.kernel.netlink import uapi
from netclaim.kernel.requests.ip import Interface, IpAddress, add_address, add_route
from netclaim.kernel.requests.links import set_link
from netclaim.kernel.state.changes.waiting import wait_addresses_settled
from netclaim.kernel.state.link_identity import LinkIdentity
from netclaim.plugins.engine.conf import read_cidr, read_ip
from netclaim.plugins.engine.errors import ConfError, PluginError
from netclaim.plugins.engine.pod import Pod

SETTLE_S: Final = 5.0  # the reference plugins' patience
U32_MAX: Final = (1 << 32) - 1  # of a route's numbers in the kernel's messages
SCOPE_MAX: Final = 255  # and for its scope


async def configure(
    pod: Pod,
    link: Link | LinkIdentity,
    result: Result,
    *,
    sysctls: Sequence[tuple[str, str]] = (),
    then: Sequence[Request] = (),
) -> None:
    """Add the addresses and routes of `result` to `link`, and switch it on.

    `sysctls` are nice to have, and set before; `then` are requests that come after the routes.
    """
    addresses = interfaces_of(result.ips)
    own = {address.ip for address in addresses}
    for gateway in (*(ip.gateway for ip in result.ips), *(route.gw for route in result.routes)):
        if gateway:
            refuse_own(read_ip(gateway), own)
    with_ipv6 = any(address.version == 6 for address in addresses)
    if sysctls or with_ipv6:
        pod.inside(lambda: _set_sysctls(link.name, sysctls, with_ipv6=with_ipv6))
    requests = [add_address(link.index, address) for address in addresses]
    requests.append(set_link(link.index, up=True))
    gateways = _gateways(result.ips)
    if 6 in gateways:
        await pod.rtnl.batch(requests)
        await settle(pod, link)
        requests = []
    requests += [_route(link, route, gateways) for route in _in_order(result.routes, gateways)]
    await pod.rtnl.batch([*requests, *then])


def refuse_own(gateway: IpAddress, own: Collection[IpAddress]) -> None:
    """Raise if a gateway is one of the interface's own addresses.

    The kernel would take it, and send to every destination on the link itself: what a route without
    a gateway does, and what a policy may have refused.
    """
    if gateway in own:
        raise PluginError(f"the gateway {gateway} is the interface's own address")


def arp_notify(ifname: str) -> tuple[str, str]:
    """Have the kernel announce a link's IPv4 addresses by ARP when the link is switched on."""
    return f"net/ipv4/conf/{ifname}/arp_notify", "1"


@lru_cache(maxsize=256)
def announcing(ifname: str) -> tuple[tuple[str, str], ...]:
    """Have the kernel announce a link's addresses to neighbours when it is switched on."""
    return (
        arp_notify(ifname),
        (f"net/ipv6/conf/{ifname}/ndisc_notify", "1"),  # an unsolicited neighbour advertisement
    )


def interfaces_of(ips: Sequence[IPConfig]) -> list[Interface]:
    """Return the addresses of a result as values that can be reckoned with."""
    return [read_cidr(ip.address) for ip in ips]


def _gateways(ips: Sequence[IPConfig]) -> dict[int, IpAddress]:
    """Return the first gateway of each family."""
    found: dict[int, IpAddress] = {}
    for ip in ips:
        if ip.gateway:
            gateway = read_ip(ip.gateway)
            found.setdefault(gateway.version, gateway)
    return found


def _in_order(routes: Sequence[Route], gateways: dict[int, IpAddress]) -> list[Route]:
    """Put routes on the link itself before those by a gateway, which may be reached by them."""

    def has_gateway(route: Route) -> bool:
        return bool(route.gw) or ipaddress.ip_interface(route.dst).version in gateways

    return sorted(routes, key=has_gateway)


def refuse_routes(routes: Sequence[Route]) -> None:
    """Raise ConfError at the first of the routes under `ipam` that no kernel takes."""
    for number, route in enumerate(routes):
        if fault := _route_fault(route):
            key, message = fault
            raise ConfError(message, path=("ipam", "routes", number, key))


def _route_fault(route: Route) -> tuple[str, str] | None:
    """Say which key of a route cannot be, and why."""
    to = ipaddress.ip_interface(route.dst)
    if to.version == 4 and to.ip != to.network.network_address:
        message = f"route to {route.dst}: the address has bits beyond its prefix"
        return "dst", f"{message}: write {to.network}"
    if route.gw and ipaddress.ip_address(route.gw).version != to.version:
        return "gw", f"route to {route.dst}: {route.gw} is of the other address family"
    return None


def _route(link: Link | LinkIdentity, route: Route, gateways: dict[int, IpAddress]) -> Request:
    if fault := _route_fault(route):
        raise PluginError(fault[1])
    destination = ipaddress.ip_interface(route.dst)
    network = destination.network
    gateway = ipaddress.ip_address(route.gw) if route.gw else gateways.get(destination.version)

    def number(key: str, value: int | None, most: int = U32_MAX) -> int | None:
        """Return a number of the route; what is not above 0 was not asked for."""
        if value is not None and value > most:
            raise PluginError(f"route to {route.dst}: {key} {value} is more than {most}")
        return max(value or 0, 0) or None

    return add_route(
        network,
        link_index=link.index,
        gateway=gateway,
        table=number("table", route.table) or uapi.RT_TABLE_MAIN,
        scope=number("scope", route.scope, SCOPE_MAX) or uapi.RT_SCOPE_UNIVERSE,
        priority=number("priority", route.priority),
        mtu=number("mtu", route.mtu),
        advmss=number("advmss", route.advmss),
        beside_others=True,
    )


def _set_sysctls(ifname: str, nice_to_have: Sequence[tuple[str, str]], *, with_ipv6: bool) -> None:
    for name, value in nice_to_have:
        try_sysctl(name, value)
    if with_ipv6:
        allow_ipv6(ifname)


def allow_ipv6(ifname: str) -> None:
    """Switch IPv6 on for a link of the calling thread's namespace, and keep its addresses."""
    for name in ("lo", ifname):
        switch = f"net/ipv6/conf/{name}/disable_ipv6"
        try:
            off = read_sysctl(switch) != "0"
        except SysctlError:
            continue  # no IPv6 in this kernel: adding the address will say so
        if off:
            write_sysctl(switch, "0")
    write_sysctl(f"net/ipv6/conf/{ifname}/keep_addr_on_down", "1")


async def settle(pod: Pod, link: Link | LinkIdentity) -> None:
    """Wait until the link's IPv6 addresses may be used."""
    try:
        async with asyncio.timeout(SETTLE_S):
            taken = await wait_addresses_settled(pod.netns, pod.rtnl, link.index)
    except TimeoutError as error:
        now = await find_link_at(pod.rtnl, link.index)
        if now is not None and now.oper_state != "up":
            return  # without a carrier nobody can be asked
        raise PluginError(
            f"{link.name}: addresses are still tentative after {SETTLE_S:g} s"
        ) from error
    if taken is not None:
        raise PluginError(f"{link.name}: another machine has the address {taken.ip}")
