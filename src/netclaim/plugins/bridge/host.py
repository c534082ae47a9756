"""The host's side of the bridge plugin: the bridge itself, its ports, the gateway on it.

Promise: everything is made where it is missing and left alone where it is as wanted, so any number
of ADDs may do so at once.
Limit: nothing is ever removed; bridges and gateways outlive the containers.
"""

import errno
from collections.abc import Sequence

from netclaim.kernel import KernelError, Link, Request, Rtnl, find_link, list_addresses
from netclaim.kernel.requests.bridge import (
    PortVlan,
    add_port_vlans,
    delete_port_vlans,
    dump_port_vlans,
    read_port_vlans,
    set_port,
)
from netclaim.kernel.requests.ip import Interface, add_address, delete_address, family_of
from netclaim.kernel.requests.links import bridge, create_link, set_link
from netclaim.plugins.bridge.conf import BridgeConf, port_vlans
from netclaim.plugins.engine.conf import read_cidr
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.pod import random_name
from netclaim.plugins.shared.veth import own_routes, pair_kind


async def ensure_bridge(host: Rtnl, conf: BridgeConf) -> Link:
    """Make the bridge, unless it is there; switch it on."""
    kind = bridge(vlan_filtering=conf.vlan_filtering)
    await _unless_there(host, create_link(conf.bridge, kind, mtu=max(conf.mtu, 0) or None))
    link = await find_bridge(host, conf.bridge)
    own_routes(link.name)
    await host.call(set_link(link.index, up=True, promiscuous=conf.promisc_mode or None))
    return link


async def find_bridge(host: Rtnl, name: str) -> Link:
    """Look a bridge up."""
    link = await find_link(host, name)
    if link is None:
        raise PluginError(f"the bridge {name!r} is gone")
    if link.kind != "bridge":
        raise PluginError(f"{name!r} exists, but is not a bridge")
    return link


async def add_port(host: Rtnl, port_index: int, bridge_index: int, conf: BridgeConf) -> None:
    """Make a link a port of the bridge, in its VLANs, and switch it on."""
    requests = [set_link(port_index, up=True, master_index=bridge_index)]
    if conf.hairpin_mode or conf.port_isolation:
        requests.append(
            set_port(port_index, hairpin=conf.hairpin_mode, isolated=conf.port_isolation)
        )
    await host.batch(requests)
    vlans = port_vlans(conf)
    if vlans:
        await _set_vlans(host, port_index, vlans, keep_default=conf.preserve_default_vlan)


async def ensure_vlan_gateway(host: Rtnl, bridge_link: Link, conf: BridgeConf) -> Link:
    """Make the bridge's own interface in a VLAN, unless it exists: a pair, one end a port of it."""
    name = f"{bridge_link.name}.{conf.vlan}"
    found = await find_link(host, name)
    if found is not None:
        return found
    port_name = random_name()
    kind = pair_kind(port_name, mtu=bridge_link.mtu)
    await _unless_there(host, create_link(name, kind, mtu=bridge_link.mtu))
    port, foot = await find_link(host, port_name), await find_link(host, name)
    if foot is None:
        raise PluginError(f"the bridge's VLAN interface {name!r} is gone")
    if port is not None:  # else another ADD was faster, and its port is there
        own_routes(port_name)
        await host.call(set_link(port.index, up=True, master_index=bridge_link.index))
        vlans = [PortVlan(conf.vlan, native=True)]
        await _set_vlans(host, port.index, vlans, keep_default=conf.preserve_default_vlan)
    await host.call(set_link(foot.index, up=True))
    return foot


async def ensure_address(host: Rtnl, link: Link, address: Interface, *, force: bool) -> None:
    """Give the gateway its address, unless it has it.

    IPv4 addresses beside it, and IPv6 ones whose network overlaps, are in the way: removed if
    `force`, an error otherwise.
    """
    there = [
        read_cidr(str(each))
        for each in await list_addresses(host, link.index)
        if each.family == family_of(address.version)
    ]
    requests: list[Request] = []
    for other in there:
        if other == address:
            await host.batch(requests)
            return
        if address.version == 4 or other.ip in address.network or address.ip in other.network:
            if not force:
                raise PluginError(
                    f"{link.name!r} has another address than {address}; forceAddress replaces it"
                )
            requests.append(delete_address(link.index, other))
    await host.batch(requests)
    await _unless_there(host, add_address(link.index, address))
    # A bridge takes the lowest MAC of its ports, and so changes as they come and go, until it is
    # given one: its own.
    await host.call(set_link(link.index, mac=link.mac))


async def _set_vlans(
    host: Rtnl, port_index: int, vlans: Sequence[PortVlan], *, keep_default: bool
) -> None:
    if not keep_default:
        listed = dict(map(read_port_vlans, await host.dump(dump_port_vlans())))
        default = listed.get(port_index, ())
        if default:
            await host.call(delete_port_vlans(port_index, default))
    await host.call(add_port_vlans(port_index, vlans))


async def _unless_there(host: Rtnl, request: Request) -> None:
    try:
        await host.call(request)
    except KernelError as error:
        if error.errno != errno.EEXIST:
            raise
