"""Which links carry the node: without one of them, the node itself would be cut off.

A link carries the node if
1. a default route leads over it, in whichever routing table;
2. it has an address by which the cluster knows the node;
3. the route to the API server uses it;
4. such a link stands on it, is its peer, or is joined with it as a port and its bridge are.

Promise: never fewer than these, as the kernel and the Node object say it now. No I/O.
Routing rules are not followed: the most specific route of any table counts. Other links the node
may use as well (`used`): those are no tenant's to take, but any class's to give.
"""

import ipaddress
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from netclaim.kernel import Address, Link, Route
from netclaim.kernel.netlink import uapi
from netclaim.kernel.requests.ip import IpAddress, Network, family_of
from netclaim.model.on_node.node import NodeFacts
from netclaim.network.policy.metadata import METADATA_NETWORKS

# Routes and addresses, read once: a node of a large cluster has thousands, and few change.
KEPT: Final = 8192


def carriers(
    links: Collection[Link],
    addresses: Iterable[Address],
    routes: Collection[Route],
    node: NodeFacts,
) -> Mapping[int, str]:
    """Say which links carry the node: index, and the reason in words."""
    reasons: dict[int, str] = {}
    for route in routes:
        if route.default and route.index:
            reasons.setdefault(route.index, "the node's default route uses it")
    known = {ip for ip in map(_read, node.addresses) if ip is not None}
    for address in addresses:
        if _read(address.ip) in known:
            reasons.setdefault(address.index, f"it has the node's address {address.ip}")
    for server in map(_read, node.api_addresses):
        for index in _ways_to(server, routes) if server is not None else ():
            reasons.setdefault(index, "the route to the API server uses it")
    loopbacks = {link.index for link in links if link.loopback}
    found = {index: reason for index, reason in reasons.items() if index not in loopbacks}
    return _with_neighbours(links, found)


def node_networks(
    carrying: Collection[int],
    addresses: Iterable[Address],
    routes: Iterable[Route],
    node: NodeFacts,
) -> tuple[Network, ...]:
    """The networks that the node lives in: on the links that carry it, and whom it talks to there.

    Somebody else who had one of these addresses on such a link would be taken for the node, for its
    gateway or for the API server.
    """
    on_links = [str(address) for address in addresses if address.index in carrying]
    for route in routes:
        if route.index in carrying and route.gateway:
            on_links.append(route.gateway)
        elif route.index in carrying and route.destination and route.kind == uapi.RTN_UNICAST:
            on_links.append(f"{route.destination}/{route.prefix_length}")  # asked for on the link
    written = (
        *on_links,
        *node.addresses,
        *node.api_addresses,
        *(METADATA_NETWORKS if carrying else ()),
    )
    found = (_network_of(each) for each in written if _read(each.partition("/")[0]))
    return tuple(dict.fromkeys(found))


def node_peers(links: Collection[int], routes: Iterable[Route], node: NodeFacts) -> frozenset[str]:
    """Whom the node talks to on the links that it uses, and as whom: nobody vouches for these."""
    gateways = {route.gateway for route in routes if route.index in links and route.gateway}
    known = {*gateways, *node.addresses, *node.api_addresses}
    return frozenset(each for each in known if _read(each) is not None)


def used(addresses: Iterable[Address], routes: Iterable[Route]) -> Mapping[int, str]:
    """Say which links the node uses for itself, whether or not they carry it: index and reason.

    It has an address there, or a gateway. Every link that is up has a link-local address.
    """
    reasons: dict[int, str] = {}
    for address in addresses:
        ip = _read(address.ip)
        if ip is not None and not ip.is_link_local:
            reasons.setdefault(address.index, f"the node has the address {address.ip} on it")
    for route in routes:
        if route.gateway and route.index:
            to = f"{route.destination}/{route.prefix_length}" if route.destination else "anywhere"
            reasons.setdefault(route.index, f"the node's route to {to} uses it")
    return reasons


def _with_neighbours(links: Collection[Link], found: Mapping[int, str]) -> Mapping[int, str]:
    """Add what the carrying links depend on, until nothing is left to add."""
    names = {link.index: link.name for link in links}
    needs = [(one, other) for one, other in _dependencies(links) if other in names]
    reasons = dict(found)
    grown = True
    while grown:
        grown = False
        for one, other in needs:
            if one in reasons and other not in reasons:
                reasons[other] = f"{names[one]}, which carries the node, depends on it"
                grown = True
    return reasons


def _dependencies(links: Iterable[Link]) -> Iterator[tuple[int, int]]:
    """Yield pairs of links of which the first is lost, or cut off, without the second."""
    for link in links:
        if link.master_index:
            yield link.index, link.master_index
            yield link.master_index, link.index
        if link.parent_index and link.parent_nsid is None:  # what it stands on, or its peer
            yield link.index, link.parent_index


def _ways_to(target: IpAddress, routes: Iterable[Route]) -> list[int]:
    """List the links of the most specific routes to an address."""
    fitting = [
        (route.prefix_length, route.index)
        for route in routes
        if route.index and target in _network(route, target.version)
    ]
    longest = max((length for length, _ in fitting), default=0)
    return [index for length, index in fitting if length == longest]


def _network(route: Route, version: int) -> Network | tuple[()]:
    if route.family != family_of(version):
        return ()
    return _parsed(route.destination, route.prefix_length, version)


@lru_cache(maxsize=KEPT)
def _parsed(destination: str, prefix_length: int, version: int) -> Network:
    anywhere = str(ipaddress.ip_address(bytes(4 if version == 4 else 16)))
    return ipaddress.ip_network((destination or anywhere, prefix_length), strict=False)


@lru_cache(maxsize=KEPT)
def _network_of(written: str) -> Network:
    return ipaddress.ip_interface(written).network


@lru_cache(maxsize=KEPT)
def _read(written: str) -> IpAddress | None:
    try:
        return ipaddress.ip_address(written)
    except ValueError:
        return None
