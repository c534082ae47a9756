"""What becomes a list of devices, and when; links and announcements are made up here."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from netclaim.kernel import Link
from netclaim.model import Device, Quantity
from netclaim.network.devices.device import device_name, find_by_device
from netclaim.network.links.discover import follow, generic_device, list_devices
from netclaim.network.links.node.node_links import Snapshot
from netclaim.network.links.offering.choice import LinkChoice
from netclaim.network.links.offering.offer import SHARES, LinkOffer
from netclaim.network.links.offering.places import Places
from netclaim.network.links.withhold import INTO_POD, NOWHERE
from netclaim.network.settings import LinkSettings, LiveSettings
from netclaim.network.settings.per_link import PerLink
from tests.support.network_parts import link_of

ETH1, ETH2 = Device("eth1"), Device("eth2")


async def listed(
    links: "SomeLinks",
    *lent: Device,
    places: Places | None = None,
    generic: bool = False,
    dropped: Collection[str] = (),
    **settings: Any,
) -> tuple[Device, ...]:
    """What is published of links by these settings, where the API server drops these fields."""
    live = LiveSettings(LinkSettings(state_dir=Path("/nowhere"), **settings))
    offer = LinkOffer(live)
    offer.learn_dropped(dropped)
    choice = LinkChoice(live, offer)
    return await list_devices(
        links, lambda: lent, choice, offer, places or Places(), generic=generic
    )


class SomeLinks:
    """A node with these links, all offered but those that are withheld."""

    def __init__(self, *links: Link, withheld: Mapping[int, str] | None = None) -> None:
        self._links = links
        self._withheld = withheld or {}

    async def snapshot(self) -> Snapshot:
        """All of them."""
        return Snapshot(
            links=self._links, addresses=(), uplinks=(), withheld=self._withheld, carriers={}
        )


class Announcements(AsyncIterator[int]):
    """Says that there were announcements, however many since it was last asked; counts them."""

    def __init__(self) -> None:
        self.made = 0
        self.resume = asyncio.Event()
        self.resume.set()
        self._news = asyncio.Event()

    async def __anext__(self) -> int:
        await self._news.wait()
        self._news.clear()
        return self.made

    async def make(self, bursts: Iterable[int]) -> None:
        """Announce something so many times, one after the other; then pause until resumed."""
        for burst in bursts:
            await self.resume.wait()
            self.resume.clear()
            for _ in range(burst):
                self.made += 1
                self._news.set()
                await asyncio.sleep(0)


@asynccontextmanager
async def announcing(*bursts: int) -> AsyncIterator[Announcements]:
    """Provide announcements that are made meanwhile."""
    announced = Announcements()
    making = asyncio.create_task(announced.make(bursts))
    try:
        yield announced
    finally:
        making.cancel()
        await asyncio.wait([making])


async def first_lists(
    bursts: Iterable[int], lists: list[tuple[Device, ...]], count: int
) -> list[tuple[tuple[Device, ...], int]]:
    """Follow made-up lists: the first that come, and after how many announcements each did."""
    async with announcing(*bursts) as announced:

        async def list_now() -> tuple[Device, ...]:
            announced.resume.set()
            return lists.pop(0)

        async with aclosing(follow(announced, list_now)) as found:
            return [(await anext(found), announced.made) for _ in range(count)]


async def test_a_burst_is_one_change() -> None:
    """Announcements that follow each other closely are gathered, and the next burst is another."""
    seen = await first_lists([100, 3], [(ETH1,), (ETH1, ETH2)], 2)
    assert seen == [((ETH1,), 100), ((ETH1, ETH2), 103)]


async def test_what_shows_no_difference_is_no_change() -> None:
    """A burst after which all devices are as before is passed over."""
    seen = await first_lists([1, 1, 1], [(ETH1,), (ETH1,), ()], 2)
    assert seen == [((ETH1,), 1), ((), 3)]


async def test_a_nudge_is_a_change_without_an_announcement() -> None:
    """A change of what is to be offered does not wait for the kernel."""
    nudged = asyncio.Event()
    lists = [(ETH1,), (ETH1, ETH2)]

    async def list_now() -> tuple[Device, ...]:
        return lists.pop(0)

    async with (
        announcing(1) as announced,
        aclosing(follow(announced, list_now, nudged)) as found,
    ):
        assert await anext(found) == (ETH1,)
        nudged.set()
        assert await anext(found) == (ETH1, ETH2)
    assert announced.made == 1


async def test_an_announcement_that_fails_ends_the_lists() -> None:
    """The socket's own error is raised, so that discovery is started again."""

    async def broken() -> AsyncIterator[int]:
        yield 1
        raise OSError(9, "gone")

    async def list_now() -> tuple[Device, ...]:
        return (ETH1,)

    with pytest.raises(OSError, match="gone"):
        async for _ in follow(broken(), list_now):
            pass


