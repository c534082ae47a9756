"""The node's links as they are now: which there are, which are offered, what each one is.

Promise: one snapshot does not change; it is never older than the question, but for what the kernel
announces to nobody: how many cards have functions is known of the last second, what else is in
sysfs and what `live_links` lists is of the last minute.
Limit: looks at the namespace of the calling thread, which must be the node's.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from netclaim.errors import NetclaimError
from netclaim.kernel import (
    Address,
    Link,
    Rtnl,
    find_link,
    list_addresses,
    list_links,
    list_routes,
    open_netns,
)
from netclaim.kernel.host.hardware.sysfs import vf_count
from netclaim.kernel.netlink import uapi
from netclaim.kernel.requests.ip import Network
from netclaim.kernel.requests.links import set_link
from netclaim.model import Device
from netclaim.model.on_node.node import NodeFacts
from netclaim.network.links.carrier.last_speeds import LastSpeeds
from netclaim.network.links.node.described import Described
from netclaim.network.links.node.live_links import LiveLinks, Own
from netclaim.network.links.node.pod_namespaces import PodNamespaces
from netclaim.network.links.node_dependencies import carriers, node_networks, node_peers, used
from netclaim.network.links.remembered.made_bridges import MadeBridges
from netclaim.network.links.withhold import INTO_POD, NOWHERE, NodeView, withheld, withheld_by_name

VFS_S: Final = 1.0  # between two counts of cards' functions, which nobody announces
BESIDE: Final = frozenset({"macvlan", "macvtap", "ipvlan", "ipvtap"})  # on the same segment


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the kernel said at one moment."""

    links: tuple[Link, ...]
    addresses: tuple[Address, ...]
    uplinks: tuple[int, ...]  # indices of the links that a default route leads over, best first
    withheld: Mapping[int, str]  # index and reason of those that are not offered
    carriers: Mapping[int, str]  # index and reason of those that the node depends on
    node_networks: tuple[Network, ...] = ()  # where the node lives, on the links that carry it
    node_peers: frozenset[str] = frozenset()  # whom the node talks to, on all links that it uses
    used: Mapping[int, str] = field(default_factory=dict)  # index and reason: the node uses them
    with_vfs: frozenset[int] = frozenset()  # indices of cards whose functions are in use
    by_name: frozenset[int] = frozenset()  # of `withheld`, those for which a name is the reason
    described: Described = field(default_factory=lambda: Described(LastSpeeds()), compare=False)

    @property
    def offered(self) -> tuple[Link, ...]:
        """The links that pods may have, in the order of their indices."""
        there = sorted(self.links, key=lambda link: link.index)
        return tuple(link for link in there if link.index not in self.withheld)

    @property
    def ground(self) -> frozenset[int]:
        """The indices of the links that something of a pod can stand on, offered or not.

        Those that come and go with pods are not among them.
        """
        away = {INTO_POD, NOWHERE}
        there = (link.index for link in self.links)
        return frozenset(index for index in there if self.withheld.get(index) not in away)

    @property
    def named(self) -> tuple[Link, ...]:
        """The links that are withheld for their name alone."""
        return tuple(link for link in self.links if link.index in self.by_name)

    @property
    def default(self) -> Link | None:
        """The link that the node's default route leads over, the first where there are several."""
        return next((link for link in self.links if link.index in self.uplinks[:1]), None)

    def addresses_of(self, link: Link) -> frozenset[str]:
        """The addresses that the node has where a link leads: on it, beside it or above it."""
        there = self._where(link)
        return frozenset(each.ip for each in self.addresses if each.index in there)

    def peers_of(self, link: Link) -> frozenset[str]:
        """Whom the node talks to, if it talks to anybody where a link leads."""
        uses = link.index in self.carriers or not self._where(link).isdisjoint(self.used)
        return self.node_peers if uses else frozenset()

    def _where(self, link: Link) -> frozenset[int]:
        """The links on a link's segment: itself, its master, and those beside the node's own."""
        return frozenset({link.index, link.master_index}) | {
            each.index
            for each in self.links
            if each.parent_index == link.index and each.parent_nsid is None and each.kind in BESIDE
        }

    async def describe(self, links: Iterable[Link]) -> tuple[Device, ...]:
        """Links as devices."""
        return await self.described.describe(links, self.addresses, self.uplinks)


