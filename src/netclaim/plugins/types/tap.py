"""tap: a link whose other end is a program, such as a virtual machine's.

Configuration: `multiQueue`, `mtu`, `mac` (also as capability and in CNI_ARGS), `owner` and `group`
(who may open it), `bridge` (of the container), `selinuxContext`. A SELinux label comes from the
process that makes the link, so with `selinuxContext` the reference program is asked.
"""

from typing import Annotated

from netclaim.cni import Result
from netclaim.kernel import Link, find_link
from netclaim.kernel.host.tun import IFF_MULTI_QUEUE, IFF_NO_PI, IFF_VNET_HDR, make_tap
from netclaim.kernel.requests.links import set_link
from netclaim.plugins.engine.conf import MTU_MAX, U32, NetConf
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.engine.plugin import Invocation
from netclaim.plugins.engine.pod import Pod, open_pod
from netclaim.plugins.engine.program import Program
from netclaim.plugins.shared.checks import check_attachment
from netclaim.plugins.shared.configure import arp_notify, configure
from netclaim.plugins.shared.ipam import Ipam
from netclaim.plugins.shared.mac import MacOffer, check_mac, chosen_mac, mac_of_args
from netclaim.plugins.shared.main_plugin import MainPlugin
from netclaim.plugins.shared.results import one_link


class TapConf(NetConf, frozen=True):
    multi_queue: Annotated[bool, KeyRule("several queues")] = False
    mtu: Annotated[U32, KeyRule("the tap's MTU; 0: the kernel's default", high=MTU_MAX)] = 0
    mac: Annotated[str, KeyRule("the tap's MAC", check=check_mac)] = ""
    owner: Annotated[U32 | None, KeyRule("the user who may open it")] = None
    group: Annotated[U32 | None, KeyRule("the group that may open it")] = None
    selinux_context: Annotated[str, KeyRule("the label to create it with")] = ""
    bridge: Annotated[str, KeyRule("a bridge in the container to join")] = ""
    runtime_config: MacOffer = MacOffer()


class Tap(MainPlugin):
    confs = (TapConf,)
    takes_mac = True

    def __init__(self, ipam: Ipam, program: Program) -> None:
        """`program` is the reference plugin, asked for a SELinux label."""
        super().__init__(ipam)
        self._program = program

    async def add(self, invocation: Invocation) -> Result:
        """Make the link; with addresses if they are managed."""
        conf = invocation.conf(TapConf)
        if conf.selinux_context:
            return await self._program.add(invocation)
        endpoint = invocation.endpoint
        mac = chosen_mac(conf.mac, mac_of_args(endpoint), conf.runtime_config.mac)
        with open_pod(endpoint.netns) as pod:
            if await find_link(pod.rtnl, endpoint.ifname) is not None:
                raise PluginError(f"the container already has a link {endpoint.ifname!r}")
            pod.inside(
                lambda: make_tap(
                    endpoint.ifname, flags=_flags(conf), owner=conf.owner, group=conf.group
                )
            )
            async with pod.removed_on_failure(endpoint.ifname):
                link = await _set_up(pod, endpoint.ifname, conf, mac)
                if not conf.ipam.type:
                    return one_link(pod, link, Result(), dns=conf.dns)
                async with self.ipam.lease(invocation) as lease:
                    await configure(pod, link, lease, sysctls=[arp_notify(link.name)])
                    return one_link(pod, link, lease, dns=conf.dns)

    async def check(self, invocation: Invocation) -> None:
        """See that the link is there, with its addresses and routes."""
        conf = invocation.conf(TapConf)
        with open_pod(invocation.endpoint.netns) as pod:
            if conf.ipam.type:
                await self.ipam.check(invocation)
            await check_attachment(pod, invocation)


def _flags(conf: TapConf) -> int:
    """Return what the reference plugin's two ways of making a tap come to."""
    if conf.owner is None or conf.group is None:
        return IFF_NO_PI | (IFF_MULTI_QUEUE if conf.multi_queue else 0)
    return IFF_VNET_HDR | (IFF_MULTI_QUEUE | IFF_NO_PI if conf.multi_queue else 0)


async def _set_up(pod: Pod, name: str, conf: TapConf, mac: str) -> Link:
    """Give the new link its MAC, MTU and bridge, and switch it on."""
    link = await pod.link(name)
    bridge = await pod.link(conf.bridge) if conf.bridge else None
    await pod.rtnl.call(
        set_link(
            link.index,
            up=True,
            mac=mac,
            mtu=conf.mtu or None,
            master_index=bridge.index if bridge else None,
        )
    )
    return await pod.link(name)
