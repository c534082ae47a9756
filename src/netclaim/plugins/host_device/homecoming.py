"""Return a lent link to the host, as it was.

Promise: name, addresses, MAC, MTU, whether it was up, and its routes, neighbours, queue, sysctls
and card settings are the old ones, and so is what its card was asked for if it is a virtual
function, also when the process that lent it has died since, the namespace is gone, or half of this
was done before. What a container did to the link does not
outlast the loan. A link that is not the lent one is left alone. As long as the link may still come,
DEL fails and is to be asked again. One that is not hardware ends with its namespace, and the link
of hardware with its kernel driver: what a driver makes later is a new one. What its card was asked
for is put back in any case.
Limit: that of `kernel.state.copies.belongings`. A link that another program lent has only its name,
in its alias; it is returned if it is hardware, since a container can make any other itself.
"""

import asyncio
import errno
from typing import Final

import msgspec
import structlog

from netclaim.cni import AttachmentKey
from netclaim.cni.call import check_ifname
from netclaim.cni.errors import TRY_AGAIN
from netclaim.errors import RequestError
from netclaim.kernel import (
    KernelError,
    Link,
    Monitor,
    NamespaceGoneError,
    Netns,
    Rtnl,
    find_link,
    find_link_at,
    list_links,
    open_netns,
)
from netclaim.kernel.host.netns import OWN_NETNS
from netclaim.kernel.requests.links import set_link
from netclaim.kernel.state.copies.address_copies import give_back, still_there
from netclaim.kernel.state.copies.belongings import give_belongings_back, settle_card
from netclaim.kernel.state.copies.link_copies import (
    TakenSettings,
    give_altnames_back,
    give_settings_back,
    remove_altnames,
    take_settings,
    wake_link,
)
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.pod import Pod, open_pod, random_name
from netclaim.plugins.host_device.following import leave
from netclaim.plugins.host_device.handed_over import Programs
from netclaim.plugins.host_device.lent_function import (
    give_mac,
    lent_function,
    put_back,
    put_mac_back,
)
from netclaim.plugins.host_device.lent_identity import find_lent, is_lent, may_be_lent
from netclaim.plugins.host_device.lent_links import LentLink, LentLinks
from netclaim.plugins.host_device.rdma import make_rdma_again, return_rdma

RETURN_S: Final = 1.0  # the kernel returns hardware when it gets round to ending a namespace
MOVE_TRIES: Final = 3  # once under its name, once under a passing one, once for who interferes
WAITING: Final = frozenset({"dormant", "testing"})  # operational states that a user can set

log = structlog.get_logger(__name__)


async def bring_home(netns: str, key: AttachmentKey, lents: LentLinks, programs: Programs) -> None:
    """Bring back the link that an attachment has, if it has one; may be repeated.

    Raises PluginError, to be asked again, while the link may still come home.
    """
    lent = lents.find(key)
    if lent is not None and lent.vfio is not None:
        await programs.take_back(lent.name, lent.vfio)
        there = False  # whatever container there is never had the link
    else:
        there = await _move_out(netns, key.ifname, lent)
    if lent is not None:
        with Rtnl.open() as host:
            patience_s = RETURN_S if lent.hardware and not there else 0
            link = await _wait_home(host, lent, patience_s)
            if link is not None:
                await _restore(host, link, lent)
            elif lent.ended:
                await _settle_ended(host, lent)
            elif there or lent.hardware:
                where = "hidden or removed in the container" if there else "not back yet"
                raise PluginError(f"the link {lent.name} is {where}", code=TRY_AGAIN)
    lents.drop(key)


async def _move_out(netns: str, ifname: str, lent: LentLink | None) -> bool:
    """Move the link out of the container, if it is there; says whether the container is."""
    if not netns:
        return False
    try:
        with open_pod(netns) as pod, open_netns(OWN_NETNS) as home:
            if lent is None:
                await _move_unknown(pod, ifname, home)
            else:
                await leave(pod, lent)
                await return_rdma(lent.rdma, pod.netns, home)
                await _move_lent(pod, lent, home)
    except NamespaceGoneError:
        return False
    return True


async def _move_unknown(pod: Pod, ifname: str, home: Netns) -> None:
    """Move what another program lent."""
    link = await find_link(pod.rtnl, ifname)
    if link is not None and not link.kind and _can_be_named(link.alias):
        back = set_link(link.index, netns_fd=home.fd, name=link.alias, alias="")
        await pod.rtnl.call_slow(back)


async def _move_lent(pod: Pod, lent: LentLink, home: Netns) -> None:
    """Move the link by what it is known by at home, whatever it was called and given meanwhile."""
    link = await _find_inside(pod, lent)
    if link is None:
        return
    for tries_left in reversed(range(MOVE_TRIES)):
        await _take_names_off(pod.rtnl, link.index, lent)
        # By the alias it is known until it is whole again.
        await pod.rtnl.call(set_link(link.index, alias=lent.name))
        try:
            await pod.rtnl.call_slow(set_link(link.index, netns_fd=home.fd, name=lent.name))
        except KernelError as error:
            if error.errno != errno.EEXIST:
                raise
            # The kernel moves first; it is here still if its name in here is taken at home too.
            if await find_link_at(pod.rtnl, link.index) is None:
                return
            if not tries_left:
                raise
            off, rename = set_link(link.index, up=False), set_link(link.index, name=random_name())
            await pod.rtnl.batch([off, rename])
        else:
            return


