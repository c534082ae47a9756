"""How many virtual functions the node's cards have: as many as the settings say, once none is used.

A card goes from one number to another only by losing all its functions, so each of them has to be
free: no claim has it, the node itself does not use it, its link is in the node's own network
namespace, and its driver gives it a link (`vfio-pci`, for one, does not).
Promise: a card that has its number is not touched. What is in the way is logged once, by name, and
looked at again with every list of the node's links. Limit: a claim that is being prepared meanwhile
finds its link gone, and its pod waits for the one that takes its place.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

import structlog

from netclaim.errors import HostError
from netclaim.kernel.host.hardware.sriov import CardFunctions, Function, read_functions, set_number
from netclaim.kernel.host.hardware.sysfs import SYS
from netclaim.network.links.node.node_links import Snapshot
from netclaim.network.settings import LiveSettings

log = structlog.get_logger(__name__)

# Kernel drivers that hand a device to a program, and so give it no link.
USERSPACE: Final = frozenset({"vfio-pci", "uio_pci_generic", "igb_uio", "pciback", "pci-stub"})


class NumberRefusedError(HostError):
    """A card that cannot have the number of functions that the settings say."""


class FunctionNumbers:
    """Gives cards their numbers.

    `claimed` says what claims have: the PCI addresses of links that are theirs alone, and the names
    of all. It is called in a thread.
    """

    def __init__(
        self, settings: LiveSettings, claimed: Callable[[], Collection[str]], root: Path = SYS
    ) -> None:
        self._live = settings
        self._claimed = claimed
        self._root = root
        self._refused: dict[str, str] = {}  # by card, what was logged last

    async def apply(self, snapshot: Snapshot) -> None:
        """Give the node's cards the numbers that the settings say; a second call does nothing."""
        wanted = self._live.now.vfs
        numbers = {link.name: wanted.of(link.name) for link in snapshot.links if not link.kind}
        by_node = _by_node(snapshot)
        for card, number in numbers.items():
            if number is None:
                self._refused.pop(card, None)
                continue
            try:
                before = await asyncio.to_thread(self._give, card, number, by_node)
            except NumberRefusedError as error:
                self._log_refused(card, number, str(error))
                continue
            self._refused.pop(card, None)
            if before is not None:
                log.info("discover.vfs_changed", link=card, number=number, before=before)

    def _give(self, card: str, number: int, by_node: Mapping[str, str]) -> int | None:
        """Give a card its number; returns the one before, or None where nothing had to be done."""
        found = read_functions(card, self._root)
        if found is None or found.number == number:
            return None
        if number > found.most:
            raise NumberRefusedError(f"{card} can have {found.most} virtual functions at most")
        claimed = dict.fromkeys(self._claimed(), "a claim has it")
        if obstacles := list(_in_the_way(card, found, {**by_node, **claimed})):
            raise NumberRefusedError(
                f"{card} keeps its {found.number} virtual functions until all are free: "
                f"{'; '.join(obstacles)}"
            )
        try:
            set_number(card, number, self._root)
        except OSError as error:
            raise NumberRefusedError(
                f"{card} did not take the number: {error.strerror}; "
                "is /sys writable for the driver, and what does the kernel's log say?"
            ) from error
        return found.number

    def _log_refused(self, card: str, number: int, error: str) -> None:
        if self._refused.get(card) != error:
            log.warning("discover.vfs_refused", link=card, number=number, error=error)
        self._refused[card] = error


def _by_node(snapshot: Snapshot) -> Mapping[str, str]:
    """What the node itself uses its links for, by their names."""
    above = {each.parent_index: each.name for each in snapshot.links if each.parent_nsid is None}
    names = {each.index: each.name for each in snapshot.links}
    reasons = {}
    for link in snapshot.links:
        reason = snapshot.carriers.get(link.index) or snapshot.used.get(link.index, "")
        if link.master_index:
            reason = f"it is a port of {names.get(link.master_index, 'another link')}"
        elif not reason and link.index in above:
            reason = f"{above[link.index]} stands on it"
        if reason:
            reasons[link.name] = reason
    return reasons


def _in_the_way(card: str, found: CardFunctions, in_use: Mapping[str, str]) -> Iterator[str]:
    """Say what uses the functions of a card, or that a claim has the card for itself."""
    if found.address in in_use:
        yield f"{card}: {in_use[found.address]}"
    for each in found.there:
        known = (in_use.get(name) for name in (*each.links, each.address))
        reason = next((reason for reason in known if reason), "") or _elsewhere(each)
        if reason:
            yield f"{' '.join(each.links) or each.address}: {reason}"


def _elsewhere(function: Function) -> str:
    """Say who has a function that has no link here; empty if nobody has it."""
    if function.links or not function.driver:
        return ""
    if function.driver in USERSPACE or "vfio" in function.driver:
        return f"it is bound to {function.driver}"
    return "its link is in another network namespace"
