"""An RDMA device that has no link, as a device of a node: InfiniBand without IP over it.

    rdma-mlx5-0-5f0e1c2a     kind: rdma     name: mlx5_0     type: infiniband

It has every attribute that all links have: a selector that reads one which a device lacks fails the
whole allocation. Promise: the same RDMA device is the same device, across restarts too; a link
never has its name. No I/O.
"""

from typing import Final

import msgspec

from netclaim.kernel import Link, SysfsFacts
from netclaim.kernel.netlink import uapi
from netclaim.model import Device
from netclaim.network.devices.device import device_name, device_of

KIND: Final = "rdma"


def rdma_device_name(rdma: str) -> str:
    """Name the device of an RDMA device."""
    # A link of the same name has another hash: no link's name has a slash in it.
    return device_name(f"rdma/{rdma}")


def rdma_device(rdma: str, facts: SysfsFacts, *, infiniband: bool, active: bool) -> Device:
    """Describe an RDMA device; `active`: one of its ports reaches others."""
    arphrd = uapi.ARPHRD_INFINIBAND if infiniband else uapi.ARPHRD_ETHER
    nothing = Link(index=0, name=rdma, arphrd=arphrd, flags=0)
    device = device_of(nothing, (), facts, default_route=False)
    state = "up" if active else "down"
    attributes = {**device.attributes, "ifName": "", "kind": KIND, "state": state}
    return msgspec.structs.replace(device, name=rdma_device_name(rdma), attributes=attributes)
