"""What the keys of a claim bring: addresses, networks and ranges, and what becomes of them.

Promise: a test has every key of the plugins' own classes that carries an address. What is judged is
read by the plugin's own reader, so that a plugin cannot read something else; what that cannot read
is refused. No I/O.
"""

import enum
import ipaddress
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from netclaim.cni import Route
from netclaim.dhcp.granted import Granted
from netclaim.errors import RequestError
from netclaim.kernel.requests.ip import IpAddress, Network
from netclaim.model.pools.named_pools import POOLED
from netclaim.paths import Path
from netclaim.plugins.engine.conf import lowered, read_cidr, read_conf, read_ip
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.host_local import conf as host_local
from netclaim.plugins.host_local.ranges import RangeConf, read_range
from netclaim.plugins.link_settings.conf import SettingsConf, read_network
from netclaim.plugins.types import pooled, static

DHCP: Final = "dhcp"


class Use(enum.Enum):
    """What becomes of an address: the rules depend on this, and not on the key."""

    ASSIGNED = "the pod gets it, or one of them"
    NEXT_HOP = "the pod sends packets to the host that has it"
    DESTINATION = "the pod reaches it over the interface"


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

    def placed(self, path: Path) -> "Carried":
        """Return it at another path."""
        return replace(self, path=path)

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


def carried_by(ipam: Mapping[str, Any], where: Path, *, chosen: bool = False) -> list[Carried]:
    """List what an `ipam` of a type that we have brings; RequestError if its plugin cannot read it.

    `chosen`: the claim's `ips` take the place of its addresses. Name servers are left out: there is
    no rule for them.
    """
    try:
        if ipam["type"] == "static":
            keys = read_conf(lowered(dict(ipam)), static.IpamKeys)
            return [*_of_static(keys, where, chosen=chosen)]
        if ipam["type"] == POOLED:  # its addresses are an admin's word, gateways among them
            pool = read_conf(lowered(dict(ipam)), pooled.PooledKeys)
            return [*_of_routes(pool.routes, where, gateways={4, 6})]
        if ipam["type"] == DHCP:  # what the server gives is judged when it gives it
            return []
        return [*_of_host_local(read_conf(lowered(dict(ipam)), host_local.IpamKeys), where)]
    except ConfError as error:
        raise RequestError(str(error), path=(*where, *error.path)) from error


def carried_by_settings(settings: Mapping[str, Any]) -> list[Carried]:
    """List what link-settings' keys bring, with paths that begin with the key."""
    found: list[Carried] = []
    for number, route in enumerate(read_conf(lowered(dict(settings)), SettingsConf).routes):
        path: Path = ("routes", number)
        network = read_network(route.destination)
        to = (*path, "destination")
        found += _destination(route.destination, network, to, by_gateway=bool(route.gateway))
        if route.gateway:
            found.append(_hop(route.gateway, (*path, "gateway")))
    return found


def carried_by_server(granted: Granted) -> list[Carried]:
    """List what a DHCP server gives, name servers left out as everywhere."""
    found = [wished(granted.address, ())]
    found += [_hop(router, ()) for router in granted.routers]
    for route in granted.routes:
        network = read_cidr(route.destination).network
        by_gateway = bool(route.gateway)
        found += _destination(route.destination, network, (), by_gateway=by_gateway)
        if route.gateway:
            found.append(_hop(route.gateway, ()))
    return found


def _destination(
    written: str, network: Network, path: Path, *, by_gateway: bool
) -> Iterator[Carried]:
    """Where a route leads. A default route on the link itself counts as its two halves.

    So it is a route to the node's network, as they are, even where that is written as anything.
    """
    whole = not network.prefixlen and not by_gateway
    for part in network.subnets(1) if whole else (network,):
        each = _one(str(part), path, Use.DESTINATION)
        yield replace(each, written=written, by_gateway=by_gateway)


def _of_static(ipam: static.IpamKeys, where: Path, *, chosen: bool) -> Iterator[Carried]:
    for number, each in enumerate(ipam.addresses):
        path = (*where, "addresses", number)
        yield _one(each.address, (*path, "address"), Use.ASSIGNED)
        if each.gateway:
            yield _hop(each.gateway, (*path, "gateway"))
    written = () if chosen else (each.gateway for each in ipam.addresses if each.gateway)
    yield from _of_routes(ipam.routes, where, gateways={read_ip(ip).version for ip in written})


def _of_host_local(ipam: host_local.IpamKeys, where: Path) -> Iterator[Carried]:
    if ipam.subnet:
        yield from _of_range(ipam, where)
    for n, several in enumerate(ipam.ranges):
        for m, each in enumerate(several):
            yield from _of_range(each, (*where, "ranges", n, m))
    flat: tuple[tuple[RangeConf, ...], ...] = ((ipam,),) if ipam.subnet else ()
    # One range of each set gives an address, with its gateway.
    versions = [{read_range(each).gateway.version for each in s} for s in (*flat, *ipam.ranges)]
    sure = {version for each in versions if len(each) == 1 for version in each}
    yield from _of_routes(ipam.routes, where, gateways=sure)


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


def _of_routes(
    routes: Sequence[Route], where: Path, *, gateways: Collection[int]
) -> Iterator[Carried]:
    """Yield what routes bring; `gateways`: the families in which the addresses have a gateway.

    The default route takes that gateway, as any other route does. But only of the default route it
    is expected, and the author of a narrower one can write the `gw` too.
    """
    for number, route in enumerate(routes):
        path = (*where, "routes", number)
        network = read_cidr(route.dst).network
        by_gateway = bool(route.gw) or (not network.prefixlen and network.version in gateways)
        yield from _destination(route.dst, network, (*path, "dst"), by_gateway=by_gateway)
        if route.gw:
            yield _hop(route.gw, (*path, "gw"))


def _one(written: str, path: Path, use: Use) -> Carried:
    interface = read_cidr(written)
    return Carried(path, use, written, interface.network, interface.ip, interface.ip)


def _hop(written: str, path: Path) -> Carried:
    ip = read_ip(written)
    return Carried(path, Use.NEXT_HOP, written, ipaddress.ip_network(ip), ip, ip)
