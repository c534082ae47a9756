"""The rules for addresses: one function decides, whichever key brings the address.

Promise: an address is judged by what becomes of it; a test has every key of the plugins' own
classes that carries one. What is judged is read by the plugin's own reader, so that a plugin cannot
read something else; what that cannot read is refused. No I/O.
"""

import enum
import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from netclaim.cni import Route
from netclaim.errors import RequestError
from netclaim.kernel.requests.ip import IpAddress, Network
from netclaim.network.errors import PolicyError
from netclaim.network.policy.standing import Standing, ask
from netclaim.paths import Path
from netclaim.plugins.engine.conf import lowered, read_cidr, read_conf, read_ip
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.host_local import conf as host_local
from netclaim.plugins.host_local.ranges import RangeConf, read_range
from netclaim.plugins.link_settings.conf import SettingsConf, read_network
from netclaim.plugins.registry import POOLED
from netclaim.plugins.types import pooled, static


class Use(enum.Enum):
    """What becomes of an address: the rules depend on this, and not on the key."""

    ASSIGNED = "the pod gets it, or one of them"
    NEXT_HOP = "the pod sends packets to the host that has it"
    DESTINATION = "the pod reaches it over the interface"


NOBODYS: Final = tuple(
    map(
        ipaddress.ip_network,
        ("0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4", "255.255.255.255/32", "::/127", "ff00::/8"),
    )
)
"""Unspecified, loopback, multicast and broadcast: no pod's interface has one of these."""

METADATA_SERVERS: Final = frozenset({"169.254.169.254", "fd00:ec2::254", "fd20:ce::254"})
"""Where clouds answer what a machine asks about itself: nobody answers in their place."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What a key brings: an address, a network, or a range of addresses."""

    path: Path
    use: Use
    written: str
    network: Network  # as it is written
    first: IpAddress
    last: IpAddress
    skipped: IpAddress | None = None  # of a range: its gateway
    by_gateway: bool = False  # of a destination: the route says who takes the packets

    def has(self, address: IpAddress) -> bool:
        """Whether it is the address, or may come to be it."""
        same = address.version == self.first.version and address != self.skipped
        return same and int(self.first) <= int(address) <= int(self.last)

    def meets(self, network: Network) -> bool:
        """Whether some of the addresses are in a network."""
        return network.version == self.first.version and (
            int(self.first) <= int(network.broadcast_address)
            and int(network.network_address) <= int(self.last)
        )


def wished(ip: str, path: Path) -> Carried:
    """An address that was wished for, with or without a prefix length."""
    return _one(ip if "/" in ip else str(ipaddress.ip_interface(read_ip(ip))), path, Use.ASSIGNED)


def carried_by(ipam: Mapping[str, Any], where: Path) -> list[Carried]:
    """List what an `ipam` of a type that we have brings; RequestError if its plugin cannot read it.

    Name servers are left out: there is no rule for them.
    """
    try:
        if ipam["type"] == "static":
            return [*_of_static(read_conf(lowered(dict(ipam)), static.IpamKeys), where)]
        if ipam["type"] == POOLED:  # its addresses are an admin's word
            keys = read_conf(lowered(dict(ipam)), pooled.PooledKeys)
            return [*_of_routes(keys.routes, where)]
        return [*_of_host_local(read_conf(lowered(dict(ipam)), host_local.IpamKeys), where)]
    except ConfError as error:
        raise RequestError(str(error), path=(*where, *error.path)) from error


def carried_by_settings(settings: Mapping[str, Any]) -> list[Carried]:
    """List what link-settings' keys bring, with paths that begin with the key.

    A default route on the link itself counts as its two halves, which come before the pod's
    primary network: with a table of its own, and a rule, it does.
    """
    found: list[Carried] = []
    for number, route in enumerate(read_conf(lowered(dict(settings)), SettingsConf).routes):
        path: Path = ("routes", number)
        network = read_network(route.destination)
        whole = not network.prefixlen and not route.gateway
        for part in network.subnets(1) if whole else (network,):
            each = _one(str(part), (*path, "destination"), Use.DESTINATION)
            found.append(replace(each, written=route.destination, by_gateway=bool(route.gateway)))
        if route.gateway:
            found.append(_hop(route.gateway, (*path, "gateway")))
    return found


