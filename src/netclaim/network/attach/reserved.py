"""The bandwidth that claims asked for, kept for them on the node's links.

A claim that asks for bandwidth is held to it in its pod; here the other half: what its pod sends
goes before what is sent by those that asked for nothing, up to what was asked for. A link that
nobody has asked for bandwidth of has the kernel's own queue.

Promise: what is kept of a link follows from the interfaces that are known; it is looked at again
with the limits, and put back. An interface is attached even if nothing can be kept for it, which is
logged. Limit: only what the link sends, and only for kinds of interface whose packets leave by the
link as the pod made them; see `kernel/state/link_classes.py`.
"""

import asyncio
import socket
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from netclaim.errors import NetclaimError
from netclaim.kernel import Rtnl, find_link
from netclaim.kernel.requests.classes import Source, from_address, from_mac
from netclaim.kernel.state.link_classes import Kept, keep, keep_nothing, roots
from netclaim.model import Attachment, Interface
from netclaim.model.on_node.attachment import AttachmentKey
from netclaim.network.plan.interface_plan import InterfacePlan

log = structlog.get_logger(__name__)

# Whose packets leave by the link itself. Those of a pair pass a bridge or the node's routes first.
ON_THE_LINK: Final = frozenset({"macvlan", "ipvlan", "vlan"})
HANDLE_MIN: Final = 0x4000  # the kernel gives out handles from 0x8000 on by itself
HANDLES: Final = 0x4000


@dataclass(frozen=True, slots=True)
class _Share:
    """What an interface has asked for, and where its packets come from."""

    bits: int  # of its claim, whose pods divide them
    interface: Interface


@dataclass(slots=True)
class ReservedBandwidth:
    """What is kept of each link; `bandwidth_of` says how much there is of a link, or 0."""

    driver: str
    bandwidth_of: Callable[[str], int]
    wanted: Callable[[], bool]
    _shares: dict[str, dict[AttachmentKey, _Share]] = field(default_factory=dict)
    _kept: dict[str, tuple[int, Kept]] = field(default_factory=dict)  # by link, with its index
    _refused: dict[str, str] = field(default_factory=dict)  # what was logged last of a link
    _looked: bool = False
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def queue(self) -> int:
        """The handle of this driver's queues: two drivers do not take each other's for theirs."""
        return (HANDLE_MIN + zlib.crc32(self.driver.encode()) % HANDLES) << 16

    def note(self, attachment: Attachment, interface: InterfacePlan) -> None:
        """Know of an interface from now on, if its claim has asked for bandwidth."""
        plugins = interface.config.get("plugins") or [interface.config]
        if interface.bandwidth and attachment.interface and plugins[0]["type"] in ON_THE_LINK:
            share = _Share(interface.bandwidth, attachment.interface)
            self._shares.setdefault(interface.link, {})[attachment.key] = share

    def forget(self, link: str, key: AttachmentKey) -> bool:
        """Whether an interface was known; it no longer is."""
        shares = self._shares.get(link, {})
        known = shares.pop(key, None) is not None
        if known and not shares:
            del self._shares[link]
        return known

    async def settle(self, link: str) -> None:
        """Keep of a link what its interfaces have asked for, or nothing any more."""
        async with self._turn:
            await self._settle(link)

    async def _settle(self, link: str) -> None:
        problem = ""
        try:
            with Rtnl.open() as rtnl:
                problem = await self._keep(rtnl, link)
        except NetclaimError as error:
            self._kept.pop(link, None)
            problem = str(error)
        if problem and self._refused.get(link) != problem:
            log.warning("attach.not_reserved", link=link, error=problem)
        if problem:
            self._refused[link] = problem
        else:
            self._refused.pop(link, None)

    async def _keep(self, rtnl: Rtnl, name: str) -> str:
        """Do it; returns why it cannot be done, if there is somebody to do it for."""
        link = await find_link(rtnl, name)
        if link is None:
            self._kept.pop(name, None)
            return ""
        kept = self._wanted_of(name, link.mac)
        if kept is None:
            if self._kept.pop(name, None):
                await keep_nothing(rtnl, [link.index], self.queue)
            return ""
        if self._kept.get(name) == (link.index, kept):
            return ""
        self._kept[name] = (link.index, kept)
        if await keep(rtnl, link.index, kept, self.queue):
            return ""
        del self._kept[name]
        return "the link has a queue that somebody else has made, which stays as it is"

    def _wanted_of(self, link: str, mac: str) -> Kept | None:
        """What to keep of a link that has this address; None: nothing."""
        shares, whole = self._shares.get(link, {}), self.bandwidth_of(link)
        if not shares or not whole or not self.wanted():
            return None
        bits = {(claim_uid, device): share.bits for (claim_uid, _, device), share in shares.items()}
        sources = {source for each in shares.values() for source in _sources(each.interface, mac)}
        return Kept(whole, sum(bits.values()), tuple(sorted(sources, key=lambda each: each.keys)))

    async def tend(self) -> None:
        """Put back what somebody has removed, and remove what an earlier process has left.

        Not at the first look, when it is not known yet which interfaces there are.
        """
        async with self._turn:
            try:
                with Rtnl.open() as rtnl:
                    await self._compare(rtnl)
            except NetclaimError as error:
                log.warning("attach.not_reserved", link="", error=str(error))
            self._looked = True
            for link in {*self._kept, *self._shares}:
                await self._settle(link)

    async def _compare(self, rtnl: Rtnl) -> None:
        found = (await roots(rtnl)).items()
        ours = {index for index, (_, handle) in found if handle == self.queue}
        self._kept = {link: kept for link, kept in self._kept.items() if kept[0] in ours}
        if self._looked:
            left = ours - {index for index, _ in self._kept.values()}
            await keep_nothing(rtnl, left, self.queue)


def _sources(interface: Interface, link_mac: str) -> list[Source]:
    """Where an interface's packets come from: its MAC, or its addresses if it has the link's."""
    mac = interface.hardware_address.lower()
    if mac and mac != link_mac.lower():
        return [from_mac(bytes.fromhex(mac.replace(":", "")))]
    return [from_address(_packed(address.partition("/")[0])) for address in interface.ips]


def _packed(address: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
