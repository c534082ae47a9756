"""Cards of the machine itself that a cluster borrows: moved into a node's namespace, and back.

Promise: only cards that the machine does not use are borrowed, so that coming home they are what
they were: under their names, on or off as before. Should the cluster be killed, the kernel returns
them to the namespace that the machine started with. Limit: a card that a pod still has then comes
home under its name there; end the pods before.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import ip_address
from typing import Final

from netclaim.errors import HostError, RequestError
from netclaim.kernel import Address, Link, Netns, Rtnl, find_link, list_addresses, list_links
from netclaim.kernel.requests.links import set_link
from netclaim.local import topology

NOT_THERE: Final = "this machine has no link {0}; the topology says that it lends one"
VIRTUAL: Final = "{0} of this machine is a {1}, which ends with the cluster; only cards are lent"
IN_USE: Final = "{0} of this machine is in use: it has {1}"


@asynccontextmanager
async def borrowed_links(
    links: Iterable[topology.Link], machine: Netns | None, nodes: Mapping[str, Netns]
) -> AsyncIterator[None]:
    """Have links of the machine in their nodes' namespaces for as long as the block runs."""
    async with AsyncExitStack() as stack:
        for each in links:
            if machine is None:
                raise HostError(f"the network namespace that has {each.name} is not known")
            await stack.enter_async_context(_borrowed(each.name, machine, nodes[each.node]))
        yield


@asynccontextmanager
async def _borrowed(name: str, machine: Netns, node: Netns) -> AsyncIterator[None]:
    with Rtnl.open(machine) as rtnl:
        link = await _unused(rtnl, name)
        await rtnl.call(set_link(link.index, netns_fd=node.fd))
    try:
        yield
    finally:
        with Rtnl.open(node) as rtnl:
            found = await find_link(rtnl, name)
            if found is not None:
                await rtnl.call(set_link(found.index, up=False, netns_fd=machine.fd))
        if link.up:
            with Rtnl.open(machine) as rtnl:
                found = await find_link(rtnl, name)
                if found is not None:
                    await rtnl.call(set_link(found.index, up=True))


async def _unused(rtnl: Rtnl, name: str) -> Link:
    """Return a card that the machine can do without; an error says why it cannot."""
    link = await find_link(rtnl, name)
    if link is None:
        raise RequestError(NOT_THERE.format(name))
    if link.kind or link.loopback:
        raise RequestError(VIRTUAL.format(name, link.kind or "loopback"))
    if use := use_of(link, await list_links(rtnl), await list_addresses(rtnl, link.index)):
        raise RequestError(IN_USE.format(name, use))
    return link


def use_of(link: Link, links: Iterable[Link], addresses: Iterable[Address]) -> str:
    """Name what shows that a machine uses one of its links; empty if nothing does."""
    if link.master_index:
        return "a master"
    for other in links:
        if other.parent_index == link.index and other.parent_nsid is None:
            return f"{other.name} on it"
    lasting = (one.ip for one in addresses if not ip_address(one.ip).is_link_local)
    return next((f"the address {ip}" for ip in lasting), "")
