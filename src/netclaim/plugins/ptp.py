"""ptp: a pair of links, one in the container and one on the host, with a route to each other.

Configuration: `ipMasq`, `ipMasqBackend`, `mtu`; `ipam` is needed. The container's whole network is
behind the host: the route to it that comes with the address gives way to one over the gateway.
"""

import errno
import ipaddress
from collections.abc import Awaitable, Callable
from typing import Annotated

from netclaim.cni import DNS, Interface, Result
from netclaim.kernel import KernelError, Link, Request, Rtnl, uapi
from netclaim.kernel.ip_requests import add_address, add_route, delete_route
from netclaim.kernel.link_requests import set_link
from netclaim.plugins.checks import check_attachment
from netclaim.plugins.conf import MTU_MAX, Mtu
from netclaim.plugins.configure import configure, interfaces_of
from netclaim.plugins.errors import PluginError
from netclaim.plugins.ipam import Ipam
from netclaim.plugins.key_rules import KeyRule
from netclaim.plugins.main_plugin import MainPlugin
from netclaim.plugins.masquerade import (
    MasqueradeConf,
    collect,
    enable_forwarding,
    masquerade,
    needs_iptables,
    unmasquerade,
)
from netclaim.plugins.name_servers import chosen_dns
from netclaim.plugins.plugin import Invocation
from netclaim.plugins.pod import Pod, open_pod
from netclaim.plugins.program import Program
from netclaim.plugins.results import on_interface
from netclaim.plugins.veth import Pair, new_pair

__all__ = ["Ptp"]


class PtpConf(MasqueradeConf, frozen=True):
    """The keys of this plugin."""

    mtu: Annotated[Mtu, KeyRule("the MTU of both ends; 0: the kernel's default", high=MTU_MAX)] = 0


class Ptp(MainPlugin):
    """The plugin type ptp."""

    confs = (PtpConf,)
    needs_ipam = True

    def __init__(self, ipam: Ipam, program: Program) -> None:
        """`program` is the reference plugin, asked where iptables is."""
        super().__init__(ipam)
        self._program = program

    async def add(self, invocation: Invocation) -> Result:
        """Make the pair, with addresses and routes at both ends."""
        conf = invocation.conf(PtpConf)
        if needs_iptables(conf):
            return await self._program.add(invocation)
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

    async def delete(self, invocation: Invocation) -> None:
        """Remove the pair and the rules, and release the addresses. Again: finds none of them."""
        if needs_iptables(invocation.conf(MasqueradeConf)):
            await self._program.delete(invocation)
            return
        await super().delete(invocation)

    def undoing(self) -> tuple[Callable[[Invocation], Awaitable[None]], ...]:
        """Remove the rules too."""
        return self.take_back, self._remove_rules, self.release

    async def _remove_rules(self, invocation: Invocation) -> None:
        await unmasquerade(invocation.conf(MasqueradeConf), invocation.endpoint.key)

    async def check(self, invocation: Invocation) -> None:
        """See that the container's end is there, with its addresses and routes."""
        with open_pod(invocation.endpoint.netns) as pod:
            await self.ipam.check(invocation)
            await check_attachment(pod, invocation, kind="veth")

    async def gc(self, invocation: Invocation) -> None:
        """Release the addresses and remove the rules of attachments that are no more."""
        await super().gc(invocation)
        await collect(invocation.conf(MasqueradeConf), invocation.valid_attachments())


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
