"""bridge: a pair of links, the host's end a port of a bridge on the host.

Configuration: `bridge` (cni0), `isGateway`, `isDefaultGateway`, `forceAddress`, `ipMasq`,
`ipMasqBackend`, `mtu`, `hairpinMode`, `promiscMode`, `vlan`, `vlanTrunk`, `preserveDefaultVlan`,
`macspoofchk`, `enabledad`, `disableContainerInterface`, `portIsolation`; a MAC by capability, in
`args.cni.mac` and CNI_ARGS.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from netclaim.cni import AttachmentKey, Interface, Result
from netclaim.errors import NetclaimError
from netclaim.kernel import Link, Rtnl, find_link_at
from netclaim.kernel.requests.links import set_link
from netclaim.kernel.state.changes.waiting import wait_link
from netclaim.plugins.bridge.check import check_bridge, check_port
from netclaim.plugins.bridge.conf import BridgeConf, RulesConf, read_bridge
from netclaim.plugins.bridge.gateway import gateway_addresses, with_gateways
from netclaim.plugins.bridge.host import (
    add_port,
    ensure_address,
    ensure_bridge,
    ensure_vlan_gateway,
    find_bridge,
)
from netclaim.plugins.bridge.spoof_check import allow_any_mac, allow_only_mac
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.plugin import Invocation
from netclaim.plugins.engine.pod import Pod, open_pod
from netclaim.plugins.shared.checks import check_attachment
from netclaim.plugins.shared.configure import arp_notify, configure, interfaces_of
from netclaim.plugins.shared.gateway_plugin import GatewayPlugin
from netclaim.plugins.shared.mac import chosen_mac, mac_of_args
from netclaim.plugins.shared.masquerade import (
    enable_forwarding,
    masquerade,
    needs_iptables,
)
from netclaim.plugins.shared.name_servers import chosen_dns
from netclaim.plugins.shared.veth import Pair, new_pair

PORT_UP_S: Final = 2.5  # the reference plugin's patience


@dataclass(frozen=True, slots=True)
class Wiring:
    """What an ADD works with, once the pair is made."""

    conf: BridgeConf
    pod: Pod
    host: Rtnl
    bridge: Link
    pair: Pair


class Bridge(GatewayPlugin):
    confs = (BridgeConf,)
    rules_conf = RulesConf
    takes_mac = True

    async def add(self, invocation: Invocation) -> Result:
        """Make the bridge where there is none, and a pair that leads to it."""
        conf = read_bridge(invocation)
        if needs_iptables(conf):
            return await self.program.add(invocation)
        endpoint = invocation.endpoint
        mac = chosen_mac(mac_of_args(endpoint), conf.args.cni.mac, conf.runtime_config.mac)
        with open_pod(endpoint.netns) as pod, Rtnl.open() as host:
            bridge = await ensure_bridge(host, conf)
            new = new_pair(pod, host, endpoint.ifname, mac=mac, mtu=conf.mtu)
            async with new as pair, _guarded(conf, endpoint.key, pair):
                await add_port(host, pair.outside.index, bridge.index, conf)
                wiring = Wiring(conf, pod, host, bridge, pair)
                if conf.ipam.type:
                    return await self._with_addresses(invocation, wiring)
                if conf.disable_container_interface:
                    return await _result(wiring, Result(dns=conf.dns))
                await pod.rtnl.call(set_link(pair.inside.index, up=True))
                await _wait_port_up(wiring)
                return await _result(wiring, Result(dns=conf.dns))

    async def check(self, invocation: Invocation) -> None:
        """See that bridge, pair, addresses and routes are as they were made."""
        conf = invocation.conf(BridgeConf)
        with open_pod(invocation.endpoint.netns) as pod, Rtnl.open() as host:
            if conf.ipam.type:
                await self.ipam.check(invocation)
            previous = invocation.required_previous()
            bridge = await check_bridge(host, previous, conf)
            inside = await check_attachment(pod, invocation, kind="veth")
            await check_port(host, previous, bridge, inside)

    async def _with_addresses(self, invocation: Invocation, wiring: Wiring) -> Result:
        conf, link = wiring.conf, wiring.pair.inside
        async with self.ipam.lease(invocation) as lease:
            planned = with_gateways(lease, conf, dns=chosen_dns(invocation, lease.dns))
            await configure(wiring.pod, link, planned, sysctls=_sysctls(conf, link.name))
            feet = await _set_up_gateway(wiring, planned) if conf.gateway else ()
            await _wait_port_up(wiring)
            result = await _result(wiring, planned, feet)
            await masquerade(conf, invocation.endpoint.key, interfaces_of(planned.ips))
            return result

    async def remove_rules(self, invocation: Invocation) -> None:
        """Remove also the rules that let only the container's MAC pass."""
        if invocation.conf(RulesConf).macspoofchk:
            await allow_any_mac(invocation.endpoint.key)
        await super().remove_rules(invocation)


