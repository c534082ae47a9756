"""A link that several claims have at a time: what is published of it, and what a claim got.

A link that can carry several attachments is offered with two capacities. `attachments` counts them;
a claim takes one, or with a request for more than one all of them, and so the link *alone*.
`bandwidth` is the link's speed; a claim takes an equal part, unless it asks for another amount.
Where the API server knows nothing of shares, each link becomes a number of devices, its *slots*,
for one claim each. Promise: a device that is offered can be published; a claim that asks for a link
alone fits a link that is for one claim in any case. No I/O; who gets what is the
scheduler's decision.
"""

import re
from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from netclaim.model import AllocatedDevice, Capacity, Device, Quantity, RequestPolicy, ValidRange
from netclaim.model.quantity import NANO

ATTACHMENTS: Final = "attachments"
BANDWIDTH: Final = "bandwidth"  # in bits per second, as links are sold
SLOT: Final = "slot"
ALONE_REQUEST: Final = 'capacity: {requests: {attachments: "2"}}'  # what a claim writes
MEGABIT: Final = 10**6
KILOBIT: Final = 10**3
SLOT_NAME: Final = re.compile(r"(?P<device>.+)-slot-(?P<number>0|[1-9][0-9]*)")
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


def as_shared(device: Device, attachments: int, bandwidth: int, *, whole: bool = True) -> Device:
    """The device for so many claims, which share the bandwidth, if there is one to share.

    `whole`: a claim can also have it alone.
    """
    capacity = {ATTACHMENTS: _attachments(attachments, whole=whole)}
    if bandwidth:
        capacity[BANDWIDTH] = _bandwidth(bandwidth, attachments)
    return msgspec.structs.replace(device, capacity=capacity, allow_multiple_allocations=True)


def as_exclusive(device: Device, attachments: int, bandwidth: int) -> Device:
    """The device for one claim, with enough capacity for one that asks for all `attachments`.

    The scheduler passes over devices that lack a capacity which a request names.
    """
    capacity = {ATTACHMENTS: Capacity(_whole(attachments))}
    if bandwidth:
        capacity[BANDWIDTH] = Capacity(_whole(bandwidth))
    return msgspec.structs.replace(device, capacity=capacity, allow_multiple_allocations=False)


def as_slots(
    device: Device, slots: int, bandwidth: int, taken: Collection[str] = ()
) -> Iterator[Device]:
    """Yield a device for each of a link's slots, but for names that are `taken` by other links."""
    capacity = {ATTACHMENTS: Capacity(_whole(1))}
    if bandwidth:
        capacity[BANDWIDTH] = Capacity(_whole(default_bandwidth(bandwidth, slots)))
    for number in range(slots):
        name = f"{device.name}-slot-{number}"
        if name not in taken:
            attributes = {**device.attributes, SLOT: number}
            yield msgspec.structs.replace(
                device, name=name, attributes=attributes, capacity=capacity
            )


def slotted(device: str) -> str:
    """The device whose slot this is, by its name; empty if it is no slot's name."""
    match = SLOT_NAME.fullmatch(device)
    return match["device"] if match else ""


def default_bandwidth(bandwidth: int, shares: int) -> int:
    """The part of a share that asks for none: an equal one, in whole steps."""
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
    alone = _consumed(device, ATTACHMENTS) > 1
    return Share(alone=alone, bandwidth=0 if alone else _consumed(device, BANDWIDTH))


def has_alone(device: AllocatedDevice) -> bool:
    """Whether nobody else may have anything of the link that a claim has."""
    return not slotted(device.device) and share_of(device).alone


def link_of(device: AllocatedDevice) -> str:
    """The device of the link that a device is, or is a slot of."""
    return slotted(device.device) or device.device


def how_alone(device: AllocatedDevice, link: str) -> str:
    """How a claim that shares its link could have it alone, in words; empty: it has."""
    if device.admin_access:
        return "leave out adminAccess"
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


def _bandwidth(bandwidth: int, shares: int) -> Capacity:
    step = _whole(_step(bandwidth, shares))
    default = _whole(default_bandwidth(bandwidth, shares))
    policy = RequestPolicy(default=default, valid_range=ValidRange(minimum=step, step=step))
    return Capacity(_whole(bandwidth), policy)


def _step(bandwidth: int, shares: int) -> int:
    """By how much shares differ: megabits, or kilobits on a link that is too slow for that."""
    return MEGABIT if bandwidth >= shares * MEGABIT and bandwidth >= 2 * MEGABIT else KILOBIT


def _whole(number: int) -> Quantity:
    return Quantity(number * NANO)
