"""ipvlan: a link that shares the MAC of the link it stands on.

Configuration: `master` (the default route's link, or in a chain the one interface so far), `mode`
(l2, l3, l3s), `mtu`, `linkInContainer`. Without `ipam` the addresses so far in the chain are taken.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any

from netclaim.cni import Result
from netclaim.kernel.netlink import uapi
from netclaim.kernel.requests.links import IPVLAN_MODES, ipvlan
from netclaim.kernel.state.link_settings import link_settings
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.engine.plugin import Asked, Invocation
from netclaim.plugins.shared.checks import check_attachment
from netclaim.plugins.shared.configure import announcing, configure
from netclaim.plugins.shared.main_plugin import MainPlugin, refuse_without_ipam
from netclaim.plugins.shared.results import one_link
from netclaim.plugins.shared.stacked import (
    Place,
    StackedConf,
    default_link,
    open_place,
)


class IpvlanConf(StackedConf, frozen=True):
    mode: Annotated[
        str, KeyRule("the layer at which packets are passed on", choices=tuple(IPVLAN_MODES))
    ] = "l2"


class Ipvlan(MainPlugin):
    confs = (IpvlanConf,)
    link_key = "master"
    pod_link_key = "linkInContainer"
    has_default_link = True

    @classmethod
    def refuse(cls, raw: Mapping[str, Any], asked: Asked) -> None:
        """At the beginning of a list there are no addresses yet."""
        if asked.first:
            refuse_without_ipam("ipvlan", raw)

    async def add(self, invocation: Invocation) -> Result:
        """Make the link with its addresses."""
        conf = invocation.conf(IpvlanConf)
        endpoint = invocation.endpoint
        previous = invocation.previous()
        with open_place(endpoint.netns, conf) as place:
            pod = place.pod
            name = conf.master or await _default_master(place, previous)
            new_link = pod.new_link(
                endpoint.ifname,
                ipvlan(_mode(conf)),
                maker=place.of_master,
                parent_index=await place.master_index(name),
                mtu=conf.mtu,
                sysctls=announcing(endpoint.ifname),
            )
            async with new_link as link, self._addresses(invocation, conf, previous) as lease:
                await configure(pod, link, lease)
                return one_link(pod, link, lease, dns=conf.dns)

    async def check(self, invocation: Invocation) -> None:
        """See that the link is there, of its mode, with its addresses and routes."""
        conf = invocation.conf(IpvlanConf)
        with open_place(invocation.endpoint.netns, conf) as place:
            if conf.ipam.type:
                await self.ipam.check(invocation)
            await place.master_index(conf.master)
            link = await check_attachment(place.pod, invocation, kind="ipvlan")
            settings = await link_settings(place.pod.rtnl, link.name)
            mode = _mode(conf)
            if not settings or settings.number(uapi.IFLA_IPVLAN_MODE) != IPVLAN_MODES[mode]:
                raise PluginError(f"container ipvlan {link.name} is not in mode {mode}")

    @asynccontextmanager
    async def _addresses(
        self, invocation: Invocation, conf: IpvlanConf, previous: Result | None
    ) -> AsyncIterator[Result]:
        if not conf.ipam.type and previous and previous.ips:
            yield previous
            return
        async with self.ipam.lease(invocation) as lease:
            yield lease


def _mode(conf: IpvlanConf) -> str:
    mode = conf.mode or "l2"
    if mode not in IPVLAN_MODES:
        known = ", ".join(IPVLAN_MODES)
        raise PluginError(f"unknown ipvlan mode: {mode!r}; known modes are {known}")
    return mode


async def _default_master(place: Place, previous: Result | None) -> str:
    if previous is None:
        return await default_link(place.of_master)
    if len(previous.interfaces) != 1 or not previous.interfaces[0].name:
        raise PluginError("prevResult does not have exactly one interface; set master")
    return previous.interfaces[0].name
