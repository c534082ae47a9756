"""sbr: routing by source, so that a container answers over the link that it was asked over.

Configuration: `table`. With it, packets from the link's addresses are routed by that table, which
others fill; 0 is a table of the kernel's choice. Without, each address gets a table of its own with
the link's routes, which leave the main table.
"""

import ipaddress
import itertools
from collections.abc import Collection, Sequence
from typing import Annotated, Final

from netclaim.cni import IPConfig, Result
from netclaim.errors import NetclaimError
from netclaim.kernel import (
    NamespaceGoneError,
    Request,
    Rtnl,
    find_link,
    list_addresses,
    list_routes,
)
from netclaim.kernel.netlink import uapi
from netclaim.kernel.requests.ip import Interface, IpAddress, Network, add_route
from netclaim.kernel.requests.rules import add_rule, delete_rule, list_rules
from netclaim.kernel.state.copies.route_copies import TakenRoute, take_routes
from netclaim.plugins.engine.conf import Conf
from netclaim.plugins.engine.errors import ConfError, PluginError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.engine.plugin import Invocation, Plugin
from netclaim.plugins.engine.pod import Pod, open_pod
from netclaim.plugins.shared.turns import NamespaceTurns

FIRST_TABLE: Final = 100  # the reference plugin's first choice
TABLES: Final = 1 << 32  # the kernel numbers them with 32 bits
ANYWHERE: Final[dict[int, Network]] = {
    4: ipaddress.ip_network("0.0.0.0/0"),
    6: ipaddress.ip_network("::/0"),
}


class SbrConf(Conf, frozen=True):
    table: Annotated[
        int | None, KeyRule("a routing table that somebody else fills", low=0, high=TABLES - 1)
    ] = None


class Sbr(Plugin):
    confs = (SbrConf,)
    needs_previous = True

    def __init__(self) -> None:
        self._turns = NamespaceTurns()  # two that look for a free table would find the same

    async def add(self, invocation: Invocation) -> Result:
        """Have packets from the link's addresses routed over the link."""
        table = invocation.conf(SbrConf).table
        if table is not None and not 0 <= table < TABLES:
            raise ConfError(f"table {table} is not between 0 and {TABLES - 1}")
        previous = invocation.required_previous()
        ips = _own_ips(previous, invocation.endpoint.ifname)
        with open_pod(invocation.endpoint.netns) as pod:
            async with self._turns.hold(pod.netns):
                try:
                    if table is None:
                        await _move_routes(pod, invocation.endpoint.ifname, ips)
                    else:
                        await pod.rtnl.batch([add_rule(_address(ip).ip, table) for ip in ips])
                except NetclaimError:
                    await _delete_rules(pod.rtnl, {_address(ip).ip for ip in ips}, table)
                    raise
        return previous

    async def delete(self, invocation: Invocation) -> None:
        """Remove the rules; the routes end with the link."""
        table = invocation.conf(SbrConf).table
        endpoint = invocation.endpoint
        try:
            with open_pod(endpoint.netns) as pod:
                link = await find_link(pod.rtnl, endpoint.ifname)
                if link is None:
                    return
                sources = {
                    ipaddress.ip_address(address.ip)
                    for address in await list_addresses(pod.rtnl)
                    if address.index == link.index
                }
                await _delete_rules(pod.rtnl, sources, table)
        except NamespaceGoneError:
            return

    async def check(self, invocation: Invocation) -> None:
        """See that each address has its rule; the reference plugin looks at nothing."""
        table = invocation.conf(SbrConf).table
        ips = _own_ips(invocation.required_previous(), invocation.endpoint.ifname)
        with open_pod(invocation.endpoint.netns) as pod:
            rules = [
                rule for rule in await list_rules(pod.rtnl) if not table or rule.table == table
            ]
        for ip in ips:
            if not any(rule.source == _address(ip).ip for rule in rules):
                raise PluginError(f"no rule for packets from {ip.address}")


def _own_ips(result: Result, ifname: str) -> list[IPConfig]:
    """Return the addresses that are, or may be, on the link."""
    if not result.ips:
        raise PluginError(f"no IP addresses supplied on interface: {ifname}")
    others = {n for n, link in enumerate(result.interfaces) if link.name != ifname}
    return [ip for ip in result.ips if ip.interface not in others]


def _address(ip: IPConfig) -> Interface:
    return ipaddress.ip_interface(ip.address)


async def _move_routes(pod: Pod, ifname: str, ips: Sequence[IPConfig]) -> None:
    """Put the link's routes into a new table for each address, and take them from the main one."""
    link = await pod.link(ifname)
    routes = await take_routes(pod.rtnl, link.index)
    tables = await _free_tables(pod.rtnl, len(ips))
    requests: list[Request] = []
    for ip, table in zip(ips, tables, strict=True):
        address = _address(ip)
        requests.append(add_rule(address.ip, table))
        if ip.gateway:  # an earlier plugin may have left its default route out
            gateway = ipaddress.ip_address(ip.gateway)
            anywhere = ANYWHERE[address.version]
            requests.append(
                add_route(anywhere, link_index=link.index, gateway=gateway, table=table)
            )
        requests += [route.put_into(table) for route in routes if _serves(route, address)]
    await pod.rtnl.batch(requests)
    await pod.rtnl.batch([route.remove() for route in routes])


def _serves(route: TakenRoute, address: Interface) -> bool:
    """Whether a route is one for packets from an address, or for all."""
    ends = (route.source, route.gateway)
    return ends == (None, None) or any(end is not None and end in address.network for end in ends)


async def _free_tables(rtnl: Rtnl, count: int) -> list[int]:
    """Choose tables that no rule leads to and that have no route."""
    taken = {rule.table for rule in await list_rules(rtnl)}
    taken |= {route.table for route in await list_routes(rtnl, uapi.RT_TABLE_UNSPEC)}
    numbers = (table for table in itertools.count(FIRST_TABLE) if table not in taken)
    return list(itertools.islice(numbers, count))


async def _delete_rules(rtnl: Rtnl, sources: Collection[IpAddress], table: int | None) -> None:
    await rtnl.batch(
        [
            delete_rule(rule)
            for rule in await list_rules(rtnl)
            if rule.source in sources and (not table or rule.table == table)
        ]
    )
