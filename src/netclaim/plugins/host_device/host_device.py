"""host-device: a link of the host, lent to a container.

Configuration: `device`, `hwaddr`, `kernelpath` or `pciBusID`; the capabilities `deviceID` and
`mac`; and beyond the reference plugin `vf`, what the card of a virtual function decides about it,
and `vfio`, for a program that drives the hardware by itself. A card that a program has already
(DPDK) is left alone; only its addresses are managed.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from netclaim.cni import DNS, AttachmentKey, Interface, Result
from netclaim.errors import NetclaimError
from netclaim.kernel import Link, Rtnl, find_link
from netclaim.kernel.requests.links import set_link
from netclaim.kernel.state.card.vf_settings import VfSettings
from netclaim.kernel.state.copies.address_copies import take_addresses
from netclaim.kernel.state.copies.belongings import take_belongings
from netclaim.kernel.state.copies.link_copies import take_settings
from netclaim.kernel.state.copies.rule_copies import take_rules
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.plugin import Invocation
from netclaim.plugins.engine.pod import Pod, open_pod
from netclaim.plugins.host_device.device_lookup import HostDeviceConf, find_target, read_target
from netclaim.plugins.host_device.following import follow
from netclaim.plugins.host_device.handed_over import Programs
from netclaim.plugins.host_device.homecoming import bring_home
from netclaim.plugins.host_device.lent_function import (
    change,
    check_changed,
    give_mac,
    lent_function,
    wanted_of,
)
from netclaim.plugins.host_device.lent_links import LentLink, LentLinks, device_of
from netclaim.plugins.host_device.rdma import lend_rdma, rdma_with
from netclaim.plugins.host_device.vf_keys import VfKeys
from netclaim.plugins.shared.checks import check_attachment
from netclaim.plugins.shared.configure import configure
from netclaim.plugins.shared.ipam import Ipam
from netclaim.plugins.shared.mac import chosen_mac
from netclaim.plugins.shared.main_plugin import MainPlugin
from netclaim.plugins.shared.results import on_interface, one_link


class HostDevice(MainPlugin):
    confs = (HostDeviceConf,)
    link_key = "device"
    other_link_keys = ("hwaddr", "kernelpath", "pciBusID")
    moves_link = True
    takes_mac = True
    beyond_reference = ("keep", "vf", "vfio")

    @classmethod
    def takes_link(cls, config: Mapping[str, Any]) -> str:  # noqa: ARG003 -- whatever it says
        """The link goes into the container."""
        return "host-device"

    @classmethod
    def hands_over(cls, config: Mapping[str, Any]) -> bool:
        """A program gets its hardware, if that is asked."""
        return config.get("vfio") is True

    def __init__(self, ipam: Ipam, lents: LentLinks, *, sys: Path = Path("/sys")) -> None:
        super().__init__(ipam)
        self._lents = lents
        self._sys = sys
        self._programs = Programs(sys)

    async def add(self, invocation: Invocation) -> Result:
        """Move the link into the container; with addresses if they are managed."""
        conf = invocation.conf(HostDeviceConf)
        target = read_target(conf, self._sys)
        with open_pod(invocation.endpoint.netns) as pod, Rtnl.open() as host:
            if target.in_userspace:
                return await self._only_addresses(invocation, conf, pod)
            link = await find_target(host, target, self._sys)
            if conf.vfio:
                return await self._handed_over(invocation, pod, host, link)
            async with self._moved(invocation, pod, host, link) as (inside, lent):
                if not conf.ipam.type:
                    kept = await follow(pod, inside, lent, conf.keep)
                    return one_link(pod, inside, Result(ips=tuple(kept)), dns=DNS())
                async with self.ipam.lease(invocation) as lease:
                    await configure(pod, inside, lease)
                    kept = await follow(pod, inside, lent, conf.keep)
                    both = replace(lease, ips=(*lease.ips, *kept))
                    return one_link(pod, inside, both, dns=conf.dns)

    async def take_back(self, invocation: Invocation) -> None:
        """Return the link to the host, as it was."""
        endpoint = invocation.endpoint
        await self._bring_home(endpoint.netns, endpoint.key)

    async def check(self, invocation: Invocation) -> None:
        """See that the link is in the container, with its addresses and routes."""
        conf = invocation.conf(HostDeviceConf)
        target = read_target(conf, self._sys)
        with open_pod(invocation.endpoint.netns) as pod:
            if conf.ipam.type:
                await self.ipam.check(invocation)
            invocation.required_previous()
            lent = self._lents.find(invocation.endpoint.key)
            if conf.vfio:
                await self._programs.check(lent)
            elif not target.in_userspace:
                await check_attachment(pod, invocation)
        if lent is not None and lent.function is not None:
            with Rtnl.open() as host:
                await check_changed(host, lent.function)

    async def gc(self, invocation: Invocation) -> None:
        """Return the links and release the addresses of attachments that are no more.

        A link that cannot be returned is reported after all others were.
        """
        valid = invocation.valid_attachments()
        network = invocation.conf(HostDeviceConf).name
        failed: list[NetclaimError] = []
        for lent in self._lents.all():
            if lent.network == network and lent.key not in valid:
                try:
                    await self._bring_home(lent.netns, lent.key)
                except NetclaimError as error:
                    failed.append(error)
        await super().gc(invocation)
        if failed:
            first, *others = failed
            for other in others:
                first.add_note(f"also: {other}")
            raise first

    async def _bring_home(self, netns: str, key: AttachmentKey) -> None:
        await bring_home(netns, key, self._lents, self._programs)

    @asynccontextmanager
    async def _moved(
        self, invocation: Invocation, pod: Pod, host: Rtnl, link: Link
    ) -> AsyncIterator[tuple[Link, LentLink]]:
        """Have the link in the container for what the block does; return it when that fails."""
        endpoint = invocation.endpoint
        if await find_link(pod.rtnl, endpoint.ifname) is not None:
            raise PluginError(f"the container already has a link {endpoint.ifname!r}")
        conf = invocation.conf(HostDeviceConf)
        lent = await _as_it_is(invocation, host, link, self._sys)
        if "rules" in invocation.conf(HostDeviceConf).keep and lent.belongings is not None:
            tables = {route.table for route in lent.belongings.routes}
            lent = replace(lent, rules=await take_rules(host, link.name, tables))
        mac = chosen_mac(conf.runtime_config.mac)
        if mac or conf.vf != VfKeys():
            lent = replace(lent, function=await lent_function(host, lent.device))
        wanted = wanted_of(conf.vf, lent.function, link)
        if lent.function is not None:
            lent = replace(lent, function=lent.function.changing(wanted))
        self._lents.keep(lent)
        try:
            if lent.function is not None:
                await change(host, lent.function, wanted)
            # One request, so that no crash can come between its parts. The alias is where the
            # reference program looks for the old name.
            await host.call_slow(
                set_link(
                    link.index,
                    netns_fd=pod.netns.fd,
                    name=endpoint.ifname,
                    alias=link.name,
                    up=True,
                )
            )
            inside = await pod.link(endpoint.ifname)
            cookie = pod.rtnl.netns_cookie()
            lent = replace(lent, index=inside.index, netns_cookie=cookie)
            self._lents.keep(lent)
            if mac not in ("", inside.mac):
                lent = await self._give_mac(pod, host, lent, mac)
                inside = await pod.link(endpoint.ifname)
            await lend_rdma(lent.rdma, pod.netns)
            yield inside, lent
        except Exception as error:
            try:
                await self._bring_home(endpoint.netns, endpoint.key)
            except NetclaimError as second:
                error.add_note(f"and {link.name} could not be returned: {second}")
            raise

    async def _handed_over(
        self, invocation: Invocation, pod: Pod, host: Rtnl, link: Link
    ) -> Result:
        """Bind the link's hardware to vfio-pci; return it to its driver when that fails."""
        conf = invocation.conf(HostDeviceConf)
        endpoint = invocation.endpoint
        lent = await _as_it_is(invocation, host, link, self._sys)
        try:
            mac = await self._programs.hand_over(host, conf, link, lent, self._lents)
            return await self._only_addresses(invocation, conf, pod, mac=mac, pci=link.device)
        except Exception as error:
            try:
                await self._bring_home(endpoint.netns, endpoint.key)
            except NetclaimError as second:
                error.add_note(f"and {link.name} could not be returned: {second}")
            raise

    async def _give_mac(self, pod: Pod, host: Rtnl, lent: LentLink, mac: str) -> LentLink:
        """Give the link in the container a MAC: by itself, or else by its card."""
        has = await give_mac(pod.rtnl, lent.index, mac)
        if has != mac and lent.function is not None:
            wanted = VfSettings(mac=mac)
            function = lent.function.changing(wanted)
            lent = replace(lent, function=function)
            self._lents.keep(lent)
            await change(host, function, wanted)
            has = await give_mac(pod.rtnl, lent.index, mac)
        if has != mac:
            raise PluginError(f"the link {lent.name} does not take the MAC {mac}; leave it out")
        await pod.rtnl.call(set_link(lent.index, up=True))
        return lent

    async def _only_addresses(
        self,
        invocation: Invocation,
        conf: HostDeviceConf,
        pod: Pod,
        *,
        mac: str = "",
        pci: str = "",
    ) -> Result:
        """Manage the addresses of a card that is a program's."""
        ifname = invocation.endpoint.ifname
        interface = Interface(name=ifname, mac=mac, sandbox=pod.path, pci_id=pci)
        if not conf.ipam.type:
            return Result(interfaces=(interface,))
        async with self.ipam.lease(invocation) as lease:
            return Result(
                interfaces=(interface,),
                ips=tuple(on_interface(ip, 0) for ip in lease.ips),
                routes=lease.routes,
                dns=conf.dns,
            )


async def _as_it_is(invocation: Invocation, host: Rtnl, link: Link, sys: Path) -> LentLink:
    """Describe a link for its return."""
    moving, ending = rdma_with(link, sys)
    return LentLink(
        network=invocation.call.config["name"],
        container_id=invocation.endpoint.container_id,
        netns=invocation.endpoint.netns,
        ifname=invocation.endpoint.ifname,
        name=link.name,
        mac=link.mac,
        mtu=link.mtu,
        up=link.up,
        hardware=not link.kind,
        alias=link.alias,
        addresses=await take_addresses(host, link.index),
        kind=link.kind,
        perm_mac=link.perm_mac,
        device=device_of(link.name, sys),
        settings=await take_settings(host, link.index),
        belongings=await take_belongings(host, link),
        rdma=moving,
        rdma_ended=ending,
    )
