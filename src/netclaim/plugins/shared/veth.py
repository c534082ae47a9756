"""A pair of links between a container and the host.

Promise: both ends are where they belong from their first moment; one that fails to be set up is
removed, and the other with it.
Limit: the host is where this process is.
"""

import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from netclaim.kernel import KernelError, Link, Rtnl, find_link, find_link_at, open_netns
from netclaim.kernel.host.netns import OWN_NETNS
from netclaim.kernel.host.sysctls.sysctl import try_sysctl
from netclaim.kernel.requests.links import LinkKind, create_link, veth
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.pod import Pod, random_name

NAME_TRIES: Final = 10  # of 2**32 random names one being taken is rare, several in a row a bug


@dataclass(frozen=True, slots=True)
class Pair:
    """Two links that are each other's ends, as they were made."""

    inside: Link
    outside: Link


@asynccontextmanager
async def new_pair(
    pod: Pod, host: Rtnl, name: str, *, mac: str = "", mtu: int = 0
) -> AsyncIterator[Pair]:
    """Make a pair for what the block does, `name` being the container's end; remove it on failure.

    Both ends are down. MAC is the container's, MTU of both.
    """
    await _make(pod, name, mac=mac, mtu=mtu)
    async with pod.removed_on_failure(name):
        inside = await pod.link(name)
        outside = await find_link_at(host, inside.parent_index)
        if outside is None:
            raise PluginError(f"the host's end of {name} is gone")
        own_routes(outside.name)
        yield Pair(inside, outside)


def pair_kind(peer_name: str, *, mtu: int, peer_netns_fd: int | None = None) -> LinkKind:
    """Describe a pair; the peer has no queue, as the reference plugins make it."""
    return veth(peer_name, peer_netns_fd=peer_netns_fd, peer_mtu=max(mtu, 0) or None, peer_txqlen=0)


def own_routes(host_name: str) -> None:
    """Keep routers from giving a link of the host addresses and routes, if IPv6 is there."""
    try_sysctl(f"net/ipv6/conf/{host_name}/accept_ra", "0")


async def _make(pod: Pod, name: str, *, mac: str, mtu: int) -> None:
    with open_netns(OWN_NETNS) as host:
        for _ in range(NAME_TRIES):
            kind = pair_kind(random_name(), peer_netns_fd=host.fd, mtu=mtu)
            try:
                await pod.rtnl.call(create_link(name, kind, mac=mac, mtu=max(mtu, 0) or None))
            except KernelError as error:
                if error.errno != errno.EEXIST:
                    raise
                if await find_link(pod.rtnl, name) is not None:
                    raise PluginError(f"the container already has a link {name!r}") from error
            else:
                return
    raise PluginError("no free name for the host's end was found")
