"""Links that stand on another link: what macvlan, ipvlan and vlan have in common.

Promise: `master` is found where the reference plugins look for it, and a link made on it is in the
container from its first moment, with its name, MAC and MTU.
Limit: what kind of link, the plugin says.
"""

from typing import Annotated

from netclaim.kernel import Rtnl, find_link, find_link_at, list_routes
from netclaim.kernel.host.closing import Closing
from netclaim.kernel.state.link_identity import link_index
from netclaim.plugins.engine.conf import MTU_MAX, Mtu, NetConf
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.engine.pod import Pod, open_pod


class StackedConf(NetConf, frozen=True):
    """The keys of a link that stands on another."""

    master: Annotated[str, KeyRule("the parent link")] = ""
    mtu: Annotated[
        Mtu, KeyRule("the MTU, at most the master's; 0: the kernel's default", low=0, high=MTU_MAX)
    ] = 0
    link_in_container: Annotated[bool, KeyRule("the master is in the container")] = False


class Place(Closing):
    """The container, and the namespace where its link's master is: the host, or itself."""

    def __init__(self, pod: Pod, *, master_inside: bool) -> None:
        """Take over `pod`."""
        self.pod = pod
        self._master_inside = master_inside
        self._host: Rtnl | None = None

    def close(self) -> None:
        if self._host is not None:
            self._host.close()
        self.pod.close()

    @property
    def of_master(self) -> Rtnl:
        """A netlink socket where the master is."""
        if self._master_inside:
            return self.pod.rtnl
        if self._host is None:
            self._host = Rtnl.open()
        return self._host

    async def master_index(self, name: str, *, mtu: int = 0) -> int:
        """Look the master up, and see that it is at least as wide as what shall stand on it."""
        if mtu == 0:  # its index is all that is wanted
            index = link_index(self.of_master, name)
            if index is not None:
                return index
        link = await find_link(self.of_master, name)
        if link is None:
            raise PluginError(f"the master link {name!r} does not exist")
        if not 0 <= mtu <= link.mtu:
            raise PluginError(f"MTU {mtu} is not between 0 and the master's {link.mtu}")
        return link.index


def open_place(netns: str, conf: StackedConf) -> Place:
    """Open the container's namespace, from which or from the host the master is reached."""
    return Place(open_pod(netns), master_inside=conf.link_in_container)


async def default_link(rtnl: Rtnl) -> str:
    """Name the link of the first default route."""
    for route in await list_routes(rtnl):
        if route.default and route.index:
            link = await find_link_at(rtnl, route.index)
            if link is not None:
                return link.name
    raise PluginError("there is no default route; set master")