async def test_the_generic_device_leads_and_the_lent_ones_end_the_list() -> None:
    """The order is the scheduler's: what costs nobody anything is taken first."""
    links = SomeLinks(link_of("eth2", 3), link_of("eth1", 2))
    devices = await listed(links, Device("eth9"), generic=True)
    assert [device.name for device in devices] == ["cni", "eth1", "eth2", "eth9"]
    assert msgspec.structs.replace(devices[0], making=0) == generic_device()


async def test_the_generic_device_is_another_making_when_the_nodes_links_are_others() -> None:
    """What pods have by it stands on any link; what comes and goes with pods changes nothing."""

    async def making(*links: Link, **withheld: str) -> int:
        reasons = {link.index: withheld[link.name] for link in links if link.name in withheld}
        (generic, *_) = await listed(SomeLinks(*links, withheld=reasons), generic=True)
        return generic.making

    eth0, eth1 = link_of("eth0", 2), link_of("eth1", 3)
    before = await making(eth0, eth1)
    assert await making(eth1, eth0) == before
    assert await making(eth0, eth1, eth0="it is a port of br0") == before
    assert await making(eth0) != before
    assert await making(eth0, link_of("eth1", 4)) != before
    for reason in (INTO_POD, NOWHERE):
        assert await making(eth0, eth1, link_of("veth7", 9), veth7=reason) == before


async def test_a_link_keeps_its_place_while_a_pod_has_it() -> None:
    """A pod that takes a link and gives it back changes nothing that is published."""
    eth1, eth2, eth3 = (link_of(name, index) for index, name in enumerate(("b", "a", "c"), 2))
    places = Places()
    before = await listed(SomeLinks(eth1, eth2, eth3), places=places)
    lent = before[1]
    assert await listed(SomeLinks(eth1, eth3), lent, places=places) == before
    assert await listed(SomeLinks(eth1, eth2, eth3), lent, places=places) == before
    assert [device.name for device in before] == ["b", "a", "c"]


async def test_a_link_that_is_made_anew_comes_last() -> None:
    """Only a link that is away keeps its place; one that was removed has lost it."""
    eth1, eth2, places = link_of("eth1", 2), link_of("eth2", 3), Places()
    await listed(SomeLinks(eth1, eth2), places=places)
    await listed(SomeLinks(eth2), places=places)
    devices = await listed(SomeLinks(eth2, link_of("eth1", 4)), places=places)
    assert [device.name for device in devices] == ["eth2", "eth1"]


async def test_links_that_many_claims_may_have() -> None:
    """By default all that can carry several; the setting says how many, and 1 means no sharing."""
    links = SomeLinks(link_of("eth1", 2), link_of("ens1", 3), link_of("tap0", 4, kind="tun"))
    devices = await listed(links)
    assert [d.allow_multiple_allocations for d in devices] == [True, True, False]
    by_pattern = PerLink((("ens*", 1), ("tap0", 4), ("", 8)))
    eth1, ens1, tap0 = await listed(links, attachments=by_pattern)
    assert str(eth1.capacity["attachments"].value) == "8"
    assert not ens1.allow_multiple_allocations
    assert str(tap0.capacity["attachments"].value) == "4"