def address_fault(
    carried: Carried, standing: Standing, *, vouched: bool = False
) -> RequestError | None:
    """Say why a claim may not bring an address; `vouched`: its class lets it choose addresses.

    1. No interface has an address that is nobody's, and no gateway either.
    2. Nobody but the node gets the node's own address on the link, and nobody gets its gateway's,
       an API server's or a metadata service's on a link that the node uses.
    3. On a link that carries the node, nobody gets an address of the node's own network, or sends
       packets into it past the pod's primary network. A class can vouch for addresses there.
    """
    ends_there = carried.use in {Use.ASSIGNED, Use.NEXT_HOP}
    if ends_there and any(map(carried.meets, NOBODYS)):
        message = f"{carried.written} is not an address that an interface can have"
        return PolicyError(f"{message}; choose another", path=carried.path)
    own = _others_address(carried, standing) if carried.use is Use.ASSIGNED else None
    inside = None if vouched else _own_network(carried, standing)
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


def _own_network(carried: Carried, standing: Standing) -> RequestError | None:
    own = next((each for each in standing.node_networks if _is_inside(carried, each)), None)
    if own is None:
        return None
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

    Without a gateway of its own, each destination may be asked for on the link itself, however wide
    the route is. The default route alone may be like that: it usually has the gateway of its
    address, and the pod's primary network has a default route before it. Its two halves, or a route
    of one bit less than the node's network, come before that one.
    """
    wider = carried.network.prefixlen < own.prefixlen
    passes = wider and (carried.by_gateway or carried.network.prefixlen == 0)
    return not passes and carried.network.overlaps(own)


def _of_static(ipam: static.IpamKeys, where: Path) -> Iterator[Carried]:
    for number, each in enumerate(ipam.addresses):
        path = (*where, "addresses", number)
        yield _one(each.address, (*path, "address"), Use.ASSIGNED)
        if each.gateway:
            yield _hop(each.gateway, (*path, "gateway"))
    yield from _of_routes(ipam.routes, where)


def _of_host_local(ipam: host_local.IpamKeys, where: Path) -> Iterator[Carried]:
    if ipam.subnet:
        yield from _of_range(ipam, where)
    for n, several in enumerate(ipam.ranges):
        for m, each in enumerate(several):
            yield from _of_range(each, (*where, "ranges", n, m))
    yield from _of_routes(ipam.routes, where)


def _of_range(written: RangeConf, where: Path) -> Iterator[Carried]:
    found = read_range(written)
    yield Carried(
        path=(*where, "subnet"),
        use=Use.ASSIGNED,
        written=written.subnet,
        network=found.subnet,
        first=found.start,
        last=found.end,
        skipped=found.gateway,
    )
    if written.gateway:
        yield _hop(written.gateway, (*where, "gateway"))


def _of_routes(routes: Sequence[Route], where: Path) -> Iterator[Carried]:
    for number, route in enumerate(routes):
        path = (*where, "routes", number)
        yield replace(_one(route.dst, (*path, "dst"), Use.DESTINATION), by_gateway=bool(route.gw))
        if route.gw:
            yield _hop(route.gw, (*path, "gw"))


def _one(written: str, path: Path, use: Use) -> Carried:
    interface = read_cidr(written)
    return Carried(path, use, written, interface.network, interface.ip, interface.ip)


def _hop(written: str, path: Path) -> Carried:
    ip = read_ip(written)
    return Carried(path, Use.NEXT_HOP, written, ipaddress.ip_network(ip), ip, ip)
