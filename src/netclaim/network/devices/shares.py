"""A link that several claims have at a time: what is published of it, and what a claim got.

A link that can carry several attachments is offered with three capacities. `attachments` counts
them; a claim takes one. `wholeLink` is for a claim that wants the link *alone*: whatever it asks
for is rounded up to all of it, and every other claim takes a little; `attachments` is rounded up in
the same way. `bandwidth` is the link's speed; a claim takes what it asks for, and nothing if it
does not ask, or what an admin has set.
Where the API server knows nothing of shares, each link becomes a number of devices, its *slots*,
for one claim each. Promise: a device that is offered can be published; a claim that asks for a link
alone fits a link that is for one claim in any case. No I/O; who gets what is the
scheduler's decision.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

import msgspec

from netclaim.model import AllocatedDevice, Capacity, Device, Quantity, RequestPolicy, ValidRange
from netclaim.model.api.limits import ATTRIBUTES_AND_CAPACITIES_MAX
from netclaim.model.devices.link_name import ON, slotted
from netclaim.model.quantity import NANO

ATTACHMENTS: Final = "attachments"
WHOLE_LINK: Final = "wholeLink"
BANDWIDTH: Final = "bandwidth"  # in bits per second, as links are sold
SLOT: Final = "slot"
ALONE_REQUEST: Final = 'capacity: {requests: {wholeLink: "1"}}'  # what a claim writes
# The amount of `wholeLink`. A claim writes 1, which has to be rounded up to all of it, and the API
# server distinguishes values that can be consumed by their next whole numbers: so all is 2, and a
# share consumes less than 1: so little that it is nothing even for the most claims of a link.
WHOLE: Final = Quantity(2 * NANO)
LITTLE: Final = Quantity(NANO // 10_000)
MEGABIT: Final = 10**6
KILOBIT: Final = 10**3
# What macvlans, ipvlans and VLANs can be put on, any number of them; the empty kind is hardware.
# A tap is the end of one program's connection; what cannot be named here is for one claim.
SHAREABLE_KINDS: Final = frozenset(
    {"device", "bond", "team", "vlan", "bridge", "veth", "dummy", "vxlan", "geneve", "gretap"}
)


class Share(msgspec.Struct, frozen=True):
    """What a claim has of its link."""

    alone: bool = False  # nobody else has anything of it
    bandwidth: int = 0  # bits per second that it may use; 0: as many as there are


def carries_several(device: Device) -> bool:
    """Whether a link is one that people put several interfaces on.

    Not a virtual function, which is a part of a card already, nor InfiniBand.
    """
    kind, is_vf = device.attributes.get("kind"), device.attributes.get("isSriovVf")
    return device.attributes.get("type") == "ethernet" and kind in SHAREABLE_KINDS and not is_vf


def speed_of(device: Device) -> int:
    """The link's speed in bits per second; 0 if it is not known."""
    speed = device.attributes.get("speed")
    return speed * MEGABIT if isinstance(speed, int) else 0


def as_shared(
    device: Device, attachments: int, bandwidth: int, *, whole: bool = True, default: int = 0
) -> Device:
    """The device for so many claims, which share the bandwidth, if there is one to share.

    `whole`: a claim can also have it alone. `default`: the bandwidth of a claim that asks for none.
    """
    capacity = {ATTACHMENTS: _attachments(attachments, whole=whole)}
    if bandwidth:
        capacity[BANDWIDTH] = _bandwidth(bandwidth, attachments, default)
    if _has_room(device, capacity):
        capacity[WHOLE_LINK] = _whole_link(whole=whole)
    return msgspec.structs.replace(device, capacity=capacity, allow_multiple_allocations=True)


def as_exclusive(device: Device, attachments: int, bandwidth: int) -> Device:
    """The device for one claim, with enough capacity for one that asks for all `attachments`.

    The scheduler passes over devices that lack a capacity which a request names.
    """
    capacity = {ATTACHMENTS: Capacity(_whole(attachments))}
    if bandwidth:
        capacity[BANDWIDTH] = Capacity(_whole(bandwidth))
    if _has_room(device, capacity):
        capacity[WHOLE_LINK] = Capacity(WHOLE)
    return msgspec.structs.replace(device, capacity=capacity, allow_multiple_allocations=False)


