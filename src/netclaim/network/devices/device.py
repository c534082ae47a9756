"""A link as a device: the name and the attributes that claims select it by.

Promise: the same link gives the same device, across restarts too; every device can be published
(the model's limits hold). What every link has is always there, because a selector that reads an
attribute which a device lacks fails the whole allocation, not only for that device.
Limit: a value longer than the API allows is left out: half a value would select wrongly.
"""

import hashlib
import re
import socket
from collections.abc import Iterable, Mapping
from typing import Final

from netclaim.kernel import Address, Link, SysfsFacts
from netclaim.kernel.netlink import uapi
from netclaim.model.api.dra.slice import POD_NETWORK
from netclaim.model.api.limits import STRING_MAX
from netclaim.model.devices.device import AttributeValue, Device, is_dns_label
from netclaim.model.devices.link_name import ON, link_of, slotted

# The standard ones, which GPUs have too: what devices of several drivers are aligned by.
PCIE_ROOT: Final = "resource.kubernetes.io/pcieRoot"
PCI_BUS_ID: Final = "resource.kubernetes.io/pciBusID"
NUMA_NODE: Final = "resource.kubernetes.io/numaNode"
# Of the contract for networks that several drivers follow: the name of the device's network. A
# device without one has it too, empty, for selectors that do not ask whether it is there.
NOT_IN_A_LABEL: Final = re.compile(r"[^a-z0-9]+")
HASH_DIGITS: Final = 8  # 32 bits: enough among the links of one node
READABLE_MAX: Final = 63 - 1 - HASH_DIGITS  # a DNS label has 63; an escaped name may exceed it
PREFLIGHT: Final = "preflight"
VF_INDEX: Final = "vfIndex"
ATTRIBUTES_MAX: Final = 29  # and three capacities; the API server takes 32 of both
SPEED_UNKNOWN: Final = 0  # so that `speed >= 25000` is false, rather than an error
# All that a device can have, as `device_of` writes it down.
ATTRIBUTES: Final = (
    *("name", "ifName", "mac", "mtu", "state", "kind", "type", "speed", "virtual", "defaultRoute"),
    *("sriov", "sriovVfs", "isSriovVf", "rdma", PREFLIGHT),
    *("driver", "alias", "ipv4", "ipv6", "numaNode", "pciAddress", "pciVendor", "pciDevice"),
    *("pfName", VF_INDEX, "rdmaDevice", PCIE_ROOT, PCI_BUS_ID, NUMA_NODE, POD_NETWORK),
)
LINK_TYPES: Final = {uapi.ARPHRD_ETHER: "ethernet", uapi.ARPHRD_INFINIBAND: "infiniband"}


def device_name(ifname: str) -> str:
    """Name the device of a link: the link's own name, where that is a DNS label.

    Another name (`eth0.100`, `Uplink`) is made one, with a hash of the original behind it so that
    two such names stay two devices. So is one that reads like a network's device on a link.
    """
    if is_dns_label(ifname) and ON not in ifname:
        return ifname
    digest = hashlib.sha256(ifname.encode()).hexdigest()[:HASH_DIGITS]
    lower = ifname.lower().replace(ON, "-")
    readable = NOT_IN_A_LABEL.sub("-", lower)[:READABLE_MAX].strip("-")
    return f"{readable}-{digest}" if readable else f"link-{digest}"


def find_by_device(links: Iterable[Link], device: str) -> Link | None:
    """Find the link that is published as this device, or of which it is a slot or a network.

    Whether it is offered now does not count.
    """
    named = {device_name(link.name): link for link in reversed(list(links))}
    return named.get(device) or named.get(slotted(device)) or named.get(link_of(device))


def device_of(
    link: Link, addresses: Iterable[Address], facts: SysfsFacts, *, default_route: bool
) -> Device:
    """Describe a link; `addresses` may hold those of other links too."""
    own = [address for address in addresses if address.index == link.index]
    always: dict[str, AttributeValue] = {
        "name": link.name,
        "ifName": link.name,
        "mac": link.mac,
        "mtu": link.mtu,
        "state": link.oper_state,
        "kind": link.kind or "device",  # as `ip` calls what no software made
        "type": LINK_TYPES.get(link.arphrd, "other"),
        "speed": facts.speed_mbps or SPEED_UNKNOWN,
        "virtual": facts.virtual,
        "defaultRoute": default_route,
        "sriov": facts.sriov_total_vfs > 0,
        "sriovVfs": facts.sriov_num_vfs,
        "isSriovVf": facts.is_vf,
        "rdma": bool(facts.rdma_devices),
        PREFLIGHT: False,  # see `preflight`
        POD_NETWORK: "",  # see `network_device`
    }
    sometimes: dict[str, AttributeValue | None] = {
        "driver": facts.driver or link.kind,
        "alias": link.alias,
        "ipv4": _first(own, socket.AF_INET),
        "ipv6": _first(own, socket.AF_INET6),
        "numaNode": facts.numa_node,
        "pciAddress": facts.pci_address,
        "pciVendor": facts.pci_vendor,
        "pciDevice": facts.pci_device,
        "pfName": facts.pf_name,
        VF_INDEX: facts.vf_index,
        "rdmaDevice": next(iter(facts.rdma_devices), ""),
        PCIE_ROOT: facts.pcie_root,
        PCI_BUS_ID: facts.pci_address,
        NUMA_NODE: facts.numa_node,
    }
    attributes = _publishable({**always, **_known(sometimes)})
    if len(attributes) > ATTRIBUTES_MAX:
        attributes.pop(VF_INDEX, None)
    return Device(device_name(link.name), attributes, making=link.index)


def _first(addresses: Iterable[Address], family: int) -> str:
    """Choose the address that the kernel lists first among those valid everywhere."""
    for address in addresses:
        lasting = not address.flags & uapi.IFA_F_SECONDARY
        if address.family == family and address.scope == uapi.RT_SCOPE_UNIVERSE and lasting:
            return str(address)
    return ""


def _known(attributes: Mapping[str, AttributeValue | None]) -> dict[str, AttributeValue]:
    return {name: value for name, value in attributes.items() if value is not None and value != ""}


def _publishable(attributes: Mapping[str, AttributeValue]) -> dict[str, AttributeValue]:
    return {
        name: value
        for name, value in attributes.items()
        if not isinstance(value, str) or len(value.encode()) <= STRING_MAX
    }
