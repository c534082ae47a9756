"""vlan: one VLAN (802.1Q) of the link it stands on.

Configuration: `master`, `vlanId`, `mtu`, `linkInContainer`; `ipam` is needed.
"""

from typing import Annotated

from netclaim.cni import Result
from netclaim.kernel.netlink import uapi
from netclaim.kernel.requests.links import vlan
from netclaim.kernel.state.link_settings import link_settings
from netclaim.plugins.engine.conf import VLAN_ID_MAX
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.engine.plugin import Invocation
from netclaim.plugins.shared.checks import check_attachment
from netclaim.plugins.shared.configure import configure
from netclaim.plugins.shared.main_plugin import MainPlugin
from netclaim.plugins.shared.results import one_link
from netclaim.plugins.shared.stacked import StackedConf, open_place


class VlanConf(StackedConf, frozen=True):
    vlan_id: Annotated[int, KeyRule("the VLAN's ID", low=0, high=VLAN_ID_MAX)] = 0


class Vlan(MainPlugin):
    confs = (VlanConf,)
    needs_ipam = True
    link_key = "master"
    pod_link_key = "linkInContainer"

    async def add(self, invocation: Invocation) -> Result:
        """Make the link with its addresses."""
        conf = invocation.conf(VlanConf)
        _check_conf(conf)
        with open_place(invocation.endpoint.netns, conf) as place:
            pod = place.pod
            new_link = pod.new_link(
                invocation.endpoint.ifname,
                vlan(conf.vlan_id),
                maker=place.of_master,
                parent_index=await place.master_index(conf.master, mtu=conf.mtu),
                mtu=conf.mtu,
            )
            async with new_link as link, self.ipam.lease(invocation) as lease:
                await configure(pod, link, lease)
                return one_link(pod, link, lease, dns=conf.dns)

    async def check(self, invocation: Invocation) -> None:
        """See that the link is there, with its VLAN, its MTU, its addresses and routes."""
        conf = invocation.conf(VlanConf)
        with open_place(invocation.endpoint.netns, conf) as place:
            await self.ipam.check(invocation)
            await place.master_index(conf.master)
            link = await check_attachment(place.pod, invocation, kind="vlan")
            settings = await link_settings(place.pod.rtnl, link.name)
            if not settings or settings.number(uapi.IFLA_VLAN_ID) != conf.vlan_id:
                raise PluginError(f"container vlan {link.name} does not have the ID {conf.vlan_id}")
            if conf.mtu and conf.mtu != link.mtu:
                raise PluginError(f"container vlan {link.name} does not have the MTU {conf.mtu}")


def _check_conf(conf: VlanConf) -> None:
    if not conf.master:
        raise PluginError("master is missing; name the parent link")
    if not 0 <= conf.vlan_id <= VLAN_ID_MAX:
        raise PluginError(f"vlanId {conf.vlan_id} is not between 0 and {VLAN_ID_MAX}")
