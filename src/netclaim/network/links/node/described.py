"""The devices as which links were last described, for as long as nothing about a link has changed.

Reading a card's files takes milliseconds, and a node can have hundreds of links of which one
changes. Promise: what is remembered is what would be made again of the same link, addresses and
facts; `forget` when the facts may be others. Limit: one loop; files are read in a thread.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence

from netclaim.kernel import Address, Link, read_facts
from netclaim.model import Device
from netclaim.network.devices.device import device_of
from netclaim.network.links.carrier.last_speeds import LastSpeeds


class Described:
    """Devices by the indices of their links, with what they were made of."""

    def __init__(self, speeds: LastSpeeds) -> None:
        self._speeds = speeds
        self._known: dict[int, tuple[Link, Sequence[Address], bool, Device]] = {}
        self._forgotten = 0  # how often

    def forget(self, index: int) -> None:
        """Have a link's facts read again."""
        self._known.pop(index, None)
        self._forgotten += 1

    @property
    def count(self) -> int:
        """How many devices are remembered."""
        return len(self._known)

    def forget_all(self) -> None:
        self._known.clear()
        self._forgotten += 1

    async def describe(
        self, links: Iterable[Link], addresses: Iterable[Address], uplinks: Collection[int]
    ) -> tuple[Device, ...]:
        """Links as devices. `addresses` and `uplinks` are those of the node."""
        on_links: dict[int, list[Address]] = {}
        for address in addresses:
            on_links.setdefault(address.index, []).append(address)
        made_of = [(link, on_links.get(link.index, []), link.index in uplinks) for link in links]
        found = {
            each[0].index: self._known[each[0].index][-1]
            for each in made_of
            if self._is_known(*each)
        }
        new = [each for each in made_of if each[0].index not in found]
        if new:
            before = self._forgotten
            for made, device in zip(new, await asyncio.to_thread(self._read, new), strict=True):
                found[made[0].index] = device
                if before == self._forgotten:  # otherwise it may have been read too early
                    self._known[made[0].index] = (*made, device)
        return tuple(found[link.index] for link, _, _ in made_of)

    def _is_known(self, link: Link, addresses: Sequence[Address], uplink: bool) -> bool:
        known = self._known.get(link.index)
        return known is not None and known[:3] == (link, addresses, uplink)

    def _read(self, new: Iterable[tuple[Link, Sequence[Address], bool]]) -> list[Device]:
        return [
            device_of(
                link,
                addresses,
                self._speeds.filled_in(link, read_facts(link.name, link.index)),
                default_route=uplink,
            )
            for link, addresses, uplink in new
        ]
