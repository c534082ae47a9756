"""The links that a node offers, with all that is known of them; listed again when that changes.

Promise: what is offered is listed as devices after every change that shows, whether the kernel
announces it, the settings or the node bring it, or a link has been without its carrier for long
enough. `list_again` and what begins with `learn` may be called in any thread.
Limit: what becomes of a link for a claim is decided elsewhere.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from netclaim.model import Device, JsonObject
from netclaim.model.on_node.node import NodeFacts
from netclaim.network.devices.preflight import with_conditions
from netclaim.network.links.card_functions import FunctionNumbers
from netclaim.network.links.carrier.health import LinkHealth
from netclaim.network.links.discover import follow, list_devices
from netclaim.network.links.function_drivers import FunctionDrivers
from netclaim.network.links.node.node_links import NodeLinks
from netclaim.network.links.offering.choice import LinkChoice
from netclaim.network.links.offering.networks import OfferedNetworks
from netclaim.network.links.offering.offer import LinkOffer
from netclaim.network.links.offering.places import Places
from netclaim.network.links.rdma_devices import list_rdma_devices
from netclaim.network.links.remembered.lent import LentDevices
from netclaim.network.links.remembered.made_bridges import MadeBridges
from netclaim.network.settings import LiveSettings


@dataclass(slots=True)
class OfferedLinks:
    """The links of the node as one driver offers them, and what it remembers of them."""

    live: LiveSettings
    node: NodeLinks
    choice: LinkChoice
    offer: LinkOffer
    health: LinkHealth
    drivers: FunctionDrivers
    made: MadeBridges
    lent: LentDevices
    networks: OfferedNetworks
    functions: FunctionNumbers
    _places: Places = field(default_factory=Places, init=False)
    _nudge: Callable[[], object] | None = field(default=None, init=False)  # lists; from any thread
    _due: asyncio.TimerHandle | None = field(default=None, init=False)  # listed then in any case

    async def follow(
        self, tend: Callable[[], Awaitable[None]]
    ) -> AsyncGenerator[tuple[Device, ...], None]:
        """Yield all devices, and again all of them when a link changed in a way that shows.

        `tend` is called before each list: there may be something new to look after.
        """

        async def tend_and_list() -> tuple[Device, ...]:
            await tend()
            if self.live.now.vfs.entries:
                await self.functions.apply(await self.node.snapshot())
            return await self._list()

        nudged = asyncio.Event()
        self._nudge = partial(asyncio.get_running_loop().call_soon_threadsafe, nudged.set)
        try:
            with self.node.following() as announced:
                async for devices in follow(announced, tend_and_list, nudged):
                    yield devices
        finally:
            self._nudge = None
            self._cancel_due()

    def list_again(self) -> None:
        """Have the devices listed now, if they are followed."""
        if self._nudge is not None:
            with suppress(RuntimeError):  # the loop has ended, and discovery with it
                self._nudge()

    def learn_node(self, node: NodeFacts) -> None:
        """Replace what is known of the node, and offer links by it."""
        self.node.learn_node(node)
        self.choice.learn_node(node)
        self.networks.learn_node(node)
        self.list_again()

    def learn_networks(self, classes: Sequence[JsonObject]) -> None:
        """Replace what is known of the cluster's PodNetworks, and offer them by it."""
        if self.networks.known.learn(classes):
            self.list_again()

    def learn_dropped(self, fields: frozenset[str]) -> None:
        """Offer slots if the API server drops shares, and shares if it does not."""
        self.offer.learn_dropped(fields)
        self.drivers.learn_dropped(fields)
        self.list_again()

    async def _list(self) -> tuple[Device, ...]:
        devices = await list_devices(
            self.node,
            self.lent.devices,
            self.choice,
            self.offer,
            self._places,
            generic=self.live.now.generic_device,
            judged=self.health.judged,
            functions=self.drivers.judged,
            networks=self.networks.on,
            without_link=await asyncio.to_thread(list_rdma_devices),
        )
        if self.networks.known.is_unsaved:
            await asyncio.to_thread(self.networks.known.save)
        self._cancel_due()
        dues = [due for due in (self.health.due_in_s, self.drivers.due_in_s) if due is not None]
        if dues:
            self._due = asyncio.get_running_loop().call_later(min(dues), self.list_again)
        return tuple(with_conditions(each, self.live.now.preflight) for each in devices)

    def _cancel_due(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
