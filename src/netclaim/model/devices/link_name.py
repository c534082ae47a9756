"""What the name of a device says of its link: it is the link's own, or that of a part of it.

    eth1                  a link
    eth1-slot-3           a slot of it, where claims cannot share a device
    media-net-on-eth1     a network on it; or media-net-on-eth1-slot-3
    cni                   no link at all

No I/O. Limit: a link whose name is no DNS label has a name with a hash, see `device_name`.
"""

import re
from typing import Final

GENERIC: Final = "cni"  # the name that the first drivers published and their users' claims expect
ON: Final = "-on-"  # between the name of a network and its link's device, see `network_device`
SLOT_NAME: Final = re.compile(r"(?P<device>.+)-slot-(?P<number>0|[1-9][0-9]*)")


def slotted(device: str) -> str:
    """The device whose slot this is, by its name; empty if it is no slot's name."""
    match = SLOT_NAME.fullmatch(device)
    return match["device"] if match else ""


def link_of(device: str) -> str:
    """The device of the link that a device is, or is a slot or a network of."""
    whole = slotted(device) or device
    return whole.rpartition(ON)[2]
