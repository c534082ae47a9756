"""The node's RDMA devices that have no link, and what a claim gets of one.

Promise: a device is offered for as long as it is there, claimed or not. A pod gets its files and
nothing else: no interface, and no network. Limit: reads files and blocks. Where the node shows each
RDMA device in one network namespace only, files are of no use in another one, and a claim is
refused. The kernel announces none of this; a new device is seen with the next list of links.
"""

from collections.abc import Iterator
from pathlib import Path

from netclaim.errors import HostError
from netclaim.kernel.host.hardware.rdma import (
    follows_namespaces,
    is_active,
    is_infiniband,
    rdma_files,
    without_link,
)
from netclaim.kernel.host.hardware.sysfs import SYS, read_rdma_facts
from netclaim.model import ContainerEdits, Device, DeviceNode
from netclaim.network.devices.rdma_device import rdma_device, rdma_device_name


def list_rdma_devices(root: Path = SYS) -> tuple[Device, ...]:
    """The RDMA devices without a link, as devices."""
    return tuple(
        rdma_device(
            name,
            read_rdma_facts(name, root),
            infiniband=is_infiniband(name, root),
            active=is_active(name, root),
        )
        for name in without_link(root)
    )


def find_rdma(device: str, root: Path = SYS) -> str:
    """Return the RDMA device that is published as this one; empty if there is none."""
    return next((name for name in without_link(root) if rdma_device_name(name) == device), "")


def edits_of(rdma: str, root: Path = SYS) -> ContainerEdits:
    """What containers get of an RDMA device; HostError if that would be of no use there."""
    if follows_namespaces(root):
        raise HostError(
            f"the node shows the RDMA device {rdma} in its own network namespace only, and a "
            "device without a link stays there; switch the node to `rdma system set netns shared`"
        )
    return ContainerEdits(device_nodes=tuple(_nodes(rdma, root)))


def _nodes(rdma: str, root: Path) -> Iterator[DeviceNode]:
    return map(DeviceNode, rdma_files([rdma], root))