def as_slots(
    device: Device, slots: int, bandwidth: int, taken: Collection[str] = ()
) -> Iterator[Device]:
    """Yield a device for each of a link's slots, but for names that are `taken` by other links.

    `bandwidth` is that of a slot.
    """
    capacity = {ATTACHMENTS: Capacity(_whole(1))}
    if bandwidth:
        capacity[BANDWIDTH] = Capacity(_whole(bandwidth))
    for number in range(slots):
        name = f"{device.name}-slot-{number}"
        if name not in taken:
            attributes = {**device.attributes, SLOT: number}
            yield msgspec.structs.replace(
                device, name=name, attributes=attributes, capacity=capacity
            )


def equal_bandwidth(bandwidth: int, shares: int) -> int:
    """An equal part of a link for each of its shares, in whole steps."""
    if not bandwidth:
        return 0
    step = _step(bandwidth, shares)
    return max(step, bandwidth // shares // step * step)


def share_of(device: AllocatedDevice) -> Share:
    """What the scheduler wrote down for a claim.

    A device that was allocated without a share is the claim's alone: it is for one claim, or was
    when it was allocated. Admin access leaves the link to those who have it.
    """
    if device.admin_access:
        return Share()
    if device.share_id is None:
        return Share(alone=True)
    alone = _consumed(device, ATTACHMENTS) > 1 or _consumed(device, WHOLE_LINK) > 1
    return Share(alone=alone, bandwidth=0 if alone else _consumed(device, BANDWIDTH))


def has_alone(device: AllocatedDevice) -> bool:
    """Whether nobody else may have anything of the link that a claim has."""
    return not slotted(device.device) and share_of(device).alone


def how_alone(device: AllocatedDevice, link: str) -> str:
    """How a claim that shares its link could have it alone, in words; empty: it has."""
    if device.admin_access:
        return "leave out adminAccess"
    if ON in device.device:
        return "ask a cluster admin to set `sharing.alone` in the PodNetwork"
    if slotted(device.device) and device.device != link:
        return f"ask a cluster admin to start the drivers with --slots {link}=1"
    if share_of(device).alone:
        return ""
    return f"write `{ALONE_REQUEST}` into the request {device.base_request}"


def _consumed(device: AllocatedDevice, name: str) -> int:
    amounts = device.consumed_capacity
    text = amounts.get(name, amounts.get(f"{device.driver}/{name}", "0"))
    return max(0, Quantity.parse(text).nanos // NANO)


def _attachments(count: int, *, whole: bool) -> Capacity:
    """One, or all: a claim can ask for a link alone without knowing how many it is for."""
    one, every = _whole(1), _whole(count)
    valid = (one, every) if whole and count > 1 else (one,)
    return Capacity(every, RequestPolicy(default=one, valid_values=valid))


def _whole_link(*, whole: bool) -> Capacity:
    """A little for each share, or all, for a claim that asks for more."""
    return Capacity(WHOLE, RequestPolicy(LITTLE, (LITTLE, WHOLE) if whole else (LITTLE,)))


def _has_room(device: Device, capacity: Mapping[str, Capacity]) -> bool:
    """Whether the API server takes one capacity more of a device."""
    return len(device.attributes) + len(capacity) < ATTRIBUTES_AND_CAPACITIES_MAX


def _bandwidth(bandwidth: int, shares: int, default: int) -> Capacity:
    """Nothing for who asks for nothing, unless there is a default; then nobody can ask for less."""
    step = _step(bandwidth, shares)
    least = step if default else 0
    part = max(least, min(default, bandwidth) // step * step)
    valid = ValidRange(minimum=_whole(least), step=_whole(step))
    return Capacity(_whole(bandwidth), RequestPolicy(default=_whole(part), valid_range=valid))


def _step(bandwidth: int, shares: int) -> int:
    """By how much shares differ: megabits, or kilobits on a link that is too slow for that."""
    return MEGABIT if bandwidth >= shares * MEGABIT and bandwidth >= 2 * MEGABIT else KILOBIT


def _whole(number: int) -> Quantity:
    return Quantity(number * NANO)
