"""Which devices a link becomes: one that claims share, one for a single claim, or several slots.

The settings say for how many claims a link is; where they name it by no pattern, only links that
people put several interfaces on are shared. A link that the node depends on is offered by parts
only, and so is a card whose virtual functions are devices of their own: the scheduler never gives
the whole and its parts. What the API server drops of a device decides between
shares and slots. Promise: settings and what is known of the API server count from the next list on;
claims that hold a share or a slot keep it. No I/O.
"""

import fnmatch
from collections.abc import Collection, Iterable
from typing import Final

import msgspec
import structlog
from prometheus_client import Gauge

from netclaim.model import Device
from netclaim.network.devices.shares import (
    SLOT,
    Share,
    as_exclusive,
    as_shared,
    as_slots,
    carries_several,
    equal_bandwidth,
    speed_of,
)
from netclaim.network.metrics.link_room import LinkRoom, Room
from netclaim.network.metrics.table import SLOT_DEVICES
from netclaim.network.settings import ATTACHMENTS_DEFAULT, SLOTS_DEFAULT, LinkSettings, LiveSettings
from netclaim.network.settings.per_link import EQUAL_PART

log = structlog.get_logger(__name__)

SHARES: Final = "allowMultipleAllocations"  # the field without which there are no shares
FEATURE: Final = "DRAConsumableCapacity"
PUBLISHED_KEPT: Final = 4096  # devices; a node has fewer links
ALONE: Final = 2  # what a claim asks for that wants a link alone


class LinkOffer:
    """The offer by the settings in force and what is known of the API server."""

    def __init__(self, settings: LiveSettings) -> None:
        self._live = settings
        self._has_shares = True  # whether the API server knows of them
        self._published: dict[str, tuple[tuple[object, ...], Device]] = {}  # and what of
        each = SLOT_DEVICES
        self.slot_devices = Gauge(each.name, each.text, each.label_names, registry=None)
        self.slot_devices.labels(settings.now.name).set(0)
        self.room = LinkRoom(settings.now.name)

    @property
    def _settings(self) -> LinkSettings:
        return self._live.now

    def learn_dropped(self, fields: Collection[str]) -> None:
        """Replace what is known of the fields that the API server drops."""
        has_shares = SHARES not in fields
        if has_shares != self._has_shares:
            self._has_shares = has_shares
            if has_shares:
                log.info("discover.shares")
            else:
                log.warning(
                    "discover.slots",
                    feature=FEATURE,
                    slots=self._settings.slots.said(),
                    hint="links are offered as slots, one claim each; see docs/sharing.md",
                )

    def as_published(self, device: Device, *, carries: bool = False) -> Device:
        """The device of a link for as many claims as the link is for.

        A link that `carries` the node can be had by parts only, unless the settings say otherwise:
        a claim that got it alone would be refused, and keep it from others meanwhile. The same
        object comes back for the same device for as long as nothing changes.
        """
        made_of = (device, carries, self._settings, self._has_shares)
        known = self._published.get(device.name)
        if known is None or any(
            now is not then for now, then in zip(made_of, known[0], strict=True)
        ):
            if len(self._published) >= PUBLISHED_KEPT:
                self._published.clear()
            known = (made_of, self._as_published(device, carries=carries))
            self._published[device.name] = known
        return known[1]

    def _as_published(self, device: Device, *, carries: bool) -> Device:
        claims, bandwidth = self._claims(device), self._bandwidth(device)
        patterns = self._settings.whole_uplinks
        whole = not carries or any(fnmatch.fnmatchcase(_link(device), each) for each in patterns)
        if claims > 1 or not whole:
            default = self._default_bandwidth(device, claims)
            return as_shared(device, claims, bandwidth, whole=whole, default=default)
        most = self._settings.attachments.of("") or ATTACHMENTS_DEFAULT
        return as_exclusive(device, max(most, ALONE), bandwidth)

    def on_link(self, device: Device, link: Device, *, alone: bool, bandwidth: int) -> Device:
        """The device of a network for as many claims as its link is for; `alone`: for one.

        A claim that asks for nothing of the link's bandwidth gets `bandwidth`, if that is not 0.
        """
        claims, there = 1 if alone else self._claims(link), self._bandwidth(link)
        if claims > 1:
            default = bandwidth or self._default_bandwidth(link, claims)
            return as_shared(device, claims, there, whole=False, default=default)
        most = self._settings.attachments.of("") or ATTACHMENTS_DEFAULT
        return as_exclusive(device, max(most, ALONE), there)

    def for_anybody(self, device: Device) -> Device:
        """The device of a network that is on no link: as many claims as like may have it."""
        return msgspec.structs.replace(device, allow_multiple_allocations=True)

    def of_networks(self, devices: Iterable[Device]) -> tuple[Device, ...]:
        """What to publish of networks: these, or slots of those for several."""
        if self._has_shares:
            return tuple(devices)
        return tuple(slot for device in devices for slot in self._slots(device, ()))

    def expanded(self, links: Iterable[Device]) -> tuple[Device, ...]:
        """What to publish of links that are as published: these, or slots of those for several."""
        devices = tuple(links)
        self.room.note(
            {_link(each): Room(self._claims(each), self._bandwidth(each)) for each in devices}
        )
        if not self._has_shares:
            names = {device.name for device in devices}
            devices = tuple(each for device in devices for each in self._slots(device, names))
        self.slot_devices.labels(self._settings.name).set(
            sum(SLOT in device.attributes for device in devices)
        )
        return devices

    def usual_bandwidth(self, link: Device) -> int:
        """What of a link's bandwidth a claim gets that asks for none; 0: it is not limited."""
        return self._default_bandwidth(link, self._claims(link))

    def slot_share(self, link: Device) -> Share:
        """What a claim has of a link by one of its slots."""
        return Share(bandwidth=self._default_bandwidth(link, self._slot_count(link)))

    def _slots(self, device: Device, names: Collection[str]) -> Iterable[Device]:
        """A link's slots; none takes the name of another link."""
        if not device.allow_multiple_allocations:
            return (device,)
        bare = msgspec.structs.replace(device, capacity={}, allow_multiple_allocations=False)
        slots = self._slot_count(device)
        bandwidth = self._default_bandwidth(device, slots) or self._bandwidth(device)
        return as_slots(bare, slots, bandwidth, names)

    def _claims(self, device: Device) -> int:
        """How many claims may have a link at a time."""
        link, setting = _link(device), self._settings.attachments
        if not carries_several(device) and not setting.names(link):
            return 1
        attachments = setting.of(link) or ATTACHMENTS_DEFAULT
        return attachments if self._has_shares else min(attachments, self._slot_count(device))

    def _slot_count(self, device: Device) -> int:
        link = _link(device)
        attachments = self._settings.attachments.of(link) or ATTACHMENTS_DEFAULT
        return min(attachments, self._settings.slots.of(link) or SLOTS_DEFAULT)

    def _bandwidth(self, device: Device) -> int:
        """The bandwidth to share out, in bits per second; 0: none is."""
        setting = self._settings.link_bandwidth.of(_link(device))
        return speed_of(device) if setting is None else setting

    def _default_bandwidth(self, device: Device, shares: int) -> int:
        """The bandwidth of a claim that asks for none; 0: it is not limited."""
        bandwidth = self._bandwidth(device)
        default = self._settings.default_bandwidth.of(_link(device)) or 0
        if default == EQUAL_PART:
            return equal_bandwidth(bandwidth, shares)
        return min(default, bandwidth)


def _link(device: Device) -> str:
    """The kernel's name of a device's link."""
    return str(device.attributes.get("name", device.name))
