"""What the node has on a link beside its addresses: routes, neighbours, a queue, settings.

All of it is lost, or a pod's, when the link goes into a pod. Promise: what was taken is given back
as bytes, in an order in which the kernel takes it; what somebody has put in its place meanwhile is
left alone, and what the kernel refuses is reported, not raised.
Limit: not what comes by itself (the kernel's own routes, those that routers announce); of queues
those without classes; no filters.
"""

import errno
from collections.abc import Iterable
from typing import Final

import msgspec

from netclaim.kernel.host.sysctls.link_sysctls import read_link_sysctls, write_link_sysctls
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.client import Rtnl
from netclaim.kernel.netlink.codec import KernelError, Message, Request, attribute, attributes
from netclaim.kernel.requests.neighbours import FAMILIES, NDMSG, dump_neighbours
from netclaim.kernel.requests.traffic import TCMSG, dump_qdiscs
from netclaim.kernel.state.card.card_settings import CardSettings, read_card, write_card
from netclaim.kernel.state.copies.path_copies import KeptPaths, paths_over
from netclaim.kernel.state.copies.route_copies import KeptRoute, take_routes
from netclaim.kernel.state.links import Link
from netclaim.kernel.state.routes import route_messages
from netclaim.kernel.state.xdp import read_programs, remove_programs

# Who makes routes that come again by themselves: the kernel, a redirect, a router's announcement.
OF_ITSELF: Final = frozenset({uapi.RTPROT_REDIRECT, uapi.RTPROT_KERNEL, uapi.RTPROT_RA})
NEIGHBOUR_PARTS: Final = frozenset({uapi.NDA_DST, uapi.NDA_LLADDR, uapi.NDA_FLAGS_EXT})
QUEUE_PARTS: Final = frozenset({uapi.TCA_KIND, uapi.TCA_OPTIONS})
MADE_BY_HAND: Final = 0xFFFF0000  # of a queue's handle: 0 for those that the kernel chose


class TakenNeighbour(msgspec.Struct, frozen=True):
    """A neighbour as bytes."""

    family: int
    flags: int
    parts: tuple[tuple[int, bytes], ...]

    def give_back(self, index: int) -> Request:
        """Enter it for a link again, unless there is one by now."""
        fixed = NDMSG.pack(self.family, index, uapi.NUD_PERMANENT, self.flags, 0)
        payload = fixed + b"".join(attribute(kind, value) for kind, value in self.parts)
        flags = uapi.NLM_F_CREATE | uapi.NLM_F_EXCL
        return Request(uapi.RTM_NEWNEIGH, payload, "give a neighbour back", flags)


class TakenQueue(msgspec.Struct, frozen=True):
    """A queueing discipline as bytes."""

    handle: int
    parent: int
    parts: tuple[tuple[int, bytes], ...]

    def give_back(self, index: int) -> Request:
        """Put it where it was, in place of what the kernel chose."""
        payload = TCMSG.pack(0, index, self.handle, self.parent, 0)
        payload += b"".join(attribute(kind, value) for kind, value in self.parts)
        flags = uapi.NLM_F_CREATE | uapi.NLM_F_REPLACE
        return Request(uapi.RTM_NEWQDISC, payload, f"give link {index} its queue back", flags)


class Belongings(msgspec.Struct, frozen=True):
    """What the node had on a link."""

    sysctls: dict[str, str] = {}
    card: CardSettings = CardSettings()
    programs: dict[int, int] = {}  # XDP, by how they are attached
    queues: tuple[TakenQueue, ...] = ()
    neighbours: tuple[TakenNeighbour, ...] = ()
    routes: tuple[KeptRoute, ...] = ()
    paths: tuple[KeptPaths, ...] = ()  # routes over this link and others


async def take_belongings(rtnl: Rtnl, link: Link) -> Belongings:
    """Read what there is on a link of the calling thread's namespace."""
    found = await take_routes(rtnl, link.index, uapi.RT_TABLE_UNSPEC)
    kept = [route.kept() for route in found if route.table != uapi.RT_TABLE_LOCAL]
    routes = [route for route in kept if route.protocol not in OF_ITSELF]
    # A gateway has to be reached by another route when its own is entered.
    routes.sort(key=lambda route: route.has_gateway)
    return Belongings(
        sysctls=read_link_sysctls(link.name),
        card=read_card(rtnl, link.name),
        programs=await read_programs(rtnl, link.index),
        queues=tuple(_queues(await rtnl.dump(dump_qdiscs()), link.index)),
        neighbours=await _take_neighbours(rtnl, link.index),
        routes=tuple(routes),
        paths=tuple(paths_over(await route_messages(rtnl, uapi.RT_TABLE_UNSPEC), link.index)),
    )


async def settle_card(rtnl: Rtnl, link: Link, before: Belongings) -> list[str]:
    """Set sysctls and the card as they were, of a link that may be down; says what failed."""
    failed = write_link_sysctls(link.name, before.sysctls)
    failed += await remove_programs(rtnl, link.index, before.programs)
    return failed + write_card(rtnl, link.name, before.card)


async def give_belongings_back(rtnl: Rtnl, link: Link, before: Belongings) -> list[str]:
    """Give a link its queue, neighbours and routes; it has its addresses. Says what failed.

    Routes need a link that is up.
    """
    requests = [queue.give_back(link.index) for queue in before.queues]
    requests += [neighbour.give_back(link.index) for neighbour in before.neighbours]
    requests += [route.enter_over(link.index) for route in before.routes]
    requests += [request for paths in before.paths for request in paths.enter_over(link.index)]
    failed = []
    for request in requests:
        try:
            await rtnl.call(request)
        except KernelError as error:
            if error.errno != errno.EEXIST:
                failed.append(str(error))
    return failed


async def _take_neighbours(rtnl: Rtnl, index: int) -> tuple[TakenNeighbour, ...]:
    messages = [
        message
        for family in FAMILIES
        for proxies in (False, True)
        for message in await rtnl.dump(dump_neighbours(family, index, proxies=proxies))
    ]
    found = []
    for message in messages:
        family, of_link, state, flags, _ = NDMSG.unpack_from(message.payload)
        if of_link == index and (state & uapi.NUD_PERMANENT or flags & uapi.NTF_PROXY):
            parts = attributes(message.payload, NDMSG.size)
            kept = tuple(part for part in parts if part[0] in NEIGHBOUR_PARTS)
            found.append(TakenNeighbour(family, flags, kept))
    return tuple(found)


def _queues(messages: Iterable[Message], index: int) -> Iterable[TakenQueue]:
    for message in messages:
        _, of_link, handle, parent, _ = TCMSG.unpack_from(message.payload)
        if of_link == index and handle & MADE_BY_HAND:
            parts = attributes(message.payload, TCMSG.size)
            kept = tuple(part for part in parts if part[0] in QUEUE_PARTS)
            yield TakenQueue(handle, parent, kept)
