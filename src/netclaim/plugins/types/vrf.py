"""vrf: a routing domain of its own for a link that another plugin made.

Configuration: `vrfname`, which is needed, and `table`, by default the first that no other domain
has. The domain is made with its first link and goes with its last.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import msgspec

from netclaim.cni import Result
from netclaim.cni.call import check_ifname
from netclaim.errors import RequestError
from netclaim.kernel import (
    Address,
    Link,
    NamespaceGoneError,
    find_link,
    list_addresses,
    list_links,
)
from netclaim.kernel.netlink import uapi
from netclaim.kernel.requests.ip import add_address
from netclaim.kernel.requests.links import create_link, set_link, vrf
from netclaim.kernel.state.changes.waiting import wait_addresses_settled
from netclaim.kernel.state.copies.route_copies import take_routes
from netclaim.kernel.state.link_settings import link_settings
from netclaim.kernel.state.removal import remove_link
from netclaim.plugins.engine.conf import U32, Conf, read_conf
from netclaim.plugins.engine.errors import ConfError, PluginError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.engine.plugin import Asked, Invocation, Plugin
from netclaim.plugins.engine.pod import Pod, open_pod
from netclaim.plugins.shared.turns import NamespaceTurns

SETTLE_S: Final = 2.5  # the reference plugin's patience with an address that it put back


class VrfConf(Conf, frozen=True):
    vrfname: Annotated[
        str, KeyRule("the VRF's name", check=check_ifname, missing="for example blue")
    ] = ""
    table: Annotated[U32, KeyRule("the VRF's routing table; 0: the first that is free")] = 0


class Domain(msgspec.Struct, frozen=True):
    """A routing domain that is there."""

    index: int
    name: str
    table: int


class Vrf(Plugin):
    oldest = "0.3.1"  # as with the reference plugin
    confs = (VrfConf,)
    needs_previous = True

    def __init__(self) -> None:
        self._turns = NamespaceTurns()  # two interfaces of a pod would make the same domain at once

    @classmethod
    def refuse(cls, raw: Mapping[str, Any], asked: Asked) -> None:
        """The domain is an interface too, in the same namespace."""
        if read_conf(raw, VrfConf).vrfname in (asked.ifname, "lo", "eth0"):
            message = "the pod has an interface of this name; choose another, for example blue"
            raise ConfError(message, path=("vrfname",))

    async def add(self, invocation: Invocation) -> Result:
        """Make the link a port of the domain, with all its addresses and routes."""
        conf = _conf(invocation)
        previous = invocation.required_previous()
        with open_pod(invocation.endpoint.netns) as pod:
            async with self._turns.hold(pod.netns):
                await self._add(pod, invocation, conf)
        return previous

    async def _add(self, pod: Pod, invocation: Invocation, conf: VrfConf) -> None:
        domain = await _find(pod, conf.vrfname)
        if domain is not None:
            if conf.table not in {0, domain.table}:
                raise PluginError(f"VRF {domain.name} has the routing table {domain.table}")
            await _join(pod, invocation.endpoint.ifname, domain)
            return
        await _make(pod, conf)
        async with pod.removed_on_failure(conf.vrfname):
            domain = await _find(pod, conf.vrfname)
            if domain is None:
                raise PluginError(f"VRF {conf.vrfname} is gone")
            await _join(pod, invocation.endpoint.ifname, domain)

    async def delete(self, invocation: Invocation) -> None:
        """Take the link out; the domain goes with its last link. May be repeated."""
        conf = _conf(invocation)
        try:
            with open_pod(invocation.endpoint.netns) as pod:
                async with self._turns.hold(pod.netns):
                    link = await find_link(pod.rtnl, conf.vrfname)
                    if link is not None and link.kind == "vrf":  # else it was not made by us
                        domain = Domain(link.index, link.name, await _table(pod, link))
                        await _leave(pod, invocation.endpoint.ifname, domain)
        except NamespaceGoneError:
            return

    async def check(self, invocation: Invocation) -> None:
        """See that the link is a port of the domain."""
        conf = _conf(invocation)
        invocation.required_previous()
        ifname = invocation.endpoint.ifname
        with open_pod(invocation.endpoint.netns) as pod:
            domain = await _find(pod, conf.vrfname)
            link = await find_link(pod.rtnl, ifname)
        if domain is None or link is None or link.master_index != domain.index:
            raise PluginError(f"failed to find {ifname} associated to vrf {conf.vrfname}")


def _conf(invocation: Invocation) -> VrfConf:
    conf = invocation.conf(VrfConf)
    if not conf.vrfname:
        raise ConfError("configuration is expected to have a valid vrf name")
    try:
        check_ifname(conf.vrfname, path=("vrfname",))  # of some names the kernel would make others
    except RequestError as error:
        raise ConfError(str(error)) from error
    return conf


async def _find(pod: Pod, name: str) -> Domain | None:
    link = await find_link(pod.rtnl, name)
    if link is None:
        return None
    if link.kind != "vrf":
        raise PluginError(f"link {name} is not a VRF")
    return Domain(link.index, link.name, await _table(pod, link))


async def _table(pod: Pod, link: Link) -> int:
    settings = await link_settings(pod.rtnl, link.name)
    return settings.number(uapi.IFLA_VRF_TABLE) if settings else 0


async def _make(pod: Pod, conf: VrfConf) -> None:
    table = conf.table
    if not table:
        others = [link for link in await list_links(pod.rtnl) if link.kind == "vrf"]
        taken = {await _table(pod, link) for link in others}
        table = next(number for number in range(1, len(taken) + 2) if number not in taken)
    await pod.rtnl.call(create_link(conf.vrfname, vrf(table), up=True))


async def _join(pod: Pod, ifname: str, domain: Domain) -> None:
    """Make a link a port; the kernel switches it off and on for that, and so loses some of it."""
    link = await pod.link(ifname)
    if link.master_index:
        raise PluginError(f"interface {ifname} has already a master set")
    addresses = await _global_ipv6(pod, link)
    routes = [
        route
        for route in await take_routes(pod.rtnl, link.index)
        if route.scope == uapi.RT_SCOPE_UNIVERSE
    ]
    await pod.rtnl.call_slow(set_link(link.index, master_index=domain.index))
    left = {str(address) for address in await _global_ipv6(pod, link)}
    await _put_back(pod, link, [each for each in addresses if str(each) not in left])
    await pod.rtnl.batch([route.put_into(domain.table) for route in routes])


async def _global_ipv6(pod: Pod, link: Link) -> list[Address]:
    return [
        address
        for address in await list_addresses(pod.rtnl)
        if (address.index, address.family, address.scope)
        == (link.index, socket.AF_INET6, uapi.RT_SCOPE_UNIVERSE)
    ]


async def _put_back(pod: Pod, link: Link, addresses: Sequence[Address]) -> None:
    """Give a link addresses that it had, and wait until packets may be sent from them."""
    if not addresses:
        return
    kept = uapi.IFA_F_NODAD | uapi.IFA_F_NOPREFIXROUTE
    await pod.rtnl.batch(
        [
            add_address(
                link.index, ipaddress.ip_interface(str(address)), flags=address.flags & kept
            )
            for address in addresses
        ]
    )
    try:
        async with asyncio.timeout(SETTLE_S):
            taken = await wait_addresses_settled(pod.netns, pod.rtnl, link.index)
    except TimeoutError as error:
        raise PluginError(f"link {link.name} has tentative addresses after {SETTLE_S:g} s") from (
            error
        )
    if taken is not None:
        raise PluginError(f"link {link.name}: address {taken.ip} is taken by another machine")


async def _leave(pod: Pod, ifname: str, domain: Domain) -> None:
    link = await find_link(pod.rtnl, ifname)
    if link is not None and link.master_index == domain.index:
        await pod.rtnl.call_slow(set_link(link.index, master_index=0))
    if not any(each.master_index == domain.index for each in await list_links(pod.rtnl)):
        await remove_link(pod.netns, domain.name)
