"""The node's links, addresses and routes, kept by what the kernel announces.

Most of what a node's kernel announces is about pods: each start and end makes and removes a link
into a pod, with addresses and routes of its own. None of that can be offered or used by a claim, so
it is set apart and costs little, however many pods there are; unless the node itself sends its
traffic there.
Promise: a look sees every change that was made before it began, since the kernel announces a change
before its author hears of it. `Seen.own` is the same object for as long as nothing but links
into pods has changed. What the kernel announces to nobody is seen within a minute: the alias,
alternative names and carrier of a link that is down, and a peer that moves on in other namespaces.
Limit: one loop; looks at the namespace of the calling thread, which must be the node's.
"""

import asyncio
import errno
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Final, Self

from netclaim.kernel import (
    Address,
    KernelError,
    Link,
    Monitor,
    Route,
    Rtnl,
    find_link_at,
    list_addresses,
    list_links,
    list_routes,
)
from netclaim.kernel.host.closing import Closing
from netclaim.kernel.netlink import uapi
from netclaim.kernel.state.changes.monitor import (
    AddressChanged,
    AddressGone,
    Event,
    LinkChanged,
    LinkGone,
    NamespaceGone,
    Resync,
)
from netclaim.kernel.state.changes.route_changes import RouteChanges
from netclaim.network.links.node.pod_namespaces import PodNamespaces
from netclaim.network.links.withhold import PAIRS, leads_away

# After announcements about pods alone. A pod can change its link thousands of times a second; what
# comes within the pause is taken over together, or dropped by the kernel and listed.
PAUSE_S: Final = 0.05
LIST_S: Final = 60.0  # everything is listed anew, for what nobody announced


