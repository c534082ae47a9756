"""Gateways that may be the interface's own address: the kernel takes them for no gateway at all.

A route by such a gateway is one on the link itself, and leads into the node's network as a route
without a gateway does. And who chooses a gateway's address gets what others send there: so no claim
does, on whatever link. Promise: refused whichever keys bring the two, also different ones. Limit:
an address that is only chosen at ADD may be any of its range; plugins look again then.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from netclaim.cni import NetworkList
from netclaim.errors import RequestError
from netclaim.network.errors import PolicyError
from netclaim.network.judge.carried import (
    Carried,
    Use,
    carried_by,
    carried_by_settings,
    wished,
)
from netclaim.network.policy.levels import Level
from netclaim.network.policy.standing import Standing
from netclaim.network.policy.table import IPAM_TYPES, SETTINGS
from netclaim.network.request.into_config.wishes import Wishes
from netclaim.paths import Path
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.registry import LINK_SETTINGS


def own_hop_faults(
    network: NetworkList,
    paths: tuple[Path, ...],
    wishes: Wishes,
    claimed: Mapping[str, Path],
    standing: Standing,
    *,
    trusted: bool,
    vouched: Collection[str] = (),
) -> Iterator[RequestError]:
    """Yield the gateways that a claim brings and that its interface may have as its own address.

    `trusted`: the network is a class's word; `vouched` are the keys that the class allows.
    """
    if standing.level is Level.PRIVILEGED:
        return
    written_at = dict(enumerate(paths))  # a class's network has no places in the claim
    by_network = [
        each
        for number, plugin in enumerate(network.plugins)
        for each in _of_plugin(plugin.config, written_at.get(number, ()), chosen=bool(wishes.ips))
    ]
    if "ips" in claimed:
        every = {key: value for key, value in wishes.settings.items() if key in SETTINGS}
        hops = [*by_network, *_of_settings(every, {key: (key,) for key in every})]
        yield from _chosen_hops(wishes.ips, claimed["ips"], hops)
    if not standing.node_networks:
        return
    chosen = [wished(ip, ()) for ip in wishes.ips]
    assigned = [each for each in (*by_network, *chosen) if each.use is Use.ASSIGNED]
    own = {key: wishes.settings[key] for key in SETTINGS if key in claimed and key not in vouched}
    brought = [*(() if trusted else by_network), *_of_settings(own, claimed)]
    for hop in brought:
        if hop.use is Use.NEXT_HOP and any(each.has(hop.first) for each in assigned):
            message = (
                f"{hop.written} may be the interface's own address, by which a route would be one "
                "on the link itself; write the address of a router"
            )
            yield PolicyError(message, path=hop.path)


def _chosen_hops(
    ips: Collection[str], path: Path, brought: Collection[Carried]
) -> Iterator[RequestError]:
    """Yield the addresses that a claim chooses which are gateways of its network."""
    hops = {each.first for each in brought if each.use is Use.NEXT_HOP}
    for ip in ips:
        address = wished(ip, path).first
        if address in hops:
            yield PolicyError(f"{address} is a gateway of the network; choose another", path=path)


def _of_plugin(config: Mapping[str, Any], where: Path, *, chosen: bool) -> list[Carried]:
    """What a plugin brings; nothing if that cannot be read, which is refused elsewhere."""
    found: list[Carried] = []
    ipam = config.get("ipam") or {}
    try:
        if ipam.get("type") in IPAM_TYPES:
            found += carried_by(ipam, (*where, "ipam"), chosen=chosen)
        if config.get("type") == LINK_SETTINGS:
            settings = {key: value for key, value in config.items() if key in SETTINGS}
            found += _of_settings(settings, {key: (*where, key) for key in settings})
    except RequestError:
        return found
    return found


def _of_settings(settings: Mapping[str, Any], paths: Mapping[str, Path]) -> list[Carried]:
    try:
        found = carried_by_settings(settings)
    except ConfError:
        return []
    return [each.placed((*paths[str(each.path[0])], *each.path[1:])) for each in found]
