"""dummy: a link that leads nowhere, to hold addresses.

Configuration: nothing but `ipam`, which is needed.
"""

from netclaim.cni import Result
from netclaim.kernel.requests.links import dummy
from netclaim.plugins.engine.conf import NetConf
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.plugin import Invocation
from netclaim.plugins.engine.pod import open_pod
from netclaim.plugins.shared.checks import check_attachment
from netclaim.plugins.shared.configure import configure
from netclaim.plugins.shared.main_plugin import MainPlugin
from netclaim.plugins.shared.results import one_link


class Dummy(MainPlugin):
    confs = (NetConf,)
    needs_ipam = True

    async def add(self, invocation: Invocation) -> Result:
        """Make the link with its addresses."""
        _check_conf(invocation)
        with open_pod(invocation.endpoint.netns) as pod:
            new_link = pod.new_link(invocation.endpoint.ifname, dummy(), maker=pod.rtnl)
            async with new_link as link, self.ipam.lease(invocation) as lease:
                await configure(pod, link, lease)
                return one_link(pod, link, lease, dns=lease.dns)

    async def check(self, invocation: Invocation) -> None:
        """See that the link is there and up, with its addresses."""
        _check_conf(invocation)
        with open_pod(invocation.endpoint.netns) as pod:
            await self.ipam.check(invocation)
            link = await check_attachment(pod, invocation, kind="dummy")
            if not link.up:
                raise PluginError(f"interface {link.name} is down")


def _check_conf(invocation: Invocation) -> None:
    if not invocation.conf(NetConf).ipam.type:
        raise PluginError("ipam is missing; a dummy interface needs addresses")
