"""What containers get besides a pod's interface, or in its place: files of the link's hardware.

A program that drives the hardware by itself has the files of vfio. Else there are those of RDMA.

A link that stays on the node is shared, and so would be what RDMA does with it: its files go to
containers only with the link itself, and not if the device uses other links too; and a device that
is made of a link in software ends when the link moves. Limit: only containers that name the claim
get them.
"""

import asyncio
from pathlib import Path

from netclaim.cni import NetworkList
from netclaim.kernel import Link, read_facts
from netclaim.kernel.host.hardware.rdma import is_software, rdma_files, uses_only
from netclaim.kernel.host.hardware.sysfs import SYS
from netclaim.kernel.host.hardware.vfio import read_binding, vfio_files
from netclaim.model import ContainerEdits, DeviceNode
from netclaim.network.request.into_config.link_keys import hands_over, moves_link


async def edits_with(network: NetworkList, link: Link, root: Path = SYS) -> ContainerEdits | None:
    """What a link brings along into containers; None if that is nothing."""
    if not moves_link(network):
        return None
    find = _files_for_programs if hands_over(network) else _files_of
    files = await asyncio.to_thread(find, link, root)
    return ContainerEdits(device_nodes=tuple(map(DeviceNode, files))) if files else None


def _files_of(link: Link, root: Path) -> tuple[str, ...]:
    devices = read_facts(link.name, link.index, root).rdma_devices
    own = (each for each in devices if uses_only(each, link.name, root))
    return rdma_files([each for each in own if not is_software(each, root)], root)


def _files_for_programs(link: Link, root: Path) -> tuple[str, ...]:
    """The files of a link's IOMMU group, which are there once it is bound to vfio-pci."""
    binding = read_binding(link.name, root)
    return vfio_files(binding.address, root) if binding is not None else ()