NOTHING_SEEN: Final = Snapshot((), (), (), {}, {})
"""For plans that do not depend on what the node has."""


async def _with_vfs(links: Iterable[Link]) -> frozenset[int]:
    """The cards with virtual functions. In a thread: a card that is being reset answers late."""
    cards = [link for link in links if not link.kind and not link.loopback]
    if not cards:
        return frozenset()
    counts = await asyncio.to_thread(lambda: [vf_count(link.name) for link in cards])
    return frozenset(link.index for link, count in zip(cards, counts, strict=True) if count)


class NodeLinks:
    """The links of the node, and those of a pod, as the kernel lists them."""

    def __init__(
        self,
        pods: PodNamespaces,
        pod_networks: Callable[[], tuple[Network, ...]],
        made: MadeBridges,
        *,
        trust_alias: bool = False,
    ) -> None:
        """Look, and with `trust_alias` find a link that came home by itself by its alias.

        A pod can write any alias, so that is for a host-device that remembers in no other way.
        """
        self._pods = pods
        self._trust_alias = trust_alias
        self._pod_networks = pod_networks
        self._made = made
        self._node = NodeFacts()
        self._speeds = LastSpeeds()
        self._looking = asyncio.Lock()
        self._asked = 0  # how often
        self._covered = 0  # how many of these had asked when the last look began
        self._last = NOTHING_SEEN
        self._live: _Followed | None = None

    def learn_node(self, node: NodeFacts) -> None:
        """Replace what is known of the node's addresses."""
        self._node = node

    @contextmanager
    def following(self) -> Iterator[LiveLinks]:
        """Follow the kernel's announcements meanwhile, so that a look costs next to nothing.

        Yields what says when to look again.
        """
        with LiveLinks(self._pods) as live:
            self._live = _Followed(live, Described(self._speeds))
            try:
                yield live
            finally:
                self._live = None

    async def snapshot(self) -> Snapshot:
        """Look at all links of the node.

        While nobody follows them, those who ask while somebody looks share the next look: each
        takes 15 ms of processor time on a node with 110 links and 500 routes.
        """
        followed = self._live
        if followed is not None:
            try:
                return await self._look_at(followed)
            except NetclaimError:
                if self._live is followed:
                    raise
            # It has ended meanwhile, since discovery failed; that is nobody else's failure.
        self._asked += 1
        mine = self._asked
        async with self._looking:
            if mine > self._covered:
                await asyncio.sleep(0)  # for those who are about to ask
                covered = self._asked
                self._last = await self._look()
                self._covered = covered
            return self._last

    async def _look_at(self, followed: "_Followed") -> Snapshot:
        """Look at links that are followed: what has not changed is not worked out again."""
        seen = await followed.live.look()
        followed.forget_touched()
        # A pod's link is among the node's own where the node routes over it.
        pods = self._pods.known & {link.parent_nsid for link in seen.own.links}
        made_of = (seen.own, self._node, self._pod_networks(), self._made.names(), pods)
        due = time.monotonic() - followed.vfs_s > VFS_S
        if due or made_of != followed.made_of:
            with_vfs = await _with_vfs(seen.own.links)
            followed.vfs_s = time.monotonic()
        else:
            with_vfs = followed.own.with_vfs
        if made_of != followed.made_of:
            own = self._snapshot(seen.own, pods, followed.described)
            followed.own, followed.made_of = replace(own, with_vfs=with_vfs), made_of
        elif with_vfs != followed.own.with_vfs:
            followed.own = replace(followed.own, with_vfs=with_vfs)
        return followed.with_pods(seen.into_pods)

    async def _look(self) -> Snapshot:
        with Rtnl.open() as rtnl:
            links = await list_links(rtnl)
            addresses = await list_addresses(rtnl)
            routes = await list_routes(rtnl, uapi.RT_TABLE_UNSPEC)
            # After the list: the kernel gives namespaces their numbers when it describes a link.
            pods = await self._pods.numbers(rtnl)
        seen = self._snapshot(Own(links, addresses, routes), pods, Described(self._speeds))
        return replace(seen, with_vfs=await _with_vfs(links))

    def _snapshot(self, seen: Own, pods: frozenset[int], described: Described) -> Snapshot:
        """Work out what follows from what the kernel said; not which cards have functions."""
        links, addresses, routes = seen.links, seen.addresses, seen.routes
        carrying = carriers(links, addresses, routes, self._node)
        in_use = used(addresses, routes)
        view = NodeView(pods, self._pod_networks(), self._made.names())
        return Snapshot(
            links=links,
            addresses=addresses,
            uplinks=tuple(
                route.index
                for route in routes
                if route.default and route.index and route.table == uapi.RT_TABLE_MAIN
            ),
            withheld=withheld(links, addresses, view),
            by_name=withheld_by_name(links, addresses, view),
            carriers=carrying,
            node_networks=node_networks(carrying, addresses, routes, self._node),
            node_peers=node_peers({*carrying, *in_use}, routes, self._node),
            used=in_use,
            described=described,
        )

    async def has(self, name: str) -> bool:
        """Whether the node has a link of this name."""
        with Rtnl.open() as rtnl:
            return await find_link(rtnl, name) is not None

    async def restore(self, name: str, *, up: bool) -> None:
        """Make a link that came home from a pod what it was: its name, and whether it was up.

        Our own plugin has done both. Another brings it back under its name, but switched off; and
        where the namespace ended first, the kernel returns hardware under the name it had in the
        pod, with the old one in the alias. May be repeated.
        """
        with Rtnl.open() as rtnl:
            link = await find_link(rtnl, name)
            if link is None and self._trust_alias:
                links = await list_links(rtnl)
                link = next((link for link in links if link.alias == name), None)
                if link is not None:
                    # Older kernels rename a link only while it is off.
                    off, rename = set_link(link.index, up=False), set_link(link.index, name=name)
                    await rtnl.batch([off, rename, set_link(link.index, alias="", up=up)])
            elif link is not None and up and not link.up:
                await rtnl.call(set_link(link.index, up=True))

    async def pod_has(self, netns: str, name: str, mac: str = "") -> bool:
        """Whether a pod has a link of this name, or with this address if the pod renamed it."""
        with open_netns(netns) as opened, Rtnl.open(opened) as rtnl:
            if await find_link(rtnl, name) is not None:
                return True
            if not mac:
                return False
            return any(link.mac == mac.lower() for link in await list_links(rtnl))


