"""macvlan: a link with a MAC of its own on a link of the host.

Configuration: `master` (the default route's link), `mode` (bridge, private, vepa, passthru), `mtu`,
`mac`, `linkInContainer`, `bcqueuelen`; the MAC also as capability and in CNI_ARGS.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from netclaim.cni import Result
from netclaim.kernel.netlink import uapi
from netclaim.kernel.requests.links import MACVLAN_MODES, macvlan, set_link
from netclaim.kernel.state.link_settings import link_settings
from netclaim.plugins.engine.conf import U32
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.engine.plugin import Invocation
from netclaim.plugins.shared.checks import check_attachment
from netclaim.plugins.shared.configure import announcing, configure
from netclaim.plugins.shared.mac import MacOffer, check_mac, chosen_mac, mac_of_args
from netclaim.plugins.shared.main_plugin import MainPlugin
from netclaim.plugins.shared.results import one_link
from netclaim.plugins.shared.stacked import (
    StackedConf,
    default_link,
    open_place,
)


class MacvlanConf(StackedConf, frozen=True):
    mode: Annotated[
        str, KeyRule("how links on the same master reach each other", choices=tuple(MACVLAN_MODES))
    ] = "bridge"
    mac: Annotated[str, KeyRule("the interface's MAC", check=check_mac)] = ""
    bcqueuelen: Annotated[U32, KeyRule("the master's queue for broadcasts")] = 0
    runtime_config: MacOffer = MacOffer()


class Macvlan(MainPlugin):
    confs = (MacvlanConf,)
    takes_mac = True
    link_key = "master"
    pod_link_key = "linkInContainer"
    has_default_link = True

    @classmethod
    def takes_link(cls, config: Mapping[str, Any]) -> str:
        """The mode passthru takes all of the master's traffic."""
        return "macvlan in mode passthru" if config.get("mode") == "passthru" else ""

    async def add(self, invocation: Invocation) -> Result:
        """Make the link; with addresses if they are managed."""
        conf = invocation.conf(MacvlanConf)
        endpoint = invocation.endpoint
        mac = chosen_mac(conf.mac, mac_of_args(endpoint), conf.runtime_config.mac)
        with open_place(endpoint.netns, conf) as place:
            pod = place.pod
            master = conf.master or await default_link(place.of_master)
            new_link = pod.new_link(
                endpoint.ifname,
                macvlan(_mode(conf), broadcast_queue=conf.bcqueuelen),
                maker=place.of_master,
                parent_index=await place.master_index(master, mtu=conf.mtu),
                mac=mac,
                mtu=conf.mtu,
                sysctls=announcing(endpoint.ifname) if conf.ipam.type else (),
            )
            async with new_link as link:
                if not conf.ipam.type:
                    await pod.rtnl.call(set_link(link.index, up=True))
                    return one_link(pod, link, Result(), dns=conf.dns)
                async with self.ipam.lease(invocation) as lease:
                    await configure(pod, link, lease)
                    return one_link(pod, link, lease, dns=conf.dns)

    async def check(self, invocation: Invocation) -> None:
        """See that the link is there, of its mode, with its addresses and routes."""
        conf = invocation.conf(MacvlanConf)
        with open_place(invocation.endpoint.netns, conf) as place:
            master = conf.master or await default_link(place.of_master)
            await place.master_index(master, mtu=conf.mtu)
            if conf.ipam.type:
                await self.ipam.check(invocation)
            link = await check_attachment(place.pod, invocation, kind="macvlan")
            settings = await link_settings(place.pod.rtnl, link.name)
            mode = _mode(conf)
            if not settings or settings.number(uapi.IFLA_MACVLAN_MODE) != MACVLAN_MODES[mode]:
                raise PluginError(f"container macvlan {link.name} is not in mode {mode}")


def _mode(conf: MacvlanConf) -> str:
    mode = conf.mode or "bridge"
    if mode not in MACVLAN_MODES:
        known = ", ".join(MACVLAN_MODES)
        raise PluginError(f"unknown macvlan mode: {mode!r}; known modes are {known}")
    return mode