async def _find_inside(pod: Pod, lent: LentLink) -> Link | None:
    """Find the link in the container: by its index there, by a name it had, or by other marks.

    A container can change all but the index; that counts only in the namespace it was read in.
    """
    if lent.index and lent.netns_cookie and lent.netns_cookie == pod.rtnl.netns_cookie():
        link = await find_link_at(pod.rtnl, lent.index)
        if link is not None and may_be_lent(link, lent):
            return link
    for name in (lent.ifname, lent.name):
        link = await find_link(pod.rtnl, name)
        if link is not None and is_lent(link, lent):
            return link
    return find_lent(await list_links(pod.rtnl), lent)


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
    """Find the link on the host, by its name, or by other marks if another link has that name."""
    link = await find_link(host, lent.name)
    if link is not None and is_lent(link, lent):
        return link
    return find_lent(await list_links(host), lent)


def _can_be_named(alias: str) -> bool:
    try:
        check_ifname(alias)
    except RequestError:
        return False
    return True


async def _settle_ended(host: Rtnl, lent: LentLink) -> None:
    """Put back what outlasts the link: what its card was asked for, for the next that has it."""
    if lent.unplugged:
        log.warning("plugins.link_unplugged", name=lent.name, device=lent.device)
    else:
        log.warning("plugins.link_ended", name=lent.name, device=lent.device)
    owed = [] if lent.function is None else await put_back(host, lent.function)
    if owed:
        what = "; ".join(owed)
        raise PluginError(f"the card of {lent.name} is not as it was: {what}", code=TRY_AGAIN)


async def _restore(host: Rtnl, link: Link, lent: LentLink) -> None:
    await _take_names_off(host, link.index, lent)
    if link.name != lent.name:
        await _rename(host, link, lent.name)
    if lent.settings is not None:
        await _give_settings_back(host, link, lent.settings)
    now = msgspec.structs.replace(link, name=lent.name)
    failed = [] if lent.belongings is None else await settle_card(host, now, lent.belongings)
    if lent.function is not None:
        await put_mac_back(host, lent.function)
    owed = [] if lent.mac == link.mac else await _give_mac_back(host, link, lent)
    if lent.function is not None:
        owed += await put_back(host, lent.function)
    mtu = lent.mtu if lent.mtu != link.mtu else None
    await host.call(set_link(link.index, mtu=mtu, up=lent.up))
    await host.batch([give_back(link.index, address) for address in still_there(lent.addresses)])
    if lent.belongings is not None:
        failed += await give_belongings_back(host, now, lent.belongings)
    await make_rdma_again(lent.rdma_ended, lent.name)
    if failed:  # it shall be home all the same
        log.warning("plugins.link_not_as_it_was", name=lent.name, error="; ".join(failed))
    await host.call(set_link(link.index, alias=lent.alias))
    if owed:  # the next to have it must not get it like this
        what = "; ".join(owed)
        raise PluginError(f"the link {lent.name} is not as it was: {what}", code=TRY_AGAIN)


async def _give_mac_back(host: Rtnl, link: Link, lent: LentLink) -> list[str]:
    """Give the link its MAC; returns what is wrong with the one that it has in the end."""
    has = await give_mac(host, link.index, lent.mac)
    if has == lent.mac:
        return []
    # Without a record of its card, nobody else than the function has changed anything.
    function = lent.function or await lent_function(host, lent.device)
    if function is not None and function.before.mac == has:  # the card insists on it, as before
        log.warning("plugins.link_not_as_it_was", name=lent.name, error=f"its MAC is {has}")
        return []
    return [f"it does not take its MAC {lent.mac}"]


async def _give_settings_back(host: Rtnl, link: Link, before: TakenSettings) -> None:
    """Set what the container has changed, as far as the link takes it."""
    now = await take_settings(host, link.index)
    requests = give_settings_back(link.index, now, before)
    requests += give_altnames_back(link.index, now, before)
    if link.oper_state in WAITING and not before.waits_for_user:
        requests.append(wake_link(link.index))
    for request in requests:
        try:
            await host.call(request)
        except KernelError as error:  # it shall be home all the same
            log.warning("plugins.link_not_as_it_was", name=link.name, error=str(error))


async def _take_names_off(rtnl: Rtnl, index: int, lent: LentLink) -> None:
    """Remove the alternative names that the container gave the link.

    Each keeps any other link from having that name, and everybody finds this one by it.
    """
    if lent.settings is not None:
        now = await take_settings(rtnl, index)
        await rtnl.batch(remove_altnames(index, now, lent.settings))


async def _rename(host: Rtnl, link: Link, name: str) -> None:
    await host.call(set_link(link.index, up=False))  # older kernels want it off
    try:
        await host.call(set_link(link.index, name=name))
    except KernelError as error:
        if error.errno != errno.EEXIST:
            raise
        message = f"the link {name} has returned as {link.name}: another link has taken its name"
        raise PluginError(message, code=TRY_AGAIN) from error
