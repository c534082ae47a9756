"""What follows a link into the container, where that is asked: addresses, routes and the like.

The node uses a link with its own configuration, and a program in the pod shall use it instead, with
the same addresses. Promise: what follows is a copy; the link's return does not depend on it. What
the kernel refuses in there is an error.
Limit: that of `kernel.state.copies.belongings`; of rules, those that lead to a table with routes
over the link, other than the main one.
"""

import ipaddress
from collections.abc import Collection

from netclaim.cni import IPConfig
from netclaim.kernel import KernelError, Link
from netclaim.kernel.netlink import uapi
from netclaim.kernel.state.copies.address_copies import TakenAddress, give_back, still_there
from netclaim.kernel.state.copies.belongings import Belongings, give_belongings_back
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.pod import Pod
from netclaim.plugins.host_device.lent_links import LentLink
from netclaim.plugins.shared.configure import allow_ipv6, settle


async def follow(pod: Pod, inside: Link, lent: LentLink, kept: Collection[str]) -> list[IPConfig]:
    """Give a link in the container what it had on the host; returns the addresses."""
    addresses = still_there(lent.addresses) if "addresses" in kept else []
    ips = [_as_ip(address) for address in addresses]
    with_ipv6 = any(":" in ip.address for ip in ips)
    if with_ipv6:
        pod.inside(lambda: allow_ipv6(inside.name))
    await pod.rtnl.batch([give_back(inside.index, address) for address in addresses])
    if with_ipv6:
        await settle(pod, inside)
    belongings = lent.belongings or Belongings()
    chosen = Belongings(
        neighbours=belongings.neighbours if "neighbors" in kept else (),
        routes=belongings.routes if "routes" in kept else (),
    )
    if failed := await give_belongings_back(pod.rtnl, inside, chosen):
        raise PluginError(f"what the node has on {lent.name} cannot be kept: {'; '.join(failed)}")
    if "rules" in kept:
        await pod.rtnl.batch([rule.enter(inside.name) for rule in lent.rules])
    return ips


async def leave(pod: Pod, lent: LentLink) -> None:
    """Remove the rules that followed; all else ends in the container when the link leaves it."""
    for rule in lent.rules:
        try:
            await pod.rtnl.call(rule.remove(lent.ifname))
        except KernelError:  # it is not there, or the container has changed it
            continue


def _as_ip(address: TakenAddress) -> IPConfig:
    parts = dict(address.parts)
    packed = parts.get(uapi.IFA_LOCAL) or parts[uapi.IFA_ADDRESS]
    return IPConfig(f"{ipaddress.ip_address(packed)}/{address.prefix_length}", interface=0)
