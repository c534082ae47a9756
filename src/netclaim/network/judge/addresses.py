"""The rules for addresses: one function decides, whichever key brings the address.

Promise: an address is judged by what becomes of it (`carried`). No I/O.
"""

import ipaddress
from typing import Final

from netclaim.errors import RequestError
from netclaim.kernel.requests.ip import Network
from netclaim.network.errors import PolicyError
from netclaim.network.judge.carried import Carried, Use
from netclaim.network.policy.metadata import METADATA_SERVERS, SERVER_NETWORKS
from netclaim.network.policy.standing import Standing, ask
from netclaim.plugins.engine.conf import read_ip

NOBODYS: Final = tuple(
    map(
        ipaddress.ip_network,
        ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32", "::/127", "ff00::/8"),
    )
)
"""Unspecified, loopback, multicast and broadcast: no pod's interface has one of these."""


def address_fault(
    carried: Carried, standing: Standing, *, vouched: bool = False
) -> RequestError | None:
    """Say why a claim may not bring an address; `vouched`: its class lets it choose addresses.

    1. No interface has an address that is nobody's, and no gateway either.
    2. Nobody but the node gets the node's own address on the link, and nobody gets its gateway's,
       an API server's or a metadata service's on a link that the node uses.
    3. On a link that carries the node, nobody gets an address of the node's own network, or sends
       packets into it past the pod's primary network. A class can vouch for addresses there.
    4. Nor is anybody led to a metadata service there, by a route or the prefix of an address,
       whatever a class vouches for.
    """
    ends_there = carried.use in {Use.ASSIGNED, Use.NEXT_HOP}
    if ends_there and any(map(carried.meets, NOBODYS)):
        message = f"{carried.written} is not an address that an interface can have"
        return PolicyError(f"{message}; choose another", path=carried.path)
    own = _others_address(carried, standing) if carried.use is Use.ASSIGNED else None
    inside = _own_network(carried, standing, vouched=vouched)
    return own or inside if carried.first == carried.last else inside or own


def _others_address(carried: Carried, standing: Standing) -> RequestError | None:
    kinds = {
        "the node's own address": standing.node_addresses,
        "the address of a gateway or an API server": standing.node_peers,
        "the address of a cloud's metadata service": (
            METADATA_SERVERS if standing.carries or standing.node_peers else frozenset()
        ),
    }
    there = ((kind, ip) for kind, ips in kinds.items() for ip in map(read_ip, sorted(ips)))
    kind, found = next((each for each in there if carried.has(each[1])), ("", None))
    if found is None:
        return None
    whose = f"{kind} on the link {standing.link!r}"
    if carried.first == carried.last:
        return PolicyError(f"{found} is {whose}; choose another", path=carried.path)
    return PolicyError(
        f"{carried.written} has {found}, {whose}; leave it out by rangeStart and rangeEnd",
        path=carried.path,
    )


def _own_network(carried: Carried, standing: Standing, *, vouched: bool) -> RequestError | None:
    kept = (each for each in standing.node_networks if not vouched or each in SERVER_NETWORKS)
    own = next((each for each in kept if _is_inside(carried, each)), None)
    if own is None:
        return None
    if own in SERVER_NETWORKS:
        return PolicyError(
            f"{carried.written} leads to {own.network_address}, a cloud's metadata service, over "
            f"the link {standing.link!r}, which carries the node; write a narrower network, or a "
            "route by a gateway",
            path=carried.path,
        )
    return PolicyError(
        f"{carried.written} overlaps {own}, the node's own network on the link {standing.link!r}, "
        f"which carries the node; choose another network, {ask(standing)}",
        path=carried.path,
    )


def _is_inside(carried: Carried, own: Network) -> bool:
    if own.version != carried.network.version:
        return False
    match carried.use:
        case Use.ASSIGNED:
            return carried.network.overlaps(own)
        case Use.NEXT_HOP:  # a router's link-local address is in the network of every link
            return carried.first in own and not own.is_link_local
        case Use.DESTINATION:
            return _leads_to(carried, own)


def _leads_to(carried: Carried, own: Network) -> bool:
    """Whether a route is one to the node's own network, rather than one that has it among others.

    Without a gateway, each destination may be asked for on the link itself, however wide the route
    is, and whatever comes before it in the pod: a rule, a table or a VRF can bring it to the front.
    """
    passes = carried.by_gateway and carried.network.prefixlen < own.prefixlen
    return not passes and carried.network.overlaps(own)