class _Followed:
    """Links that are followed, and what was last worked out about them."""

    def __init__(self, live: LiveLinks, described: Described) -> None:
        self.live = live
        self.described = described
        self.own = NOTHING_SEEN
        self.made_of: tuple[object, ...] = ()  # what `own` follows from
        self.vfs_s = float("-inf")  # when the functions were last counted
        self._whole: tuple[Snapshot, tuple[Link, ...], Snapshot] | None = None

    def forget_touched(self) -> None:
        """Have the facts read again of links that were announced, and of cards with functions.

        A card is not announced when its functions become more or fewer; they are.
        """
        touched, self.live.touched = self.live.touched, set()
        if self.live.listed:
            self.live.listed = False
            self.described.forget_all()
        elif touched:
            for index in touched | self.own.with_vfs:
                self.described.forget(index)

    def with_pods(self, into_pods: tuple[Link, ...]) -> Snapshot:
        """Add the links into pods, which nobody can have."""
        if self._whole is None or self._whole[0] is not self.own or self._whole[1] != into_pods:
            reasons = {
                link.index: NOWHERE if link.parent_nsid is None else INTO_POD for link in into_pods
            }
            whole = replace(
                self.own,
                links=(*self.own.links, *into_pods),
                withheld={**self.own.withheld, **reasons},
            )
            self._whole = (self.own, into_pods, whole)
        return self._whole[2]
