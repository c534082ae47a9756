"""What the bridge plugin's CHECK compares on the host.

Promise: raises at the first difference; changes nothing. Limit: the container's side is elsewhere.
"""

from netclaim.cni import Interface, Result
from netclaim.kernel import Link, Rtnl, find_link
from netclaim.kernel.state.link_settings import link_settings
from netclaim.plugins.bridge.conf import BridgeConf
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.shared.checks import check_link


async def check_bridge(host: Rtnl, previous: Result, conf: BridgeConf) -> Link:
    """See that the bridge is there, with its MAC and as promiscuous as it should be."""
    interface = next((each for each in _outside(previous) if each.name == conf.bridge), None)
    if interface is None:
        raise PluginError(f"prevResult has no bridge {conf.bridge!r} on the host")
    bridge = await check_link(host, interface, "bridge")
    settings = await link_settings(host, bridge.name)
    if settings is None or bool(settings.promiscuity) is not conf.promisc_mode:
        raise PluginError(f"bridge {bridge.name}: promiscuous mode is not {conf.promisc_mode}")
    return bridge


async def check_port(host: Rtnl, previous: Result, bridge: Link, inside: Link) -> None:
    """See that one of the result's interfaces is the pair's other end, and a port of the bridge."""
    for interface in _outside(previous):
        link = await find_link(host, interface.name)
        if link is None:
            raise PluginError(f"interface {interface.name} not found")
        ends = (link.index, link.parent_index) == (inside.parent_index, inside.index)
        if link.kind == "veth" and ends and link.master_index == bridge.index:
            await check_link(host, interface)
            return
    raise PluginError(f"the host's end of {inside.name}, a port of {bridge.name}, was not found")


def _outside(previous: Result) -> list[Interface]:
    return [interface for interface in previous.interfaces if not interface.sandbox]
