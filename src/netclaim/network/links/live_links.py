"""The node's links, addresses and routes, kept by what the kernel announces.

Most of what a node's kernel announces is about pods: each start and end makes and removes a link
into a pod, with addresses and routes of its own. None of that can be offered or used by a claim, so
it is set apart and costs little, however many pods there are; unless the node itself sends its
traffic there.
Promise: a look sees every change that was made before it began, since the kernel announces a change
before whoever made it hears of it. `Seen.own` is the same object for as long as nothing but links
into pods has changed. What the kernel announces to nobody is seen within a minute: the alias and
alternative names of a link that is down, and a peer that moves on in other namespaces.
Limit: one loop; looks at the namespace of the calling thread, which must be the node's.
"""

import asyncio
import errno
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
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
from netclaim.kernel.state.monitor import (
    AddressChanged,
    AddressGone,
    Event,
    LinkChanged,
    LinkGone,
    NamespaceGone,
    Resync,
)
from netclaim.kernel.state.route_changes import RouteChanges
from netclaim.network.links.pod_namespaces import PodNamespaces
from netclaim.network.links.withhold import leads_away

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
        self._addresses: dict[
            int, tuple[Address, ...]
        ] = {}  # of own links, as the kernel lists them
        self._routes: tuple[Route, ...] = ()
        self._needed: frozenset[int] = frozenset()  # links that the node itself routes over
        self._seen = NOTHING
        self._told: Own | None = None
        self._moved = asyncio.Event()  # somebody else's look has taken announcements
        self._listed_s = float("-inf")
        self.touched: set[int] = set()  # own links that were announced, or went, since it was empty

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
                self._listed_s = float("-inf")
                raise
            if self._seen is not before:
                self._moved.set()
            return self._seen

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
        own, pods = await self._apply(events) if events else (False, False)
        if self._route_changes.any(self._matters) or own:
            own |= await self._read_routes()
        if own:
            self._seen = Seen(self._as_own(), tuple(self._into_pods.values()))
        elif pods:
            self._seen = Seen(self._seen.own, tuple(self._into_pods.values()))

    async def _apply(self, events: Iterable[Event]) -> tuple[bool, bool]:
        """Take over what was announced; whether the node's own links changed, and those to pods."""
        own_changed = pods_changed = False
        readdressed: set[int] = set()
        unsure: set[int] = set()
        for event in events:
            match event:
                case LinkChanged(link):
                    own, pods = await self._put(link)
                    unsure |= _unsure_of(link)
                case LinkGone(link):
                    own, pods = self._drop(link.index)
                    unsure |= _unsure_of(link)
                case AddressChanged(address) | AddressGone(address):
                    readdressed.add(address.index)
                    continue
                case NamespaceGone(nsid):
                    self._pods.forget(nsid)
                    self._elsewhere.discard(nsid)
                    continue
                case _:
                    continue
            own_changed |= own
            pods_changed |= pods
        for index in unsure & (self._own.keys() | self._into_pods.keys()):
            found = await find_link_at(self._rtnl, index)
            own, pods = self._drop(index) if found is None else await self._put(found)
            own_changed |= own
            pods_changed |= pods
        for index in readdressed & self._own.keys():
            own_changed |= await self._read_addresses(index)
        return own_changed, pods_changed

    async def _list_everything(self) -> None:
        """List it all, and keep the values that have not changed."""
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
        self._route_changes.any(self._matters)  # they are read now
        await self._read_routes()
        self.touched.update(self._own)
        own = self._as_own()
        self._seen = Seen(
            self._seen.own if own == self._seen.own else own, tuple(self._into_pods.values())
        )

    async def _put(self, link: Link) -> tuple[bool, bool]:
        """Note a link as it is now; whether that changes what the node has, or the pods."""
        index, nsid = link.index, link.parent_nsid
        if nsid is not None and not (nsid in self._pods.known or nsid in self._elsewhere):
            self._elsewhere |= {nsid} - await self._pods.learn(self._rtnl)
        if leads_away(link, self._pods.known) and index not in self._needed:
            was_own = self._own.pop(index, None) is not None
            self._addresses.pop(index, None)
            same = self._into_pods.get(index) == link
            self._into_pods[index] = link
            return was_own, not same
        was_pods = self._into_pods.pop(index, None) is not None
        self.touched.add(index)
        same = self._own.get(index) == link
        self._own[index] = link
        return not same, was_pods

    def _drop(self, index: int) -> tuple[bool, bool]:
        self._addresses.pop(index, None)
        own = self._own.pop(index, None) is not None
        if own:
            self.touched.add(index)
        return own, self._into_pods.pop(index, None) is not None

    async def _read_addresses(self, index: int) -> bool:
        """Read the addresses of a link; whether they are others than before."""
        try:
            found = await list_addresses(self._rtnl, index)
        except KernelError as error:
            if error.errno != errno.ENODEV:  # its end is announced, too
                raise
            return False
        before = self._addresses.get(index, ())
        self._addresses[index] = found
        return found != before

    async def _read_routes(self) -> bool:
        """List the routes that matter; whether they are others than before."""
        found = await list_routes(self._rtnl, uapi.RT_TABLE_UNSPEC)
        before, self._needed = (
            self._needed,
            frozenset(route.index for route in found if route.gateway or route.default),
        )
        links = self._own | self._into_pods
        for index in (before ^ self._needed) & links.keys():
            if (await self._put(links[index]))[0] and index in self._own:
                await self._read_addresses(index)
        routes, self._routes = self._routes, tuple(filter(self._matters, found))
        return self._routes != routes

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


def _by_link(addresses: Iterable[Address]) -> dict[int, tuple[Address, ...]]:
    found: dict[int, list[Address]] = {}
    for address in addresses:
        found.setdefault(address.index, []).append(address)
    return {index: tuple(each) for index, each in found.items()}


def _unsure_of(link: Link) -> set[int]:
    """Which links may be others than announced, since this one was announced.

    The kernel announces the first end of a pair before it has its other end, and says no more
    until that end is set up; nor does it say anything of the end that stays when the other one
    moves to another namespace.
    """
    if link.kind != "veth":
        return set()
    if not link.parent_index:
        return {link.index}
    return {link.parent_index} if link.parent_nsid is None else set()
