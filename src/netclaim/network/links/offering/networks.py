"""Which networks a node has, and on which of its links: each as a device that claims select by it.

Promise: a network is offered on the links that its `parent` means on this node, for as many claims
as the link is for, or for one if it takes the link; what cannot work is not offered, and the log
says why, once. The same object comes back for the same network and link for as long as nothing
changes. Limit: the scheduler counts a network's claims apart from those of its link and of the
link's other networks; what excludes each other the driver refuses (`LinkDriver.holds`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import structlog

from netclaim.errors import RequestError
from netclaim.model import Device, device_json
from netclaim.model.api.dra.slice import PublishedDevice
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.on_node.node import NodeFacts
from netclaim.model.quantity import NANO
from netclaim.network.devices.network_device import network_device, network_device_name
from netclaim.network.links.offering.offer import LinkOffer
from netclaim.network.networks.known import KnownNetworks
from netclaim.network.pod_network import takes_link
from netclaim.network.settings import LiveSettings

log = structlog.get_logger(__name__)

FAILURES_KEPT: Final = 1024  # more than a cluster has networks


class OfferedNetworks:
    """The networks as one node offers them."""

    def __init__(
        self,
        known: KnownNetworks,
        offer: LinkOffer,
        settings: LiveSettings,
        mistake_in: Callable[[PodNetwork], str],
    ) -> None:
        self.known = known
        self._offer = offer
        self._settings = settings
        self._mistake_in = mistake_in
        self._labels: Mapping[str, str] = {}
        self._made: dict[str, tuple[PodNetwork, Device, Device]] = {}  # of what, and what
        self._judged: dict[str, tuple[PodNetwork, str]] = {}
        self._selected: dict[tuple[str, str], tuple[Device, bool]] = {}  # by selector and link
        self._failed: set[tuple[str, str]] = set()  # network and error, of what was logged

    def learn_node(self, node: NodeFacts) -> None:
        """Replace what is known of the node's labels."""
        self._labels = node.labels or {}

    def on(self, links: Iterable[Device], generic: Device | None) -> tuple[Device, ...]:
        """The networks on these links, which are as published; `generic` is on none of them."""
        there = tuple(links)
        made: dict[str, tuple[PodNetwork, Device, Device]] = {}
        offered = self.known.offered() if self._settings.now.network_devices else ()
        for network in filter(self._works, offered):
            for link in self._links(network, there, generic):
                name = network_device_name(network.name, link.name)
                known = self._made.get(name)
                if known is None or known[0] is not network or known[1] is not link:
                    known = network, link, self._device(network, link, generic)
                made[name] = known
        self._made = made
        return tuple(device for _, _, device in made.values())

    def _works(self, network: PodNetwork) -> bool:
        known = self._judged.get(network.name)
        if known is None or known[0] is not network:
            known = self._judged[network.name] = network, self._mistake_in(network)
        if known[1]:
            self._log(network, known[1])
        return not known[1]

    def _links(
        self, network: PodNetwork, links: tuple[Device, ...], generic: Device | None
    ) -> Iterator[Device]:
        parent = network.spec.parent.on_node(self._labels)
        if parent.name:
            yield from (each for each in links if each.attributes.get("name") == parent.name)
        elif parent.selector:
            yield from (each for each in links if self._selects(network, parent.selector, each))
        elif generic is not None and not network.spec.parent.overrides:
            yield generic

    def _selects(self, network: PodNetwork, selector: str, link: Device) -> bool:
        known = self._selected.get((selector, link.name))
        if known is None or known[0] is not link:
            if len(self._selected) >= FAILURES_KEPT:
                self._selected.clear()
            known = link, self._evaluated(network, selector, link)
            self._selected[selector, link.name] = known
        return known[1]

    def _evaluated(self, network: PodNetwork, selector: str, link: Device) -> bool:
        # 2 MB, for networks that are on a link by an expression
        from netclaim.allocator.cel import compile_selector, device_view  # noqa: PLC0415

        try:
            view = device_view(self._settings.now.name, PublishedDevice.read(device_json(link)))
            return compile_selector(selector).matches(view)
        except RequestError as error:
            self._log(network, f"parent.selector cannot be evaluated: {error}")
            return False

    def _device(self, network: PodNetwork, link: Device, generic: Device | None) -> Device:
        device = network_device(network.name, link)
        if link is generic:
            return self._offer.for_anybody(device)
        asked = network.bandwidth
        bits = asked.nanos // NANO if asked is not None else 0
        return self._offer.on_link(device, link, alone=takes_link(network), bandwidth=bits)

    def _log(self, network: PodNetwork, why: str) -> None:
        failure = (network.name, why)
        if failure not in self._failed:
            if len(self._failed) >= FAILURES_KEPT:
                self._failed.clear()
            self._failed.add(failure)
            log.warning("networks.not_offered", network=network.name, error=why)
