"""A PodNetwork as a device of a node: what claims select by the network's name alone.

    media-net-on-eth1     kind: network
                          multinetwork.networking.k8s.io/podNetwork: media-net

A link can have several networks and the attribute has one value, so each network is a device of its
own on each link that has it. Promise: the same network on the same link is the same device, across
restarts too; the link can be read from the device's name alone. Every device of the driver has the
attribute, because a selector that reads one which a device lacks fails the whole allocation.
No I/O. Limit: what the network is, its claims learn elsewhere.
"""

import hashlib
from typing import Final

import msgspec

from netclaim.kernel import Link, SysfsFacts
from netclaim.model import Device
from netclaim.model.api.dra.slice import POD_NETWORK
from netclaim.model.devices.link_name import ON, slotted
from netclaim.network.devices.device import NUMA_NODE, PCIE_ROOT, device_of

KIND: Final = "network"
HASH_DIGITS: Final = 8  # 32 bits: enough among the networks of a cluster
NAME_MAX: Final = 63  # of a device: a DNS label
ALIGNED: Final = (PCIE_ROOT, NUMA_NODE)  # of the link, for what devices are aligned by


def network_device_name(network: str, link: str) -> str:
    """Name the device of a network on the link that is this device."""
    room = NAME_MAX - len(ON) - len(link)
    if len(network) > room:
        digest = hashlib.sha256(network.encode()).hexdigest()[:HASH_DIGITS]
        network = f"{network[: max(0, room - HASH_DIGITS - 1)].rstrip('-')}-{digest}".lstrip("-")
    return f"{network}{ON}{link}"


def is_device_of(network: str, device: str) -> bool:
    """Whether a device, or the one of which it is a slot, is a network's on whichever link."""
    whole = slotted(device) or device
    _, on, link = whole.rpartition(ON)
    return bool(on) and network_device_name(network, link) == whole


def network_device(network: str, link: Device) -> Device:
    """The device of a network on a link: for one claim, and without capacities.

    It has what all links have, with values that no link has: nobody who selects a link gets it.
    What is wrong with the link is wrong with it too.
    """
    name = network_device_name(network, link.name)
    nothing = Link(index=0, name=name, arphrd=0, flags=0)
    bare = device_of(nothing, (), SysfsFacts(virtual=True), default_route=False)
    aligned = {each: link.attributes[each] for each in ALIGNED if each in link.attributes}
    more = {"ifName": "", "kind": KIND, POD_NETWORK: network, **aligned}
    return msgspec.structs.replace(
        link,
        name=name,
        attributes={**bare.attributes, **more},
        capacity={},
        allow_multiple_allocations=False,
    )