async def test_a_link_for_one_claim_fits_a_claim_that_wants_it_alone() -> None:
    """The scheduler passes over devices that have less of a capacity than a request asks for."""
    links = SomeLinks(link_of("eth1"))
    (device,) = await listed(links, attachments=PerLink((("eth1", 1),)))
    asked = device.capacity["attachments"]
    assert asked.policy is None
    assert asked.value >= Quantity.parse("2")


async def test_slots_where_the_api_server_knows_no_shares() -> None:
    """Each link becomes some devices for one claim each, which say which link they are of."""
    links = SomeLinks(link_of("eth1", 2), link_of("eth2", 3))
    slots = PerLink((("eth2", 1), ("", 3)))
    devices = await listed(links, generic=True, dropped={SHARES}, slots=slots)
    assert [device.name for device in devices] == [
        "cni",
        "eth1-slot-0",
        "eth1-slot-1",
        "eth1-slot-2",
        "eth2",
    ]
    assert [d.attributes.get("slot") for d in devices] == [None, 0, 1, 2, None]
    assert {d.attributes["name"] for d in devices[1:4]} == {"eth1"}
    assert not any(d.allow_multiple_allocations for d in devices[1:])


async def test_no_more_slots_than_attachments() -> None:
    """A link for three claims has three slots, whatever the number of slots."""
    links, dropped = SomeLinks(link_of("eth1")), {SHARES}
    devices = await listed(links, dropped=dropped, attachments=PerLink((("", 3),)))
    assert len(devices) == 3


async def test_a_link_called_like_a_slot_keeps_its_name() -> None:
    """Two devices cannot have one name, and a link's own name is older than a slot's."""
    links, dropped = SomeLinks(link_of("eth1"), link_of("eth1-slot-1", 3)), {SHARES}
    slots = PerLink((("eth1-slot-1", 1), ("", 2)))
    devices = await listed(links, dropped=dropped, slots=slots)
    assert [device.name for device in devices] == ["eth1-slot-0", "eth1-slot-1"]
    assert [device.attributes["name"] for device in devices] == ["eth1", "eth1-slot-1"]


def test_the_link_of_a_slot() -> None:
    """A slot leads to its link, unless a link is called like it."""
    eth1, odd = link_of("eth1"), link_of("eth1-slot-1", 3)
    assert find_by_device([eth1], "eth1-slot-1") == eth1
    assert find_by_device([eth1, odd], "eth1-slot-1") == odd
    assert find_by_device([eth1], "eth2-slot-0") is None
    assert find_by_device([eth1], "eth1-slot-x") is None


async def test_a_link_that_is_there_counts_more_than_the_memory_of_it() -> None:
    """A lent device that came home is described as it is now."""
    links = SomeLinks(link_of("eth1", mtu=9000))
    devices = await listed(links, Device("eth1"))
    assert [device.attributes["mtu"] for device in devices] == [9000]


async def test_a_link_called_like_the_generic_device_is_not_offered() -> None:
    """Two devices cannot have one name; without the generic device the link is one."""
    links = SomeLinks(link_of("cni"), link_of("eth1", 3))
    with_generic = await listed(links, generic=True)
    assert [(d.name, d.attributes["kind"]) for d in with_generic] == [
        ("cni", "generic"),
        ("eth1", "device"),
    ]
    without = await listed(links)
    assert [(d.name, d.attributes["kind"]) for d in without] == [
        ("cni", "device"),
        ("eth1", "device"),
    ]


def test_a_device_leads_back_to_its_link() -> None:
    """A link is found by its device, though its name is not the device's."""
    odd = link_of("eth0.100")
    assert find_by_device([odd], device_name("eth0.100")) == odd
    assert find_by_device([odd], "eth0") is None


def test_a_withheld_link_is_not_offered() -> None:
    """What the node keeps for itself is in the snapshot and not among what it offers."""
    port, free = link_of("eth1", 2), link_of("eth2", 3)
    withheld = {2: "a port"}
    snapshot = Snapshot((port, free), addresses=(), uplinks=(), withheld=withheld, carriers={})
    assert snapshot.offered == (free,)
