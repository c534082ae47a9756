"""Return a lent link to the host, as it was.

Promise: name, addresses, MAC, MTU and whether it was up are the old ones, also when the process
that lent it has died since, the namespace is gone, or half of this was done before. A link that is
not the lent one is left alone.
Limit: routes over the link are not remembered. A link that another program lent has only its name,
in its alias; it is returned if it is hardware, since a container can make any other itself.
"""

import asyncio
from typing import Final

import structlog

from netclaim.cni import AttachmentKey
from netclaim.cni.call import check_ifname
from netclaim.errors import RequestError
from netclaim.kernel import (
    Link,
    Monitor,
    NamespaceGoneError,
    Rtnl,
    find_link,
    list_links,
    open_netns,
)
from netclaim.kernel.address_copies import give_back
from netclaim.kernel.link_requests import set_link
from netclaim.kernel.netns import OWN_NETNS
from netclaim.plugins.lent_identity import find_lent, is_lent
from netclaim.plugins.lent_links import LentLink, LentLinks
from netclaim.plugins.pod import Pod, open_pod

__all__ = ["bring_home"]

RETURN_S: Final = 1.0  # the kernel returns hardware when it gets round to ending a namespace

log = structlog.get_logger(__name__)


async def bring_home(netns: str, key: AttachmentKey, lents: LentLinks) -> None:
    """Return the link that an attachment has, if it has one. Again: finds nothing to do."""
    lent = lents.find(key)
    gone = not await _move_out(netns, key.ifname, lent)
    if lent is not None:
        with Rtnl.open() as host:
            patience_s = RETURN_S if gone and lent.hardware else 0
            link = await _wait_home(host, lent, patience_s)
            if link is not None:
                await _restore(host, link, lent)
            elif lent.hardware:  # garbage collection tries again
                log.warning("plugins.link_not_home", name=lent.name, container=key.container_id)
                return
    lents.drop(key)


async def _move_out(netns: str, ifname: str, lent: LentLink | None) -> bool:
    """Move the link out of the container, if it is there; says whether the container is."""
    if not netns:
        return False
    try:
        with open_pod(netns) as pod:
            link = await _find_inside(pod, ifname, lent)
            if link is not None:
                name = lent.name if lent else link.alias
                alias = None if lent else ""  # by the alias it is known until it is whole again
                with open_netns(OWN_NETNS) as home:
                    await pod.rtnl.call_slow(
                        set_link(link.index, netns_fd=home.fd, name=name, alias=alias)
                    )
    except NamespaceGoneError:
        return False
    return True


async def _find_inside(pod: Pod, ifname: str, lent: LentLink | None) -> Link | None:
    """Find the link in the container: by its name there, or by its old one if it still has that.

    Under any other name hardware is found by the address it was made with.
    """
    if lent is None:
        link = await find_link(pod.rtnl, ifname)
        sound = link is not None and not link.kind and _can_be_named(link.alias)
        return link if sound else None
    for name in (ifname, lent.name):
        link = await find_link(pod.rtnl, name)
        if link is not None and is_lent(link, lent):
            return link
    return find_lent(await list_links(pod.rtnl), lent) if lent.perm_mac else None


async def _wait_home(host: Rtnl, lent: LentLink, patience_s: float) -> Link | None:
    link = await _find_home(host, lent)
    if link is not None or not patience_s:
        return link
    try:
        async with asyncio.timeout(patience_s):
            with Monitor() as monitor:
                async for _ in monitor:
                    link = await _find_home(host, lent)
                    if link is not None:
                        return link
    except TimeoutError:
        pass
    return None


async def _find_home(host: Rtnl, lent: LentLink) -> Link | None:
    """Find the link on the host, by its name, or by what else tells it if the kernel brought it."""
    link = await find_link(host, lent.name)
    if link is not None:
        return link if is_lent(link, lent) else None
    return find_lent(await list_links(host), lent)


def _can_be_named(alias: str) -> bool:
    try:
        check_ifname(alias)
    except RequestError:
        return False
    return True


async def _restore(host: Rtnl, link: Link, lent: LentLink) -> None:
    if link.name != lent.name:
        # Older kernels rename a link only while it is off.
        off, rename = set_link(link.index, up=False), set_link(link.index, name=lent.name)
        await host.batch([off, rename])
    await host.call(
        set_link(
            link.index,
            mac=lent.mac if lent.mac != link.mac else "",
            mtu=lent.mtu if lent.mtu != link.mtu else None,
            up=lent.up,
        )
    )
    await host.batch([give_back(link.index, address) for address in lent.addresses])
    await host.call(set_link(link.index, alias=lent.alias))