@dataclass(frozen=True, slots=True)
class Own:
    """What the node has besides its links into pods."""

    links: tuple[Link, ...]  # in the order of their indices
    addresses: tuple[Address, ...]
    routes: tuple[Route, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """The node at one moment."""

    own: Own
    into_pods: tuple[Link, ...]


NOTHING: Final = Seen(Own((), (), ()), ())


class LiveLinks(Closing, AsyncIterator[None]):
    """Follows one namespace; as an iterator, it yields whenever `Seen.own` has become another."""

    def __init__(self, pods: PodNamespaces) -> None:
        self._pods = pods
        self._monitor = Monitor()
        self._route_changes = RouteChanges()
        self._rtnl = Rtnl.open()
        self._turn = asyncio.Lock()
        self._own: dict[int, Link] = {}
        self._into_pods: dict[int, Link] = {}
        self._elsewhere: set[int] = set()  # numbers of namespaces that are no pods'
        self._addresses: dict[int, tuple[Address, ...]] = {}  # of own links, in the kernel's order
        self._routes: tuple[Route, ...] = ()
        self._needed: frozenset[int] = frozenset()  # links that the node itself routes over
        self._changed = _Changed()
        self._seen = NOTHING
        self._told: Own | None = None
        self._moved = asyncio.Event()  # somebody else's look has taken announcements
        self._listed_s = float("-inf")
        self.touched: set[int] = set()  # own links that were announced, or went, since it was empty
        self.listed = False  # everything was, since this was last set to False

    def close(self) -> None:
        """Stop following. A second call does nothing."""
        for each in (self._monitor, self._route_changes, self._rtnl):
            each.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> None:
        while True:
            self._moved.clear()
            seen = await self.look()
            if seen.own is not self._told:
                self._told = seen.own
                return
            await asyncio.sleep(PAUSE_S)
            await self._something()

    async def look(self) -> Seen:
        """What the node has now."""
        async with self._turn:
            before = self._seen
            try:
                await self._catch_up()
            except BaseException:  # what was taken over by then is not known: a cut-off look, say
                self.list_again()
                raise
            if self._seen is not before:
                self._moved.set()
            return self._seen

    def list_again(self) -> None:
        """Have the next look list everything."""
        self._listed_s = float("-inf")

    async def _something(self) -> None:
        """Wait for an announcement, or for a change that somebody else's look has found."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._monitor.fileno(), self._moved.set)
        try:
            await self._moved.wait()
        finally:
            loop.remove_reader(self._monitor.fileno())

    async def _catch_up(self) -> None:
        events = self._monitor.take()
        now_s = time.monotonic()
        if any(isinstance(each, Resync) for each in events) or now_s - self._listed_s > LIST_S:
            await self._list_everything()
            self._listed_s = now_s
            return
        self._changed = _Changed()
        await self._sort_namespaces(events)
        await self._apply(events)
        await self._read_addresses()
        if self._route_changes.any(self._matters) or self._changed.own:
            await self._read_routes()
            await self._read_addresses()
        if self._changed.own:
            self._seen = Seen(self._as_own(), tuple(self._into_pods.values()))
        elif self._changed.pods:
            self._seen = Seen(self._seen.own, tuple(self._into_pods.values()))

    async def _apply(self, events: Iterable[Event]) -> None:
        """Take over what was announced of links and addresses."""
        unsure: set[int] = set()
        for event in events:
            match event:
                case LinkChanged(link):
                    unsure |= self._unsure_of(link, gone=False)
                    await self._put(link)
                case LinkGone(link):
                    unsure |= self._unsure_of(link, gone=True)
                    self._drop(link.index)
                case AddressChanged(address) | AddressGone(address):
                    self._changed.addresses.add(address.index)
        for index in unsure & (self._own.keys() | self._into_pods.keys()):
            found = await find_link_at(self._rtnl, index)
            if found is None:
                self._drop(index)
            else:
                await self._put(found)

    def _unsure_of(self, link: Link, *, gone: bool) -> set[int]:
        """Which links may be others than they were announced as, since this one was announced.

        The kernel announces the first end of a pair before it has its other end, and says no more
        until that end is set up. Nor does it say anything of the end that stays when the other one
        moves to another namespace or comes home, or of links on top of one that does.
        """
        known = self._own | self._into_pods
        unsure: set[int] = set()
        if link.kind in PAIRS and link.parent_nsid is None:
            other = known.get(link.parent_index)  # of none if it has no other end yet
            if other is None or other.parent_index != link.index or other.parent_nsid is not None:
                unsure = {link.parent_index or link.index}
        if gone or link.index not in known:
            unsure |= {
                each.index
                for each in known.values()
                if each.parent_index == link.index and (each.parent_nsid is None) == gone
            }
        return unsure

    async def _list_everything(self) -> None:
        """List it all, and keep the values that have not changed."""
        self._changed = _Changed()
        links = await list_links(self._rtnl)
        addresses = await list_addresses(self._rtnl)
        # After the list: the kernel gives namespaces their numbers when it describes a link.
        pods = await self._pods.numbers(self._rtnl)
        self._into_pods = {link.index: link for link in links if leads_away(link, pods)}
        self._own = {link.index: link for link in links if link.index not in self._into_pods}
        self._elsewhere = {
            link.parent_nsid for link in self._own.values() if link.parent_nsid is not None
        }
        self._addresses = _by_link(each for each in addresses if each.index in self._own)
        self._needed = frozenset()
        self._route_changes.any(self._matters)  # they are read now
        await self._read_routes()
        await self._read_addresses()
        self.listed = True
        own = self._as_own()
        self._seen = Seen(
            self._seen.own if own == self._seen.own else own, tuple(self._into_pods.values())
        )

    async def _sort_namespaces(self, events: Iterable[Event]) -> None:
        """Forget namespaces that have ended, and look whether others have become pods'."""
        for event in events:
            if isinstance(event, NamespaceGone):
                self._pods.forget(event.nsid)
                self._elsewhere.discard(event.nsid)
        if self._elsewhere and self._pods.may_have_more():
            await self._learn_pods()

    async def _learn_pods(self) -> None:
        """Learn where pods are by now, and set their links apart."""
        before = self._pods.known
        pods = await self._pods.learn(self._rtnl)
        self._elsewhere -= pods
        for link in [each for each in self._own.values() if each.parent_nsid in pods - before]:
            await self._put(link)

    async def _put(self, link: Link) -> None:
        """Note a link as it is now."""
        index, nsid = link.index, link.parent_nsid
        if nsid is not None and not (nsid in self._pods.known or nsid in self._elsewhere):
            self._elsewhere.add(nsid)
            await self._learn_pods()
        apart = leads_away(link, self._pods.known) and index not in self._needed
        here, there = (self._into_pods, self._own) if apart else (self._own, self._into_pods)
        moved, same = there.pop(index, None) is not None, here.get(index) == link
        here[index] = link
        if not apart:
            self.touched.add(index)
            if moved:  # nobody noted its addresses
                self._changed.addresses.add(index)
        elif moved:
            self.touched.add(index)
            self._addresses.pop(index, None)
        self._changed.own |= moved or (not apart and not same)
        self._changed.pods |= moved or (bool(apart) and not same)

    def _drop(self, index: int) -> None:
        self._addresses.pop(index, None)
        if self._own.pop(index, None) is not None:
            self.touched.add(index)
            self._changed.own = True
        if self._into_pods.pop(index, None) is not None:
            self._changed.pods = True

    async def _read_addresses(self) -> None:
        """Read the addresses of own links of which some were announced."""
        due, self._changed.addresses = self._changed.addresses, set()
        for index in due & self._own.keys():
            try:
                found = await list_addresses(self._rtnl, index)
            except KernelError as error:
                if error.errno != errno.ENODEV:  # its end is announced, too
                    raise
                continue
            self._changed.own |= found != self._addresses.get(index, ())
            self._addresses[index] = found

    async def _read_routes(self) -> None:
        """List the routes that matter. The links that the node routes over are its own."""
        found = await list_routes(self._rtnl, uapi.RT_TABLE_UNSPEC)
        before = self._needed
        self._needed = frozenset(each.index for each in found if each.gateway or each.default)
        links = self._own | self._into_pods
        for index in (before ^ self._needed) & links.keys():
            await self._put(links[index])
        routes = tuple(filter(self._matters, found))
        self._changed.own |= routes != self._routes
        self._routes = routes

    def _matters(self, route: Route) -> bool:
        """Whether a route says more than how a pod's own address is reached."""
        return bool(route.gateway or route.default or not route.index or route.index in self._own)

    def _as_own(self) -> Own:
        indices = sorted(self._own)
        return Own(
            links=tuple(self._own[index] for index in indices),
            addresses=tuple(
                address for index in indices for address in self._addresses.get(index, ())
            ),
            routes=self._routes,
        )


@dataclass(slots=True)
class _Changed:
    """What a look has found so far."""

    own: bool = False  # something of what the node has besides links into pods
    pods: bool = False  # a link into a pod
    addresses: set[int] = field(default_factory=set)  # links whose addresses are to be read


def _by_link(addresses: Iterable[Address]) -> dict[int, tuple[Address, ...]]:
    found: dict[int, list[Address]] = {}
    for address in addresses:
        found.setdefault(address.index, []).append(address)
    return {index: tuple(each) for index, each in found.items()}
