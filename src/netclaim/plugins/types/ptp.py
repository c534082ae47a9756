"""ptp: a pair of links, one in the container and one on the host, with a route to each other.

Configuration: `ipMasq`, `ipMasqBackend`, `mtu`; `ipam` is needed. The container's whole network is
behind the host: the route to it that comes with the address gives way to one over the gateway.
"""

import errno
import ipaddress
from typing import Annotated

from netclaim.cni import DNS, Interface, Result
from netclaim.kernel import KernelError, Link, Request, Rtnl
from netclaim.kernel.netlink import uapi
from netclaim.kernel.requests.ip import add_address, add_route, delete_route
from netclaim.kernel.requests.links import set_link
from netclaim.plugins.engine.conf import MTU_MAX, Mtu
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.engine.plugin import Invocation
from netclaim.plugins.engine.pod import Pod, open_pod
from netclaim.plugins.shared.checks import check_attachment
from netclaim.plugins.shared.configure import configure, interfaces_of
from netclaim.plugins.shared.gateway_plugin import GatewayPlugin
from netclaim.plugins.shared.masquerade import (
    MasqueradeConf,
    enable_forwarding,
    masquerade,
    needs_iptables,
)
from netclaim.plugins.shared.name_servers import chosen_dns
from netclaim.plugins.shared.results import on_interface
from netclaim.plugins.shared.veth import Pair, new_pair


class PtpConf(MasqueradeConf, frozen=True):
    mtu: Annotated[Mtu, KeyRule("the MTU of both ends; 0: the kernel's default", high=MTU_MAX)] = 0


class Ptp(GatewayPlugin):
    confs = (PtpConf,)
    needs_ipam = True

    async def add(self, invocation: Invocation) -> Result:
        """Make the pair, with addresses and routes at both ends."""
        conf = invocation.conf(PtpConf)
        if needs_iptables(conf):
            return await self.program.add(invocation)
        endpoint = invocation.endpoint
        async with self.ipam.lease(invocation) as lease:
            addresses = interfaces_of(lease.ips)
            enable_forwarding(address.version for address in addresses)
            with open_pod(endpoint.netns) as pod, Rtnl.open() as host:
                async with new_pair(pod, host, endpoint.ifname, mtu=conf.mtu) as pair:
                    await host.call(set_link(pair.outside.index, up=True))
                    await configure(
                        pod, pair.inside, lease, then=_behind_the_host(pair.inside, lease)
                    )
                    await _set_up_host(host, pair.outside, lease)
                    await masquerade(conf, endpoint.key, addresses)
                    return _result(pod, pair, lease, chosen_dns(invocation, lease.dns))

    async def check(self, invocation: Invocation) -> None:
        """See that the container's end is there, with its addresses and routes."""
        with open_pod(invocation.endpoint.netns) as pod:
            await self.ipam.check(invocation)
            await check_attachment(pod, invocation, kind="veth")


def _behind_the_host(link: Link, lease: Result) -> list[Request]:
    """Route the address's network over the gateway, and the gateway over the link."""
    requests = []
    for ip in lease.ips:
        if not ip.gateway:
            raise PluginError(f"the address {ip.address} has no gateway")
        address = ipaddress.ip_interface(ip.address)
        gateway = ipaddress.ip_address(ip.gateway)
        requests += [
            delete_route(address.network, link_index=link.index),
            add_route(
                ipaddress.ip_network(gateway),
                link_index=link.index,
                source=address.ip,
                scope=uapi.RT_SCOPE_LINK,
            ),
            add_route(address.network, link_index=link.index, gateway=gateway, source=address.ip),
        ]
    return requests


async def _set_up_host(host: Rtnl, link: Link, lease: Result) -> None:
    """Give the host's end the gateways' addresses, and routes to the container's."""
    gateways = [ipaddress.ip_interface(ip.gateway) for ip in lease.ips]
    await host.batch([add_address(link.index, gateway) for gateway in gateways])
    for address in interfaces_of(lease.ips):
        try:
            await host.call(
                add_route(
                    ipaddress.ip_network(address.ip),
                    link_index=link.index,
                    scope=uapi.RT_SCOPE_HOST,
                )
            )
        except KernelError as error:
            if error.errno != errno.EEXIST:
                raise


def _result(pod: Pod, pair: Pair, lease: Result, dns: DNS) -> Result:
    return Result(
        interfaces=(
            Interface(name=pair.outside.name, mac=pair.outside.mac),
            Interface(name=pair.inside.name, mac=pair.inside.mac, sandbox=pod.path),
        ),
        ips=tuple(on_interface(ip, 1) for ip in lease.ips),
        routes=lease.routes,
        dns=dns,
    )
