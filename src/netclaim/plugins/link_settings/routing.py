"""Routes, rules and neighbours of a container's interface, as requests to make and to undo them.

Promise: routes may be listed in any order: what is on the link itself comes before what is reached
by a gateway on it. Undoing finds nothing to do as well as all of it.
Limit: what somebody else made with the same words is taken for the plugin's own.
"""

import errno
from collections.abc import Sequence
from typing import Final

import msgspec

from netclaim.cni import Route
from netclaim.kernel import KernelError, Link, Request, Rtnl, list_addresses
from netclaim.kernel.netlink import uapi
from netclaim.kernel.requests.ip import IpAddress, add_route, delete_route
from netclaim.kernel.requests.neighbours import add_neighbour, delete_neighbour
from netclaim.kernel.requests.rules import Rule, delete_rule, enter_rule, list_rules, rule_between
from netclaim.kernel.state.link_settings import link_settings
from netclaim.kernel.state.links import find_link_at
from netclaim.plugins.engine.conf import read_ip
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.link_settings.conf import (
    RouteConf,
    RuleConf,
    SettingsConf,
    read_network,
    read_range,
)
from netclaim.plugins.shared.configure import refuse_own
from netclaim.plugins.shared.mac import chosen_mac

GONE: Final = frozenset({errno.ESRCH, errno.ENOENT, errno.ENODEV, errno.EADDRNOTAVAIL})


async def usual_table(rtnl: Rtnl, link: Link) -> int:
    """Return the table by which packets of a link are routed: the main one, or its VRF's."""
    master = await find_link_at(rtnl, link.master_index) if link.master_index else None
    if master is None or master.kind != "vrf":
        return uapi.RT_TABLE_MAIN
    settings = await link_settings(rtnl, master.name)
    return settings.number(uapi.IFLA_VRF_TABLE) if settings else uapi.RT_TABLE_MAIN


def in_order(conf: SettingsConf, table: int) -> tuple[RouteConf, ...]:
    """Return the routes as they can be entered one after the other, each with its table."""
    routes = sorted(conf.routes, key=lambda route: bool(route.gateway))
    return tuple(msgspec.structs.replace(route, table=route.table or table) for route in routes)


async def enter(rtnl: Rtnl, link: Link, conf: SettingsConf, routes: Sequence[RouteConf]) -> None:
    """Enter neighbours, routes and rules, in this order; PluginError names the one that fails."""
    for neighbour in conf.neighbors:
        address, mac = read_ip(neighbour.destination), chosen_mac(neighbour.hardware_addr)
        await _call(rtnl, add_neighbour(link.index, address, mac), f"neighbor {address}")
    gateways = [read_ip(route.gateway) for route in routes if route.gateway]
    own = await _own_addresses(rtnl, link) if gateways else frozenset()
    for gateway in gateways:
        refuse_own(gateway, own)
    for route in routes:
        await _call(rtnl, _entered(link, route), f"route to {route.destination}")
    for rule in conf.rules:
        about = f"rule for table {rule.table}"
        await _call(rtnl, enter_rule(_rule(rule)), about)


async def remove(rtnl: Rtnl, link: Link | None, conf: SettingsConf, table: int) -> None:
    """Undo what `enter` made; of a link that is gone, all but the rules went with it."""
    requests = [delete_rule(_rule(rule)) for rule in reversed(conf.rules)]
    if link is not None:
        requests += [_deleted(link, route) for route in reversed(in_order(conf, table))]
        requests += [
            delete_neighbour(link.index, read_ip(each.destination)) for each in conf.neighbors
        ]
    for request in requests:
        try:
            await rtnl.call(request)
        except KernelError as error:
            if error.errno not in GONE:
                raise


async def missing_rule(rtnl: Rtnl, conf: SettingsConf) -> RuleConf | None:
    """Return the first rule that is not there."""
    there = await list_rules(rtnl)
    for rule in conf.rules:
        wanted = _rule(rule)
        alike = [each for each in there if _alike(each, wanted)]
        if not alike:
            return rule
    return None


def reported(routes: Sequence[RouteConf]) -> tuple[Route, ...]:
    """Return routes as a result has them."""
    return tuple(
        Route(
            dst=route.destination,
            gw=route.gateway,
            mtu=route.mtu,
            priority=route.priority,
            table=None if route.table == uapi.RT_TABLE_MAIN else route.table,
            scope=route.scope or None,
        )
        for route in routes
    )


async def _own_addresses(rtnl: Rtnl, link: Link) -> frozenset[IpAddress]:
    there = await list_addresses(rtnl)
    return frozenset(read_ip(each.ip) for each in there if each.index == link.index)


def _entered(link: Link, route: RouteConf) -> Request:
    return add_route(
        read_network(route.destination),
        link_index=link.index,
        gateway=read_ip(route.gateway) if route.gateway else None,
        source=read_ip(route.source) if route.source else None,
        table=route.table,
        scope=route.scope or None,
        priority=route.priority or None,
        mtu=route.mtu or None,
        beside_others=True,
    )


def _deleted(link: Link, route: RouteConf) -> Request:
    return delete_route(
        read_network(route.destination),
        link_index=link.index,
        gateway=read_ip(route.gateway) if route.gateway else None,
        table=route.table,
        priority=route.priority or None,
    )


def _rule(rule: RuleConf) -> Rule:
    return rule_between(
        read_range(rule.source) if rule.source else None,
        read_range(rule.destination) if rule.destination else None,
        rule.table,
        priority=rule.priority or None,
    )


def _alike(there: Rule, wanted: Rule) -> bool:
    priority = there.priority if wanted.priority is None else wanted.priority
    return there == msgspec.structs.replace(wanted, priority=priority)


async def _call(rtnl: Rtnl, request: Request, what: str) -> None:
    try:
        await rtnl.call(request)
    except KernelError as error:
        raise PluginError(f"{what}: {error}") from error
