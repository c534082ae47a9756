"""The node's links as they are now: which there are, which are offered, what each one is.

Promise: one snapshot is read in one go and does not change. Limit: looks at the namespace of the
calling thread, which must be the node's.
"""

import asyncio
import ipaddress
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from netclaim.kernel import (
    Address,
    Link,
    Rtnl,
    find_link,
    list_addresses,
    list_links,
    list_routes,
    open_netns,
    read_facts,
    uapi,
)
from netclaim.kernel.link_requests import set_link
from netclaim.kernel.sysfs import vf_count
from netclaim.model import Device
from netclaim.model.node import NodeFacts
from netclaim.network.carry import carriers, node_networks
from netclaim.network.device import device_of
from netclaim.network.last_speeds import LastSpeeds
from netclaim.network.made_bridges import MadeBridges
from netclaim.network.pod_namespaces import PodNamespaces
from netclaim.network.withhold import NodeView, withheld, withheld_by_name

__all__ = ["Network", "NodeLinks", "Snapshot"]

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the kernel said at one moment."""

    links: tuple[Link, ...]
    addresses: tuple[Address, ...]
    uplinks: tuple[int, ...]  # indices of the links that a default route leads over, best first
    withheld: Mapping[int, str]  # index and reason of those that are not offered
    carriers: Mapping[int, str]  # index and reason of those that the node depends on
    node_networks: tuple[Network, ...] = ()  # where the node lives, on the links that carry it
    with_vfs: frozenset[int] = frozenset()  # indices of cards whose functions are in use
    by_name: frozenset[int] = frozenset()  # of `withheld`, those for which a name is the reason
    speeds: LastSpeeds = field(default_factory=LastSpeeds, compare=False)

    @property
    def offered(self) -> tuple[Link, ...]:
        """The links that pods may have, in the order of their indices."""
        there = sorted(self.links, key=lambda link: link.index)
        return tuple(link for link in there if link.index not in self.withheld)

    @property
    def named(self) -> tuple[Link, ...]:
        """The links that are withheld for their name alone."""
        return tuple(link for link in self.links if link.index in self.by_name)

    @property
    def default(self) -> Link | None:
        """The link that the node's default route leads over, the first where there are several."""
        return next((link for link in self.links if link.index in self.uplinks[:1]), None)

    def addresses_of(self, link: Link) -> frozenset[str]:
        """The addresses that the node has on a link."""
        return frozenset(each.ip for each in self.addresses if each.index == link.index)

    async def describe(self, links: Iterable[Link]) -> tuple[Device, ...]:
        """Links as devices. Sysfs is read in a thread: a card's files can take milliseconds."""
        return await asyncio.to_thread(lambda: tuple(map(self._describe, links)))

    def _describe(self, link: Link) -> Device:
        facts = self.speeds.filled_in(link, read_facts(link.name, link.index))
        uplink = link.index in self.uplinks
        return device_of(link, self.addresses, facts, default_route=uplink)


async def _with_vfs(links: Iterable[Link]) -> frozenset[int]:
    """The cards with virtual functions. In a thread: a card that is being reset answers late."""
    cards = [link for link in links if not link.kind and not link.loopback]
    if not cards:
        return frozenset()
    counts = await asyncio.to_thread(lambda: [vf_count(link.name) for link in cards])
    return frozenset(link.index for link, count in zip(cards, counts, strict=True) if count)


class NodeLinks:
    """Looks at the links of the node, and at those of a pod."""

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

    def learn_node(self, node: NodeFacts) -> None:
        """Know the node's addresses from now on. Again: those."""
        self._node = node

    async def snapshot(self) -> Snapshot:
        """Look at all links of the node."""
        with Rtnl.open() as rtnl:
            links = await list_links(rtnl)
            addresses = await list_addresses(rtnl)
            routes = await list_routes(rtnl, uapi.RT_TABLE_UNSPEC)
            # After the list: the kernel gives namespaces their numbers when it describes a link.
            pods = await self._pods.numbers(rtnl)
        carrying = carriers(links, addresses, routes, self._node)
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
            with_vfs=await _with_vfs(links),
            speeds=self._speeds,
        )

    async def has(self, name: str) -> bool:
        """Whether the node has a link of this name."""
        with Rtnl.open() as rtnl:
            return await find_link(rtnl, name) is not None

    async def restore(self, name: str, *, up: bool) -> None:
        """Make a link that came home from a pod what it was: its name, and whether it was up.

        Our own plugin has done both. Another brings it back under its name, but switched off; and
        where the namespace ended first, the kernel returns hardware under the name it had in the
        pod, with the old one in the alias. Again: no change.
        """
        with Rtnl.open() as rtnl:
            links = await list_links(rtnl)
            link = next((link for link in links if link.name == name), None)
            if link is None and self._trust_alias:
                link = next((link for link in links if link.alias == name), None)
                if link is not None:
                    # Older kernels rename a link only while it is off.
                    off, rename = set_link(link.index, up=False), set_link(link.index, name=name)
                    await rtnl.batch([off, rename, set_link(link.index, alias="", up=up)])
            elif link is not None and up and not link.up:
                await rtnl.call(set_link(link.index, up=True))

    async def pod_has(self, netns: str, name: str, mac: str = "") -> bool:
        """Whether a pod has a link of this name, or one that it renamed: of this address."""
        with open_netns(netns) as opened, Rtnl.open(opened) as rtnl:
            if await find_link(rtnl, name) is not None:
                return True
            if not mac:
                return False
            return any(link.mac == mac.lower() for link in await list_links(rtnl))
