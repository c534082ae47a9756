"""Links that stand on another link: what macvlan, ipvlan and vlan have in common.

Promise: `master` is found where the reference plugins look for it, and a link made on it is in the
container from its first moment, with its name, MAC and MTU.
Limit: what kind of link, the plugin says.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from netclaim.kernel import Link, Rtnl, find_link, find_link_at, list_routes
from netclaim.plugins.conf import NetConf
from netclaim.plugins.errors import PluginError
from netclaim.plugins.pod import Pod, open_pod

__all__ = ["Place", "StackedConf", "check_mtu", "default_link", "open_place"]


class StackedConf(NetConf, frozen=True):
    """The keys of a link that stands on another."""

    master: str = ""
    mtu: int = 0
    link_in_container: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """The container, and the namespace where its link's master is: the host, or itself."""

    pod: Pod
    of_master: Rtnl

    async def master(self, name: str) -> Link:
        """Look the master up."""
        link = await find_link(self.of_master, name)
        if link is None:
            raise PluginError(f"there is no link {name!r} to be the master")
        return link


@contextmanager
def open_place(netns: str, conf: StackedConf) -> Iterator[Place]:
    """Open the container's namespace and the master's."""
    with open_pod(netns) as pod:
        if conf.link_in_container:
            yield Place(pod, pod.rtnl)
        else:
            with Rtnl.open() as host:
                yield Place(pod, host)


async def default_link(rtnl: Rtnl) -> str:
    """Name the link of the first default route."""
    for route in await list_routes(rtnl):
        if route.default and route.index:
            link = await find_link_at(rtnl, route.index)
            if link is not None:
                return link.name
    raise PluginError("there is no default route: name the master")


def check_mtu(mtu: int, master: Link) -> None:
    """See that what stands on a link is not wider than the link."""
    if not 0 <= mtu <= master.mtu:
        raise PluginError(f"MTU {mtu} is not between 0 and the master's {master.mtu}")
