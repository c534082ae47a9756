"""Which of the node's links are offered, and as which devices: by rule, and by the settings in CEL.

Of the links that `withhold` leaves, `link_filter` hides those of which it is not true. Those that
are withheld for their name alone, `show_links` can show: a name is a guess, the other rules are
facts. Promise: an expression that has no value for a link, such as one that reads an attribute
which the link lacks, leaves it unoffered; the log says so once for each link. Limit: links that are
allocated keep their claims, whatever the settings say now.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import structlog

from netclaim.errors import RequestError
from netclaim.kernel import Link
from netclaim.model import Device
from netclaim.model.on_node.node import NodeFacts
from netclaim.network.links.node.node_links import Snapshot
from netclaim.network.links.offering.offer import LinkOffer
from netclaim.network.settings import LiveSettings

if TYPE_CHECKING:
    from netclaim.network.devices.expression import LinkExpression

log = structlog.get_logger(__name__)

HIDDEN: Final = "the driver's link filter hides it"
FAILURES_KEPT: Final = 1024  # more than a node has links; some come and go


class LinkChoice:
    """The choice by the settings in force and what is known of the node."""

    def __init__(self, settings: LiveSettings, offer: LinkOffer) -> None:
        self._settings = settings
        self._offer = offer
        self._node = NodeFacts()
        self._failed: set[tuple[str, str]] = set()  # expression and link, of what was logged
        self._hidden: tuple[str, ...] = ()  # that was logged last

    def learn_node(self, node: NodeFacts) -> None:
        """Replace what is known of the node's name and labels."""
        self._node = node

    @property
    def reads_labels(self) -> bool:
        """Whether the choice may change with the node's labels."""
        now = self._settings.now
        return any(each.reads_labels for each in (now.link_filter, now.show_links) if each)

    async def chosen(self, snapshot: Snapshot) -> tuple[tuple[Link, Device], ...]:
        """The links that are offered, each as its device, in the order of their indices."""
        show = self._settings.now.show_links
        links = sorted(
            (*snapshot.offered, *(snapshot.named if show is not None else ())),
            key=lambda link: link.index,
        )
        named = {link.index for link in snapshot.named}
        parted = snapshot.carriers.keys() | snapshot.with_vfs
        published = [
            (link, self._offer.as_published(device, carries=link.index in parted))
            for link, device in zip(links, await snapshot.describe(links), strict=True)
        ]
        return tuple(
            (link, device)
            for link, device in published
            if self._passes(device) and (link.index not in named or self._holds(show, device))
        )

    def filtered(self, devices: Iterable[Device]) -> tuple[Device, ...]:
        """What the filter leaves of links that are away, as they were when they left."""
        return tuple(filter(self._passes, map(self._offer.as_published, devices)))

    async def applied(self, snapshot: Snapshot) -> Snapshot:
        """The same node, with what the settings hide withheld and what they show offered."""
        now = self._settings.now
        if now.link_filter is None and now.show_links is None:
            return snapshot
        offered = {link.index for link, _ in await self.chosen(snapshot)}
        return replace(
            snapshot,
            withheld={
                link.index: snapshot.withheld.get(link.index, HIDDEN)
                for link in snapshot.links
                if link.index not in offered
            },
        )

    def log_hidden(self, snapshot: Snapshot, offered: Iterable[Link]) -> None:
        """Log which links the filter hides, whenever these are others than before."""
        there = {link.index for link in offered}
        hidden = tuple(link.name for link in snapshot.offered if link.index not in there)
        if hidden != self._hidden:
            log.info("discover.hidden", links=list(hidden))
        self._hidden = hidden

    def _passes(self, device: Device) -> bool:
        expression = self._settings.now.link_filter
        return expression is None or self._holds(expression, device)

    def _holds(self, expression: "LinkExpression | None", device: Device) -> bool:
        if expression is None:
            return False
        try:
            return expression.matches(self._settings.now.name, device, self._node)
        except RequestError as error:
            failure = (expression.text, device.name)
            if failure not in self._failed:
                if len(self._failed) >= FAILURES_KEPT:
                    self._failed.clear()
                self._failed.add(failure)
                log.warning(
                    "discover.filter_failed",
                    device=device.name,
                    expression=expression.text,
                    error=str(error),
                )
            return False
