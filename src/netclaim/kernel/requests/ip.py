"""Requests about addresses and routes, as bytes: add, delete, list.

Promise: what is not given is as `ip address`, `ip route` and the CNI plugins have it.
Limit: no multipath routes.
"""

import ipaddress
import socket
import struct
from typing import Final, TypeAlias

from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import Request, attribute, nested, u32

Interface: TypeAlias = ipaddress.IPv4Interface | ipaddress.IPv6Interface
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

IFADDRMSG: Final = struct.Struct("=BBBBI")  # family, prefix length, flags, scope, index
# family, destination and source prefix lengths, tos, table, protocol, scope, type, flags
RTMSG: Final = struct.Struct("=BBBBBBBBI")
NHMSG: Final = struct.Struct("=BBBBI")  # family, scope, protocol, reserved, flags
TABLE_BYTE_MAX: Final = 255  # a greater table goes into an attribute, with 0 in the fixed part


def add_address(index: int, address: Interface, *, flags: int = 0) -> Request:
    """Add an address to a link. IPv4 networks that have a broadcast address get it."""
    payload = _address_payload(index, address)
    if flags:
        payload += u32(uapi.IFA_FLAGS, flags)
    host_bits = address.max_prefixlen - address.network.prefixlen
    if address.version == 4 and host_bits > 1:
        last = int(address) | (1 << host_bits) - 1
        payload += attribute(uapi.IFA_BROADCAST, last.to_bytes(4, "big"))
    return Request(
        uapi.RTM_NEWADDR,
        payload,
        f"add address {address} to link {index}",
        uapi.NLM_F_CREATE | uapi.NLM_F_EXCL,
    )


def delete_address(index: int, address: Interface) -> Request:
    """Remove an address from a link."""
    about = f"delete address {address} of link {index}"
    return Request(uapi.RTM_DELADDR, _address_payload(index, address), about)


def dump_addresses(index: int = 0) -> Request:
    """Ask for the addresses of one link, or of all; only a strict socket filters by link."""
    payload = IFADDRMSG.pack(socket.AF_UNSPEC, 0, 0, 0, index)
    return Request(uapi.RTM_GETADDR, payload, "list addresses", dump=True)


def add_route(
    destination: Network,
    *,
    link_index: int | None = None,
    gateway: IpAddress | None = None,
    source: IpAddress | None = None,
    table: int = uapi.RT_TABLE_MAIN,
    scope: int | None = None,
    priority: int | None = None,
    mtu: int | None = None,
    advmss: int | None = None,
    beside_others: bool = False,
) -> Request:
    """Add a route; its scope is the link without a gateway, and the universe with one.

    Fails if there is a route to the same destination, unless it may exist beside others.
    """
    payload = _route_payload(
        destination,
        link_index=link_index,
        gateway=gateway,
        table=table,
        scope=scope,
        priority=priority,
    )
    if source is not None:
        payload += attribute(uapi.RTA_PREFSRC, source.packed)
    metrics = [
        u32(kind, value)
        for kind, value in ((uapi.RTAX_MTU, mtu), (uapi.RTAX_ADVMSS, advmss))
        if value is not None
    ]
    if metrics:
        payload += nested(uapi.RTA_METRICS, *metrics)
    flags = uapi.NLM_F_CREATE | (0 if beside_others else uapi.NLM_F_EXCL)
    return Request(uapi.RTM_NEWROUTE, payload, f"add route to {destination}", flags)


def delete_route(
    destination: Network,
    *,
    link_index: int | None = None,
    gateway: IpAddress | None = None,
    table: int = uapi.RT_TABLE_MAIN,
    priority: int | None = None,
) -> Request:
    """Remove the first route that matches."""
    scope = 255  # RT_SCOPE_NOWHERE, which means any scope in a deletion
    payload = _route_payload(
        destination,
        link_index=link_index,
        gateway=gateway,
        table=table,
        scope=scope,
        priority=priority,
        protocol=0,  # of any origin
    )
    return Request(uapi.RTM_DELROUTE, payload, f"delete route to {destination}")


def dump_routes(family: int, table: int = uapi.RT_TABLE_MAIN) -> Request:
    """Ask for the routes of one family in one table; only a strict socket filters by table."""
    payload = RTMSG.pack(family, 0, 0, 0, 0, 0, 0, 0, 0) + u32(uapi.RTA_TABLE, table)
    return Request(uapi.RTM_GETROUTE, payload, "list routes", dump=True)


def dump_next_hops() -> Request:
    """Ask for the next hops, which routes can share."""
    payload = NHMSG.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
    return Request(uapi.RTM_GETNEXTHOP, payload, "list next hops", dump=True)


def family_of(version: int) -> int:
    return socket.AF_INET if version == 4 else socket.AF_INET6


def _address_payload(index: int, address: Interface) -> bytes:
    fixed = IFADDRMSG.pack(family_of(address.version), address.network.prefixlen, 0, 0, index)
    packed = address.ip.packed
    return fixed + attribute(uapi.IFA_LOCAL, packed) + attribute(uapi.IFA_ADDRESS, packed)


def _route_payload(
    destination: Network,
    *,
    link_index: int | None,
    gateway: IpAddress | None,
    table: int,
    scope: int | None,
    priority: int | None,
    protocol: int = uapi.RTPROT_BOOT,
) -> bytes:
    if scope is None:
        on_link = gateway is None and destination.version == 4  # IPv6 routes have no scope
        scope = uapi.RT_SCOPE_LINK if on_link else uapi.RT_SCOPE_UNIVERSE
    payload = RTMSG.pack(
        family_of(destination.version),
        destination.prefixlen,
        0,
        0,
        table if table <= TABLE_BYTE_MAX else 0,
        protocol,
        scope,
        uapi.RTN_UNICAST,
        0,
    )
    if destination.prefixlen:
        payload += attribute(uapi.RTA_DST, destination.network_address.packed)
    if table > TABLE_BYTE_MAX:
        payload += u32(uapi.RTA_TABLE, table)
    if link_index is not None:
        payload += u32(uapi.RTA_OIF, link_index)
    if gateway is not None:
        payload += attribute(uapi.RTA_GATEWAY, gateway.packed)
    if priority is not None:
        payload += u32(uapi.RTA_PRIORITY, priority)
    return payload