@asynccontextmanager
async def _guarded(conf: BridgeConf, key: AttachmentKey, pair: Pair) -> AsyncIterator[None]:
    """Let only the container's MAC pass, if wanted; any again when the block fails."""
    if not conf.macspoofchk:
        yield
        return
    await allow_only_mac(key, pair.outside.name, pair.inside.mac)
    try:
        yield
    except Exception as error:
        try:
            await allow_any_mac(key)
        except NetclaimError as second:
            error.add_note(f"and the rules of macspoofchk could not be removed: {second}")
        raise


def _sysctls(conf: BridgeConf, ifname: str) -> list[tuple[str, str]]:
    """Have the container's addresses announced, and tried first only if wanted."""
    dad = [("enhanced_dad", "1"), ("accept_dad", "1")] if conf.enabledad else [("accept_dad", "0")]
    return [
        *((f"net/ipv6/conf/{ifname}/{name}", value) for name, value in dad),
        arp_notify(ifname),
    ]


async def _set_up_gateway(wiring: Wiring, planned: Result) -> tuple[Link, ...]:
    """Give the bridge, or its foot in the VLAN, the gateways' addresses; returns the foot."""
    conf, host = wiring.conf, wiring.host
    foot = await ensure_vlan_gateway(host, wiring.bridge, conf) if conf.vlan else None
    for family, addresses in gateway_addresses(planned).items():
        for address in addresses:
            await ensure_address(host, foot or wiring.bridge, address, force=conf.force_address)
        enable_forwarding([family])
    return (foot,) if foot else ()


async def _wait_port_up(wiring: Wiring) -> None:
    """Wait until frames can pass the bridge's port."""
    port = wiring.pair.outside
    try:
        async with asyncio.timeout(PORT_UP_S):
            await wait_link(None, wiring.host, port.index, lambda link: link.oper_state == "up")
    except TimeoutError as error:
        raise PluginError(f"bridge port {port.name} is not up after {PORT_UP_S:g} s") from error


async def _result(wiring: Wiring, planned: Result, feet: tuple[Link, ...] = ()) -> Result:
    """Return what was made; MACs are looked up again, since ports can change them."""
    bridge = await find_bridge(wiring.host, wiring.bridge.name)
    outside = await find_link_at(wiring.host, wiring.pair.outside.index)
    if outside is None:
        raise PluginError(f"the host's end {wiring.pair.outside.name} is gone")
    inside = wiring.pair.inside
    return Result(
        interfaces=(
            Interface(name=bridge.name, mac=bridge.mac),
            Interface(name=outside.name, mac=outside.mac),
            Interface(name=inside.name, mac=inside.mac, sandbox=wiring.pod.path),
            *(Interface(name=foot.name, mac=foot.mac) for foot in feet),
        ),
        ips=planned.ips,
        routes=planned.routes,
        dns=planned.dns,
    )
